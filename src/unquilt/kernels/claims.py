"""Which gram of a quilt is whose: grams of several sites, the source that each goes to, and where it stands there.

What is claimed is known by hash alone, and little of a crawl is: only the pages that have it are read again, for its
places. Rows on that way are a **pair** (a quilt, the rank of a source, and which of the two the row is about), a place
with what the row tells in its last two bits, and a value:

    GRAM      at a gram's first word: the gram
    WORD      at a word: where it begins and ends in the text, 32 bits each
    LETTERS   at a word: two of its characters, case folded; as many rows as it takes
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import grown, grown_rows, place_of, sort
from unquilt.kernels.jit import njit
from unquilt.kernels.patches import claim_words, patch_runs
from unquilt.kernels.words import CODE_MASK, read_character

Hashes = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Table = npt.NDArray[np.uint32]

U1, U2, U32 = np.uint64(1), np.uint64(2), np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
NO_QUILT = np.uint32(0xFFFFFFFF)
GRAM, WORD, LETTERS = 0, 1, 2


@njit(cache=True, nogil=True)
def foreign_rows(keys: Hashes, pages: Pages, begins: Offsets, sites: Pages) -> tuple[Hashes, Hashes]:
    """The grams that pages of more than one site have: their keys and pages, uint64[n] both, in order.

    keys: uint64[rows] of tag_grams, sorted; pages: uint32[rows]; begins: runs of the keys; sites: uint32[all pages].
    """
    found = np.zeros(len(begins) - 1, np.bool_)
    size = 0
    for run in range(len(begins) - 1):
        begin, end = begins[run], begins[run + 1]
        if end - begin == 1 or keys[begin] & U1 == 0:
            continue
        for i in range(begin + 1, end):
            if sites[pages[i]] != sites[pages[begin]]:
                found[run] = True
                size += end - begin
                break
    out, owners = np.empty(size, np.uint64), np.empty(size, np.uint64)
    at = 0
    for run in range(len(begins) - 1):
        if found[run]:
            for i in range(begins[run], begins[run + 1]):
                out[at] = keys[i]
                owners[at] = pages[i]
                at += 1
    return out, owners


@njit(cache=True, nogil=True)
def claim_grams(
    keys: Hashes, pages: Hashes, begins: Offsets, quilts: Pages, source_begins: Pages, sources: Pages
) -> tuple[Pages, Hashes, Hashes]:
    """Each gram of each quilt that a source has goes to the first of them: pages uint32[n], pairs and grams uint64[n].

    keys, pages: of foreign_rows; begins: runs of the keys. quilts: uint32[all pages], which quilt each is, or NO_QUILT;
    sources: those of quilt q, in the order they were taken, are sources[source_begins[q]:source_begins[q + 1]]. Two
    rows a claim: one for the quilt's page, one for that of the source.
    """
    seen = np.full(len(quilts), -1, np.int64)  # the run that a page was last in
    out_pages = np.empty(1024, np.uint32)
    pairs, grams = np.empty(1024, np.uint64), np.empty(1024, np.uint64)
    count = 0
    for run in range(len(begins) - 1):
        for i in range(begins[run], begins[run + 1]):
            seen[pages[i]] = run
        for i in range(begins[run], begins[run + 1]):
            quilt = quilts[pages[i]]
            if quilt == NO_QUILT:
                continue
            for at in range(source_begins[quilt], source_begins[quilt + 1]):
                if seen[sources[at]] == run:
                    if count + 2 > len(pairs):
                        out_pages = grown(out_pages)
                        pairs, grams = grown(pairs), grown(grams)
                    pair = (np.uint64(quilt) << U32) | (np.uint64(at - source_begins[quilt]) << U1)
                    out_pages[count], out_pages[count + 1] = np.uint32(pages[i]), sources[at]
                    pairs[count], pairs[count + 1] = pair, pair | U1
                    grams[count], grams[count + 1] = keys[begins[run]], keys[begins[run]]
                    count += 2
                    break
    return out_pages[:count], pairs[:count], grams[:count]


@njit(cache=True, nogil=True)
def place_claims(
    grams: Hashes, offsets: Offsets, word_begins: Offsets, begins: Offsets, ends: Offsets, claim_begins: Offsets,
    pairs: Hashes, wanted: Hashes, k: int, data: Bytes, text_begins: Offsets, byte_begins: Offsets,
    byte_ends: Offsets, table: Table,
) -> Hashes:  # fmt: skip
    """Where what is claimed stands in some pages: uint64[n, 3], the rows of each pair in the order of their places.

    grams: uint64, those of all pages in order, of page p from offsets[p] on; word_begins: int64[pages + 1], where its
    words begin in begins and ends, which tell where words are in its text. pairs, wanted: uint64[claims], of page p
    from claim_begins[p] on, the keys of the grams that are wanted. LETTERS are told if byte_begins and byte_ends, where
    words are in the UTF-8 of their text, are given; the text of p begins at data[text_begins[p]]. table: that of the
    words kernel.
    """
    rows = np.empty((1024, 3), np.uint64)
    count = 0
    for page in range(len(offsets) - 1):
        first, claims = claim_begins[page], claim_begins[page + 1] - claim_begins[page]
        heads, following = _table_of(wanted[first : first + claims])
        mask = np.uint64(len(heads) - 1)
        told, owners = _number_pairs(pairs[first : first + claims])
        words = word_begins[page]
        for i in range(offsets[page + 1] - offsets[page]):
            key = grams[offsets[page] + i] | U1
            slot = (key >> U1) & mask
            while heads[slot] >= 0 and wanted[first + heads[slot]] != key:
                slot = (slot + U1) & mask
            claim = heads[slot]
            while claim >= 0:
                pair, owner = pairs[first + claim], owners[claim]
                rows = _add_row(rows, count, pair, i, GRAM, key)
                count += 1
                for word in range(max(i, told[owner] + 1), i + k):
                    here = words + word
                    span = (np.uint64(begins[here]) << U32) | np.uint64(ends[here])
                    rows = _add_row(rows, count, pair, word, WORD, span)
                    count += 1
                    if len(byte_begins):
                        at, end = text_begins[page] + byte_begins[here], text_begins[page] + byte_ends[here]
                        while at < end:
                            letters, at = _two_letters(data, at, end, table)
                            rows = _add_row(rows, count, pair, word, LETTERS, letters)
                            count += 1
                told[owner] = i + k - 1
                claim = following[claim]
    return rows[:count]


@njit(cache=True, nogil=True)
def _add_row(rows: Hashes, count: int, pair: np.uint64, place: int, kind: int, value: np.uint64) -> Hashes:
    """Write a row behind count others; the rows, which may have moved."""
    if count == len(rows):
        rows = grown_rows(rows)
    rows[count, 0] = pair
    rows[count, 1] = (np.uint64(place) << U2) | np.uint64(kind)
    rows[count, 2] = value
    return rows


@njit(cache=True, nogil=True)
def _table_of(keys: Hashes) -> tuple[Offsets, Offsets]:
    """Where the first of equal keys is, in a table of slots, and where the next equal one is; -1 if nowhere."""
    slots = 2
    while slots < 2 * len(keys):
        slots *= 2
    mask = np.uint64(slots - 1)
    heads = np.full(slots, -1, np.int64)
    following = np.full(len(keys), -1, np.int64)
    for n in range(len(keys) - 1, -1, -1):
        slot = (keys[n] >> U1) & mask
        while heads[slot] >= 0 and keys[heads[slot]] != keys[n]:
            slot = (slot + U1) & mask
        following[n] = heads[slot]
        heads[slot] = n
    return heads, following


@njit(cache=True, nogil=True)
def _number_pairs(pairs: Hashes) -> tuple[Offsets, Offsets]:
    """An int64 of -1 for each distinct pair, and which one each of pairs is."""
    distinct = pairs.copy()
    sort(distinct)
    count = 0
    for n in range(len(distinct)):
        if n == 0 or distinct[n] != distinct[count - 1]:
            distinct[count] = distinct[n]
            count += 1
    numbers = np.empty(len(pairs), np.int64)
    for n in range(len(pairs)):
        numbers[n] = place_of(distinct[:count], pairs[n])
    return np.full(count, -1, np.int64), numbers


@njit(cache=True, nogil=True)
def _two_letters(data: Bytes, at: int, end: int, table: Table) -> tuple[np.uint64, int]:
    """The next two characters of data[at:end], case folded, or the last one; and what comes behind them."""
    code, length = read_character(data, at, end)
    letters = np.uint64(table[code] & CODE_MASK) << U32
    at += length
    if at < end:
        code, length = read_character(data, at, end)
        letters |= np.uint64(table[code] & CODE_MASK)
        at += length
    return letters, at


@njit(cache=True, nogil=True)
def stitch(pairs: Hashes, places: Hashes, values: Hashes, k: int, exact: bool) -> tuple[Offsets, Offsets]:
    """The patches of some quilts: int64[n, 7], and int64[quilts, 2], each quilt with the collisions in it.

    pairs, places, values: uint64[rows] of place_claims, by pair. A patch is its quilt, the rank of its source, begin
    and end in the text of the quilt, and of the source, and its words. A gram that goes on where the one before it
    ended is placed there, else where it first stands. With exact, one whose words are not those in the source is a
    collision, and no part of a patch.
    """
    patches = np.empty((64, 7), np.int64)
    collisions = np.empty((64, 2), np.int64)
    count = quilts = 0
    begin = 0
    while begin < len(pairs):
        quilt = pairs[begin] >> U32
        end = begin
        while end < len(pairs) and pairs[end] >> U32 == quilt:
            end += 1
        found, dropped = _stitch_quilt(pairs[begin:end], places[begin:end], values[begin:end], k, exact)
        while count + len(found) > len(patches):
            patches = grown_rows(patches)
        for n in range(len(found)):
            patches[count, 0] = quilt
            for column in range(6):
                patches[count, column + 1] = found[n, column]
            count += 1
        if quilts == len(collisions):
            collisions = grown_rows(collisions)
        collisions[quilts, 0], collisions[quilts, 1] = quilt, dropped
        quilts += 1
        begin = end
    return patches[:count], collisions[:quilts]


@njit(cache=True, nogil=True)
def _stitch_quilt(pairs: Hashes, places: Hashes, values: Hashes, k: int, exact: bool) -> tuple[Offsets, int]:
    """The patches of one quilt, int64[n, 6] as in stitch without the quilt, and how many grams are collisions."""
    last_word = last_rank = np.int64(0)
    for row in range(len(pairs)):
        last_rank = max(last_rank, _rank(pairs[row]))
        if pairs[row] & U1 == 0:
            last_word = max(last_word, _place(places[row]) + (k - 1 if _kind(places[row]) == GRAM else 0))
    grams = np.full(last_word - k + 2, -1, np.int64)  # of the quilt: the row that tells each
    words = np.full(last_word + 1, -1, np.int64)
    theirs = np.empty(len(pairs), np.int64)  # of the sources, one after another: the rows that tell grams
    their_words = np.empty(len(pairs), np.int64)
    gram_begins, word_begins = np.zeros(last_rank + 2, np.int64), np.zeros(last_rank + 2, np.int64)
    gram_count = word_count = 0
    for row in range(len(pairs)):
        rank, kind = _rank(pairs[row]), _kind(places[row])
        if pairs[row] & U1 == 0:
            if kind == GRAM:
                grams[_place(places[row])] = row
            elif kind == WORD:
                words[_place(places[row])] = row
        elif kind == GRAM:
            theirs[gram_count] = row
            gram_count += 1
        elif kind == WORD:
            their_words[word_count] = row
            word_count += 1
        gram_begins[rank + 1], word_begins[rank + 1] = gram_count, word_count
    for rank in range(last_rank + 1):  # one without claims ends where the one before it does
        gram_begins[rank + 1] = max(gram_begins[rank + 1], gram_begins[rank])
        word_begins[rank + 1] = max(word_begins[rank + 1], word_begins[rank])
    ranks, at = _place_grams(grams, theirs[:gram_count], pairs, places, values)
    dropped = 0
    if exact:
        for i in range(len(grams)):
            if ranks[i] >= 0:
                some = their_words[word_begins[ranks[i]] : word_begins[ranks[i] + 1]]
                if not _same_words(words[i : i + k], some, at[i], places, values):
                    ranks[i] = -1
                    dropped += 1
    begins, ends, run_ranks, shifts = patch_runs(*claim_words(ranks, at, k))
    patches = np.empty((len(begins), 6), np.int64)
    for n in range(len(begins)):
        some = their_words[word_begins[run_ranks[n]] : word_begins[run_ranks[n] + 1]]
        first = some[_find_word(some, begins[n] + shifts[n], places)]
        last = some[_find_word(some, ends[n] - 1 + shifts[n], places)]
        patches[n, 0] = run_ranks[n]
        patches[n, 1], patches[n, 2] = values[words[begins[n]]] >> U32, values[words[ends[n] - 1]] & LOW
        patches[n, 3], patches[n, 4] = values[first] >> U32, values[last] & LOW
        patches[n, 5] = ends[n] - begins[n]
    return patches, dropped


@njit(cache=True, nogil=True)
def _rank(pair: np.uint64) -> np.int64:
    return np.int64((pair & LOW) >> U1)


@njit(cache=True, nogil=True)
def _place(place: np.uint64) -> np.int64:
    return np.int64(place >> U2)


@njit(cache=True, nogil=True)
def _kind(place: np.uint64) -> np.int64:
    return np.int64(place & np.uint64(3))


@njit(cache=True, nogil=True)
def _place_grams(
    grams: Offsets, theirs: Offsets, pairs: Hashes, places: Hashes, values: Hashes
) -> tuple[Offsets, Offsets]:
    """The rank of the source of each gram of a quilt and its place there: int64[grams], -1 where there is none.

    grams: int64, the rows of its grams, or -1. theirs: the rows of the same grams in the sources; a gram is in one.
    """
    heads, _ = _table_of(values[theirs])
    mask = np.uint64(len(heads) - 1)
    ranks, at = np.full(len(grams), -1, np.int64), np.full(len(grams), -1, np.int64)
    before = np.int64(-1)  # which of theirs the gram before is
    for i in range(len(grams)):
        if grams[i] < 0:
            before = np.int64(-1)
            continue
        key, rank = values[grams[i]], _rank(pairs[grams[i]])
        after = before + 1
        goes_on = (
            before >= 0
            and ranks[i - 1] == rank
            and after < len(theirs)
            and _rank(pairs[theirs[after]]) == rank
            and _place(places[theirs[after]]) == at[i - 1] + 1
            and values[theirs[after]] == key
        )
        if not goes_on:
            slot = (key >> U1) & mask
            while values[theirs[heads[slot]]] != key:
                slot = (slot + U1) & mask
            after = heads[slot]
        before = after
        ranks[i], at[i] = rank, _place(places[theirs[after]])
    return ranks, at


@njit(cache=True, nogil=True)
def _find_word(rows: Offsets, word: int, places: Hashes) -> int:
    """Which of rows, of WORDs in order, tells a word."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if _place(places[rows[middle]]) < word:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _same_words(mine: Offsets, theirs: Offsets, word: int, places: Hashes, values: Hashes) -> bool:
    """Whether words, by the rows that tell them, are those of a source from one on: LETTERS by LETTERS."""
    other = _find_word(theirs, word, places)
    for n in range(len(mine)):
        a, b = mine[n] + 1, theirs[other + n] + 1
        while a < len(places) and _kind(places[a]) == LETTERS:
            if b == len(places) or _kind(places[b]) != LETTERS or values[a] != values[b]:
                return False
            a, b = a + 1, b + 1
        if b < len(places) and _kind(places[b]) == LETTERS:
            return False
    return True
