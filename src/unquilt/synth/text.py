"""Running text: drawn, changed word by word, and cut into sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from unquilt.synth.chance import numbers
from unquilt.synth.words import DRAWS, Language, language

Ints = npt.NDArray[np.int64]
_WORDS = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Text:
    """Words by rank, where sentences and paragraphs begin, and where commas and questions are."""

    language: Language
    ranks: npt.NDArray[np.int32]
    sentences: Ints  # begin of each sentence, then the number of words
    paragraphs: list[int]  # first sentence of each paragraph, then the number of sentences
    commas: Ints
    questions: Ints  # sentences that ask

    def tokens(self) -> list[str]:
        """The words with their punctuation."""
        known = self.language
        out = known.plain[self.ranks]
        begins, ends = self.sentences[:-1], self.sentences[1:] - 1
        out[self.commas] = known.comma[self.ranks[self.commas]]
        out[begins] = known.capital[self.ranks[begins]]
        out[ends] = known.stop[self.ranks[ends]]
        asking = ends[self.questions]
        out[asking] = known.question[self.ranks[asking]]
        written: list[str] = out.tolist()
        return written

    def sentence_list(self) -> list[str]:
        """Each sentence as text."""
        tokens, cuts, join = self.tokens(), self.sentences.tolist(), self.language.joiner.join
        return [join(tokens[a:b]) for a, b in pairwise(cuts)]

    def paragraph_list(self) -> list[str]:
        """Each paragraph as text."""
        tokens, cuts, join = self.tokens(), self.sentences.tolist(), self.language.joiner.join
        begins = [cuts[sentence] for sentence in self.paragraphs]
        return [join(tokens[a:b]) for a, b in pairwise(begins)]


def draw_text(key: int, code: str, words: int | None = None) -> Text:
    """The text of a key in one language; about as many words as asked, or as a typical page has."""
    known = language(code)
    if words is None:
        least, most = known.words
        shape = (key >> 40) / 2.0**24
        words = least + int((most - least) * shape * shape)
    low, high = known.sentence
    count = max(1, 2 * words // (low + high))
    lengths, offsets, asking, steps = numbers(key, 0, 4 * count).reshape(4, count)
    lengths = low + lengths % (high - low + 1)
    sentences = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(lengths, out=sentences[1:])
    ranks = _draw_words(numbers(key, 4 * count, 4 * count + int(sentences[-1])), known, sentences)
    offsets = 2 + offsets % (high - 4)
    commas = (sentences[:-1] + offsets)[offsets + 2 < lengths]
    commas = commas[ranks[commas] >= known.little]
    questions = np.flatnonzero(asking % 100 < 7)
    paragraphs, at = [0], 0
    for step in steps.tolist():
        at += 2 + step % 4
        if at >= count:
            break
        paragraphs.append(at)
    paragraphs.append(count)
    return Text(known, ranks, sentences, paragraphs, commas, questions)


def _draw_words(drawn: Ints, known: Language, sentences: Ints) -> npt.NDArray[np.int32]:
    """Words by rank. A little word neither follows another ("of to") nor ends a sentence."""
    ranks: npt.NDArray[np.int32] = known.rank_of_draw[drawn & (DRAWS - 1)]
    little = ranks < known.little
    wrong = little.copy()
    wrong[0] = False
    wrong[1:] &= little[:-1]
    ends = sentences[1:] - 1
    wrong[ends] = little[ends]
    at = np.flatnonzero(wrong)
    # The same draw serves again: of its 31 bits the first choice used 18.
    ranks[at] = known.rank_of_draw[known.long_draw + (drawn[at] >> 1) % (DRAWS - known.long_draw)]
    return ranks


def change_words(text: Text, at: Ints, rng: np.random.Generator) -> Text:
    """The text with the words at these positions replaced by fresh ones."""
    ranks = text.ranks.copy()
    ranks[at] = text.language.rank_of_draw[rng.integers(0, DRAWS, len(at))]
    return Text(text.language, ranks, text.sentences, text.paragraphs, text.commas, text.questions)


def changes_for(resemblance: float, words: int) -> int:
    """How many single words to change so that about this resemblance is left."""
    kept: float = 2 * resemblance / (1 + resemblance)
    return int((1.0 - float(kept ** (1 / 5))) * words + 0.5)


def words_of(pieces: list[str]) -> list[str]:
    """The words of visible text, folded, as detectors see them."""
    return _WORDS.findall(" ".join(pieces).lower())


def circle_shingles(words: list[str]) -> set[tuple[str, ...]]:
    """The 5-word phrases of a page read as a circle."""
    ring = words + (words * 5)[:4]
    return set(zip(ring, ring[1:], ring[2:], ring[3:], ring[4:], strict=False))


def grams(words: list[str]) -> set[tuple[str, ...]]:
    """The 5-word grams of a page read from begin to end."""
    return set(zip(words, words[1:], words[2:], words[3:], words[4:], strict=False))


def resemblance(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    """Jaccard's coefficient of two sets."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
