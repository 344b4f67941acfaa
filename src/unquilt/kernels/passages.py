"""Passages of a page that stand on an earlier page or on very many pages, from the places of all grams of a crawl.

A **place** is a page and which of its words a gram begins with, 32 bits each.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Places = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

U32 = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
COPY, BOILERPLATE = 1, 2
COLUMNS = 8


@njit(cache=True, nogil=True)
def place_grams(offsets: Numbers, pages: Numbers) -> Places:
    """uint64[grams], the place of each gram. Those of pages[p] are offsets[p]:offsets[p + 1], one a word."""
    places = np.empty(offsets[-1], np.uint64)
    for p in range(len(pages)):
        for i in range(offsets[p], offsets[p + 1]):
            places[i] = (np.uint64(pages[p]) << U32) | np.uint64(i - offsets[p])
    return places


@njit(cache=True, nogil=True)
def shared_places(places: Places, begins: Numbers, boilerplate: int) -> tuple[Places, Places, Pages]:
    """The grams of several pages, at every place but those of their first page: place, first place, number of pages.

    places: uint64[n], those of one gram ascending; begins: runs of the grams. Of a gram on more than ``boilerplate``
    pages, if that is not 0, the places on its first page are given as well. uint64[m], uint64[m], uint32[m].
    """
    counts = np.ones(len(begins) - 1, np.uint32)
    size = 0
    for run in range(len(counts)):
        for i in range(begins[run] + 1, begins[run + 1]):
            counts[run] += np.uint32(places[i] >> U32 != places[i - 1] >> U32)
        if counts[run] > 1:
            size += begins[run + 1] - begins[run]
    here, first, pages = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint32)
    at = 0
    for run in range(len(counts)):
        if counts[run] == 1:
            continue
        source = places[begins[run]]
        is_boilerplate = 0 < boilerplate < counts[run]
        for i in range(begins[run], begins[run + 1]):
            if is_boilerplate or places[i] >> U32 != source >> U32:
                here[at], first[at], pages[at] = places[i], source, counts[run]
                at += 1
    return here[:at], first[:at], pages[:at]


@njit(cache=True, nogil=True)
def order_by(numbers: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """An order by number that keeps that of equal ones, and where each number begins: int64[n], int64[count + 1].

    numbers: int64[n], from 0 to count - 1; n may be 0.
    """
    cuts = np.zeros(count + 1, np.int64)
    for i in range(len(numbers)):
        cuts[numbers[i] + 1] += 1
    for number in range(count):
        cuts[number + 1] += cuts[number]
    at = cuts[:-1].copy()
    order = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        order[at[numbers[i]]] = i
        at[numbers[i]] += 1
    return order, cuts


@njit(cache=True, nogil=True)
def find_passages(
    places: Places, firsts: Places, pages: Pages, k: int, min_words: int, boilerplate: int, min_boilerplate: int
) -> Numbers:
    """The passages of some pages: int64[n, 8], by page and place.

    places, firsts, pages: of shared_places, by place. Boilerplate is what lies in at least min_boilerplate words whose
    grams are all on more than ``boilerplate`` pages, if that is not 0. A copy is other words that lie in at least
    min_words, if that is not 0, whose grams, none of them of boilerplate, are all on an earlier page. A passage is its
    page, begin and end in words, COPY or BOILERPLATE, the page, begin and end in words where a copy stands first (of
    boilerplate, itself), and on how many pages the rarest gram of boilerplate is (of a copy, 0).
    """
    found = np.empty((64, COLUMNS), np.int64)
    count = begin = 0
    while begin < len(places):
        end = begin
        while end < len(places) and places[end] >> U32 == places[begin] >> U32:
            end += 1
        some = _passages_of_page(
            places[begin:end], firsts[begin:end], pages[begin:end], k, min_words, boilerplate, min_boilerplate
        )
        found = _with_room(found, count + len(some))
        _copy_rows(some, found, count)
        count += len(some)
        begin = end
    return found[:count]


@njit(cache=True, nogil=True)
def _with_room(rows: Numbers, count: int) -> Numbers:
    """The rows, which may have moved, with room for so many."""
    if count <= len(rows):
        return rows
    grown = np.empty((2 * count, rows.shape[1]), np.int64)
    _copy_rows(rows, grown, 0)
    return grown


@njit(cache=True, nogil=True)
def _copy_rows(rows: Numbers, out: Numbers, at: int) -> None:
    """Write rows to out[at:]. A loop: numba takes seconds to compile the slice."""
    for i in range(len(rows)):
        for column in range(rows.shape[1]):
            out[at + i, column] = rows[i, column]


@njit(cache=True, nogil=True)
def _passages_of_page(
    places: Places, firsts: Places, pages: Pages, k: int, min_words: int, boilerplate: int, min_boilerplate: int
) -> Numbers:
    """find_passages of one page."""
    words = np.int64(places[-1] & LOW) + k
    kinds = np.zeros(words, np.int8)
    sources = np.zeros(words, np.uint64)  # of words of copies: where the word stands first
    is_boilerplate = np.zeros(len(places), np.bool_)
    wanted = np.zeros(len(places), np.bool_)
    if boilerplate:
        for i in range(len(places)):
            wanted[i] = pages[i] > boilerplate
        runs = _runs_of(places, wanted)
        for n in range(len(runs)):
            begin, end = runs[n, 0], runs[n, 1]
            first, last = np.int64(places[begin] & LOW), np.int64(places[end - 1] & LOW) + k
            if last - first >= min_boilerplate:
                is_boilerplate[begin:end] = True
                kinds[first:last] = BOILERPLATE
    if min_words:
        for i in range(len(places)):
            wanted[i] = not is_boilerplate[i] and firsts[i] >> U32 != places[i] >> U32
        runs = _runs_of(places, wanted)
        for n in range(len(runs)):
            begin, end = runs[n, 0], runs[n, 1]
            if end - begin + k - 1 >= min_words:
                _claim_words(np.int64(places[begin] & LOW), firsts[begin:end], k, kinds, sources)
    found: Numbers = _join_words(places, pages, is_boilerplate, kinds, sources)
    return found


@njit(cache=True, nogil=True)
def _runs_of(places: Places, wanted: Flags) -> Numbers:
    """int64[runs, 2], begin and end of each maximal run of wanted places that follow each other word by word."""
    found = np.empty((len(places), 2), np.int64)
    count = 0
    for i in range(len(places)):
        if not wanted[i]:
            continue
        if count and found[count - 1, 1] == i and places[i] == places[i - 1] + np.uint64(1):
            found[count - 1, 1] = i + 1
        else:
            found[count, 0], found[count, 1] = i, i + 1
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def _claim_words(first: int, grams: Places, k: int, kinds: npt.NDArray[np.int8], sources: Places) -> None:
    """Write the kind and source of each word of a run of copied grams, but for words that have one.

    grams: uint64[n], the first place of each gram, the run beginning at word ``first``. A stretch of a source is
    followed as long as one of its grams has the word; then the gram that begins at the word tells, or else the last.
    """
    last = first + len(grams) - 1
    source = np.uint64(0)  # of the word, in the stretch that is followed
    reach = first
    for word in range(first, last + k):
        at = min(word, last)
        if word >= reach:
            source = grams[at - first] + np.uint64(word - at)
            reach = at + k
        elif word <= last and grams[word - first] == source:
            reach = word + k
        if kinds[word] == 0:
            kinds[word], sources[word] = COPY, source
        source += np.uint64(1)


@njit(cache=True, nogil=True)
def _join_words(
    places: Places, pages: Pages, is_boilerplate: Flags, kinds: npt.NDArray[np.int8], sources: Places
) -> Numbers:
    """Maximal runs of words of boilerplate, and of words that follow each other in a source too: rows as found."""
    found = np.empty((64, COLUMNS), np.int64)
    count = 0
    gram = 0
    word = 0
    while word < len(kinds):
        begin, kind = word, kinds[word]
        word += 1
        while word < len(kinds) and kinds[word] == kind and (kind != COPY or sources[word] == sources[word - 1] + 1):
            word += 1
        if kind == 0:
            continue
        found = _with_room(found, count + 1)
        rarest = np.uint32(0)
        if kind == BOILERPLATE:
            while gram < len(places) and np.int64(places[gram] & LOW) < word:
                if is_boilerplate[gram]:
                    rarest = min(rarest, pages[gram]) if rarest else pages[gram]
                gram += 1
        source = sources[begin] if kind == COPY else places[0] - (places[0] & LOW) + np.uint64(begin)
        found[count, 0], found[count, 1], found[count, 2] = np.int64(places[0] >> U32), begin, word
        found[count, 3], found[count, 7] = kind, rarest
        found[count, 4], found[count, 5] = np.int64(source >> U32), np.int64(source & LOW)
        found[count, 6] = found[count, 5] + word - begin
        count += 1
    return found[:count]
