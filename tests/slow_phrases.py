"""Shingles, classes, popular counts and covers the slow way: integers, lists and sets. Nothing of unquilt is used."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from slow_quilts import words_of

WORD = 1 << 64
Vector = tuple[int, ...]


def remainder(bits: int, poly: int) -> int:
    """A polynomial over GF(2) modulo another, both as the bits of a number."""
    while bits.bit_length() >= poly.bit_length():
        bits ^= poly << (bits.bit_length() - poly.bit_length())
    return bits


def rabin(data: bytes, poly: int) -> int:
    """The fingerprint of bytes: a 1 in front, then the remainder."""
    return remainder(int.from_bytes(b"\x01" + data, "big"), poly)


def circle(words: Sequence[object], k: int) -> list[tuple[object, ...]]:
    """The k words from each word on, the first following the last."""
    return [tuple(words[(at + i) % len(words)] for i in range(k)) for at in range(len(words))]


def phrases_of(text: str, k: int) -> set[tuple[object, ...]]:
    return set(circle(words_of(text), k))


def resemblance(a: str, b: str, k: int) -> float:
    one, other = phrases_of(a, k), phrases_of(b, k)
    return len(one & other) / len(one | other)


def rabin_phrases(text: str, k: int, polynomials: Sequence[int]) -> list[int]:
    """The fingerprint of each phrase: of the fingerprints of its words, 8 bytes each."""
    words = [rabin(word.encode(), polynomials[0]) for word in words_of(text)]
    return [rabin(b"".join(w.to_bytes(8, "big") for w in some), polynomials[1]) for some in circle(words, k)]  # type: ignore[attr-defined]


def rabin_vector(text: str, k: int, polynomials: Sequence[int]) -> Vector:
    """The shingles of a page: the least fingerprint of a phrase's fingerprint, followed by 64 zeros."""
    phrases = rabin_phrases(text, k, polynomials)
    return tuple(min(rabin(p.to_bytes(8, "big") + bytes(8), poly) for p in phrases) for poly in polynomials[2:])


def mixed_vector(phrases: Sequence[int], shingles: int, seed: int) -> Vector:
    """The least product of a phrase with an odd number, for each of the numbers of a seed."""
    drawn = (hashlib.sha256(f"factor {seed} {i}".encode()).digest()[:8] for i in range(shingles))
    factors = [int.from_bytes(one, "big") | 1 for one in drawn]
    return tuple(min(phrase * factor % WORD for phrase in phrases) for factor in factors)


def are_near(a: Vector, b: Vector, runs: int, length: int, agree: int, verify: float) -> bool:
    equal = [a[i * length : (i + 1) * length] == b[i * length : (i + 1) * length] for i in range(runs)]
    return sum(equal) >= agree and sum(x == y for x, y in zip(a, b, strict=True)) / len(a) >= verify


def classes_of(
    vectors: Sequence[Vector | None], runs: int = 6, length: int = 14, agree: int = 2, verify: float = 0.0
) -> set[frozenset[int]]:
    """Sets of two and more pages that edges connect, every pair of pages compared; None is a page without words."""
    found = {page: {page} for page in range(len(vectors))}
    for a, b in combinations(range(len(vectors)), 2):
        one, other = vectors[a], vectors[b]
        if one is None or other is None or found[a] is found[b]:
            continue
        if are_near(one, other, runs, length, agree, verify):
            found[a] |= found[b]
            for page in found[b]:
                found[page] = found[a]
    return {frozenset(some) for some in found.values() if len(some) > 1}


@dataclass(frozen=True)
class Site:
    host: str
    domain: str
    ip: str | None


def popular_shingles(vectors: Sequence[Vector | None], kept: Sequence[bool], least: int) -> dict[tuple[int, int], int]:
    """Popular shingles, by position and value, and the representatives that have each."""
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for vector, is_kept in zip(vectors, kept, strict=True):
        for shingle in enumerate(vector or ()) if is_kept else ():
            counts[shingle] += 1
    return {shingle: count for shingle, count in counts.items() if count >= least}


def cover_of(
    page: int,
    vectors: Sequence[Vector | None],
    kept: Sequence[bool],
    sites: Sequence[Site],
    popular: dict[tuple[int, int], int],
) -> list[tuple[int, int, bool]]:
    """The greedy cover of a page's popular shingles: pages, what each adds, whether it is foreign."""
    mine = set(enumerate(vectors[page] or ()))
    left = {shingle for shingle in mine if shingle in popular}
    home = sites[page]
    addresses = {site.ip or site.domain for site in sites if site.host == home.host}
    cover: list[tuple[int, int, bool]] = []
    while left:
        best = None
        for other, vector in enumerate(vectors):
            if other == page or not kept[other] or vector is None:
                continue
            theirs = set(enumerate(vector))
            adds = len(left & theirs)
            site = sites[other]
            is_foreign = site.domain != home.domain and (site.ip or site.domain) not in addresses
            rank = (is_foreign, adds, len(mine & theirs), -other)
            if adds and (best is None or rank > best):
                best = rank
        if best is None:
            return cover
        is_foreign, adds, _, negative = best
        cover.append((-negative, adds, is_foreign))
        left -= set(enumerate(vectors[-negative] or ()))
    return cover
