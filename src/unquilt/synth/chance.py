"""Randomness as a function: the same seed, stream and index always give the same draws."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_STEPS = np.arange(1, 4097, dtype=np.uint64) * np.uint64(_GOLDEN)
_ROUNDS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST = np.uint64(33)


class Stream:
    """What a draw is for; two streams never share their numbers."""

    PLAN = 1
    TEXT = 2
    CLASS = 3
    VARIANT = 4
    QUILT = 5
    POOL = 6
    SPAM = 7
    PAGE = 8
    HOST = 9
    STYLE = 10
    PATH = 11
    VIRAL = 12
    EXTRA = 13
    WORDS = 14
    OTHER = 15


def mix(*parts: int) -> int:
    """A well-spread 64-bit number made from the given ones."""
    x = 0x243F6A8885A308D3
    for part in parts:
        x = ((x ^ part) * _GOLDEN) & _MASK
        x ^= x >> 29
        x = (x * 0xBF58476D1CE4E5B9) & _MASK
        x ^= x >> 32
    return x


def generator(seed: int, stream: int, index: int) -> np.random.Generator:
    """A numpy generator for one purpose of one page, host or class."""
    key = mix(seed, stream) | (mix(index, seed, stream) << 64)
    return np.random.Generator(np.random.Philox(key=key))


def numbers(key: int, begin: int, end: int) -> npt.NDArray[np.int64]:
    """The numbers from begin to end of the endless row of a key, each in [0, 2^31). (SplitMix64)

    A tenth of the time a generator takes to be made, which counts for texts of a few hundred words.
    """
    if end <= len(_STEPS):
        drawn = _STEPS[begin:end] + np.uint64(key)
    else:
        drawn = np.arange(begin + 1, end + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(key)
    for shift, factor in _ROUNDS:
        drawn ^= drawn >> shift
        drawn *= factor
    drawn >>= _LAST
    return drawn.view(np.int64)
