"""Figures, each defined once in Vega-Lite: the same chart is a PNG, an SVG, and a part of the report."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import altair as alt
import pyarrow as pa
import pyarrow.csv as pa_csv

from unquilt.corpus import write_atomically, write_table
from unquilt.result import Result

BLUE, VERMILION, INK, FAINT = "#0072B2", "#D55E00", "#222222", "#DDDDDD"
"""Okabe and Ito's colors, which everyone can tell apart, on ink and a faint grid."""

_PANEL = {"width": 170, "height": 130}
_PNG_SCALE = 2.0
_FONT = "sans-serif"
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


def save_figure(chart: Any, path: Path) -> Path:
    """Write a chart as the file's ending says, .png or .svg; without a network."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise ValueError(f"{path} is neither .png nor .svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "svg":
        text = io.StringIO()
        chart.save(text, format="svg")
        write_atomically(path, text.getvalue().encode())
    else:
        image = io.BytesIO()
        chart.save(image, format="png", scale_factor=_PNG_SCALE)
        write_atomically(path, image.getvalue())
    return path


def write_sweep(result: Result, folder: Path) -> list[Path]:
    """Write a sweep to a folder: sweep.csv, sweep.parquet, sweep.png and sweep.svg; their paths."""
    table = result.tables["sweep"]
    folder.mkdir(parents=True, exist_ok=True)
    text = io.BytesIO()
    pa_csv.write_csv(table, text, pa_csv.WriteOptions(quoting_style="none"))
    write_atomically(folder / "sweep.csv", text.getvalue())
    write_table(table, folder / "sweep.parquet")
    chart = sweep_chart(table)
    drawn = [save_figure(chart, folder / f"sweep.{kind}") for kind in ("png", "svg")]
    return [folder / "sweep.csv", folder / "sweep.parquet", *drawn]


def sweep_chart(table: pa.Table) -> Any:
    """A sweep's table as panels, a column for each parameter: the share of quilts above, their sources below.

    Panels of one row have one scale. The pivot, which all four parameters share, is a dark diamond in each.
    """
    rows = table.to_pylist()
    names = [name for name in _AXES if any(row["parameter"] == name for row in rows)]
    panels = [_panel(rows, name, measure, is_first=name == names[0]) for measure in _MEASURES for name in names]
    return (
        alt.concat(*panels, columns=len(names), align="all", bounds="flush", spacing={"row": 28, "column": 20})
        .properties(title=alt.TitleParams(_title(rows), subtitle=_SUBTITLE))
        .configure(font=_FONT, background="white")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK, titleColor=INK, gridColor=FAINT, domainColor=INK, tickColor=INK, titleFontWeight="normal",
            labelFontSize=11, titleFontSize=12, labelFont=_FONT, titleFont=_FONT,
        )
        .configure_title(
            anchor="start", color=INK, fontSize=14, subtitleFontSize=12, subtitleColor=INK,
            font=_FONT, subtitleFont=_FONT, offset=12,
        )
    )  # fmt: skip


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
    base = alt.Chart(alt.InlineData(values=values)).encode(x=x, y=y)
    line = base.mark_line(color=color, strokeWidth=2)
    dots = base.mark_circle(color=color, size=40, opacity=1).transform_filter("!datum.is_pivot")
    here = base.mark_point(shape="diamond", size=130, filled=True, color=INK, opacity=1).transform_filter(
        "datum.is_pivot"
    )
    return alt.layer(line, dots, here).properties(**_PANEL)


def _label(form: str) -> str:
    """An axis's labels in full: given as a format, Vega would round them to the distance of its own ticks."""
    return f"format(datum.value, '{form}')"
