"""How well two answers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb


def adjusted_rand(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """The adjusted Rand index of two clusterings of the same things: 1 if they are equal, about 0 by chance."""
    both = sum(comb(n, 2) for n in Counter(zip(one, other, strict=True)).values())
    a, b = (sum(comb(n, 2) for n in Counter(some).values()) for some in (one, other))
    chance = a * b / max(comb(len(one), 2), 1)
    return 1.0 if a + b == 2 * chance else (both - chance) / ((a + b) / 2 - chance)


def area_under_curve(scores: Sequence[float], is_positive: Sequence[bool]) -> float:
    """The chance that a positive scores above a negative; equal scores count half."""
    positive = [score for score, yes in zip(scores, is_positive, strict=True) if yes]
    negative = [score for score, yes in zip(scores, is_positive, strict=True) if not yes]
    wins = sum((p > n) + (p == n) / 2 for p in positive for n in negative)
    return wins / (len(positive) * len(negative))


def best_f1(scores: Sequence[float], is_positive: Sequence[bool]) -> float:
    """The best F1 that any threshold on the scores gives."""
    positives, best = sum(is_positive), 0.0
    for threshold in set(scores):
        found = [yes for score, yes in zip(scores, is_positive, strict=True) if score >= threshold]
        best = max(best, 2 * sum(found) / (len(found) + positives))
    return best
