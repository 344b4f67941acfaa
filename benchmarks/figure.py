"""A figure: what was measured, what it is compared with, and the limit it must keep."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

Measured = TypeVar("Measured")


class WrongAnswer(Exception):
    """Something measured gave another answer than its peer: its time means nothing."""


class NotMeasured(Exception):
    """Something that a benchmark needs is not on this machine."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a benchmark is given: how often to measure, how much, and where files may be put."""

    repeat: int
    small: bool
    cache: Path  # kept from run to run
    scratch: Path  # removed after this one

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Limit:
    """The bound that a figure, or its ratio, must keep."""

    of: Literal["ratio", "ours"]
    sense: Literal["at least", "at most"]
    value: float

    def holds(self, measured: float) -> bool:
        return measured >= self.value if self.sense == "at least" else measured <= self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Repeated measurements of ours and of a peer, in one unit.

    Without a peer the ratio is that of ours to the limit.
    """

    name: str
    unit: str
    ours: tuple[float, ...]
    peer: tuple[float, ...] = ()
    peer_name: str = ""
    inverted: bool = False  # the ratio is peer / ours
    limit: Limit | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.ours)

    @property
    def peer_median(self) -> float | None:
        return statistics.median(self.peer) if self.peer else None

    @property
    def ratio(self) -> float | None:
        other = self.peer_median
        if other is None:
            other = self.limit.value if self.limit and self.limit.of == "ours" else None
        above, below = (other, self.median) if self.inverted else (self.median, other)
        return above / below if above is not None and below else None

    @property
    def ratio_of(self) -> str:
        other = "peer" if self.peer else "limit"
        return f"{other} / ours" if self.inverted else f"ours / {other}"

    @property
    def holds(self) -> bool | None:
        if self.limit is None:
            return None
        measured = self.ratio if self.limit.of == "ratio" else self.median
        return None if measured is None else self.limit.holds(measured)

    def to_json(self) -> dict[str, Any]:
        limit = self.limit and {"of": self.limit.of, "sense": self.limit.sense, "value": self.limit.value}
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": self.median,
            "peer": self.peer_median,
            "peer_name": self.peer_name,
            "ratio": self.ratio,
            "ratio_of": self.ratio_of,
            "limit": limit,
            "holds": self.holds,
            "note": self.note,
            "ours_runs": self.ours,
            "peer_runs": self.peer,
        }


def alternate(
    repeat: int, ours: Callable[[], Measured], peer: Callable[[], Measured]
) -> tuple[tuple[Measured, ...], tuple[Measured, ...]]:
    """What ours and the peer give in turn, so that a change in the machine's pace meets both."""
    runs = [(ours(), peer()) for _ in range(repeat)]
    return tuple(run[0] for run in runs), tuple(run[1] for run in runs)


def expect_equal(what: str, ours: object, theirs: object) -> None:
    """Raise ``WrongAnswer`` if two ways to one answer disagree."""
    if ours != theirs:
        raise WrongAnswer(f"{what}: ours is {ours}, the peer's is {theirs}.")
