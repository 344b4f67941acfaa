"""Quilts found the slow way: lists, sets and dictionaries of words, one page at a time. Nothing of unquilt is used."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

Gram = tuple[str, ...]
Span = tuple[int, int]

ALONE = (
    "0E00-0EFF 0F00-109F 1780-17FF 19E0-19FF 2E80-2FDF 3005-3007 3021-3029 3031-3035 3038-303B 3040-312F "
    "31A0-31BF 31F0-31FF 3400-4DBF 4E00-9FFF A9E0-A9FF AA60-AA7F F900-FAFF FF66-FF9F 1B000-1B16F 20000-3FFFF"
)
"""Characters that are a word each, first and last of each range."""


@cache
def kind_of(character: str) -> str:
    """``letter`` joins its neighbors to a word, ``alone`` is a word by itself, ``mark`` continues one, or ``none``."""
    if character.isalnum():
        ranges = [part.split("-") for part in ALONE.split()]
        is_alone = any(int(first, 16) <= ord(character) <= int(last, 16) for first, last in ranges)
        return "alone" if is_alone else "letter"
    return "mark" if unicodedata.category(character).startswith("M") else "none"


@cache
def fold(character: str) -> str:
    """A character without its case, always one character."""
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


@cache
def spans_of(text: str) -> list[Span]:
    """Where each word of a text begins and ends, in characters."""
    spans: list[Span] = []
    before = "none"
    for at, character in enumerate(text):
        kind = kind_of(character)
        if kind == "mark" and before != "none":
            kind = before
            spans[-1] = spans[-1][0], at + 1
        elif kind == "letter" and before == "letter":
            spans[-1] = spans[-1][0], at + 1
        elif kind in ("letter", "alone"):
            spans.append((at, at + 1))
        else:
            kind = "none"
        before = kind
    return spans


@cache
def words_of(text: str) -> list[str]:
    """The words of a text, case folded."""
    return ["".join(map(fold, text[begin:end])) for begin, end in spans_of(text)]


def grams_of(words: list[str], k: int) -> list[Gram]:
    """Each k words in a row."""
    return list(zip(*(words[i:] for i in range(k)), strict=False))


@dataclass(frozen=True)
class Page:
    """What the brute force needs to know of a page."""

    url: str
    host: str
    domain: str
    ip: str | None
    text: str

    def site(self, foreign: str) -> str:
        sites = {"none": self.url, "host": self.host, "domain": self.domain, "ip": self.ip or self.domain}
        return sites[foreign]


@dataclass(frozen=True)
class Quilt:
    """A quilted page, with its sources in the order they were taken and the grams each added."""

    url: str
    grams: int
    patch_grams: int
    foreign_fraction: float
    sources: list[tuple[str, int]]


class SlowQuilts:
    """All pages with all their grams of k words."""

    def __init__(self, pages: Sequence[Page], k: int) -> None:
        self.pages = pages
        self.sites = {foreign: [page.site(foreign) for page in pages] for foreign in ("none", "host", "domain", "ip")}
        self.grams = [set(grams_of(words_of(page.text), k)) for page in pages]
        self.docs: dict[Gram, list[int]] = defaultdict(list)
        for number, grams in enumerate(self.grams):
            for gram in grams:
                self.docs[gram].append(number)

    def patch_grams(self, number: int, m: int) -> set[Gram]:
        return {gram for gram in self.grams[number] if 2 <= len(self.docs[gram]) <= m}

    def shares(self, number: int, m: int, foreign: str) -> dict[int, set[Gram]]:
        """For each page that may be a source, the patch grams it has."""
        sites = self.sites[foreign]
        shares: dict[int, set[Gram]] = defaultdict(set)
        for gram in self.patch_grams(number, m):
            for other in self.docs[gram]:
                if other != number and sites[other] != sites[number]:
                    shares[other].add(gram)
        return shares

    def foreign_grams(self, number: int, foreign: str) -> int:
        """How many grams of a page some page of another site has, however common they are."""
        sites = self.sites[foreign]
        return sum(any(sites[other] != sites[number] for other in self.docs[gram]) for gram in self.grams[number])

    def find(
        self, *, m: int = 50, c: int = 4, sigma: float = 0.5, foreign: str = "domain", min_contribution: float = 0.0
    ) -> list[Quilt]:
        """Every quilted page, in the order of the pages."""
        found = []
        for number, grams in enumerate(self.grams):
            patches = self.patch_grams(number, m)
            if not patches or len(patches) / len(grams) < sigma:
                continue
            cover = greedy_cover(self.shares(number, m, foreign))
            cover = [(other, gain) for other, gain in cover if gain / len(patches) >= min_contribution]
            if len(cover) < c:
                continue
            sources = [(self.pages[other].url, gain) for other, gain in cover]
            share = self.foreign_grams(number, foreign) / len(grams)
            found.append(Quilt(self.pages[number].url, len(grams), len(patches), share, sources))
        return found

    def find_with_minimum_cover(self, *, m: int, c: int, sigma: float, foreign: str) -> set[str]:
        """The pages that are quilted when as few sources as possible are counted."""
        return {
            self.pages[number].url
            for number, grams in enumerate(self.grams)
            if grams
            and len(self.patch_grams(number, m)) / len(grams) >= sigma
            and minimum_cover(self.shares(number, m, foreign).values()) >= c
        }


def greedy_cover(shares: dict[int, set[Gram]]) -> list[tuple[int, int]]:
    """Again and again the page that has most of what is left, of equal ones the first; and how much it had."""
    left = {page: set(grams) for page, grams in shares.items()}
    taken = []
    while any(left.values()):
        best = min(left, key=lambda page: (-len(left[page]), page))
        covered = left[best]
        taken.append((best, len(covered)))
        left = {page: grams - covered for page, grams in left.items()}
    return taken


def minimum_cover(shares: Iterable[set[Gram]]) -> int:
    """The least number of sets that together have all that any of them has: every choice is tried."""
    choices = [set(grams) for grams in shares]
    everything = set().union(*choices)
    for size in range(len(choices) + 1):
        if any(set().union(*chosen) == everything for chosen in combinations(choices, size)):
            return size
    raise AssertionError("all sets together cover everything")


@dataclass(frozen=True, order=True)
class Patch:
    """A run of words of a page that stands in a source as well, in characters of both texts."""

    begin: int
    end: int
    source: str
    source_begin: int
    source_end: int
    words: int


@lru_cache(maxsize=512)
def first_places(text: str, k: int) -> dict[Gram, int]:
    """Each gram of a text with the number of the word where it first stands."""
    places: dict[Gram, int] = {}
    for at, gram in enumerate(grams_of(words_of(text), k)):
        places.setdefault(gram, at)
    return places


def claim_grams(text: str, sources: Sequence[str], k: int) -> list[tuple[int, int] | None]:
    """For each gram of a page the first source that has it, and its place there.

    That is the place after the gram before it if the source goes on as the page does, else where the gram first stands.
    """
    grams = grams_of(words_of(text), k)
    first_source: dict[Gram, int] = {}
    for rank, source in enumerate(sources):
        for gram in first_places(source, k).keys() & set(grams):
            first_source.setdefault(gram, rank)
    claims: list[tuple[int, int] | None] = []
    for gram in grams:
        if gram not in first_source:
            claims.append(None)
            continue
        rank = first_source[gram]
        place = first_places(sources[rank], k)[gram]
        before = claims[-1] if claims else None
        if before and before[0] == rank:
            after = before[1] + 1
            place = after if tuple(words_of(sources[rank])[after : after + k]) == gram else place
        claims.append((rank, place))
    return claims


def claim_words(text: str, sources: Sequence[str], k: int) -> list[tuple[int, int] | None]:
    """For each word of a page the first source that has a gram with it, and the word's place in that source.

    Of several grams of one source, the first one speaks for the word.
    """
    best: list[tuple[int, int, int] | None] = [None] * len(words_of(text))
    for at, claim in enumerate(claim_grams(text, sources, k)):
        if claim is None:
            continue
        rank, place = claim
        for i in range(k):
            known = best[at + i]
            if known is None or (rank, at) < known[:2]:
                best[at + i] = rank, at, place + i
    return [None if claim is None else (claim[0], claim[2]) for claim in best]


def find_patches(text: str, sources: Sequence[tuple[str, str]], k: int) -> list[Patch]:
    """The patches of a page, from its sources' URLs and texts in the order they were taken."""
    claims = claim_words(text, [source for _, source in sources], k)
    runs: list[list[int]] = []  # of words
    for at, claim in enumerate(claims):
        if claim is None:
            continue
        if runs and runs[-1][-1] == at - 1 and claims[at - 1] == (claim[0], claim[1] - 1):
            runs[-1].append(at)
        else:
            runs.append([at])
    return [_patch(text, sources, claims, run[0], run[-1]) for run in runs]


def _patch(
    text: str, sources: Sequence[tuple[str, str]], claims: list[tuple[int, int] | None], first: int, last: int
) -> Patch:
    begin_claim, end_claim = claims[first], claims[last]
    assert begin_claim is not None
    assert end_claim is not None
    url, source = sources[begin_claim[0]]
    mine, theirs = spans_of(text), spans_of(source)
    return Patch(
        mine[first][0], mine[last][1], url, theirs[begin_claim[1]][0], theirs[end_claim[1]][1], last - first + 1
    )
