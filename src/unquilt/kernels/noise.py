"""The noise of a page: its raw HTML without the alphanumeric characters, and a fingerprint of it.

Pages written by the same template share their noise even where they share no word.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.space import borrowed

from .words import CLASS_SHIFT, SINGLE, TABLE, WORD, Table, mix, read_character

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
BASE = np.uint64(0x9E6C63D0876A9A63)
ONE, S64 = np.uint64(1), np.uint64(64)
CELL_VALUES = np.uint64(65535)
ESCAPED = 0xDC00
BLOCK = 8192

NOISE_BYTES = (TABLE[:128] >> CLASS_SHIFT != WORD).astype(np.uint8)
"""uint8[128], 1 for an ASCII character that stays in the noise."""


@njit(cache=True, nogil=True)
def _fill(
    html: npt.NDArray[np.uint8],
    i: int,
    table: Table,
    noise_bytes: npt.NDArray[np.uint8],
    noise: npt.NDArray[np.uint32],
    count: int,
) -> tuple[np.int64, np.int64]:
    """Append noise characters of html[i:] to noise[count:] until one of them ends; the new i and count."""
    # Unsigned offsets spare numba the check for negative ones.
    at, kept = np.uint64(i), np.uint64(count)
    end, room = np.uint64(len(html)), np.uint64(len(noise))
    while at < end and kept < room:
        stop = min(end, at + room - kept)
        while at < stop and html[at] < 128:
            # Every byte is written, few advance: a branch on alphanumerics could not be predicted.
            noise[kept] = html[at]
            kept += np.uint64(noise_bytes[html[at]])
            at += ONE
        if at < stop:
            code, length = read_character(html, np.int64(at), len(html))
            kind = table[code] >> CLASS_SHIFT if code >= 0 else 0
            if kind != WORD and kind != SINGLE:
                noise[kept] = code if code >= 0 else ESCAPED + html[at]
                kept += ONE
            at += np.uint64(length)
    return np.int64(at), np.int64(kept)


@njit(cache=True, nogil=True)
def keep_minima(
    noise: npt.NDArray[np.uint32],
    count: int,
    n: int,
    minima: npt.NDArray[np.uint64],
    shifts: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.uint64],
) -> None:
    """Lower minima by each of the count - n + 1 parts of noise[:count]; fewer than n characters, no part."""
    if count < n:
        return
    m = np.uint64(len(minima))
    low = m - ONE
    power_of_two = m & low == 0
    h = np.uint64(0)
    leaving = np.uint64(1)
    for i in range(n - 1):
        h = h * BASE + np.uint64(noise[i])
        leaving *= BASE
    for i in range(n - 1, count):
        h = h * BASE + np.uint64(noise[i])
        part = mix(h)
        cell = part & low if power_of_two else part % m
        shift = np.uint64(shifts[cell])
        value = (part << shift | part >> ((S64 - shift) & np.uint64(63))) ^ masks[cell]
        minima[cell] = min(minima[cell], value)
        h -= np.uint64(noise[i - n + 1]) * leaving


@njit(cache=True, nogil=True)
def _noise_minima(
    html: npt.NDArray[np.uint8],
    n: int,
    shifts: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.uint64],
    table: Table,
    noise_bytes: npt.NDArray[np.uint8],
) -> npt.NDArray[np.uint64]:
    """uint64[m], the least value of each cell; EMPTY where no part fell."""
    minima = np.full(len(shifts), EMPTY, np.uint64)
    noise = np.empty(n + min(BLOCK, len(html)), np.uint32)
    i = count = 0
    while i < len(html):
        i, count = _fill(borrowed(html), i, borrowed(table), noise_bytes, borrowed(noise), count)
        keep_minima(noise, count, n, minima, shifts, masks)
        kept = min(n - 1, count)
        for j in range(kept):
            noise[j] = noise[count - kept + j]
        count = kept
    return minima


@njit(cache=True, nogil=True)
def reduce_minima(minima: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """uint16[m], 0 for an empty cell and 1..65535 for the others."""
    cells = np.zeros(len(minima), np.uint16)
    for i in range(len(minima)):
        if minima[i] != EMPTY:
            cells[i] = ONE + mix(minima[i] ^ BASE) % CELL_VALUES
    return cells


def noise_cells(
    html: npt.NDArray[np.uint8],
    n: int,
    m: int,
    shifts: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """The least value of each of m cells over the n-character parts of the noise, and which cells have one.

    html: raw bytes; a byte that is not UTF-8 is a noise character of its own. shifts: uint8[m], each below
    64. masks: uint64[m]. A part's hash h falls into cell h mod m as rotate(h, shift) ^ mask; the one
    value in 2**64 that marks emptiness is not kept. Noise shorter than n fills no cell.
    """
    if n < 1 or len(shifts) != m or len(masks) != m:
        raise ValueError(f"{n=} must be at least 1, and shifts and masks must have m={m} entries")
    minima: npt.NDArray[np.uint64] = _noise_minima(html, n, shifts, masks, TABLE, NOISE_BYTES)
    return minima, minima != EMPTY


def noise_fingerprint(
    html: npt.NDArray[np.uint8],
    n: int,
    m: int,
    shifts: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.uint64],
) -> npt.NDArray[np.uint16]:
    """uint16[m], noise_cells in 16 bits a cell: 0 is empty; all are if the noise is shorter than n."""
    minima, _ = noise_cells(html, n, m, shifts, masks)
    cells: npt.NDArray[np.uint16] = reduce_minima(minima)
    return cells


@njit(cache=True, nogil=True)
def similarity(a: npt.NDArray[np.uint16], b: npt.NDArray[np.uint16]) -> int:
    """How many cells of two fingerprints uint16[m] are equal and not empty."""
    equal = 0
    for i in range(len(a)):
        equal += 1 if a[i] == b[i] and a[i] != 0 else 0
    return equal


def cell_permutations(seed: int, m: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
    """The permutation of each cell: uint8[m] rotations below 64 and uint64[m] XOR masks, drawn from seed."""
    numbers = np.arange(1, 2 * m + 1, dtype=np.uint64) * BASE + mix_all(np.array([seed % 2**64], np.uint64))
    drawn = mix_all(numbers)
    return (drawn[:m] >> np.uint64(58)).astype(np.uint8), drawn[m:]


@njit(cache=True, nogil=True)
def mix_all(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """mix of each of uint64[n]; n may be 0."""
    mixed = np.empty(len(values), np.uint64)
    for i in range(len(values)):
        mixed[i] = mix(values[i])
    return mixed
