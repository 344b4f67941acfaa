"""Cover what a page shares with others by as few other pages as greed finds."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import sort
from unquilt.kernels.jit import njit

Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

U32 = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def sources_of_sets(pairs: npt.NDArray[np.uint64], set_count: int) -> tuple[Pages, Offsets, Pages, Offsets, Pages]:
    """Which pages are in which sets, both ways round, from pairs of page << 32 | set.

    pairs: uint64[n], sorted; n may be 0. Gives the distinct pages; for each, where its sets begin in the sets; and
    for each of set_count sets, where its pages begin in a list of indices of pages.
    """
    pages = np.empty(len(pairs), np.uint32)
    page_begins = np.empty(len(pairs) + 1, np.int64)
    sets = np.empty(len(pairs), np.uint32)
    set_begins = np.zeros(set_count + 1, np.int64)
    count = 0
    for i in range(len(pairs)):
        page = np.uint32(pairs[i] >> U32)
        if count == 0 or pages[count - 1] != page:
            pages[count] = page
            page_begins[count] = i
            count += 1
        sets[i] = np.uint32(pairs[i] & LOW)
        set_begins[sets[i] + 1] += 1
    page_begins[count] = len(pairs)
    for s in range(set_count):
        set_begins[s + 1] += set_begins[s]
    members = np.empty(len(pairs), np.uint32)
    places = set_begins[:-1].copy()
    for p in range(count):
        for i in range(page_begins[p], page_begins[p + 1]):
            members[places[sets[i]]] = p
            places[sets[i]] += 1
    return pages[:count], page_begins[: count + 1], sets, set_begins, members


@njit(cache=True, nogil=True)
def greedy_cover(pairs: npt.NDArray[np.uint64], weights: Counts, least: float) -> tuple[Pages, Counts]:
    """The pages that cover the sets: again and again the one that covers most of what is left.

    pairs: uint64[n], sorted, page << 32 | set: the page is in the set. weights: int64[sets], at least 1. Ties go to
    the least page. It ends when nothing is left, or when no page covers at least ``least`` more. Gives the pages in
    the order they were taken and the weight each added.

    Linear in pairs but for sorting pages of equal gain: pages lie in a queue of buckets by gain; one whose gain
    has fallen is moved when its bucket is reached.
    """
    pages, page_begins, sets, set_begins, members = sources_of_sets(pairs, len(weights))
    n = len(pages)
    gains = np.zeros(n, np.int64)
    most = 0
    for p in range(n):
        for i in range(page_begins[p], page_begins[p + 1]):
            gains[p] += weights[sets[i]]
        most = max(most, gains[p])
    heads = np.full(most + 1, -1, np.int64)
    following = np.empty(n, np.int64)
    for p in range(n):
        following[p] = heads[gains[p]]
        heads[gains[p]] = p
    is_covered = np.zeros(len(weights), np.bool_)
    taken = np.empty(n, np.uint32)
    added = np.empty(n, np.int64)
    count = 0
    for level in range(most, 0, -1):
        if heads[level] < 0:
            continue
        if level < least:
            break
        here = _sorted_chain(heads[level], following)
        for j in range(len(here)):
            p = here[j]
            if gains[p] < level:
                if gains[p] > 0:
                    following[p] = heads[gains[p]]
                    heads[gains[p]] = p
                continue
            taken[count] = pages[p]
            added[count] = level
            count += 1
            for i in range(page_begins[p], page_begins[p + 1]):
                s = sets[i]
                if is_covered[s]:
                    continue
                is_covered[s] = True
                for q in range(set_begins[s], set_begins[s + 1]):
                    gains[members[q]] -= weights[s]
    return taken[:count], added[:count]


@njit(cache=True, nogil=True)
def _sorted_chain(head: int, following: Counts) -> Counts:
    length = 0
    p = head
    while p >= 0:
        length += 1
        p = following[p]
    chain = np.empty(length, np.int64)
    p = head
    for i in range(length):
        chain[i] = p
        p = following[p]
    sort(chain)
    return chain
