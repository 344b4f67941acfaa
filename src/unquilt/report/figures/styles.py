"""Styles: the sizes of clusters, the curve from one page to all, the graph of a sample, and the estimate checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.detectors.styles.marks import cells_of
from unquilt.report.figures import BLUE, FAINT, INK, VERMILION, Figure, dressed, inline, write_figure
from unquilt.result import Result
from unquilt.schema import STYLE_CELLS

_SIZE = {"width": 520, "height": 320}
_SAMPLE = 400
_TURNS = 80
_MOST_LINES = 3000  # that a drawing can show


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """The sizes of clusters, and the similarity graph of a sample."""
    clusters = result.tables["clusters"]
    if not len(clusters):
        return []
    nodes, edges = sample_graph(corpus, int(result.params["t"]))
    return [
        Figure("styles-sizes", sizes_chart(clusters), clusters.select(["cluster", "pages", "kind"])),
        Figure("styles-graph", graph_chart(nodes, edges, int(result.params["t"])), nodes),
    ]


def write_like(result: Result, folder: Path) -> list[Path]:
    """Write the one-to-all curve with its gaps to a folder: styles-like, as PNG, SVG and CSV; their paths."""
    return write_figure(like_chart(result), result.tables["curve"], folder, "styles-like")


def write_exact(pairs: pa.Table, folder: Path) -> list[Path]:
    """Write the estimate against the exact measure to a folder: styles-exact, as PNG, SVG and CSV; their paths."""
    return write_figure(exact_chart(pairs), pairs, folder, "styles-exact")


def sizes_chart(clusters: pa.Table) -> Any:
    """How many clusters have how many pages, both on a logarithmic scale."""
    sizes, counts = np.unique(clusters["pages"].to_numpy(), return_counts=True)
    values = [{"pages": int(size), "clusters": int(count)} for size, count in zip(sizes, counts, strict=True)]
    chart = alt.Chart(inline(values)).mark_circle(color=BLUE, size=40, opacity=0.8)
    chart = chart.encode(
        x=alt.X("pages:Q", title="Pages in a cluster", scale=alt.Scale(type="log")),
        y=alt.Y("clusters:Q", title="Clusters of that size", scale=alt.Scale(type="log")),
    )
    covered = int(clusters["pages"].to_numpy().sum())
    return dressed(chart.properties(**_SIZE), "Sizes of clusters", f"{len(clusters):,} clusters of {covered:,} pages")


def like_chart(result: Result) -> Any:
    """Every page by decreasing similarity, with the gaps in the curve marked."""
    curve, m = result.tables["curve"].to_pylist(), int(result.params["m"])
    values, rank = [], 0
    for row in curve:
        if row["pages"]:
            values += [{"rank": rank + 1, "cells": row["cells"]}, {"rank": rank + row["pages"], "cells": row["cells"]}]
            rank += row["pages"]
    gaps = [row | {"middle": (row["above"] + row["below"]) / 2} for row in result.tables["gaps"].to_pylist()]
    base = alt.Chart(inline(values))
    line = base.mark_line(color=BLUE, strokeWidth=2, interpolate="linear").encode(
        x=alt.X("rank:Q", title="Pages, most similar first", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("cells:Q", title=f"Equal cells, of {m}", scale=alt.Scale(domain=[0, m])),
    )
    marked = alt.Chart(inline(gaps or [{"rank": 1, "middle": 0}]))
    rules = marked.mark_rule(color=VERMILION, strokeDash=[4, 3], opacity=1 if gaps else 0).encode(x="rank:Q")
    labels = marked.mark_text(align="left", dx=5, color=VERMILION, opacity=1 if gaps else 0).encode(
        x="rank:Q", y="middle:Q", text=alt.Text("rank:Q", format=",")
    )
    chosen = alt.Chart(inline([{"cells": result.params["above"]}]))
    threshold = chosen.mark_rule(color=INK, strokeDash=[2, 2]).encode(y="cells:Q")
    chart = alt.layer(threshold, line, rules, labels).properties(**_SIZE)
    return dressed(
        chart, "From given pages to all", "Dashed: gaps in the curve with the pages before them; the threshold"
    )


def exact_chart(pairs: pa.Table) -> Any:
    """Figure 1 of the paper: the estimate of pairs of pages against the exact Dice of their parts.

    The line is what is to be expected: cells estimate Jaccard, which is D / (2 - D).
    """
    values = pairs.to_pylist()
    expected = [{"dice": d / 50, "sim": (d / 50) / (2 - d / 50)} for d in range(51)]
    x = alt.X("dice:Q", title="Exact Dice of the parts", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("sim:Q", title="Sim of the fingerprints", scale=alt.Scale(domain=[0, 1]))
    dots = alt.Chart(inline(values)).mark_circle(color=BLUE, size=14, opacity=0.5).encode(x=x, y=y)
    line = alt.Chart(inline(expected)).mark_line(color=VERMILION, strokeWidth=1.5).encode(x=x, y=y)
    chart = alt.layer(dots, line).properties(width=400, height=400)
    return dressed(chart, "Fingerprints against exact parts", f"{len(values):,} pairs; the line is Dice / (2 − Dice)")


def sample_graph(corpus: Corpus, t: int) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """A sample of pages with their places in a drawing, and the pairs with more than t equal cells.

    Pages alone in the sample are left out. The density of a component is the share of its pairs that are
    similar: 1 in a clique, little in a worm.
    """
    from unquilt.kernels.components import components
    from unquilt.kernels.styles import all_pairs

    cells = _sample_cells(corpus)
    rows = np.arange(len(cells))
    equal = all_pairs(cells)
    a, b = np.nonzero(np.triu(equal > t, 1))
    found = components(len(rows), a, b)
    numbers, sizes = np.unique(found, return_counts=True)
    places, density = np.zeros((len(rows), 2)), np.zeros(len(rows))
    kept = numbers[sizes > 1][np.argsort(-sizes[sizes > 1], kind="stable")]
    for slot, number in enumerate(kept.tolist()):
        mine = np.flatnonzero(found == number)
        inside = equal[np.ix_(mine, mine)] > t
        density[mine] = (inside.sum() - np.trace(inside)) / (len(mine) * (len(mine) - 1))
        places[mine] = _spiral(slot) + _spring(inside) * np.sqrt(len(mine) / max(sizes.max(), 1)) * 1.4
    shown = np.flatnonzero(np.isin(found, kept))
    at = np.full(len(rows), -1)
    at[shown] = np.arange(len(shown))
    nodes = pa.table({"x": places[shown, 0], "y": places[shown, 1], "density": density[shown]})
    return nodes, np.stack([at[a], at[b]], axis=1)


def _sample_cells(corpus: Corpus) -> npt.NDArray[np.uint16]:
    """The fingerprints of some pages, evenly over the corpus."""
    pages = corpus.pages
    wanted = np.unique(np.linspace(0, max(pages - 1, 0), min(_SAMPLE, pages)).astype(np.int64))
    found = [np.empty((0, STYLE_CELLS), np.uint16)]
    for file in corpus.files():
        first = file.first
        if not ((wanted >= first) & (wanted < first + file.pages)).any():
            continue
        for table in file.batches(["style"]):
            mine = wanted[(wanted >= first) & (wanted < first + len(table))] - first
            found.append(cells_of(table["style"].take(pa.array(mine)), STYLE_CELLS))
            first += len(table)
    return np.concatenate(found)


def _spiral(slot: int) -> npt.NDArray[np.float64]:
    """Where the slot-th largest component has its middle: they wind around the largest."""
    angle = 2.399963 * slot
    radius = 2.2 * np.sqrt(slot)
    return np.array([radius * np.cos(angle), radius * np.sin(angle)])


def _spring(joined: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Places in the unit circle of the nodes of a graph: neighbors pull, all push."""
    n = len(joined)
    angles = 2 * np.pi * np.arange(n) / n
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ideal = 1.5 / np.sqrt(n)
    for turn in range(_TURNS):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.sqrt((apart**2).sum(-1)), 1e-3)
        force = ideal**2 / distance**2 - joined * distance / ideal
        move = (apart / distance[..., None] * force[..., None]).sum(1)
        length = np.maximum(np.sqrt((move**2).sum(-1, keepdims=True)), 1e-9)
        places += move / length * np.minimum(length, 0.2 * (1 - turn / _TURNS))
    places -= places.mean(0)
    return np.asarray(places / max(np.abs(places).max(), 1e-9))


def graph_chart(nodes: pa.Table, edges: npt.NDArray[np.int64], t: int) -> Any:
    """The similarity graph of a sample: cliques are one template, worms are chains of pages that change on the way."""
    x, y = nodes["x"].to_numpy(), nodes["y"].to_numpy()
    shown = edges[:: max(1, -(-len(edges) // _MOST_LINES))]
    lines = [{"x": float(x[a]), "y": float(y[a]), "x2": float(x[b]), "y2": float(y[b])} for a, b in shown.tolist()]
    quiet: dict[str, Any] = {"axis": None, "title": None}
    drawn = alt.Chart(inline(lines or [{"x": 0, "y": 0, "x2": 0, "y2": 0}])).mark_rule(color=FAINT, strokeWidth=0.5)
    edges_layer = drawn.encode(x=alt.X("x:Q", **quiet), y=alt.Y("y:Q", **quiet), x2="x2:Q", y2="y2:Q")
    dots = alt.Chart(inline(nodes.to_pylist() or [{"x": 0, "y": 0, "density": 0}])).mark_circle(
        size=18, opacity=1 if len(nodes) else 0
    )
    density = alt.Color(
        "density:Q", title="pairs alike", scale=alt.Scale(domain=[0, 1], range=[VERMILION, BLUE]),
        legend=alt.Legend(format="%"),
    )  # fmt: skip
    dots = dots.encode(x=alt.X("x:Q", **quiet), y=alt.Y("y:Q", **quiet), color=density)
    chart = alt.layer(edges_layer, dots).properties(width=560, height=560)
    return dressed(chart, "Similar pages of a sample", f"Edges: more than {t} equal cells. Blue cliques, red worms")
