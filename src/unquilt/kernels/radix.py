"""Sort and partition pairs of a 64-bit key and a value, and scan the runs of equal keys."""

from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Keys = npt.NDArray[np.uint64]
Values = npt.NDArray[Any]
"""uint32 or uint64"""

DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
DIGIT_MASK = np.uint64(DIGITS - 1)
KEY_BITS = 64


@njit(cache=True, nogil=True)
def _scatter(
    keys: Keys,
    values: Values,
    shift: np.uint64,
    mask: np.uint64,
    places: npt.NDArray[np.int64],
    out_keys: Keys,
    out_values: Values,
) -> None:
    """Put each pair at the next place of its digit, in order; places are advanced."""
    for i in range(len(keys)):
        digit = (keys[i] >> shift) & mask
        place = np.uint64(places[digit])
        out_keys[place] = keys[i]
        out_values[place] = values[i]
        places[digit] = place + np.uint64(1)


@njit(cache=True, nogil=True)
def partition(keys: Keys, values: Values, bits: int) -> tuple[Keys, Values, npt.NDArray[np.int64]]:
    """The pairs grouped by the top bits of their key, in their old order within a bucket.

    keys: uint64[n]. values: [n]. bits: 0..24. Gives keys, values and int64[2**bits + 1], where each bucket
    begins, and n. n may be 0.
    """
    buckets = 1 << bits
    # A shift by 64 is undefined; with no bits the mask alone makes every digit 0.
    shift = np.uint64(min(KEY_BITS - bits, KEY_BITS - 1))
    mask = np.uint64(buckets - 1)
    offsets = np.zeros(buckets + 1, np.int64)
    for i in range(len(keys)):
        offsets[((keys[i] >> shift) & mask) + np.uint64(1)] += 1
    for bucket in range(buckets):
        offsets[bucket + 1] += offsets[bucket]
    out_keys = np.empty_like(keys)
    out_values = np.empty_like(values)
    _scatter(keys, values, shift, mask, offsets[:-1].copy(), out_keys, out_values)
    return out_keys, out_values, offsets


@njit(cache=True, nogil=True)
def _count_digits(keys: Keys, passes: int) -> npt.NDArray[np.int64]:
    """int64[passes, DIGITS], how many keys have each digit."""
    counts = np.zeros((passes, DIGITS), np.int64)
    for i in range(len(keys)):
        key = keys[i]
        for p in range(passes):
            counts[p, key & DIGIT_MASK] += 1
            key >>= np.uint64(DIGIT_BITS)
    return counts


@njit(cache=True, nogil=True)
def sort_pairs(keys: Keys, values: Values, skip_top_bits: int = 0) -> tuple[Keys, Values]:
    """The pairs sorted by key, in their old order where keys are equal; the input is left as it is.

    keys: uint64[n], all equal in their top skip_top_bits bits. values: [n]. n may be 0.
    """
    passes = (KEY_BITS - skip_top_bits + DIGIT_BITS - 1) // DIGIT_BITS
    from_keys, from_values = keys.copy(), values.copy()
    if len(keys) < 2:
        return from_keys, from_values
    to_keys, to_values = np.empty_like(from_keys), np.empty_like(from_values)
    counts = _count_digits(keys, passes)
    for p in range(passes):
        shift = np.uint64(p * DIGIT_BITS)
        places = counts[p]
        if places[(keys[0] >> shift) & DIGIT_MASK] == len(keys):
            continue
        begin = 0
        for digit in range(DIGITS):
            count = places[digit]
            places[digit] = begin
            begin += count
        _scatter(from_keys, from_values, shift, DIGIT_MASK, places, to_keys, to_values)
        from_keys, to_keys = to_keys, from_keys
        from_values, to_values = to_values, from_values
    return from_keys, from_values


@njit(cache=True, nogil=True)
def runs(keys: Keys) -> npt.NDArray[np.int64]:
    """int64[runs + 1], where each run of equal keys begins in the sorted keys, and n; [0] if n is 0."""
    count = 0
    for i in range(len(keys)):
        count += 1 if i == 0 or keys[i] != keys[i - 1] else 0
    begins = np.empty(count + 1, np.int64)
    count = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            begins[count] = i
            count += 1
    begins[count] = len(keys)
    return begins


@njit(cache=True, nogil=True)
def document_frequencies(keys: Keys, values: Values) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Each distinct key, ascending, and how many distinct values it has: uint64[u], int64[u]; u may be 0.

    keys: uint64[n], sorted. values: [n]; equal values of one key are neighbors.
    """
    begins = runs(keys)
    unique = np.empty(len(begins) - 1, np.uint64)
    frequencies = np.empty(len(begins) - 1, np.int64)
    for run in range(len(unique)):
        begin, end = begins[run], begins[run + 1]
        distinct = 1
        for i in range(begin + 1, end):
            distinct += 1 if values[i] != values[i - 1] else 0
        unique[run] = keys[begin]
        frequencies[run] = distinct
    return unique, frequencies


@njit(cache=True, nogil=True)
def regroup(values: Values, cuts: npt.NDArray[np.int64]) -> Values:
    """A column of several blocks, one after the other, as one block: by bucket, and by block within a bucket.

    values: [n]. cuts: int64[blocks, buckets + 1], where in values each bucket of each block begins, and its last
    ends. n may be 0.
    """
    out = np.empty_like(values)
    at = 0
    for bucket in range(cuts.shape[1] - 1):
        for block in range(cuts.shape[0]):
            for i in range(cuts[block, bucket], cuts[block, bucket + 1]):
                out[at] = values[i]
                at += 1
    return out
