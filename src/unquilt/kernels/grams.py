"""Fingerprints of k consecutive words."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

from .words import mix

Hashes = npt.NDArray[np.uint64]
BASE = np.uint64(0xA0761D6478BD642F)


@njit(cache=True, nogil=True)
def _roll(words: Hashes, begin: int, n: int, k: int, grams: Hashes, at: int, count: int) -> None:
    """Write to grams[at:at + count] the gram that starts at each of the first count of n words; n, k >= 1.

    The words are words[begin:begin + n]; after the last comes the first again.
    """
    leaving = np.uint64(1)
    h = np.uint64(0)
    last = 0
    for _ in range(k - 1):
        h = h * BASE + words[begin + last]
        leaving *= BASE
        last = last + 1 if last + 1 < n else 0
    for i in range(count):
        h = h * BASE + words[begin + last]
        grams[at + i] = mix(h)
        h -= words[begin + i] * leaving
        last = last + 1 if last + 1 < n else 0


@njit(cache=True, nogil=True)
def hash_grams(words: Hashes, k: int) -> Hashes:
    """uint64[max(n - k + 1, 0)], the fingerprint of each k consecutive words, in order.

    words: uint64[n], n may be 0. k: at least 1.
    """
    count = max(len(words) - k + 1, 0)
    grams = np.empty(count, np.uint64)
    if count:
        _roll(words, 0, len(words), k, grams, 0, count)
    return grams


@njit(cache=True, nogil=True)
def hash_grams_circular(words: Hashes, k: int) -> Hashes:
    """uint64[n], the fingerprint of the k words from each word on, the first following the last.

    words: uint64[n], n may be 0; one word gives one gram, of that word k times. k: at least 1.
    """
    grams = np.empty(len(words), np.uint64)
    if len(words):
        _roll(words, 0, len(words), k, grams, 0, len(words))
    return grams


@njit(cache=True, nogil=True)
def hash_grams_column(
    hashes: Hashes, page_offsets: npt.NDArray[np.int64], k: int
) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """hash_grams of each page: all grams in order and int64[pages + 1], where each page's begin.

    hashes: uint64[words]. page_offsets: int64[pages + 1]. No gram reaches across pages. No pages: no grams
    and the one offset 0.
    """
    pages = max(len(page_offsets) - 1, 0)
    gram_offsets = np.zeros(pages + 1, np.int64)
    for page in range(pages):
        count = max(page_offsets[page + 1] - page_offsets[page] - k + 1, 0)
        gram_offsets[page + 1] = gram_offsets[page] + count
    grams = np.empty(gram_offsets[pages], np.uint64)
    for page in range(pages):
        at, count = gram_offsets[page], gram_offsets[page + 1] - gram_offsets[page]
        if count:
            begin = page_offsets[page]
            _roll(hashes, begin, page_offsets[page + 1] - begin, k, grams, at, count)
    return grams, gram_offsets
