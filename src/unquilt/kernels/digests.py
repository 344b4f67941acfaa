"""SHA-1 digests: equal ones counted together, and looked up in a set of them.

A digest is five uint32 as they lie in memory. Between the steps it travels as two uint64 and a uint32, the first
of which is the key that buckets are made by.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import sort
from unquilt.kernels.jit import njit

Words = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

WORDS = 5
U32 = np.uint64(32)


@njit(cache=True, nogil=True)
def combine(digests: Words, pages: Words, sites: Words) -> tuple[Keys, Keys, Words, Words, Words]:
    """Rows for the first exchange: one for each digest and site, in the order they first occur.

    digests: uint32[5 n]; pages: uint32[n], the page of each, ascending; sites: uint32[all pages]. Gives key, second
    and third part of the digest, how often it occurs and the first page it is on. n may be 0.
    """
    n = len(pages)
    slots = 2
    while slots < 2 * n:
        slots *= 2
    mask = np.uint32(slots - 1)
    table = np.full(slots, -1, np.int32)
    keys, seconds = np.empty(n, np.uint64), np.empty(n, np.uint64)
    thirds, counts, firsts = np.empty(n, np.uint32), np.zeros(n, np.uint32), np.empty(n, np.uint32)
    rows = 0
    for i in range(n):
        at = WORDS * i
        key = np.uint64(digests[at]) | np.uint64(digests[at + 1]) << U32
        second = np.uint64(digests[at + 2]) | np.uint64(digests[at + 3]) << U32
        third = digests[at + 4]
        site = sites[pages[i]]
        slot = (digests[at] ^ (site * np.uint32(0x9E3779B1))) & mask
        while True:
            row = table[slot]
            if row < 0:
                table[slot] = rows
                keys[rows], seconds[rows], thirds[rows] = key, second, third
                counts[rows], firsts[rows] = 1, pages[i]
                rows += 1
                break
            same = keys[row] == key and seconds[row] == second and thirds[row] == third
            if same and sites[firsts[row]] == site:
                counts[row] += np.uint32(1)
                break
            slot = (slot + np.uint32(1)) & mask
    return keys[:rows], seconds[:rows], thirds[:rows], counts[:rows], firsts[:rows]


@njit(cache=True, nogil=True)
def by_bucket(
    keys: Keys, seconds: Keys, thirds: Words, counts: Words, firsts: Words, bits: int
) -> tuple[Offsets, Keys, Keys, Words, Words, Words]:
    """The rows of combine by the top bits of their keys, in their old order within a bucket.

    Gives int64[2**bits + 1], where each bucket begins, and the five columns. bits: 1 to 24. There may be no rows.
    """
    shift = np.uint64(64 - bits)
    offsets = np.zeros((1 << bits) + 1, np.int64)
    for i in range(len(keys)):
        offsets[(keys[i] >> shift) + np.uint64(1)] += 1
    for bucket in range(1 << bits):
        offsets[bucket + 1] += offsets[bucket]
    places = offsets[:-1].copy()
    out = (
        np.empty_like(keys),
        np.empty_like(keys),
        np.empty_like(thirds),
        np.empty_like(thirds),
        np.empty_like(thirds),
    )
    for i in range(len(keys)):
        bucket = keys[i] >> shift
        at = np.uint64(places[bucket])
        places[bucket] = at + np.uint64(1)
        out[0][at], out[1][at], out[2][at], out[3][at], out[4][at] = (
            keys[i],
            seconds[i],
            thirds[i],
            counts[i],
            firsts[i],
        )
    return offsets, out[0], out[1], out[2], out[3], out[4]


@njit(cache=True, nogil=True)
def objects_of(
    keys: Keys, seconds: Keys, thirds: Words, counts: Words, pages: Words, sites: Words
) -> tuple[Offsets, Offsets, Offsets]:
    """What equal rows of combine, one after the other, have together: one entry for each digest.

    All uint[n], equal digests neighbours, pages of one ascending; sites: uint32[all pages]. Gives int64[objects] the
    first row, the number of occurrences and of sites. n may be 0.
    """
    n = len(keys)
    firsts, totals, spread = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    found = 0
    begin = 0
    for i in range(1, n + 1):
        if i < n and keys[i] == keys[begin] and seconds[i] == seconds[begin] and thirds[i] == thirds[begin]:
            continue
        total = np.int64(0)
        for j in range(begin, i):
            total += counts[j]
        firsts[found], totals[found], spread[found] = begin, total, 1
        if i - begin == 2:
            spread[found] += sites[pages[begin]] != sites[pages[begin + 1]]
        elif i - begin > 2:
            some = np.empty(i - begin, np.uint32)
            for j in range(begin, i):
                some[j - begin] = sites[pages[j]]
            sort(some)
            for j in range(1, len(some)):
                spread[found] += some[j] != some[j - 1]
        found += 1
        begin = i
    return firsts[:found], totals[:found], spread[:found]


@njit(cache=True, nogil=True)
def _swapped(word: np.uint32) -> np.uint32:
    """The four bytes as a number whose order is that of the bytes."""
    low = (word & np.uint32(0xFF)) << np.uint32(24) | (word & np.uint32(0xFF00)) << np.uint32(8)
    return np.uint32(low | (word >> np.uint32(8)) & np.uint32(0xFF00) | word >> np.uint32(24))


@njit(cache=True, nogil=True)
def index_digests(digests: Words, bits: int) -> Words:
    """uint32[2**bits + 1], where the digests whose first bits are 0, 1, ... begin.

    digests: uint32[5 n], sorted by their bytes. bits: 1 to 31. n may be 0.
    """
    starts = np.zeros((1 << bits) + 1, np.uint32)
    shift = np.uint32(32 - bits)
    for i in range(len(digests) // WORDS):
        starts[np.int64(_swapped(digests[WORDS * i]) >> shift) + 1] += np.uint32(1)
    for i in range(1 << bits):
        starts[i + 1] += starts[i]
    return starts


@njit(cache=True, nogil=True)
def _compare(a: Words, i: int, b: Words, j: int) -> int:
    """Less than, equal to or greater than 0 as digest i of a is before, the same as, or after digest j of b."""
    for k in range(WORDS):
        x, y = a[WORDS * i + k], b[WORDS * j + k]
        if x != y:
            return -1 if _swapped(x) < _swapped(y) else 1
    return 0


@njit(cache=True, nogil=True)
def find_digests(wanted: Words, digests: Words, starts: Words, bits: int) -> Offsets:
    """int64[n], which of the digests each of wanted is, -1 if none.

    wanted: uint32[5 n]. digests, bits: as for index_digests, which gives starts. n may be 0, and so may their number.
    """
    n = len(wanted) // WORDS
    found = np.full(n, -1, np.int64)
    shift = np.uint32(32 - bits)
    for i in range(n):
        prefix = np.int64(_swapped(wanted[WORDS * i]) >> shift)
        low, high = np.int64(starts[prefix]), np.int64(starts[prefix + 1])
        while low < high:
            middle = (low + high) // 2
            order = _compare(wanted, i, digests, middle)
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                high = middle
            else:
                low = middle + 1
    return found


@njit(cache=True, nogil=True)
def count_flags(flags: npt.NDArray[np.uint8], offsets: Offsets) -> Words:
    """uint32[8 pages], how many entries of each page have flags 0 to 7.

    Those of page p are flags[offsets[p]:offsets[p + 1]]; offsets: int64[pages + 1].
    """
    pages = len(offsets) - 1
    counts = np.zeros(8 * pages, np.uint32)
    for page in range(pages):
        for i in range(offsets[page], offsets[page + 1]):
            counts[8 * page + np.int64(flags[i])] += np.uint32(1)
    return counts


@njit(cache=True, nogil=True)
def _positions(digests: Words, i: int) -> tuple[np.uint64, np.uint64]:
    at = WORDS * i
    first = np.uint64(digests[at]) | np.uint64(digests[at + 1]) << U32
    step = np.uint64(digests[at + 2]) | np.uint64(digests[at + 3]) << U32
    return first, step | np.uint64(1)


@njit(cache=True, nogil=True)
def add_to_bloom(bits: npt.NDArray[np.uint8], size: int, hashes: int, digests: Words) -> None:
    """Set the bits of each digest: hashes of size, at places that its own bytes give by enhanced double hashing.

    bits: uint8[(size + 7) / 8], changed. digests: uint32[5 n].
    """
    for i in range(len(digests) // WORDS):
        place, step = _positions(digests, i)
        for k in range(hashes):
            at = place % np.uint64(size)
            bits[at >> np.uint64(3)] |= np.uint8(1) << np.uint8(at & np.uint64(7))
            place += step
            step += np.uint64(k + 1)


@njit(cache=True, nogil=True)
def find_in_bloom(bits: npt.NDArray[np.uint8], size: int, hashes: int, digests: Words) -> npt.NDArray[np.bool_]:
    """bool[n], whether all bits of each digest are set. digests: uint32[5 n]; n may be 0."""
    n = len(digests) // WORDS
    found = np.ones(n, np.bool_)
    for i in range(n):
        place, step = _positions(digests, i)
        for k in range(hashes):
            at = place % np.uint64(size)
            if not bits[at >> np.uint64(3)] >> np.uint8(at & np.uint64(7)) & np.uint8(1):
                found[i] = False
                break
            place += step
            step += np.uint64(k + 1)
    return found


@njit(cache=True, nogil=True)
def places_of(wanted: Words, digests: Words, offsets: Offsets, sizes: npt.NDArray[np.int32]) -> tuple[Offsets, Offsets]:
    """Where in page i the chunk wanted[i] first lies, and its length, in bytes: int64[n] each; -1 and 0 if nowhere.

    wanted: uint32[5 n]. Page i has digests offsets[i] to offsets[i + 1] of uint32[5 chunks], and as many sizes.
    """
    n = len(wanted) // WORDS
    begins, lengths = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        at = np.int64(0)
        for j in range(offsets[i], offsets[i + 1]):
            if _compare(wanted, i, digests, j) == 0:
                begins[i], lengths[i] = at, sizes[j]
                break
            at += sizes[j]
    return begins, lengths
