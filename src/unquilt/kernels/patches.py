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
def first_places(grams: Hashes) -> tuple[Hashes, Numbers]:
    """A hash table of where each gram first stands: keys uint64[slots], places int64[slots], -1 for a free slot."""
    slots = 2
    while slots < 2 * len(grams):
        slots *= 2
    mask = np.uint64(slots - 1)
    keys = np.empty(slots, np.uint64)
    places = np.full(slots, -1, np.int64)
    for i in range(len(grams)):
        slot = grams[i] & mask
        while places[slot] >= 0 and keys[slot] != grams[i]:
            slot = (slot + U1) & mask
        if places[slot] < 0:
            keys[slot] = grams[i]
            places[slot] = i
    return keys, places


@njit(cache=True, nogil=True)
def place_of(gram: np.uint64, keys: Hashes, places: Numbers) -> int:
    """Where a gram first stands, -1 if it does not."""
    mask = np.uint64(len(keys) - 1)
    slot = gram & mask
    while places[slot] >= 0 and keys[slot] != gram:
        slot = (slot + U1) & mask
    return int(places[slot])


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
def claim_grams(page: Hashes, sources: Hashes, offsets: Numbers, ranks: Numbers, places: Numbers) -> None:
    """Give each gram of a page to the first of its sources that has it, with its place there.

    page: uint64[n], its grams in order. sources: uint64, the grams of the sources in order, one source after the
    other; offsets: int64[sources + 1], where each begins. ranks, places: int64[n], -1 where unclaimed; written to.
    A gram that goes on where the one before it ended is placed there, else where it first stands.
    """
    for rank in range(len(offsets) - 1):
        source = sources[offsets[rank] : offsets[rank + 1]]
        keys, firsts = first_places(source)
        for i in range(len(page)):
            if ranks[i] >= 0:
                continue
            place = place_of(page[i], keys, firsts)
            if place < 0:
                continue
            if i > 0 and ranks[i - 1] == rank:
                following = places[i - 1] + 1
                if following < len(source) and source[following] == page[i]:
                    place = following
            ranks[i] = rank
            places[i] = place


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


@njit(cache=True, nogil=True)
def count_characters(text: Bytes, places: Numbers) -> Numbers:
    """How many characters stand before each byte offset: int64[n]. text: UTF-8; places: int64[n], ascending."""
    counts = np.empty(len(places), np.int64)
    characters = at = 0
    for i in range(len(places)):
        while at < places[i]:
            characters += 1 if (text[at] & 0xC0) != 0x80 else 0
            at += 1
        counts[i] = characters
    return counts
