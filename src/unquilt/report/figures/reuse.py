"""Reuse: how often things are copied, how bad neighborhoods are, and what changing a copied site does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.report.figures import BLUE, GREEN, INK, ORANGE, VERMILION, Figure, dressed, inline, write_csv, write_figure
from unquilt.result import Result

_BINS = 50
_SIZE = {"width": 420, "height": 260}


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """How often files and chunks are copied, and how bad neighborhoods are."""
    facts = {row["name"]: row["value"] for row in result.tables["summary"].to_pylist()}
    figures = []
    table = result.tables["distribution"]
    for kind in ("file", "chunk"):
        mine = table.filter(pa.array([one == kind for one in table["kind"].to_pylist()], pa.bool_()))
        if len(mine):
            chart = distribution_chart(mine, kind, facts[f"{kind} threshold"])
            figures.append(Figure(f"{kind}-copies", chart, mine))
    bins = badness_table(result.tables["neighborhoods"], int(facts["neighborhoods"]))
    if len(bins):
        figures.append(Figure("badness", badness_chart(bins, facts["badness threshold"]), bins))
    return figures


def distribution_chart(table: pa.Table, kind: str, threshold: float) -> Any:
    """Number of duplicates × number of objects, both on a log scale, with the threshold."""
    log = alt.Scale(type="log", nice=True)
    dots = alt.Chart(inline(table.to_pylist())).encode(
        x=alt.X("duplicates:Q", title="How often it occurs", scale=log, axis=alt.Axis(format="~s", grid=False)),
        y=alt.Y("objects:Q", title=f"Different {kind}s", scale=log, axis=alt.Axis(format="~s")),
    )
    layers = [dots.mark_circle(color=BLUE, size=40, opacity=0.8)]
    if threshold >= 1:
        layers.append(_line("x", threshold))
    whole = int(table["objects"].to_numpy().sum())
    about = f"{whole:,} different {kind}s; those to the right of the line are labelled unless they are stop chunks"
    return dressed(alt.layer(*layers).properties(**_SIZE), f"Copies of {kind}s", about)


def _line(axis: str, value: float) -> Any:
    base = alt.Chart(inline([{"at": value}]))
    return base.mark_rule(color=VERMILION, strokeDash=[5, 4]).encode(**{axis: "at:Q"})


def badness_table(neighborhoods: pa.Table, total: int) -> pa.Table:
    """The histogram and the CDF of badness over all neighborhoods; those without labelled chunks are not rows."""
    badness = neighborhoods["badness"].to_numpy()
    counts, edges = np.histogram(badness, _BINS, (0.0, 1.0))
    counts[0] += total - len(badness)
    share = counts / max(total, 1)
    made = {"begin": edges[:-1], "end": edges[1:], "neighborhoods": counts, "share": share, "cdf": share.cumsum()}
    return pa.table(made) if total else pa.table(made).slice(0, 0)


def badness_chart(bins: pa.Table, threshold: float) -> Any:
    """Bars and a line: what share of the neighborhoods is how bad, with the threshold."""
    base = alt.Chart(inline(bins.to_pylist()))
    share = alt.Axis(format="%", titlePadding=8)
    bars = base.mark_bar(color=BLUE).encode(
        x=alt.X("begin:Q", title="Badness", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", grid=False)),
        x2="end:Q",
        y2=alt.datum(0),
        y=alt.Y("share:Q", title="Share of neighborhoods", scale=alt.Scale(domain=[0, 1]), axis=share),
    )
    line = base.mark_line(color=ORANGE, strokeWidth=2, interpolate="step-after").encode(x="end:Q", y="cdf:Q")
    about = f"Bars: share; line: all up to here. Bad are those beyond {threshold:.3f}"
    return dressed(alt.layer(bars, line, _line("x", threshold)).properties(**_SIZE), "Badness of neighborhoods", about)


def write_robustness(result: Result, folder: Path) -> list[Path]:
    """Write the curves of the robustness experiment, and the multiples at which detection is lost."""
    table = result.tables["robustness"]
    chart = robustness_chart(table, result.params)
    return [*write_figure(chart, table, folder, "robustness"), write_csv(result.tables["lost"], folder / "lost.csv")]


_PANELS = (
    ("page_badness", "Mean badness of a page"),
    ("pages_detected", "Pages detected"),
    ("site_badness", "Badness of the site"),
    ("neighborhoods_detected", "Neighborhoods detected"),
)
_TITLES = {"add": "chunks added", "delete": "chunks deleted", "change": "chunks changed"}


def robustness_chart(table: pa.Table, params: Any) -> Any:
    """A column for each kind of change, a row for each measure, a line for each labelled set."""
    rows = table.to_pylist()
    panels = []
    for column, label in _PANELS:
        threshold = {"page_badness": "page_threshold", "site_badness": "neighborhood_threshold"}.get(column)
        for change, title in _TITLES.items():
            values = [
                {"x": row["relative"], "y": row[column], "set": row["labelled"]}
                for row in rows
                if row["change"] == change
            ]
            lines = alt.Chart(inline(values)).mark_line(strokeWidth=2).encode(
                x=alt.X("x:Q", title=f"× mean chunks a page, {title}" if column == _PANELS[-1][0] else None,
                        axis=alt.Axis(grid=False)),
                y=alt.Y("y:Q", title=label if change == "add" else None, scale=alt.Scale(domain=[0, 1]),
                        axis=alt.Axis(tickCount=5)),
                color=alt.Color("set:N", title="Labelled set",
                                scale=alt.Scale(domain=["expert", "blind"], range=[GREEN, BLUE])),
            )  # fmt: skip
            drawn = alt.layer(lines, _line("y", params[threshold])) if threshold else alt.layer(lines)
            panels.append(drawn.properties(width=200, height=120))
    grid = alt.concat(*panels, columns=len(_TITLES), spacing={"row": 24, "column": 20})
    about = "Lines end where nothing is left; dashed: the threshold"
    return dressed(grid, f"{params['host']}: a copied site, changed more and more", about).configure_legend(
        labelColor=INK, titleColor=INK
    )
