"""Shingles: of the phrases of a page, read as a circle, the least under each of many hash functions.

A page without words has no phrases; each of its shingles is NONE.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import copy_to
from unquilt.kernels.grams import hash_grams_circular
from unquilt.kernels.jit import njit
from unquilt.kernels.rabin import Tables, rabin_grams_circular, times
from unquilt.kernels.words import MIX_A, MIX_B, S33

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
Shingles = npt.NDArray[np.uint64]
"""uint64[pages, shingles]"""

NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
WIDTH = 4
"""Samplers that share a pass over the phrases: as many as registers hold."""
_UNMIX_A = np.uint64(pow(int(MIX_A), -1, 1 << 64))
_UNMIX_B = np.uint64(pow(int(MIX_B), -1, 1 << 64))


@njit(cache=True, nogil=True)
def unmix(h: np.uint64) -> np.uint64:
    """What words.mix made h of."""
    h = (h ^ (h >> S33)) * _UNMIX_B
    h = (h ^ (h >> S33)) * _UNMIX_A
    return h ^ (h >> S33)


@njit(cache=True, nogil=True)
def _least_products(grams: Hashes, factors: Hashes, least: Hashes) -> None:
    """Write to least the smallest product of a gram with each factor, modulo 2**64; WIDTH factors at a time."""
    for i in range(0, len(factors), WIDTH):
        a = b = c = d = NONE
        by_a, by_b, by_c, by_d = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        for j in range(len(grams)):
            gram = grams[j]
            a = min(a, gram * by_a)
            b = min(b, gram * by_b)
            c = min(c, gram * by_c)
            d = min(d, gram * by_d)
        least[i], least[i + 1], least[i + 2], least[i + 3] = a, b, c, d


@njit(cache=True, nogil=True)
def mixed_shingles(words: Hashes, offsets: Offsets, k: int, factors: Hashes) -> Shingles:
    """uint64[pages, n], for each of n odd factors the least product with a mixed phrase of the page.

    words: uint64[words], hashes; those of page p are words[offsets[p]:offsets[p + 1]]. factors: uint64[n], n a
    multiple of WIDTH. No pages, no rows.
    """
    pages = max(len(offsets) - 1, 0)
    found = np.full((pages, len(factors)), NONE, np.uint64)
    for page in range(pages):
        grams = hash_grams_circular(words[offsets[page] : offsets[page + 1]], k)
        _least_products(grams, factors, found[page])
    return found


@njit(cache=True, nogil=True)
def rabin_shingles(
    words: Hashes, offsets: Offsets, k: int, tables: Tables, prefix: Tables, samplers: Tables, constants: Hashes
) -> Shingles:
    """uint64[pages, n], for each of n Rabin functions the least fingerprint of a phrase's fingerprint.

    words, offsets: as in mixed_shingles, fingerprints. tables, prefix: of the polynomial for phrases. samplers:
    uint64[n, 8, 256], constants: uint64[n]: function i of x is times(x, samplers[i]) ^ constants[i].
    """
    pages = max(len(offsets) - 1, 0)
    found = np.full((pages, len(constants)), NONE, np.uint64)
    for page in range(pages):
        grams = rabin_grams_circular(words[offsets[page] : offsets[page + 1]], k, tables, prefix)
        for i in range(len(constants)):
            sampler, constant, least = samplers[i], constants[i], NONE
            for j in range(len(grams)):
                least = min(least, times(grams[j], sampler) ^ constant)
            found[page, i] = least
    return found


@njit(cache=True, nogil=True)
def circular_grams_column(words: Hashes, offsets: Offsets, k: int) -> Hashes:
    """uint64[words], the phrase that begins at each word; each page is a circle. As hash_grams_circular."""
    grams = np.empty(len(words), np.uint64)
    for page in range(len(offsets) - 1):
        begin, end = offsets[page], offsets[page + 1]
        copy_to(grams, begin, hash_grams_circular(words[begin:end], k))
    return grams


@njit(cache=True, nogil=True)
def rabin_grams_column(words: Hashes, offsets: Offsets, k: int, tables: Tables, prefix: Tables) -> Hashes:
    """As circular_grams_column, with Rabin's fingerprints."""
    grams = np.empty(len(words), np.uint64)
    for page in range(len(offsets) - 1):
        begin, end = offsets[page], offsets[page + 1]
        copy_to(grams, begin, rabin_grams_circular(words[begin:end], k, tables, prefix))
    return grams
