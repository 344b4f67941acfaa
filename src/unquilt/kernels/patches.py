"""Where the patches of a page stand in it and in the pages they were taken from."""

import numpy as np
import numpy.typing as npt
from numba import njit

from unquilt.kernels.words import CODE_MASK, read_character

Bytes = npt.NDArray[np.uint8]
Table = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

U1 = np.uint64(1)


@njit(cache=True, nogil=True)
def _make_tables(offsets: Numbers, is_source: npt.NDArray[np.bool_]) -> Numbers:
    """int64[pages + 1], where the hash table of each source begins: at least two slots for each of its grams."""
    begins = np.zeros(len(offsets), np.int64)
    for page in range(len(offsets) - 1):
        slots = 2
        while slots < 2 * (offsets[page + 1] - offsets[page]):
            slots *= 2
        begins[page + 1] = begins[page] + (slots if is_source[page] else 0)
    return begins


@njit(cache=True, nogil=True)
def _fill_table(grams: Hashes, table: npt.NDArray[np.int32]) -> None:
    """Write where each gram first stands to a table of -1."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(grams)):
        slot = grams[i] & mask
        while table[slot] >= 0 and grams[table[slot]] != grams[i]:
            slot = (slot + U1) & mask
        if table[slot] < 0:
            table[slot] = i


@njit(cache=True, nogil=True)
def _claim(
    page: Hashes,
    source: Hashes,
    table: npt.NDArray[np.int32],
    rank: int,
    free: Numbers,
    ranks: Numbers,
    places: Numbers,
) -> int:
    """Give what is free of a page's grams to a source that has it; how many are free then, in order in free."""
    mask = np.uint64(len(table) - 1)
    left = 0
    for n in range(len(free)):
        i = free[n]
        place = np.int64(-1)
        if i > 0 and ranks[i - 1] == rank:
            after = places[i - 1] + 1
            if after < len(source) and source[after] == page[i]:
                place = after
        if place < 0:
            slot = page[i] & mask
            while table[slot] >= 0 and source[table[slot]] != page[i]:
                slot = (slot + U1) & mask
            place = np.int64(table[slot])
        if place < 0:
            free[left] = i
            left += 1
        else:
            ranks[i] = rank
            places[i] = place
    return left


@njit(cache=True, nogil=True)
def claim_grams(
    grams: Hashes, offsets: Numbers, quilts: Numbers, source_offsets: Numbers, sources: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Give each gram of each quilt to the first of its sources that has it, with its place there.

    grams: uint64, those of all pages in order; offsets: int64[pages + 1], where each page's begin. quilts: int64[q],
    which pages are quilts; sources: which pages are their sources, in order; source_offsets: int64[q + 1], where
    each quilt's begin. A gram that goes on where the one before it ended is placed there, else where it first stands.

    Gives the offsets of the quilts' grams, int64[q + 1], and for each of these the rank of its source and its place
    in it, -1 where there is none.
    """
    is_source = np.zeros(len(offsets) - 1, np.bool_)
    for s in range(len(sources)):
        is_source[sources[s]] = True
    begins = _make_tables(offsets, is_source)
    tables = np.full(begins[-1], -1, np.int32)
    for page in range(len(is_source)):
        if is_source[page]:
            _fill_table(grams[offsets[page] : offsets[page + 1]], tables[begins[page] : begins[page + 1]])
    out_offsets = np.zeros(len(quilts) + 1, np.int64)
    for q in range(len(quilts)):
        out_offsets[q + 1] = out_offsets[q] + offsets[quilts[q] + 1] - offsets[quilts[q]]
    all_ranks = np.full(out_offsets[-1], -1, np.int64)
    all_places = np.full(out_offsets[-1], -1, np.int64)
    for q in range(len(quilts)):
        own = grams[offsets[quilts[q]] : offsets[quilts[q] + 1]]
        ranks = all_ranks[out_offsets[q] : out_offsets[q + 1]]
        places = all_places[out_offsets[q] : out_offsets[q + 1]]
        free = np.arange(len(own))
        left = len(own)
        for n in range(source_offsets[q], source_offsets[q + 1]):
            s = sources[n]
            source = grams[offsets[s] : offsets[s + 1]]
            table = tables[begins[s] : begins[s + 1]]
            left = _claim(own, source, table, n - source_offsets[q], free[:left], ranks, places)
    return out_offsets, all_ranks, all_places


@njit(cache=True, nogil=True)
def same_word(a: Bytes, begin_a: int, end_a: int, b: Bytes, begin_b: int, end_b: int, table: Table) -> bool:
    """Whether two words of UTF-8 texts are equal, case folded. table: that of the words kernel."""
    i, j = begin_a, begin_b
    while i < end_a and j < end_b:
        code_a, length_a = read_character(a, i, end_a)
        code_b, length_b = read_character(b, j, end_b)
        if (table[code_a] ^ table[code_b]) & CODE_MASK:
            return False
        i += length_a
        j += length_b
    return i == end_a and j == end_b


@njit(cache=True, nogil=True)
def drop_collisions(
    page: Bytes, begins: Numbers, ends: Numbers, source: Bytes, source_begins: Numbers, source_ends: Numbers,
    rank: int, k: int, ranks: Numbers, places: Numbers, table: Table,
) -> int:  # fmt: skip
    """Take back the grams claimed for a source whose k words are not those in it; how many there were.

    page, source: UTF-8 texts, with the bytes where each word begins and ends. ranks, places: of claim_grams.
    """
    dropped = 0
    for i in range(len(ranks)):
        if ranks[i] != rank:
            continue
        for w in range(k):
            x, y = i + w, places[i] + w
            if not same_word(page, begins[x], ends[x], source, source_begins[y], source_ends[y], table):
                ranks[i] = -1
                dropped += 1
                break
    return dropped


@njit(cache=True, nogil=True)
def claim_words(ranks: Numbers, places: Numbers, k: int) -> tuple[Numbers, Numbers]:
    """The source of each word and how far on it stands there: int64[words], rank -1 where there is none.

    ranks, places: int64[grams], as claim_grams leaves them. A word in several claimed grams goes to the source that
    comes first, and of its grams to the earliest.
    """
    words = len(ranks) + k - 1 if len(ranks) else 0
    word_ranks = np.full(words, -1, np.int64)
    shifts = np.zeros(words, np.int64)
    for i in range(len(ranks)):
        if ranks[i] < 0:
            continue
        for word in range(i, i + k):
            if word_ranks[word] < 0 or ranks[i] < word_ranks[word]:
                word_ranks[word] = ranks[i]
                shifts[word] = places[i] - i
    return word_ranks, shifts


@njit(cache=True, nogil=True)
def patch_runs(ranks: Numbers, shifts: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Maximal runs of words from one stretch of one source: begins, ends, ranks and shifts, int64[runs].

    ranks, shifts: int64[words], of claim_words.
    """
    n = len(ranks)
    begins, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    run_ranks, run_shifts = np.empty(n, np.int64), np.empty(n, np.int64)
    count = 0
    for i in range(n):
        if ranks[i] < 0:
            continue
        if count and ends[count - 1] == i and run_ranks[count - 1] == ranks[i] and run_shifts[count - 1] == shifts[i]:
            ends[count - 1] = i + 1
            continue
        begins[count], ends[count] = i, i + 1
        run_ranks[count], run_shifts[count] = ranks[i], shifts[i]
        count += 1
    return begins[:count], ends[:count], run_ranks[:count], run_shifts[:count]
