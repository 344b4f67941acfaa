"""Quilts: how much of each is patches, and how many sources they have."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus
from unquilt.report.figures import BLUE, VERMILION, Figure, dressed, inline
from unquilt.result import Result

_BINS = 20


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """The figures of quilts; none if there are none."""
    quilts = result.tables["quilts"]
    if not len(quilts):
        return []
    shares, edges = np.histogram(quilts["covered_fraction"].to_numpy(), _BINS, (0.0, 1.0))
    covered = pa.table({"from": edges[:-1], "to": edges[1:], "quilts": shares})
    counts = pc.list_value_length(quilts["sources"]).value_counts()
    sources = pa.table({"sources": counts.field(0), "quilts": counts.field(1)}).sort_by("sources")
    return [
        Figure("quilts-covered", covered_chart(covered), covered),
        Figure("quilts-sources", sources_chart(sources), sources),
    ]


def covered_chart(table: pa.Table) -> Any:
    """How many quilts are covered by their sources to which share."""
    chart = (
        alt.Chart(inline(table.to_pylist()), width=420, height=180)
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X(
                "from:Q", bin="binned", title="share of the page that its sources cover", axis=alt.Axis(format="%")
            ),
            x2="to:Q",
            y=alt.Y("quilts:Q", title="quilts"),
        )
    )
    return dressed(chart, "How much of a quilt comes from its sources")


def sources_chart(table: pa.Table) -> Any:
    """How many quilts have how many sources, both on a logarithmic scale."""
    log = alt.Scale(type="log", nice=True)
    chart = (
        alt.Chart(inline(table.to_pylist()), width=420, height=180)
        .mark_circle(color=VERMILION, opacity=0.8)
        .encode(
            x=alt.X("sources:Q", title="sources", scale=log, axis=alt.Axis(format="~s", tickCount=6)),
            y=alt.Y("quilts:Q", title="quilts with so many", scale=log, axis=alt.Axis(format="~s", tickCount=6)),
        )
    )
    return dressed(chart, "How many pages a quilt is stitched from")
