"""The settings of a sweep, apart from its code so that the command line has them at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from unquilt.detectors.quilts.params import QuiltParams
from unquilt.errors import BadParameter
from unquilt.params import Knob, Params

SWEPT = ("k", "m", "c", "sigma")
"""The parameters that move, one at a time."""


class Setting(NamedTuple):
    """What decides whether a page is quilted, once its grams are known."""

    m: int
    c: int
    sigma: float


class Point(NamedTuple):
    """One row of a sweep: the parameter that moves, its value, and all four."""

    parameter: str
    value: float
    k: int
    setting: Setting


def _as_for_quilts(name: str) -> Any:
    """A knob of quilts, with the same default, meaning and range."""
    field = QuiltParams.__dataclass_fields__[name]
    return dataclasses.field(default=field.default, metadata=field.metadata)


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepParams(Params):
    """The pivot, and the values each parameter takes while the others stay at the pivot."""

    k: int = _as_for_quilts("k")
    m: int = _as_for_quilts("m")
    c: int = _as_for_quilts("c")
    sigma: float = _as_for_quilts("sigma")
    foreign: str = _as_for_quilts("foreign")
    min_contribution: float = _as_for_quilts("min_contribution")
    collapse: bool = _as_for_quilts("collapse")
    k_values: tuple[int, ...] = (3, 4, 5, 6, 7, 8)
    m_values: tuple[int, ...] = (5, 10, 20, 50, 100, 200)
    c_values: tuple[int, ...] = (2, 3, 4, 5, 6, 8, 10)
    sigma_values: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

    def __post_init__(self) -> None:
        Params.__post_init__(self)  # super() does not know a class with slots
        for name in SWEPT:
            _check_values(name, getattr(self, f"{name}_values"), range_of(name))

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: the values are lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(self).items()
        }

    @property
    def pivot(self) -> Setting:
        return Setting(self.m, self.c, self.sigma)

    def points(self) -> list[Point]:
        """Every row of the sweep; the pivot is among the values of each parameter."""
        found = []
        for name in SWEPT:
            for value in sorted({*getattr(self, f"{name}_values"), getattr(self, name)}):
                k = int(value) if name == "k" else self.k
                setting = self.pivot if name == "k" else self.pivot._replace(**{name: value})
                found.append(Point(name, float(value), k, setting))
        return found


def range_of(name: str) -> Knob:
    """Meaning and range of a parameter that can be swept."""
    known: Knob = QuiltParams.__dataclass_fields__[name].metadata["knob"]
    return known


def _check_values(name: str, values: Sequence[float], known: Knob) -> None:
    fix = f"Each is a value of --{name}: {known.meaning}."
    if not len(values):
        raise BadParameter(f"--{name}-values is empty; name at least one value.", fix=fix)
    for value in values:
        low = known.least is not None and not value >= known.least
        high = known.most is not None and not value <= known.most
        if low or high:
            raise BadParameter(f"--{name}-values has {value!r}; each must be {known.describe_range()}.", fix=fix)
