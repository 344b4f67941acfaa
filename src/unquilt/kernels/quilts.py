"""Which pages of a range are quilted, from the sets of pages they share grams with."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import copy_to, grown, sort
from unquilt.kernels.cover import greedy_cover
from unquilt.kernels.jit import njit
from unquilt.kernels.postings import IS_COMMON, IS_TOTAL, NUMBER

Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

U32 = np.uint64(32)


@njit(cache=True, nogil=True)
def read_rows(pages: Pages, numbers: Pages, first: int, n: int) -> tuple[Counts, Counts, Offsets, Counts]:
    """What the rows of send_rows say: grams and common foreign grams of each page, sets and their weights.

    pages, numbers: uint32[rows]. The range is pages first to first + n. Gives int64[n], int64[n], where each set
    begins in the rows and after the last one ends (int64[sets + 1] pairs as begins and ends), int64[sets].
    """
    totals = np.zeros(n, np.int64)
    common = np.zeros(n, np.int64)
    bounds = np.empty(2 * len(pages), np.int64)
    weights = np.empty(len(pages), np.int64)
    sets = 0
    for i in range(len(pages)):
        number = np.int64(numbers[i] & NUMBER)
        if numbers[i] & IS_TOTAL:
            totals[pages[i] - first] += number
        elif numbers[i] & IS_COMMON:
            common[pages[i] - first] += number
        elif number:
            bounds[2 * sets] = i
            bounds[2 * sets + 1] = i + 1
            weights[sets] = number
            sets += 1
        else:
            bounds[2 * sets - 1] = i + 1
    return totals, common, bounds[: 2 * sets], weights[:sets]


@njit(cache=True, nogil=True)
def sets_of_pages(pages: Pages, bounds: Offsets, first: int, n: int) -> tuple[Offsets, Offsets]:
    """For each page of the range, the sets it is in: int64[n + 1] begins in int64[...] sets."""
    begins = np.zeros(n + 1, np.int64)
    for s in range(len(bounds) // 2):
        for i in range(bounds[2 * s], bounds[2 * s + 1]):
            if pages[i] >= first and pages[i] < first + n:
                begins[pages[i] - first + 1] += 1
    for p in range(n):
        begins[p + 1] += begins[p]
    places = begins[:-1].copy()
    sets = np.empty(begins[n], np.int64)
    for s in range(len(bounds) // 2):
        for i in range(bounds[2 * s], bounds[2 * s + 1]):
            if pages[i] >= first and pages[i] < first + n:
                p = pages[i] - first
                sets[places[p]] = s
                places[p] += 1
    return begins, sets


@njit(cache=True, nogil=True)
def count_shared(
    pages: Pages, bounds: Offsets, weights: Counts, mine: Offsets, page: int, m: int, sites: Pages
) -> tuple[int, int]:
    """How many grams a page shares with 1 to m - 1 others, and how many of those with a page of another site."""
    patches = foreign = 0
    for j in range(len(mine)):
        begin, end = bounds[2 * mine[j]], bounds[2 * mine[j] + 1]
        is_foreign = False
        for i in range(begin, end):
            is_foreign = is_foreign or sites[pages[i]] != sites[page]
        if end - begin <= m:
            patches += weights[mine[j]]
        if is_foreign:
            foreign += weights[mine[j]]
    return patches, foreign


@njit(cache=True, nogil=True)
def least_gain(share: float, patches: int) -> float:
    """The fewest grams that are at least this share of the patches, and no fewer than 1; a whole number."""
    if patches == 0:
        return 1.0
    # By division, as anyone would check it: 7 of 100 are 0.07, though 0.07 * 100 is more than 7 in binary.
    gain = max(int(share * patches), 1)
    while gain / patches < share:
        gain += 1
    while gain > 1 and (gain - 1) / patches >= share:
        gain -= 1
    return float(gain)


@njit(cache=True, nogil=True)
def cover_page(
    pages: Pages,
    bounds: Offsets,
    weights: Counts,
    mine: Offsets,
    page: int,
    m: int,
    sites: Pages,
    least: float,
) -> tuple[Pages, Counts]:
    """The greedy cover of what a page shares with pages of other sites, and what each page adds."""
    edges = 0
    for j in range(len(mine)):
        edges += bounds[2 * mine[j] + 1] - bounds[2 * mine[j]]
    pairs = np.empty(edges, np.uint64)
    own = np.empty(len(mine), np.int64)
    count = 0
    for j in range(len(mine)):
        begin, end = bounds[2 * mine[j]], bounds[2 * mine[j] + 1]
        own[j] = weights[mine[j]]
        if end - begin > m:
            continue
        for i in range(begin, end):
            if pages[i] != page and sites[pages[i]] != sites[page]:
                pairs[count] = (np.uint64(pages[i]) << U32) | np.uint64(j)
                count += 1
    sort(pairs[:count])
    taken, added = greedy_cover(pairs[:count], own, least)
    return taken, added


@njit(cache=True, nogil=True)
def quilted_pages(
    pages: Pages,
    numbers: Pages,
    first: int,
    n: int,
    m: int,
    least_sources: int,
    sigma: float,
    min_contribution: float,
    sites: Pages,
) -> tuple[Pages, Counts, Counts, Counts, Offsets, Pages, Counts]:
    """The pages of a range with at least sigma of their grams in patches and at least so many sources.

    pages, numbers: uint32[rows], of send_rows. Gives for each such page its number, grams, patch grams, grams that
    some page of another site has, where its sources begin; the sources, and the grams each added.
    """
    totals, common, bounds, weights = read_rows(pages, numbers, first, n)
    begins, sets = sets_of_pages(pages, bounds, first, n)
    found = np.empty(n, np.uint32)
    grams, patch_grams, foreign_grams = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    source_begins = np.zeros(n + 1, np.int64)
    sources = np.empty(1024, np.uint32)
    added = np.empty(1024, np.int64)
    count = 0
    for p in range(n):
        if totals[p] == 0:
            continue
        mine = sets[begins[p] : begins[p + 1]]
        patches, foreign = count_shared(pages, bounds, weights, mine, first + p, m, sites)
        if patches / totals[p] < sigma:
            continue
        least = least_gain(min_contribution, patches)
        taken, gains = cover_page(pages, bounds, weights, mine, first + p, m, sites, least)
        if len(taken) < least_sources:
            continue
        at = source_begins[count]
        while at + len(taken) > len(sources):
            sources, added = grown(sources), grown(added)
        copy_to(sources, at, taken)
        copy_to(added, at, gains)
        found[count] = first + p
        grams[count], patch_grams[count] = totals[p], patches
        foreign_grams[count] = foreign + common[p]
        count += 1
        source_begins[count] = at + len(taken)
    end = source_begins[count]
    return (
        found[:count], grams[:count], patch_grams[:count], foreign_grams[:count],
        source_begins[: count + 1], sources[:end], added[:end],
    )  # fmt: skip
