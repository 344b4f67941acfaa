"""Words of a page: where they are in its UTF-8 bytes, and a 64-bit hash of each.

A word is a maximal run of alphanumeric characters and the marks that follow them; a character of a script
written without spaces is a word of its own. Case is folded. Bytes that are not UTF-8 separate words.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import copy_to
from unquilt.kernels.jit import njit
from unquilt.kernels.space import borrowed

NOT_WORD, WORD, MARK, SINGLE = 0, 1, 2, 3
CLASS_SHIFT = 21
CODE_MASK = (1 << CLASS_SHIFT) - 1
INVALID = np.int64(-1)

SEED = np.uint64(0x9E3779B97F4A7C15)
STEP = np.uint64(0xD6E8FEB86659FD93)
MIX_A = np.uint64(0xFF51AFD7ED558CCD)
MIX_B = np.uint64(0xC4CEB9FE1A85EC53)
S32, S33 = np.uint64(32), np.uint64(33)

Table = npt.NDArray[np.uint32]


def load_table() -> Table:
    """uint32[0x110000], for each code point its class << 21 | the code point it folds to."""
    with np.load(Path(__file__).with_name("unicode_words.npz")) as shipped:
        classes = np.repeat(shipped["class_values"].astype(np.uint32), shipped["class_lengths"])
        folded = np.arange(len(classes), dtype=np.uint32)
        folded[shipped["cased"]] = shipped["folded"]
    table: Table = (classes << np.uint32(CLASS_SHIFT)) | folded
    return table


TABLE = load_table()
ASCII = np.where(TABLE[:128] >> CLASS_SHIFT == WORD, TABLE[:128] & CODE_MASK, 0).astype(np.uint8)
"""uint8[128], what a character of a word folds to; 0 if it is none."""


@njit(cache=True, nogil=True)
def mix(h: np.uint64) -> np.uint64:
    """A bijection of the 64-bit integers in which each bit depends on all."""
    h = (h ^ (h >> S33)) * MIX_A
    h = (h ^ (h >> S33)) * MIX_B
    return h ^ (h >> S33)


@njit(cache=True, nogil=True)
def decode(first: np.int64, second: np.int64, third: np.int64, fourth: np.int64) -> tuple[np.int64, int]:
    """Code point and length in bytes of the UTF-8 character that four bytes begin with.

    Bytes beyond the end of the text are given as 0. A byte that begins no valid character gives (INVALID, 1).
    """
    if first < 0x80:
        return first, 1
    if 0xC2 <= first <= 0xDF and second & 0xC0 == 0x80:
        return (first & 0x1F) << 6 | second & 0x3F, 2
    if 0xE0 <= first <= 0xEF and second & 0xC0 == 0x80 and third & 0xC0 == 0x80:
        code = (first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F
        # Neither overlong nor a surrogate.
        if code >= 0x800 and code >> 11 != 0x1B:
            return code, 3
    if 0xF0 <= first <= 0xF4 and second & 0xC0 == 0x80 and third & 0xC0 == 0x80 and fourth & 0xC0 == 0x80:
        code = (first & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
        if 0x10000 <= code <= 0x10FFFF:
            return code, 4
    return INVALID, 1


@njit(cache=True, nogil=True)
def read_character(text: npt.NDArray[np.uint8], i: int, end: int) -> tuple[np.int64, int]:
    """Code point and length in bytes of the UTF-8 character at text[i], i < end <= len(text); see decode."""
    # Bytes, not the array, go to decode: numba would count a reference for each character.
    second = np.int64(text[i + 1]) if i + 1 < end else np.int64(0)
    third = np.int64(text[i + 2]) if i + 2 < end else np.int64(0)
    fourth = np.int64(text[i + 3]) if i + 3 < end else np.int64(0)
    character: tuple[np.int64, int] = decode(np.int64(text[i]), second, third, fourth)
    return character


@njit(cache=True, nogil=True)
def _scan_words(
    text: npt.NDArray[np.uint8],
    begin: int,
    end: int,
    table: Table,
    ascii_fold: npt.NDArray[np.uint8],
    hashes: npt.NDArray[np.uint64],
    count: int,
) -> int:
    """Write the unmixed hash of each word of text[begin:end] to hashes[count:]; the new count.

    hashes needs (end - begin) // 2 + 2 free places: a place is written before it is known to be needed.
    """
    h = SEED
    inside: int | np.int64 = NOT_WORD
    i = begin
    while i < end:
        if inside == SINGLE and text[i] < 128:
            hashes[count] = h
            count += 1
            h = SEED
            inside = NOT_WORD
        while i < end and text[i] < 128:
            # No branch on the end of a word: it could not be predicted.
            folded = ascii_fold[text[i]]
            word = 1 if folded != 0 else 0
            hashes[count] = h
            count += int(inside & (word ^ 1))
            longer = (h ^ np.uint64(folded)) * STEP
            h = longer ^ (longer >> S32) if word else SEED
            inside = word
            i += 1
        while i < end and text[i] >= 128:
            code, length = read_character(text, i, end)
            entry = np.int64(table[code]) if code >= 0 else np.int64(0)
            kind = entry >> CLASS_SHIFT
            i += length
            if inside and kind != MARK and (kind != WORD or inside == SINGLE):
                hashes[count] = h
                count += 1
                h = SEED
                inside = NOT_WORD
            if kind == NOT_WORD or (kind == MARK and not inside):
                continue
            if kind != MARK:
                inside = kind
            h = (h ^ np.uint64(entry & CODE_MASK)) * STEP
            h ^= h >> S32
    if inside:
        hashes[count] = h
        count += 1
    return count


@njit(cache=True, nogil=True)
def _mixed(hashes: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.uint64]:
    """The first count hashes, mixed, in an array of their own."""
    mixed = np.empty(count, np.uint64)
    for i in range(count):
        mixed[i] = mix(hashes[i])
    return mixed


@njit(cache=True, nogil=True)
def _hash_words(text: npt.NDArray[np.uint8], table: Table, ascii_fold: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """uint64[words], the hash of each word of text, in order; no words, no hashes."""
    hashes = np.empty(len(text) // 2 + 2, np.uint64)
    count = _scan_words(text, 0, len(text), table, ascii_fold, hashes, 0)
    mixed: npt.NDArray[np.uint64] = _mixed(hashes, count)
    return mixed


@njit(cache=True, nogil=True)
def _hash_words_column(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    table: Table,
    ascii_fold: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """As hash_words_column; offsets may be int32."""
    pages = max(len(offsets) - 1, 0)
    page_offsets = np.zeros(pages + 1, np.int64)
    size = np.int64(offsets[pages]) - np.int64(offsets[0]) if pages else 0
    hashes = np.empty(size // 5 + 1024, np.uint64)
    count = 0
    for page in range(pages):
        begin, end = np.int64(offsets[page]), np.int64(offsets[page + 1])
        needed = int(count + (end - begin) // 2 + 2)
        if needed > len(hashes):
            grown = np.empty(max(needed, 2 * len(hashes)), np.uint64)
            copy_to(grown, 0, hashes[:count])
            hashes = grown
        count = _scan_words(borrowed(data), begin, end, borrowed(table), ascii_fold, borrowed(hashes), count)
        page_offsets[page + 1] = count
    return _mixed(hashes, count), page_offsets


@njit(cache=True, nogil=True)
def _count_ascii(data: npt.NDArray[np.uint8], begin: int, end: int) -> int:
    """How many of data[begin:end], all ASCII, are letters or digits after something that is neither; begin > 0."""
    count = 0
    while begin < end:
        some = np.uint8(0)  # of at most 255, so that it stays a byte
        for j in range(begin, min(begin + 255, end)):
            here, before = data[j], data[j - 1]
            is_word = (np.uint8((here | 32) - 97) < 26) | (np.uint8(here - 48) < 10)
            was_word = (np.uint8((before | 32) - 97) < 26) | (np.uint8(before - 48) < 10)
            some += np.uint8(is_word & (not was_word))
        count += int(some)
        begin += 255
    return count


@njit(cache=True, nogil=True)
def _count_words_column(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], table: Table, ascii_fold: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int32]:
    """As count_words_column; offsets may be int32."""
    counts = np.zeros(max(len(offsets) - 1, 0), np.int32)
    source = borrowed(data)
    for page in range(len(counts)):
        i, end = np.int64(offsets[page]), np.int64(offsets[page + 1])
        count = 0
        inside: int | np.int64 = NOT_WORD
        while i < end:
            # Where a word begins in ASCII is a matter of two neighbors: no branch, so that it runs in wide registers.
            stop = i
            while stop < end and data[stop] < 128:
                stop += 1
            if stop > i:
                count += 1 if ascii_fold[data[i]] != 0 and inside != WORD else 0
                count += _count_ascii(source, i + 1, stop)
                inside = WORD if ascii_fold[data[stop - 1]] != 0 else NOT_WORD
                i = stop
            while i < end and data[i] >= 128:
                code, length = read_character(source, i, end)
                kind = np.int64(table[code]) >> CLASS_SHIFT if code >= 0 else np.int64(NOT_WORD)
                i += length
                if kind == NOT_WORD or (kind == MARK and not inside):
                    inside = NOT_WORD
                elif kind == SINGLE or (kind == WORD and inside != WORD):
                    count += 1
                    inside = kind
        counts[page] = count
    return counts


@njit(cache=True, nogil=True)
def _word_spans(
    text: npt.NDArray[np.uint8], table: Table
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """As word_spans."""
    most = len(text) // 2 + 2
    hashes = np.empty(most, np.uint64)
    begins = np.empty(most, np.int64)
    ends = np.empty(most, np.int64)
    count = -1
    h = SEED
    inside: int | np.int64 = NOT_WORD
    i = 0
    while i < len(text):
        code, length = np.int64(text[i]), 1
        if code >= 128:
            code, length = read_character(text, i, len(text))
        entry = np.int64(table[code]) if code >= 0 else np.int64(0)
        kind = entry >> CLASS_SHIFT
        if kind == NOT_WORD or (kind == MARK and not inside):
            inside = NOT_WORD
        else:
            if kind == SINGLE or (kind == WORD and inside != WORD):
                count += 1
                begins[count] = i
                h = SEED
                inside = kind
            h = (h ^ np.uint64(entry & CODE_MASK)) * STEP
            h ^= h >> S32
            hashes[count] = h
            ends[count] = i + length
        i += length
    count += 1
    return _mixed(hashes, count), begins[:count].copy(), ends[:count].copy()


@njit(cache=True, nogil=True)
def _place_words_column(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], words: int, in_bytes: bool, table: Table
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """As place_words_column; offsets may be int32, words is how many there are in all."""
    begins = np.empty(words, np.int64)
    ends = np.empty(words, np.int64)
    source = borrowed(data)
    count = -1
    for page in range(len(offsets) - 1):
        i, end = np.int64(offsets[page]), np.int64(offsets[page + 1])
        place = 0
        inside: int | np.int64 = NOT_WORD
        while i < end:
            code, length = np.int64(data[i]), 1
            if code >= 128:
                code, length = read_character(source, i, end)
            kind = np.int64(table[code]) >> CLASS_SHIFT if code >= 0 else np.int64(NOT_WORD)
            step = length if in_bytes or code < 0 else 1
            if kind == NOT_WORD or (kind == MARK and not inside):
                inside = NOT_WORD
            else:
                if kind == SINGLE or (kind == WORD and inside != WORD):
                    count += 1
                    begins[count] = place
                    inside = kind
                ends[count] = place + step
            place += step
            i += length
    return begins, ends


def hash_words(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """uint64[words], the hash of each word of the UTF-8 bytes text, in order; no words, no hashes."""
    hashes: npt.NDArray[np.uint64] = _hash_words(text, TABLE, ASCII)
    return hashes


def word_spans(
    text: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The hash of each word of the UTF-8 bytes text and its bytes begin..end, half-open, in order.

    uint64[words], int64[words], int64[words]; all empty if there are no words.
    """
    spans: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
    spans = _word_spans(text, TABLE)
    return spans


def count_words(text: npt.NDArray[np.uint8]) -> int:
    """How many words the UTF-8 bytes text holds; 0 if empty."""
    return len(hash_words(text))


def count_words_column(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32] | npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """int32[texts], how many words each text of an Arrow string column has; see hash_words_column."""
    counts: npt.NDArray[np.int32] = _count_words_column(data, offsets, TABLE, ASCII)
    return counts


def hash_words_column(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32] | npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The words of each text of an Arrow string column: data[offsets[i]:offsets[i + 1]] is text i.

    Gives uint64[words], the hashes of all words in order, and int64[texts + 1], where each text's begin.
    Words never reach across texts. No texts: no hashes and the one offset 0.
    """
    columns: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]
    columns = _hash_words_column(data, offsets, TABLE, ASCII)
    return columns


def place_words_column(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int32] | npt.NDArray[np.int64],
    words: int,
    *,
    in_bytes: bool = False,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each word of each text begins and ends in its text, in characters or bytes: int64[words] each.

    data, offsets: an Arrow string column, of valid UTF-8. words: as many as hash_words_column finds.
    """
    spans: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    spans = _place_words_column(data, offsets, words, in_bytes, TABLE)
    return spans
