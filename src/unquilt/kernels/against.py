"""What pages of a crawl take from the pages of an earlier one, which are numbered after them.

Rows are those of postings: a key whose last two bits say what the row is, and page << 32 | count. Here SET is a set of
new pages and the old pages they share grams with, COMMON the grams a page already had in its own old version, and KIN
all grams of that version.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.cover import greedy_cover
from unquilt.kernels.jit import njit
from unquilt.kernels.postings import COMMON, LOW, SEED, SET, TAGS, TOTAL, U1, U32, hash_set
from unquilt.kernels.quilts import sets_of_pages
from unquilt.kernels.strings import STEP
from unquilt.kernels.words import mix

Hashes = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

KIN = np.uint64(3)
NO_KIN = np.uint32(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def hash_texts(words: Hashes, offsets: Offsets) -> Hashes:
    """uint64[texts], a hash of the words of each text in their order: words[offsets[i]:offsets[i + 1]]."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        h = SEED
        for j in range(offsets[i], offsets[i + 1]):
            h = mix(h ^ words[j]) * STEP
        hashes[i] = mix(h ^ np.uint64(offsets[i + 1] - offsets[i]))
    return hashes


@njit(cache=True, nogil=True)
def _find_page(pages: Pages, begin: int, end: int, wanted: int) -> int:
    """Where in ascending pages[begin:end] the first that is not less than wanted stands; end if there is none."""
    while begin < end:
        middle = (begin + end) // 2
        if pages[middle] < wanted:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True, nogil=True)
def _count_rows(keys: Hashes, pages: Pages, begins: Offsets, m: int, new: int, per_bucket: int) -> int:
    """How many rows taken_sets gives at most."""
    rows = 0
    for run in range(len(begins) - 1):
        begin, end = begins[run], begins[run + 1]
        if keys[begin] & U1 != U1:
            rows += end - begin
            continue
        old = _find_page(pages, begin, end, new)
        ranges = 0
        for i in range(begin, old):
            ranges += 1 if i == begin or pages[i] // per_bucket != pages[i - 1] // per_bucket else 0
        rows += old - begin + ranges * min(end - old, m)
    return rows


@njit(cache=True, nogil=True)
def _put_totals(
    keys: Hashes, pages: Pages, begin: int, end: int, new: int, kin: Pages, out_keys: Hashes, out: Hashes, at: int
) -> int:
    """Write the grams of new pages, and those of old versions of new pages, from at on; where it ends."""
    for i in range(begin, end):
        page = pages[i] if pages[i] < new else kin[pages[i]]
        if page != NO_KIN:
            out_keys[at] = (mix(np.uint64(page)) & ~TAGS) | (TOTAL if pages[i] < new else KIN)
            out[at] = (np.uint64(page) << U32) | ((keys[begin] & LOW) >> U1)
            at += 1
    return at


@njit(cache=True, nogil=True)
def _put_set(
    pages: Pages, begin: int, end: int, old: int, stop: int, m: int, kin: Pages, out_keys: Hashes, out: Hashes, at: int
) -> int:
    """Write what pages[begin:end] have of a gram that the old pages[old:stop] have, from at on; where it ends."""
    first = at
    for i in range(begin, end):
        own = kin[pages[i]]
        place = _find_page(pages, old, stop, own) if own != NO_KIN else stop
        if place < stop and pages[place] == own:
            out_keys[at] = (mix(np.uint64(pages[i])) & ~TAGS) | COMMON
            out[at] = (np.uint64(pages[i]) << U32) | U1
            at += 1
    if at - first == end - begin:
        return at
    first = at
    for i in range(begin, end):
        own = kin[pages[i]]
        place = _find_page(pages, old, stop, own) if own != NO_KIN else stop
        if place == stop or pages[place] != own:
            out[at] = np.uint64(pages[i]) << U32
            at += 1
    for i in range(old, stop if stop - old <= m else old):
        out[at] = np.uint64(pages[i]) << U32
        at += 1
    out_keys[first:at] = (hash_set(out, first, at) & ~TAGS) | SET
    out[first] |= U1
    return at


@njit(cache=True, nogil=True)
def taken_sets(
    keys: Hashes, pages: Pages, begins: Offsets, m: int, new: int, per_bucket: int, kin: Pages
) -> tuple[Hashes, Hashes]:
    """Rows for the exchange of pages, from all pages of some grams: keys and values uint64[n].

    keys: uint64[rows] of tag_grams, sorted; pages: uint32[rows], ascending where keys are equal, the old ones from
    new on; begins: runs of the keys. kin: for each page its version in the other crawl, or NO_KIN. A gram of both
    crawls gives a set for each range of per_bucket new pages: those of the range that have the gram and whose old
    version lacks it, and the old pages; without these if they are more than m.
    """
    most = _count_rows(keys, pages, begins, m, new, per_bucket)
    out_keys, out = np.empty(most, np.uint64), np.empty(most, np.uint64)
    at = 0
    for run in range(len(begins) - 1):
        begin, end = begins[run], begins[run + 1]
        if keys[begin] & U1 != U1:
            at = _put_totals(keys, pages, begin, end, new, kin, out_keys, out, at)
            continue
        old = _find_page(pages, begin, end, new)
        while begin < old and old < end:
            stop = _find_page(pages, begin, old, (pages[begin] // per_bucket + 1) * per_bucket)
            at = _put_set(pages, begin, stop, old, end, m, kin, out_keys, out, at)
            begin = stop
    return out_keys[:at], out[:at]


@njit(cache=True, nogil=True)
def read_taken(keys: Hashes, values: Hashes, first: int, n: int) -> tuple[Counts, Pages, Offsets, Counts]:
    """What the rows of merge_rows say of pages first to first + n.

    Gives int64[3, n], the grams of each page, of its old version and of both; the pages of the rows; where each set
    begins and ends in them, one after the other; and the grams of each set.
    """
    counts = np.zeros((3, n), np.int64)
    pages = np.empty(len(values), np.uint32)
    bounds = np.empty(2 * len(values), np.int64)
    weights = np.empty(len(values), np.int64)
    sets = 0
    for i in range(len(values)):
        pages[i] = values[i] >> U32
        number, tag = np.int64(values[i] & LOW), keys[i] & TAGS
        if tag == TOTAL:
            counts[0, pages[i] - first] += number
        elif tag == KIN:
            counts[1, pages[i] - first] += number
        elif tag == COMMON:
            counts[2, pages[i] - first] += number
        elif number:
            bounds[2 * sets], bounds[2 * sets + 1] = i, i + 1
            weights[sets] = number
            sets += 1
        else:
            bounds[2 * sets - 1] = i + 1
    return counts, pages, bounds[: 2 * sets], weights[:sets]


@njit(cache=True, nogil=True)
def cover_from(
    pages: Pages, bounds: Offsets, weights: Counts, mine: Offsets, page: int, new: int, sites: Pages, foreign: bool
) -> tuple[Pages, Counts]:
    """The greedy cover of what a page takes from old pages, and what each page adds.

    With foreign, of what no old page of its own site has, by pages of other sites; else of the rest, by its own site.
    """
    edges = 0
    for j in range(len(mine)):
        end = bounds[2 * mine[j] + 1]
        edges += end - _find_page(pages, bounds[2 * mine[j]], end, new)
    pairs = np.empty(edges, np.uint64)
    own = weights[mine]
    count = 0
    for j in range(len(mine)):
        end = bounds[2 * mine[j] + 1]
        begin = _find_page(pages, bounds[2 * mine[j]], end, new)
        is_foreign = True
        for i in range(begin, end):
            is_foreign = is_foreign and sites[pages[i]] != sites[page]
        for i in range(begin, end):
            if is_foreign == foreign and (foreign or sites[pages[i]] == sites[page]):
                pairs[count] = (np.uint64(pages[i]) << U32) | np.uint64(j)
                count += 1
    taken, added = greedy_cover(np.sort(pairs[:count]), own, 1.0)
    return taken, added


@njit(cache=True, nogil=True)
def taken_pages(
    keys: Hashes, values: Hashes, first: int, n: int, new: int, share: float, least: int, sites: Pages
) -> tuple[Counts, Counts, Offsets, Pages, Counts]:
    """What each of the pages first to first + n takes from old pages, which are numbered from new on.

    keys, values: of merge_rows. sites: uint32[all pages]. Gives int64[3, n] of read_taken; int64[3, n], the grams
    too common to be taken, and those taken from pages of its own site, and from others only; int64[n + 1], where the
    sources of each page begin; the sources, those of other sites first; and the grams each added. A page that takes
    fewer than least grams, or less than share of those that are not too common, has no sources.
    """
    counts, pages, bounds, weights = read_taken(keys, values, first, n)
    begins, sets = sets_of_pages(pages, bounds, first, n)
    grams = np.zeros((3, n), np.int64)
    source_begins = np.zeros(n + 1, np.int64)
    sources, added = np.empty(1024, np.uint32), np.empty(1024, np.int64)
    for p in range(n):
        at = source_begins[p]
        mine = sets[begins[p] : begins[p + 1]]
        for j in range(len(mine)):
            end = bounds[2 * mine[j] + 1]
            grams[0, p] += weights[mine[j]] if pages[end - 1] < new else 0
        for side in range(2):
            taken, gains = cover_from(pages, bounds, weights, mine, first + p, new, sites, side == 0)
            grams[2 - side, p] = gains.sum()
            while at + len(taken) > len(sources):
                sources, added = np.append(sources, np.empty_like(sources)), np.append(added, np.empty_like(added))
            sources[at : at + len(taken)], added[at : at + len(taken)] = taken, gains
            at += len(taken)
        whole = grams[1, p] + grams[2, p]
        is_listed = whole >= max(least, 1) and whole / (counts[0, p] - grams[0, p]) >= share
        source_begins[p + 1] = at if is_listed else source_begins[p]
    return counts, grams, source_begins, sources[: source_begins[n]], added[: source_begins[n]]


@njit(cache=True, nogil=True)
def choose_pairs(
    one: npt.NDArray[np.int64], other: npt.NDArray[np.int64], ones: int, others: int
) -> npt.NDArray[np.bool_]:
    """bool[n], which pairs are chosen if each in turn is, unless one of its two is in a pair chosen before.

    one, other: int64[n], in 0..ones - 1 and 0..others - 1.
    """
    is_taken, is_other_taken = np.zeros(ones, np.bool_), np.zeros(others, np.bool_)
    chosen = np.zeros(len(one), np.bool_)
    for i in range(len(one)):
        if not is_taken[one[i]] and not is_other_taken[other[i]]:
            chosen[i] = is_taken[one[i]] = is_other_taken[other[i]] = True
    return chosen
