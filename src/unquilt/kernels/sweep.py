"""How many pages of a range are quilted under each of several settings, from one reading of what they share."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.quilts import cover_page, least_gain, read_rows, sets_of_pages

Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def count_patches(bounds: Offsets, weights: Counts, mine: Offsets, m: int) -> int:
    """How many grams a page shares with 1 to m - 1 others. mine: int64[...], the sets the page is in."""
    patches = 0
    for j in range(len(mine)):
        if bounds[2 * mine[j] + 1] - bounds[2 * mine[j]] <= m:
            patches += weights[mine[j]]
    return patches


@njit(cache=True, nogil=True)
def count_quilts(
    pages: Pages,
    numbers: Pages,
    first: int,
    n: int,
    ms: Counts,
    cs: Counts,
    sigmas: Shares,
    min_contribution: float,
    sites: Pages,
) -> tuple[Counts, Counts]:
    """For each setting, how many pages of a range are quilted, and how many sources they have together.

    pages, numbers: uint32[rows], of send_rows with sets of at least max(ms) pages. ms, cs: int64[settings], sigmas:
    float64[settings], by ascending m. Gives int64[settings] twice. A page is covered once for each m, and only
    where its patches reach the least sigma of that m.
    """
    totals, _, bounds, weights = read_rows(pages, numbers, first, n)
    begins, sets = sets_of_pages(pages, bounds, first, n)
    quilted, sources = np.zeros(len(ms), np.int64), np.zeros(len(ms), np.int64)
    for p in range(n):
        if totals[p] == 0:
            continue
        mine = sets[begins[p] : begins[p + 1]]
        covered, count = np.int64(-1), 0
        i = 0
        while i < len(ms):
            end = i + 1
            while end < len(ms) and ms[end] == ms[i]:
                end += 1
            patches = count_patches(bounds, weights, mine, ms[i])
            share = patches / totals[p]
            if share >= sigmas[i:end].min():
                if patches != covered:  # else no set was added since the last m, and the cover is the same
                    least = least_gain(min_contribution, patches)
                    taken, _ = cover_page(pages, bounds, weights, mine, first + p, ms[i], sites, least)
                    covered, count = patches, len(taken)
                for s in range(i, end):
                    if share >= sigmas[s] and count >= cs[s]:
                        quilted[s] += 1
                        sources[s] += count
            i = end
    return quilted, sources
