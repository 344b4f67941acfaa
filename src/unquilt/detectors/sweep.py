"""Sweeps: how many pages are quilted as one parameter moves and the others stay (Najork, SIGIR 2012, Table 1).

Only another k needs other grams. What pages share at the largest m holds the answer for every smaller m, and a
cover says how many sources a page has whatever c and sigma ask for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.detectors.duplicates import fold_duplicates
from unquilt.detectors.quilts import _PAGES_PER_BUCKET, QuiltParams, pages_with_text, share_grams
from unquilt.detectors.sites import PageArray, page_arrays, site_numbers
from unquilt.engines import Bucket, Engine
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadParameter
from unquilt.kernels.sweep import count_quilts
from unquilt.params import Knob, Params
from unquilt.result import Result

SWEPT = ("k", "m", "c", "sigma")

SWEEP = pa.schema(
    [
        pa.field(name, kind, metadata={"meaning": meaning})
        for name, kind, meaning in (
            ("parameter", pa.string(), "the one that moves: k, m, c or sigma"),
            ("value", pa.float64(), "what it is here"),
            ("k", pa.int64(), "words in a gram"),
            ("m", pa.int64(), "most pages a patch gram is on"),
            ("c", pa.int64(), "fewest sources"),
            ("sigma", pa.float64(), "least share of patch grams"),
            ("quilted", pa.int64(), "quilted pages"),
            ("share", pa.float64(), "quilted / pages of the corpus"),
            ("mean_sources", pa.float64(), "mean number of sources of a quilted page; null if there is none"),
        )
    ]
)
"""The table of a sweep."""

COUNTS = pa.schema([("quilted", pa.int64()), ("sources", pa.int64())])
"""What one range of pages adds to each setting."""


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


def sweep_quilts(
    corpus: Corpus,
    params: SweepParams = SweepParams(),
    *,
    engine: Engine | None = None,
) -> Result:
    """How many pages are quilted, and from how many sources, as each parameter moves around the pivot."""
    pages = pages_with_text(corpus)
    points = params.points()
    counts: dict[tuple[int, Setting], tuple[int, int]] = {}
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        arrays = stack.enter_context(page_arrays(corpus))
        sites = arrays.save("sites", site_numbers(corpus, params.foreign))
        folded = arrays.save("folded", fold_duplicates(corpus, engine)) if params.collapse else None
        for k in sorted({point.k for point in points}):
            settings = sorted({point.setting for point in points if point.k == k})
            most = max(setting.m for setting in settings)
            with share_grams(corpus, engine, k=k, m=most, sites=sites, folded=folded) as shared:
                step = partial(
                    count_range, settings=settings, min_contribution=params.min_contribution, pages=pages, sites=sites
                )
                found = engine.reduce(step, shared, name=f"Covering pages, k = {k}")
                totals = sum((_matrix(table) for table in found), np.zeros((2, len(settings)), np.int64))
            counts |= {(k, setting): (int(a), int(b)) for setting, a, b in zip(settings, *totals, strict=True)}
    rows = [_row(point, *counts[point.k, point.setting], pages) for point in points]
    return Result("sweep", {"sweep": pa.Table.from_pylist(rows, SWEEP)}, params.as_dict(), corpus.digest)


def count_range(
    bucket: Bucket, *, settings: Sequence[Setting], min_contribution: float, pages: int, sites: PageArray
) -> pa.Table:
    """For each setting, the quilted pages of a range and their sources, counted."""
    if not bucket.columns or not len(bucket.columns[0]):
        return pa.table([np.zeros(len(settings), np.int64)] * 2, schema=COUNTS)
    first = bucket.number * _PAGES_PER_BUCKET
    ms, cs, sigmas = zip(*settings, strict=True)
    counts = count_quilts(
        *bucket.columns, first, min(_PAGES_PER_BUCKET, pages - first), np.array(ms, np.int64),
        np.array(cs, np.int64), np.array(sigmas, np.float64), float(min_contribution), sites.load(),
    )  # fmt: skip
    return pa.table(list(counts), schema=COUNTS)


def _matrix(table: pa.Table) -> Any:
    return np.array([column.to_numpy() for column in table.columns])


def _row(point: Point, quilted: int, sources: int, pages: int) -> dict[str, Any]:
    return {
        "parameter": point.parameter,
        "value": point.value,
        "k": point.k,
        **point.setting._asdict(),
        "quilted": quilted,
        "share": quilted / pages,
        "mean_sources": sources / quilted if quilted else None,
    }
