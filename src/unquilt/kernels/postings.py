"""Which pages have which grams: distinct grams of a page, sets of pages that share grams, and their way to a page.

Rows that travel between the steps are keys with a tag in the low bits and values of two 32-bit halves, a page and
a count, so that one exchange carries everything that is known about a page.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.words import mix

Hashes = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

U1, U2, U32 = np.uint64(1), np.uint64(2), np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
# A gram's key is odd. A page's number of grams travels with them under an even key: 31 bits of place, 32 of number.
PLACE = np.uint64(0xFFFFFFFE00000000)
# Keys of the second exchange, by their last two bits.
TAGS = np.uint64(3)
SET, TOTAL, COMMON = np.uint64(1), np.uint64(0), np.uint64(2)
SEED = np.uint64(0x243F6A8885A308D3)
# Rows of the third: a page, and a number of which the two highest bits say what it is.
MOST_GRAMS = (1 << 30) - 1
IS_TOTAL, IS_COMMON = np.uint32(1 << 30), np.uint32(2 << 30)
NUMBER = np.uint32(MOST_GRAMS)


@njit(cache=True, nogil=True)
def distinct_grams(grams: Hashes, offsets: Offsets) -> tuple[Hashes, Offsets]:
    """The distinct grams of each page in the order they first occur, and where each page's begin.

    grams: uint64[n]; those of page p are grams[offsets[p]:offsets[p + 1]]. offsets: int64[pages + 1].
    """
    pages = len(offsets) - 1
    longest = 0
    for page in range(pages):
        longest = max(longest, offsets[page + 1] - offsets[page])
    size = 2
    while size < 2 * longest:
        size *= 2
    table = np.empty(size, np.uint64)
    owner = np.full(size, -1, np.int64)  # the page that filled a slot last; no slot needs emptying
    out = np.empty(len(grams), np.uint64)
    out_offsets = np.zeros(pages + 1, np.int64)
    count = 0
    for page in range(pages):
        slots = 2
        while slots < 2 * (offsets[page + 1] - offsets[page]):
            slots *= 2
        mask = np.uint64(slots - 1)
        for i in range(offsets[page], offsets[page + 1]):
            slot = grams[i] & mask
            while owner[slot] == page and table[slot] != grams[i]:
                slot = (slot + U1) & mask
            if owner[slot] != page:
                owner[slot] = page
                table[slot] = grams[i]
                out[count] = grams[i]
                count += 1
        out_offsets[page + 1] = count
    return out[:count], out_offsets


@njit(cache=True, nogil=True)
def tag_grams(grams: Hashes, offsets: Offsets, first_page: int) -> tuple[Hashes, Pages]:
    """Rows for the first exchange: each gram with its page, and for each page with grams how many it has.

    grams, offsets: as distinct_grams gives them. Pages are numbered from first_page.
    """
    pages = len(offsets) - 1
    keys = np.empty(len(grams) + pages, np.uint64)
    owners = np.empty(len(grams) + pages, np.uint32)
    at = 0
    for page in range(pages):
        count = offsets[page + 1] - offsets[page]
        if count == 0:
            continue
        owner = np.uint32(first_page + page)
        keys[at] = (mix(np.uint64(owner) + U1) & PLACE) | (np.uint64(min(count, MOST_GRAMS)) << U1)
        owners[at] = owner
        at += 1
        for i in range(offsets[page], offsets[page + 1]):
            keys[at] = grams[i] | U1
            owners[at] = owner
            at += 1
    return keys[:at], owners[:at]


@njit(cache=True, nogil=True)
def are_among(keys: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    """bool[n], whether each of keys uint64[n] is one of wanted uint64[m]; n and m may be 0."""
    slots = 2
    while slots < 2 * len(wanted):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.empty(slots, np.uint64)
    is_used = np.zeros(slots, np.bool_)
    for i in range(len(wanted)):
        slot = mix(wanted[i]) & mask
        while is_used[slot] and table[slot] != wanted[i]:
            slot = (slot + U1) & mask
        is_used[slot] = True
        table[slot] = wanted[i]
    found = np.zeros(len(keys), np.bool_)
    for i in range(len(keys)):
        slot = mix(keys[i]) & mask
        while is_used[slot] and table[slot] != keys[i]:
            slot = (slot + U1) & mask
        found[i] = is_used[slot]
    return found


@njit(cache=True, nogil=True)
def hash_set(pages: Pages | Hashes, begin: int, end: int) -> np.uint64:
    """A hash of pages[begin:end] in their order."""
    h = SEED
    for i in range(begin, end):
        h = mix(h ^ np.uint64(pages[i]))
    return h


@njit(cache=True, nogil=True)
def _has_two_sites(pages: Pages, begin: int, end: int, sites: Pages) -> bool:
    for i in range(begin + 1, end):
        if sites[pages[i]] != sites[pages[begin]]:
            return True
    return False


@njit(cache=True, nogil=True)
def page_sets(keys: Hashes, pages: Pages, begins: Offsets, m: int, sites: Pages) -> tuple[Hashes, Hashes]:
    """Rows for the second exchange, from all pages of some grams: keys and values uint64[n].

    keys: uint64[rows] of tag_grams, sorted; pages: uint32[rows], ascending where keys are equal; begins: runs of
    the keys. A gram with 2 to m pages gives its set of pages: the first with count 1, the others with 0. One with
    more pages, on more than one site (sites: uint32[all pages]), is common and foreign for each of its pages.
    """
    out_keys = np.empty(len(keys), np.uint64)
    values = np.empty(len(keys), np.uint64)
    at = 0
    for run in range(len(begins) - 1):
        begin, end = begins[run], begins[run + 1]
        is_gram = keys[begin] & U1 == U1
        is_set = is_gram and end - begin <= m
        if is_set and end - begin == 1:
            continue
        if is_gram and not is_set and not _has_two_sites(pages, begin, end, sites):
            continue
        key = (hash_set(pages, begin, end) & ~TAGS) | SET if is_set else np.uint64(0)
        for i in range(begin, end):
            count = U1 if i == begin or not is_set else np.uint64(0)
            if not is_set:
                key = (mix(np.uint64(pages[i])) & ~TAGS) | (COMMON if is_gram else TOTAL)
                count = U1 if is_gram else (keys[begin] & LOW) >> U1
            out_keys[at] = key
            values[at] = (np.uint64(pages[i]) << U32) | count
            at += 1
    return out_keys[:at], values[:at]


@njit(cache=True, nogil=True)
def _group_end(values: Hashes, begin: int, end: int) -> int:
    """Where the rows of a set, or the one row of a page, end: each begins with a count, the rest have none."""
    i = begin + 1
    while i < end and values[i] & LOW == 0:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _has_same_pages(a: Hashes, begin_a: int, b: Hashes, begin_b: int, size: int) -> bool:
    for i in range(size):
        if a[begin_a + i] >> U32 != b[begin_b + i] >> U32:
            return False
    return True


@njit(cache=True, nogil=True)
def merge_rows(keys: Hashes, values: Hashes, begins: Offsets) -> tuple[Hashes, Hashes]:
    """The rows of page_sets with one copy of each set, and one row for each page and tag; counts added up.

    keys: uint64[n], sorted; values: uint64[n], the rows of a set in order; begins: runs of the keys. Different
    sets of one key stay apart: a copy is only added to one that is equal to it.
    """
    out_keys = np.empty(len(keys), np.uint64)
    out = np.empty(len(keys), np.uint64)
    at = 0
    for run in range(len(begins) - 1):
        end = begins[run + 1]
        first = at
        i = begins[run]
        while i < end:
            stop = _group_end(values, i, end)
            j = first
            while j < at:
                other = _group_end(out, j, at)
                if other - j == stop - i and _has_same_pages(out, j, values, i, stop - i):
                    out[j] += values[i] & LOW
                    break
                j = other
            if j >= at:
                for p in range(i, stop):
                    out_keys[at] = keys[p]
                    out[at] = values[p]
                    at += 1
            i = stop
    return out_keys[:at], out[:at]


@njit(cache=True, nogil=True)
def _count_rows(values: Hashes, buckets: int, pages_per_bucket: int) -> Offsets:
    """int64[buckets + 1], where the rows of each bucket of pages begin in send_rows."""
    offsets = np.zeros(buckets + 1, np.int64)
    i = 0
    while i < len(values):
        end = _group_end(values, i, len(values))
        last = np.int64(-1)
        for p in range(i, end):
            bucket = np.int64(values[p] >> U32) // np.int64(pages_per_bucket)
            if bucket != last:
                offsets[bucket + 1] += end - i
            last = bucket
        i = end
    for b in range(buckets):
        offsets[b + 1] += offsets[b]
    return offsets


@njit(cache=True, nogil=True)
def send_rows(keys: Hashes, values: Hashes, buckets: int, pages_per_bucket: int) -> tuple[Offsets, Pages, Pages]:
    """Rows for the third exchange, by bucket of pages: offsets int64[buckets + 1], pages and numbers uint32[n].

    keys, values: of merge_rows. A set goes once to each bucket that has one of its pages, whole.
    """
    offsets = _count_rows(values, buckets, pages_per_bucket)
    places = offsets.copy()
    pages = np.empty(offsets[buckets], np.uint32)
    numbers = np.empty(offsets[buckets], np.uint32)
    i = 0
    while i < len(values):
        end = _group_end(values, i, len(values))
        tag = keys[i] & TAGS
        mark = IS_TOTAL if tag == TOTAL else IS_COMMON if tag == COMMON else np.uint32(0)
        last = np.int64(-1)
        for p in range(i, end):
            bucket = np.int64(values[p] >> U32) // np.int64(pages_per_bucket)
            if bucket != last:
                for q in range(i, end):
                    pages[places[bucket]] = np.uint32(values[q] >> U32)
                    numbers[places[bucket]] = np.uint32(values[q] & LOW) | mark
                    places[bucket] += 1
            last = bucket
        i = end
    return offsets, pages, numbers
