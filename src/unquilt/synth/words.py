"""Made-up languages: words by rank, Zipfian frequencies, and punctuation.

The little words are real, the others are built from real parts, and what they say is nonsense. Frequencies
follow Zipf and Mandelbrot, p ~ 1 / (rank + 2.7), so two pages written apart share a five-word phrase less
than once in 10^11 pairs of phrases.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.synth.chance import Stream, generator
from unquilt.synth.lexicon import little_words, long_words

DRAWS = 1 << 18
_VOCABULARY = 20_000
_CHARACTERS = 3_500
_MANDELBROT = 2.7

LANGUAGES = ("en", "de", "es", "ru", "zh", "ar")
SHARES = (0.45, 0.15, 0.13, 0.12, 0.09, 0.06)

Objects = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language by rank, in the four dresses a sentence needs."""

    code: str
    joiner: str
    plain: Objects
    capital: Objects
    comma: Objects
    stop: Objects
    question: Objects
    rank_of_draw: npt.NDArray[np.int32]
    little: int  # so many of the commonest words carry no subject
    long_draw: int  # draws from here on give words that do
    sentence: tuple[int, int]  # least and most words
    words: tuple[int, int]  # a typical page, least and most


def _invent(code: str) -> list[str]:
    """The vocabulary, commonest first: little words, then short ones before long ones."""
    little = little_words(code)
    found = {word.lower(): word for word in long_words(code) if code == "zh" or len(word) > 2}
    for word in little:
        found.pop(word, None)
    spread = generator(0, Stream.WORDS, LANGUAGES.index(code)).exponential(1.0, len(found)).tolist()
    order = sorted((len(word) ** 2 * (1 + 0.4 * chance), word) for word, chance in zip(found, spread, strict=True))
    return (little + [found[word] for _, word in order])[: _CHARACTERS if code == "zh" else _VOCABULARY]


def _objects(words: list[str]) -> Objects:
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array


def _rank_of_draw(count: int) -> npt.NDArray[np.int32]:
    weights = 1.0 / (np.arange(count) + 1 + _MANDELBROT)
    edges = np.cumsum(weights) / weights.sum()
    draws = (np.arange(DRAWS) + 0.5) / DRAWS
    ranks: Any = np.searchsorted(edges, draws)
    clipped: npt.NDArray[np.int32] = np.minimum(ranks, count - 1).astype(np.int32)
    return clipped


@functools.cache
def language(code: str) -> Language:
    """The made-up language of that code; made once in a process."""
    words = _invent(code)
    wide = code == "zh"
    comma, stop, question = ("，", "。", "？") if wide else ("،", ".", "؟") if code == "ar" else (",", ".", "?")
    rank_of_draw, little = _rank_of_draw(len(words)), len(little_words(code))
    return Language(
        code=code,
        joiner="" if wide else " ",
        plain=_objects(words),
        capital=_objects([word[0].upper() + word[1:] for word in words]),
        comma=_objects([word + comma for word in words]),
        stop=_objects([word + stop for word in words]),
        question=_objects([word + question for word in words]),
        rank_of_draw=rank_of_draw,
        little=little,
        long_draw=int(np.searchsorted(rank_of_draw, little)),
        sentence=(12, 34) if wide else (8, 22),
        words=(240, 700) if wide else (150, 500),
    )
