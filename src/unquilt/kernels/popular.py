"""Which shingles many pages share, and covers of a page's popular shingles by other pages."""

import numpy as np
import numpy.typing as npt
from numba import njit

from unquilt.kernels.words import mix

Hashes = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def send_shingles(pages: Pages, shingles: Hashes, bits: int) -> tuple[Offsets, Hashes, Pages]:
    """Rows for an exchange of shingles: by position, then by the top bits of the mixed value.

    pages: uint32[n], shingles: uint64[n, m]; n may be 0. Gives int64[(m << bits) + 1] cuts, the mixed values and
    the pages. Mixing is a bijection: equal keys are equal values.
    """
    n, m = shingles.shape
    shift, mask = np.uint64(min(64 - bits, 63)), np.uint64((1 << bits) - 1)
    cuts = np.zeros((m << bits) + 1, np.int64)
    keys = np.empty(n * m, np.uint64)
    owners = np.empty(n * m, np.uint32)
    for p in range(n):
        for i in range(m):
            cuts[(i << bits) + np.int64((mix(shingles[p, i]) >> shift) & mask) + 1] += 1
    for b in range(len(cuts) - 1):
        cuts[b + 1] += cuts[b]
    places = cuts[:-1].copy()
    for p in range(n):
        for i in range(m):
            key = mix(shingles[p, i])
            bucket = (i << bits) + np.int64((key >> shift) & mask)
            keys[places[bucket]] = key
            owners[places[bucket]] = pages[p]
            places[bucket] += 1
    return cuts, keys, owners


@njit(cache=True, nogil=True)
def count_keepers(pages: Pages, begins: Offsets, keepers: Pages) -> Counts:
    """int64[groups], how many of the pages of each group are representatives: their own keepers."""
    counts = np.zeros(len(begins) - 1, np.int64)
    for group in range(len(counts)):
        for i in range(begins[group], begins[group + 1]):
            counts[group] += 1 if keepers[pages[i]] == pages[i] else 0
    return counts


@njit(cache=True, nogil=True)
def count_pages(pages: Pages, first: int, n: int) -> Counts:
    """int64[n], how often each of the pages first to first + n - 1 is in pages uint32[rows]."""
    counts = np.zeros(n, np.int64)
    for i in range(len(pages)):
        counts[np.int64(pages[i]) - first] += 1
    return counts


@njit(cache=True, nogil=True)
def _is_foreign(page: int, other: int, domains: Pages, addresses: Pages, own: Pages) -> bool:
    """Whether another page is of another domain, and of none of the addresses own that may have served the page."""
    if domains[page] == domains[other]:
        return False
    for i in range(len(own)):
        if addresses[other] == own[i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _candidates(
    page: int, mine: Offsets, begins: Offsets, pages: Pages, place: Offsets
) -> tuple[Pages, Offsets, Offsets]:
    """The pages that share a list with a page, ascending, and which of its lists each is in.

    mine: int64[lists], the page's lists; list l is pages[begins[l]:begins[l + 1]], ascending. place: int64[all
    pages], all -1, and so left. Gives uint32[n], int64[n + 1] begins and the numbers of lists (places in mine).
    """
    total = 0
    for j in range(len(mine)):
        total += begins[mine[j] + 1] - begins[mine[j]]
    found = np.empty(total, np.uint32)
    n = 0
    for j in range(len(mine)):
        for i in range(begins[mine[j]], begins[mine[j] + 1]):
            other = pages[i]
            if other != page and place[other] < 0:
                place[other] = n
                found[n] = other
                n += 1
    found = np.sort(found[:n])
    starts = np.zeros(n + 1, np.int64)
    for c in range(n):
        place[found[c]] = c
    for j in range(len(mine)):
        for i in range(begins[mine[j]], begins[mine[j] + 1]):
            if pages[i] != page:
                starts[place[pages[i]] + 1] += 1
    for c in range(n):
        starts[c + 1] += starts[c]
    lists = np.empty(starts[n], np.int64)
    at = starts[:-1].copy()
    for j in range(len(mine)):
        for i in range(begins[mine[j]], begins[mine[j] + 1]):
            if pages[i] != page:
                c = place[pages[i]]
                lists[at[c]] = j
                at[c] += 1
    for c in range(n):
        place[found[c]] = -1
    return found, starts, lists


@njit(cache=True, nogil=True)
def cover_shingles(
    page: int,
    mine: Offsets,
    is_popular: npt.NDArray[np.bool_],
    begins: Offsets,
    pages: Pages,
    domains: Pages,
    addresses: Pages,
    own: Pages,
    place: Offsets,
) -> tuple[Pages, Counts, npt.NDArray[np.bool_]]:
    """The pages that cover the popular shingles of a page, what each adds, and which are foreign.

    mine: the lists of the page's shingles that others share, see _candidates; is_popular: bool[lists], by place in
    mine. Again and again the page that adds most; of equals the one that shares most shingles, popular or not, then
    the least page. A page that is not foreign is taken only when no foreign page adds anything.
    """
    found, starts, lists = _candidates(page, mine, begins, pages, place)
    n = len(found)
    needed = is_popular.copy()
    left = 0
    for j in range(len(needed)):
        left += 1 if needed[j] else 0
    foreign = np.empty(n, np.bool_)
    gains = np.zeros(n, np.int64)
    for c in range(n):
        foreign[c] = _is_foreign(page, found[c], domains, addresses, own)
        for i in range(starts[c], starts[c + 1]):
            gains[c] += 1 if needed[lists[i]] else 0
    taken, added = np.empty(left, np.uint32), np.empty(left, np.int64)
    is_foreign = np.empty(left, np.bool_)
    count = 0
    while left > 0:
        best = -1
        for c in range(n):
            if gains[c] == 0:
                continue
            # An upper bound is enough to pass a page over; only what may be best is counted again.
            if best >= 0 and not _is_better(c, best, gains, foreign, starts):
                continue
            gains[c] = 0
            for i in range(starts[c], starts[c + 1]):
                gains[c] += 1 if needed[lists[i]] else 0
            if gains[c] > 0 and (best < 0 or _is_better(c, best, gains, foreign, starts)):
                best = c
        if best < 0:
            break
        taken[count], added[count], is_foreign[count] = found[best], gains[best], foreign[best]
        count += 1
        left -= gains[best]
        for i in range(starts[best], starts[best + 1]):
            needed[lists[i]] = False
        gains[best] = 0
    return taken[:count], added[:count], is_foreign[:count]


@njit(cache=True, nogil=True)
def _is_better(a: int, b: int, gains: Counts, foreign: npt.NDArray[np.bool_], starts: Offsets) -> bool:
    """Whether candidate a comes before candidate b; of equals the first does."""
    if foreign[a] != foreign[b]:
        return bool(foreign[a])
    if gains[a] != gains[b]:
        return bool(gains[a] > gains[b])
    shared_a, shared_b = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
    return bool(shared_a > shared_b) if shared_a != shared_b else a < b
