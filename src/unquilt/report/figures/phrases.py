"""The figures of the 2005 paper: popularity, popular shingles a page, covering sets, hosts."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus
from unquilt.report.figures import BLUE, FAINT, GREEN, INK, ORANGE, VERMILION, Figure, dressed, inline
from unquilt.result import Result

_SIZE = {"width": 420, "height": 280}
_SAMPLINGS = {
    "stratified": "as many pages for each popular count",
    "uniform": "drawn from all pages with enough popular shingles",
    "host": "pages of one host",
}
_MOST_HOSTS = 5000
_LARGEST_DISC = 500


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """The figures of the paper, drawn from this corpus."""
    tables, shingles = result.tables, result.params["shingles"]
    figures = []
    popularity = tables["popularity"]
    if len(popularity):
        figures.append(Figure("popularity", popularity_chart(popularity), popularity))
    counts = popular_counts(tables["pages"], chosen_hosts(result))
    if len(counts):
        figures.append(Figure("popular-per-page", counts_chart(counts, shingles), counts))
    for sampling in _SAMPLINGS:
        discs = cover_discs(tables["covers"], sampling)
        if len(discs):
            figures.append(Figure(f"covers-{sampling}", covers_chart(discs, sampling), discs))
    hosts = plotted_hosts(result)
    if len(hosts):
        figures.append(Figure("hosts", hosts_chart(hosts, shingles), hosts))
    return figures


def fitted_slope(popularity: pa.Table) -> tuple[float, float]:
    """Slope and height of the straight line through a popularity histogram, both axes logarithmic.

    The fit is to the share of shingles on at least so many pages, which is smooth where the histogram is thin; the
    slope of the histogram is one less.
    """
    pages = popularity["pages"].to_numpy().astype(float)
    shingles = popularity["shingles"].to_numpy().astype(float)
    at_least = np.cumsum(shingles[::-1])[::-1]
    if len(pages) < 2:
        return 0.0, float(np.log10(shingles[0]))
    slope = float(np.polyfit(np.log10(pages), np.log10(at_least), 1, w=np.sqrt(shingles))[0]) - 1
    height = float(np.average(np.log10(shingles) - slope * np.log10(pages), weights=shingles))
    return slope, height


def popularity_chart(popularity: pa.Table) -> Any:
    """How many shingles are on how many pages, with the fitted slope."""
    slope, height = fitted_slope(popularity)
    rows = popularity.to_pylist()
    ends = [rows[0]["pages"], rows[-1]["pages"]]
    line = [{"pages": x, "shingles": 10 ** (height + slope * np.log10(x))} for x in ends]
    line = [one for one in line if one["shingles"] >= 0.5] if len(line) > 1 else line
    if len(rows) > 1 and len(line) == 1:
        line.append({"pages": 10 ** (-height / slope), "shingles": 1.0})
    x = alt.X("pages:Q", scale=alt.Scale(type="log"), title="pages that have the shingle")
    y = alt.Y("shingles:Q", scale=alt.Scale(type="log"), title="shingles")
    dots = alt.Chart(inline(rows)).mark_circle(color=BLUE, size=22, opacity=0.8).encode(x=x, y=y)
    fit = alt.Chart(inline(line)).mark_line(color=VERMILION, strokeWidth=2).encode(x=x, y=y)
    return dressed(alt.layer(dots, fit).properties(**_SIZE), "Popular shingles", f"Fitted slope {slope:.2f}")


def chosen_hosts(result: Result) -> list[str]:
    """The host that was asked for, or the first suspects."""
    if result.params["host"]:
        return [result.params["host"]]
    hosts = result.tables["hosts"]
    return list(hosts.filter(hosts["suspect"])["host"].to_pylist()[:2])


def popular_counts(pages: pa.Table, hosts: list[str]) -> pa.Table:
    """The share of pages with each popular count: in the corpus, and on some hosts."""
    counted = pages.filter(pc.and_(pages["representative"], pages["originality"].is_valid()))
    rows = []
    for name in ["all pages", *hosts]:
        some = counted if name == "all pages" else counted.filter(pc.equal(counted["host"], name))
        counts = np.bincount(some["popular"].to_numpy()) if len(some) else np.empty(0)
        rows += [
            {"pages_of": name, "popular": i, "share": float(count / len(some))}
            for i, count in enumerate(counts)
            if count
        ]
    schema = pa.schema([("pages_of", pa.string()), ("popular", pa.int64()), ("share", pa.float64())])
    return pa.Table.from_pylist(rows, schema)


def counts_chart(counts: pa.Table, shingles: int) -> Any:
    """The distribution of popular shingles a page."""
    names = list(dict.fromkeys(counts["pages_of"].to_pylist()))
    chart = (
        alt.Chart(inline(counts.to_pylist()))
        .mark_line(point={"size": 18}, strokeWidth=1.5)
        .encode(
            x=alt.X("popular:Q", title="popular shingles of a page", scale=alt.Scale(domain=[0, shingles])),
            y=alt.Y("share:Q", title="share of pages", scale=alt.Scale(type="log"), axis=alt.Axis(format="~%")),
            color=alt.Color(
                "pages_of:N", title=None,
                scale=alt.Scale(domain=names, range=[BLUE, VERMILION, GREEN, ORANGE][: len(names)]),
            ),
        )
    )  # fmt: skip
    return dressed(chart.properties(**_SIZE), "How much of a page is popular phrases")


def cover_discs(covers: pa.Table, sampling: str) -> pa.Table:
    """Pages by popular count and size of the covering set: how many, and the share that foreign pages cover."""
    drawn = [row for row in covers.to_pylist() if sampling in row["samplings"]]
    found: dict[tuple[int, int], list[float]] = {}
    for row in drawn:
        share = row["foreign_contribution"] / row["popular"] if row["popular"] else 0.0
        found.setdefault((row["popular"], row["size"]), []).append(share)
    rows = [
        {"popular": popular, "size": size, "pages": len(shares), "foreign": sum(shares) / len(shares)}
        for (popular, size), shares in sorted(found.items())
    ]
    schema = pa.schema(
        [("popular", pa.int64()), ("size", pa.int64()), ("pages", pa.int64()), ("foreign", pa.float64())]
    )
    return pa.Table.from_pylist(rows, schema)


def covers_chart(discs: pa.Table, sampling: str) -> Any:
    """Covering sets as discs: the outer one is the number of pages, the inner one what foreign pages cover of them."""
    most = max(discs["pages"].to_pylist())
    rows = [
        row | {"outer": row["pages"] / most, "inner": row["pages"] / most * row["foreign"]} for row in discs.to_pylist()
    ]
    area = alt.Scale(domain=[0, 1], range=[0, _LARGEST_DISC])
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("popular:Q", title="popular shingles of the page", scale=alt.Scale(zero=False)),
        y=alt.Y("size:Q", title="pages in its covering set"),
    )
    outer = base.mark_circle(color=FAINT, opacity=1, stroke=INK, strokeWidth=0.4).encode(
        size=alt.Size("outer:Q", scale=area, legend=None)
    )
    inner = base.mark_circle(color=BLUE, opacity=1).encode(size=alt.Size("inner:Q", scale=area, legend=None))
    pages = sum(discs["pages"].to_pylist())
    about = [
        f"{pages:,} pages, {_SAMPLINGS[sampling]}; at most {most:,} a disc",
        "Blue: the share that pages of other sites cover",
    ]
    return dressed(alt.layer(outer, inner).properties(**_SIZE), "Covering sets", about)


def plotted_hosts(result: Result) -> pa.Table:
    """Hosts with enough pages and popular phrases, the largest of them if there are too many to draw."""
    hosts, params = result.tables["hosts"], result.params
    is_large = pc.greater_equal(hosts["pages"], params["min_pages"])
    return hosts.filter(pc.and_(is_large, pc.greater_equal(hosts["mean"], params["min_mean"]))).slice(0, _MOST_HOSTS)


def hosts_chart(hosts: pa.Table, shingles: int) -> Any:
    """Hosts by mean popular count and size, with error bars of a standard deviation each way."""
    rows = [
        row | {"low": row["mean"] - row["deviation"], "high": row["mean"] + row["deviation"]}
        for row in hosts.to_pylist()
    ]
    base = alt.Chart(inline(rows)).encode(y=alt.Y("pages:Q", scale=alt.Scale(type="log"), title="pages of the host"))
    color = alt.condition("datum.suspect", alt.value(VERMILION), alt.value(BLUE))
    x = alt.X("low:Q", title="popular shingles a page", scale=alt.Scale(domain=[0, shingles], clamp=True))
    bars = base.mark_rule(opacity=0.5).encode(x=x, x2="high:Q", color=color)
    dots = base.mark_circle(size=40, opacity=1).encode(x=alt.X("mean:Q"), color=color)
    return dressed(alt.layer(bars, dots).properties(**_SIZE), "Hosts full of popular phrases", "Suspects in red")
