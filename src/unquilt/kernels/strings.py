"""Hashes of whole strings."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.words import mix

STEP = np.uint64(0x9E3779B97F4A7C15)
EIGHT = np.uint64(8)


@njit(cache=True, nogil=True)
def hash_strings(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32] | npt.NDArray[np.int64], seed: np.uint64
) -> npt.NDArray[np.uint64]:
    """uint64[n], a hash of each string of an Arrow column: string i is data[offsets[i]:offsets[i + 1]].

    offsets: [n + 1]. Different seeds give independent hashes. n may be 0, and so may a string's length.
    """
    n = len(offsets) - 1
    hashes = np.empty(n, np.uint64)
    for i in range(n):
        begin, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        h = mix(seed ^ (np.uint64(end - begin) * STEP))
        word, filled = np.uint64(0), 0
        for j in range(begin, end):
            word = (word << EIGHT) | np.uint64(data[j])
            filled += 1
            if filled == 8:
                h = mix(h ^ word) * STEP
                word, filled = np.uint64(0), 0
        hashes[i] = mix(h ^ word)
    return hashes
