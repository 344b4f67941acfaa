"""Mirrors: how good the ranking is, and who mirrors whom."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.report.figures import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION, Figure, dressed, inline
from unquilt.result import Result

_LEVELS = {"1": BLUE, "2": SKY, "3": GREEN, "4": ORANGE, "5": PURPLE}
_MOST_POINTS = 500
_MOST_EDGES = 400
_SPACE = 3.0
_NO_AXIS: dict[str, Any] = {"axis": None}


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """The ranking evaluation and the groups."""
    ranking, edges = result.tables["ranking"], mirror_edges(result.tables["pairs"])
    figures = []
    if len(ranking):
        figures.append(Figure("ranking", ranking_chart(ranking), ranking))
    if len(edges):
        figures.append(Figure("groups", groups_chart(edges), edges))
    return figures


def ranking_chart(ranking: pa.Table) -> Any:
    """Figure 1 of the paper: the share of mirrors in each prefix of the ranking."""
    rows = ranking.to_pylist()
    rows = rows[:: max(len(rows) // _MOST_POINTS, 1)] + rows[-1:]
    long = [
        {"pairs": row["pairs"], "share": row[name], "levels": label}
        for row in rows
        for name, label in (("levels_1_3", "levels 1–3"), ("levels_1_4", "levels 1–4"))
    ]
    chart = (
        alt.Chart(inline(long))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("pairs:Q", title="best candidates, of those whose test succeeded"),
            y=alt.Y("share:Q", title="share", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~%")),
            color=alt.Color("levels:N", title=None, scale=alt.Scale(range=[BLUE, VERMILION])),
        )
        .properties(width=420, height=240)
    )
    return dressed(chart, "How good the ranking is", f"{len(ranking):,} pairs by decreasing score")


def mirror_edges(pairs: pa.Table) -> pa.Table:
    """The mirrored pairs, the best first."""
    rows = [row for row in pairs.select(["host_a", "host_b", "level", "score"]).to_pylist() if row["level"] in _LEVELS]
    kinds = [(name, pairs.schema.field(name).type) for name in ("host_a", "host_b", "level", "score")]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def groups_chart(edges: pa.Table) -> Any:
    """Figure 2 of the paper for all groups: hosts as points on a circle for each group, pairs as lines."""
    rows = edges.slice(0, _MOST_EDGES).to_pylist()
    places = _places(rows)
    lines = [
        {"x": places[row["host_a"]][0], "y": places[row["host_a"]][1], "x2": places[row["host_b"]][0],
         "y2": places[row["host_b"]][1], "level": row["level"]}
        for row in rows
    ]  # fmt: skip
    points = [{"x": x, "y": y, "host": host} for host, (x, y) in sorted(places.items())]
    scale = alt.Scale(zero=False, padding=30)
    base = alt.Chart(inline(lines)).mark_rule(strokeWidth=2)
    drawn = base.encode(
        x=alt.X("x:Q", scale=scale, **_NO_AXIS), y=alt.Y("y:Q", scale=scale, **_NO_AXIS), x2="x2:Q", y2="y2:Q",
        color=alt.Color("level:N", scale=alt.Scale(domain=list(_LEVELS), range=list(_LEVELS.values())), title="level"),
    )  # fmt: skip
    hosts = alt.Chart(inline(points)).encode(x=alt.X("x:Q", **_NO_AXIS), y=alt.Y("y:Q", **_NO_AXIS))
    dots = hosts.mark_circle(size=50, color=INK, opacity=1)
    halo = hosts.mark_text(dy=-9, fontSize=8, stroke="white", strokeWidth=3).encode(text="host:N")
    names = hosts.mark_text(dy=-9, fontSize=8, color=INK).encode(text="host:N")
    width, height = (160 * (len({round(place[i] / _SPACE) for place in places.values()}) or 1) for i in (0, 1))
    chart = alt.layer(drawn, dots, halo, names).properties(width=width + 80, height=height)
    left = f"; the first {_MOST_EDGES}" if len(edges) > _MOST_EDGES else ""
    return dressed(chart, "Who mirrors whom", f"{len(edges):,} mirrored pairs{left}")


def _places(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Where each host is drawn: groups on a grid, the largest first, the hosts of a group on a circle."""
    group: dict[str, set[str]] = {}
    for row in rows:
        joined = group.get(row["host_a"], {row["host_a"]}) | group.get(row["host_b"], {row["host_b"]})
        for host in joined:
            group[host] = joined
    groups = sorted({tuple(sorted(hosts)) for hosts in group.values()}, key=lambda hosts: (-len(hosts), hosts))
    columns = math.ceil(math.sqrt(len(groups))) if groups else 1
    places = {}
    for number, hosts in enumerate(groups):
        for i, host in enumerate(hosts):
            turn = 2 * math.pi * i / len(hosts) + 0.3
            places[host] = (
                _SPACE * (number % columns) + math.cos(turn),
                -_SPACE * (number // columns) + math.sin(turn),
            )
    return places
