"""Rabin fingerprints of words, case folded, as UTF-8."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.rabin import U1, Tables
from unquilt.kernels.space import borrowed
from unquilt.kernels.words import (
    CLASS_SHIFT,
    CODE_MASK,
    MARK,
    NOT_WORD,
    SINGLE,
    TABLE,
    WORD,
    Table,
    count_words_column,
    read_character,
)

EIGHT, TOP = np.uint64(8), np.uint64(56)


@njit(cache=True, nogil=True)
def _add_byte(fingerprint: np.uint64, byte: int, tables: Tables) -> np.uint64:
    longer: np.uint64 = (fingerprint << EIGHT) ^ np.uint64(byte) ^ tables[0, fingerprint >> TOP]
    return longer


@njit(cache=True, nogil=True)
def _add_character(fingerprint: np.uint64, code: int, tables: Tables) -> np.uint64:
    """The fingerprint followed by the UTF-8 bytes of a code point."""
    if code < 0x80:
        fingerprint = _add_byte(fingerprint, code, tables)
        return fingerprint
    if code < 0x800:
        fingerprint = _add_byte(fingerprint, 0xC0 | code >> 6, tables)
    else:
        if code < 0x10000:
            fingerprint = _add_byte(fingerprint, 0xE0 | code >> 12, tables)
        else:
            fingerprint = _add_byte(fingerprint, 0xF0 | code >> 18, tables)
            fingerprint = _add_byte(fingerprint, 0x80 | code >> 12 & 0x3F, tables)
        fingerprint = _add_byte(fingerprint, 0x80 | code >> 6 & 0x3F, tables)
    fingerprint = _add_byte(fingerprint, 0x80 | code & 0x3F, tables)
    return fingerprint


@njit(cache=True, nogil=True)
def _rabin_words_column(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], words: int, tables: Tables, table: Table
) -> npt.NDArray[np.uint64]:
    """As rabin_words_column; offsets may be int32, words is how many there are in all."""
    found = np.empty(words, np.uint64)
    source, powers = borrowed(data), borrowed(tables)
    count = -1
    for page in range(len(offsets) - 1):
        i, end = np.int64(offsets[page]), np.int64(offsets[page + 1])
        inside: int | np.int64 = NOT_WORD
        while i < end:
            code, length = np.int64(data[i]), 1
            if code >= 128:
                code, length = read_character(source, i, end)
            entry = np.int64(table[code]) if code >= 0 else np.int64(0)
            kind = entry >> CLASS_SHIFT
            i += length
            if kind == NOT_WORD or (kind == MARK and not inside):
                inside = NOT_WORD
                continue
            if kind == SINGLE or (kind == WORD and inside != WORD):
                count += 1
                found[count] = U1
                inside = kind
            found[count] = _add_character(found[count], entry & CODE_MASK, powers)
    return found


def rabin_words_column(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32] | npt.NDArray[np.int64], tables: Tables
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The fingerprint of each word of each text of an Arrow string column, as hash_words_column gives hashes.

    tables: of rabin_tables(polynomial).
    """
    counts = count_words_column(data, offsets)
    page_offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    found: npt.NDArray[np.uint64] = _rabin_words_column(data, offsets, int(page_offsets[-1]), tables, TABLE)
    return found, page_offsets
