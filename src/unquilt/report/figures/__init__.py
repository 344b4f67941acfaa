"""Figures, each defined once in Vega-Lite: the same chart is a PNG, an SVG, and a part of the report."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from unquilt.corpus import Corpus, write_atomically
from unquilt.result import Result

BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"
INK, FAINT = "#222222", "#DDDDDD"
"""Okabe and Ito's colors, which everyone can tell apart, on ink and a faint grid."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the data it shows."""

    name: str
    chart: Any
    table: pa.Table


_PNG_SCALE = 2.0
_FONT = "sans-serif"


def dressed(chart: Any, title: str, subtitle: str | list[str] = "") -> Any:
    """A chart, whole, in the look all figures share."""
    import altair as alt

    return (
        chart.properties(title=alt.TitleParams(title, subtitle=subtitle))
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


def inline(rows: list[dict[str, Any]]) -> Any:
    """Rows as the data of a chart: as text, which altair need not copy and check value by value at every step."""
    import altair as alt

    return alt.InlineData(values=json.dumps(rows), format=alt.JsonDataFormat(type="json"))


def save_figure(chart: Any, path: Path) -> Path:
    """Write a chart as the file's ending says, .png or .svg; without a network."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise ValueError(f"{path} is neither .png nor .svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "svg":
        write_atomically(path, draw_svg(chart).encode())
    else:
        image = io.BytesIO()
        chart.save(image, format="png", scale_factor=_PNG_SCALE)
        write_atomically(path, image.getvalue())
    return path


def write_figure(chart: Any, table: pa.Table, folder: Path, name: str) -> list[Path]:
    """Write a figure to a folder as NAME.png and NAME.svg, and its data as NAME.csv; their paths."""
    drawn = [save_figure(chart, folder / f"{name}.{kind}") for kind in ("png", "svg")]
    return [write_csv(table, folder / f"{name}.csv"), *drawn]


def write_figures(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write figures to a folder, each as PNG, SVG and CSV; their paths."""
    return [path for one in figures for path in write_figure(one.chart, one.table, folder, one.name)]


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """The figures of any detector, by the file of its name."""
    found: list[Figure] = importlib.import_module(f"unquilt.report.figures.{result.detector}").figures_of(
        result, corpus
    )
    return found


def write_plots(result: Result, corpus: Corpus, folder: str | Path) -> list[Path]:
    """Write the figures of a result to a folder, each as PNG, SVG and CSV; their paths."""
    return write_figures(figures_of(result, corpus), Path(folder))


def draw_svg(chart: Any) -> str:
    """A chart as SVG."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
    return svg


def write_csv(table: pa.Table, path: Path) -> Path:
    """Write a table of numbers and words as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.BytesIO()
    pa_csv.write_csv(table, text, pa_csv.WriteOptions(quoting_style="needed"))
    write_atomically(path, text.getvalue())
    return path
