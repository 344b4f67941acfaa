"""Sweeps: how many pages are quilted as one parameter moves and the others stay (Najork, SIGIR 2012, Table 1).

Only another k needs other grams. What pages share at the largest m holds the answer for every smaller m, and a
cover says how many sources a page has whatever c and sigma ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.detectors.duplicates import fold_duplicates
from unquilt.detectors.quilts.find import PAGES_PER_BUCKET, pages_with_text, share_grams
from unquilt.detectors.quilts.sweep_params import Point, Setting, SweepParams
from unquilt.detectors.sites import PageArray, page_arrays, site_numbers
from unquilt.engines import Bucket, Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.kernels.sweep import count_quilts
from unquilt.result import Result
from unquilt.schema import SWEEP

COUNTS = pa.schema([("quilted", pa.int64()), ("sources", pa.int64())])
"""What one range of pages adds to each setting."""


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
        compile_kernels(engine, "quilts")
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
                found = engine.reduce(step, shared.ranges, name=f"Covering pages, k = {k}")
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
    first = bucket.number * PAGES_PER_BUCKET
    ms, cs, sigmas = zip(*settings, strict=True)
    counts = count_quilts(
        *bucket.columns, first, min(PAGES_PER_BUCKET, pages - first), np.array(ms, np.int64),
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
