"""A crawl cleaned the slow way: lists and dictionaries of words, one page at a time. Nothing of unquilt is used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from slow_quilts import Gram, grams_of, spans_of, words_of

SPACES = " \t\n\v\f\r"
Place = tuple[int, int]
"""A page, and one of its words."""


@dataclass(frozen=True)
class Passage:
    """What is taken out of a page, in words of it; a copy has the place of its first word in its source."""

    begin: int
    end: int
    kind: str
    source: Place | None = None
    pages: int | None = None


def find_passages(
    texts: Sequence[str], k: int, min_words: int, boilerplate: int, min_boilerplate: int
) -> list[list[Passage]]:
    """The passages of each page."""
    grams = [grams_of(words_of(text), k) for text in texts]
    places: dict[Gram, list[Place]] = defaultdict(list)
    for page, mine in enumerate(grams):
        for word, gram in enumerate(mine):
            places[gram].append((page, word))
    counts = {gram: len({page for page, _ in some}) for gram, some in places.items()}
    found = []
    for page, mine in enumerate(grams):
        popular = [boilerplate > 0 and counts[gram] > boilerplate for gram in mine]
        common = [i for run in runs_of(popular) if len(run) + k - 1 >= min_boilerplate for i in run]
        copied = [i not in common and places[gram][0][0] < page for i, gram in enumerate(mine)]
        runs = [run for run in runs_of(copied) if min_words and len(run) + k - 1 >= min_words]
        first_places = [places[gram][0] for gram in mine]
        claims: dict[int, Place] = {}
        for run in runs:
            claims = sources_of(run, first_places, k) | claims
        words: list[tuple[str, Place | None]] = [("", None)] * len(words_of(texts[page]))
        for word, place in claims.items():
            words[word] = "copy", place
        for i in common:
            words[i : i + k] = [("boilerplate", None)] * k
        passages = []
        for begin, end, kind, source in join(words):
            pages = None if source else min(counts[mine[i]] for i in common if begin <= i < end)
            passages.append(Passage(begin, end, kind, source, pages))
        found.append(passages)
    return found


def runs_of(wanted: Sequence[bool]) -> Iterator[range]:
    """Where what is wanted follows each other."""
    at = 0
    for is_wanted, some in groupby(wanted):
        length = len(list(some))
        if is_wanted:
            yield range(at, at + length)
        at += length


def sources_of(run: range, first_places: Sequence[Place], k: int) -> dict[int, Place]:
    """For each word of a run of copied grams its place in a source.

    It is the place after that of the word before, as long as a gram that has the word says so; then the one that the
    gram says that begins with the word, or else the last gram.
    """
    sources: dict[int, Place] = {}
    for word in range(run[0], run[-1] + k):
        offers = {}
        for i in run:
            if i <= word < i + k:
                page, place = first_places[i]
                offers[i] = page, place + word - i
        before = sources.get(word - 1)
        goes_on = before and (before[0], before[1] + 1)
        sources[word] = goes_on if goes_on in offers.values() else offers[min(word, run[-1])]  # type: ignore[assignment]
    return sources


def join(words: Sequence[tuple[str, Place | None]]) -> Iterator[tuple[int, int, str, Place | None]]:
    """Words of one kind that follow each other, in their source too."""
    begin = 0
    for at, (one, other) in enumerate(pairwise([*words, ("end", None)]), 1):
        follows = one[1] is None or other[1] == (one[1][0], one[1][1] + 1)
        if one[0] == other[0] and follows:
            continue
        if one[0]:
            yield begin, at, *words[begin]
        begin = at


def span_of(text: str, passage: Passage, others: Sequence[Passage]) -> tuple[int, int]:
    """Where a passage begins and ends in a text, in characters."""
    spans = [*spans_of(text), (len(text), len(text))]
    begin, end = spans[passage.begin][0], spans[passage.end - 1][1]
    if not any(other.end == passage.begin for other in others):
        begin = len(text[:begin].rstrip(SPACES))
    next_word = spans[passage.end][0]
    if any(other.begin == passage.end for other in others):
        return begin, next_word
    while end < next_word and text[end] not in SPACES:
        end += 1
    while end < next_word and text[end] in SPACES:
        end += 1
    return begin, end


def cut(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """A text without some spans: a line break between what is left on both sides of them."""
    is_cut = [any(begin <= at < end for begin, end in spans) for at in range(len(text))]
    pieces = ["".join(text[i] for i in run) for run in runs_of([not one for one in is_cut])]
    return "\n".join(pieces)
