"""The sweep of the quilts' parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import pyarrow as pa

from unquilt.corpus import write_table
from unquilt.report.figures import BLUE, INK, VERMILION, dressed, inline, write_figure
from unquilt.result import Result

_PANEL = {"width": 170, "height": 130}
_SUBTITLE = "One parameter moves; the others stay at the pivot, the diamond"

_AXES = {
    "k": "k, words in a gram",
    "m": "m, most pages of a patch gram",
    "c": "c, fewest sources",
    "sigma": "σ, least share of patches",
}
_MEASURES = (
    ("share", "Pages that are quilts", "~%", BLUE),
    ("mean_sources", "Mean number of sources", ",~f", VERMILION),
)


def write_sweep(result: Result, folder: Path) -> list[Path]:
    """Write a sweep to a folder: sweep.csv, sweep.parquet, sweep.png and sweep.svg; their paths."""
    table = result.tables["sweep"]
    write_table(table, folder / "sweep.parquet")
    return sorted([*write_figure(sweep_chart(table), table, folder, "sweep"), folder / "sweep.parquet"])


def sweep_chart(table: pa.Table) -> Any:
    """A sweep's table as panels, a column for each parameter: the share of quilts above, their sources below.

    Panels of one row have one scale. The pivot, which all four parameters share, is a dark diamond in each.
    """
    rows = table.to_pylist()
    names = [name for name in _AXES if any(row["parameter"] == name for row in rows)]
    panels = [_panel(rows, name, measure, is_first=name == names[0]) for measure in _MEASURES for name in names]
    grid = alt.concat(*panels, columns=len(names), align="all", bounds="flush", spacing={"row": 28, "column": 20})
    return dressed(grid, _title(rows), _SUBTITLE)


def _title(rows: list[dict[str, Any]]) -> str:
    pivot = _pivot(rows)
    return f"Quilts around (k, m, c, σ) = ({pivot['k']}, {pivot['m']:,}, {pivot['c']}, {pivot['sigma']:g})"


def _pivot(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Where each parameter stays while another moves."""
    return {name: next(row[name] for row in rows if row["parameter"] != name) for name in _AXES}


def _panel(rows: list[dict[str, Any]], name: str, measure: tuple[str, str, str, str], *, is_first: bool) -> Any:
    """One measure against one parameter."""
    column, label, format_, color = measure
    pivot = _pivot(rows)[name]
    values = [
        {"x": row["value"], "y": row[column], "is_pivot": row["value"] == pivot}
        for row in rows
        if row["parameter"] == name
    ]
    known = [row[column] for row in rows if row[column] is not None]
    is_last_line = column == _MEASURES[-1][0]
    x = alt.X(
        "x:Q",
        title=_AXES[name] if is_last_line else None,
        scale=alt.Scale(type="log" if name == "m" else "linear", zero=False, nice=False, padding=12),
        axis=alt.Axis(
            values=[value["x"] for value in values], labelExpr=_label(",~f"), grid=False,
            labels=is_last_line, labelOverlap="greedy", labelSeparation=2, labelAngle=0,
        ),
    )  # fmt: skip
    y = alt.Y(
        "y:Q",
        title=label if is_first else None,
        scale=alt.Scale(domain=[0, max([*known, 0]) * 1.05 or 1], nice=True),
        axis=alt.Axis(
            labelExpr=_label(format_), labels=is_first, ticks=is_first, tickCount=5, domain=is_first, minExtent=32
        ),
    )
    base = alt.Chart(inline(values)).encode(x=x, y=y)
    line = base.mark_line(color=color, strokeWidth=2)
    dots = base.mark_circle(color=color, size=40, opacity=1).transform_filter("!datum.is_pivot")
    here = base.mark_point(shape="diamond", size=130, filled=True, color=INK, opacity=1).transform_filter(
        "datum.is_pivot"
    )
    return alt.layer(line, dots, here).properties(**_PANEL)


def _label(form: str) -> str:
    """An axis's labels in full: given as a format, Vega would round them to the distance of its own ticks."""
    return f"format(datum.value, '{form}')"
