"""Made-up languages: words from syllables, Zipfian frequencies, and punctuation.

The words are invented but look like their language. Frequencies follow Zipf and Mandelbrot, p ~ 1 / (rank + 2.7),
so two pages written apart share a five-word phrase less than once in 10^11 pairs of phrases.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.synth.chance import Stream, generator

DRAWS = 1 << 18
_VOCABULARY = 20_000
_MANDELBROT = 2.7

_SYLLABLES = {
    "en": (
        "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sl sp st str t th tr v w",
        "a e i o u a e i o ea ee ai ou oo ow ie",
        "- - - n r l t s d m ck nd st ng nt ss ll p re ve ly er",
    ),
    "de": (
        "b br d dr f fl fr g gl gr h j k kl kr l m n p pf r s sch schl schw sp st str t tr v w z zw",
        "a e i o u ä ö ü ei au ie eu e e a",
        "- - n r l t s en er ch ng nd cht st ung ß rt lich heit",
    ),
    "es": (
        "b br c ch d dr f fr g gr gu h j l ll m n ñ p pr qu r s t tr v z",
        "a e i o u a e o a o ia ie ue á é í ó",
        "- - - - n r s l d z ción dad mente",
    ),
    "ru": (
        "б в г д ж з к л м н п р с т ф х ц ч ш щ бр вл гр др кр пр ст тр сл зн",
        "а е и о у ы э ю я о а е и",
        "- - - н р л т с в м к ть й ст ние ный ция ами ского",
    ),
    "ar": (
        "ب ت ث ج ح خ د ذ ر ز س ش ص ض ط ظ ع غ ف ق ك ل م ن ه و ي ال ست مت",
        "ا و ي - - - ا",
        "- - - ن ر ل ة ات ين ون ها",
    ),
}
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
    sentence: tuple[int, int]  # least and most words
    words: tuple[int, int]  # a typical page, least and most


def _invent(code: str) -> list[str]:
    """The vocabulary, commonest first: common words are short."""
    rng = generator(0, Stream.WORDS, LANGUAGES.index(code))
    if code == "zh":
        return [chr(c) for c in rng.permutation(np.arange(0x4E00, 0x9F00))[:3500].tolist()]
    begins, middles, ends = (np.array(part.split(), dtype=object) for part in _SYLLABLES[code])
    found: dict[str, None] = {}
    while len(found) < _VOCABULARY * 1.2:
        count = 40_000
        word = np.full(count, "", dtype=object)
        syllables = rng.choice([1, 2, 3, 4], size=count, p=[0.2, 0.4, 0.3, 0.1])
        for at in range(4):
            part = begins[rng.integers(0, len(begins), count)] + middles[rng.integers(0, len(middles), count)]
            part = part + np.where(rng.random(count) < 0.5, ends[rng.integers(0, len(ends), count)], "")
            word = np.where(syllables > at, word + part, word)
        found.update(dict.fromkeys(w.replace("-", "") for w in word.tolist()))
    spread = rng.exponential(1.0, len(found)).tolist()
    ranked = sorted(
        zip(found, spread, strict=True), key=lambda pair: (len(pair[0]) * (0.6 + pair[1]), pair[0])
    )
    return [word for word, _ in ranked if len(word) > 1][:_VOCABULARY]


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
    comma, stop, question = (
        ("，", "。", "？") if wide else ("،", ".", "؟") if code == "ar" else (",", ".", "?")
    )
    return Language(
        code=code,
        joiner="" if wide else " ",
        plain=_objects(words),
        capital=_objects([word[0].upper() + word[1:] for word in words]),
        comma=_objects([word + comma for word in words]),
        stop=_objects([word + stop for word in words]),
        question=_objects([word + question for word in words]),
        rank_of_draw=_rank_of_draw(len(words)),
        sentence=(12, 34) if wide else (8, 22),
        words=(240, 700) if wide else (150, 500),
    )
