"""Against: what became of the pages of each host."""

from __future__ import annotations

from typing import Any

import altair as alt
import duckdb
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.report.figures import FAINT, GREEN, ORANGE, PURPLE, SKY, VERMILION, Figure, dressed
from unquilt.result import Result

_HOSTS = 15
_COLORS = {
    "same": FAINT,
    "same-text": SKY,
    "changed": ORANGE,
    "moved": PURPLE,
    "new": GREEN,
    "gone": VERMILION,
}
_COUNTS = (
    "SELECT host, state, count(*) AS pages FROM pages WHERE host IN (SELECT host FROM pages GROUP BY host "
    "ORDER BY count(*) FILTER (state NOT IN ('same', 'same-text')) DESC, host LIMIT {n}) GROUP BY ALL ORDER BY ALL"
)


def figures_of(result: Result, corpus: Corpus) -> list[Figure]:
    """What became of the pages of the hosts with most changes; none if there are no pages."""
    with duckdb.connect() as database:
        database.register("pages", result.tables["pages"].select(["host", "state"]))
        table = database.sql(_COUNTS.format(n=_HOSTS)).to_arrow_table()
    return [Figure("against-hosts", hosts_chart(table), table)] if len(table) else []


def hosts_chart(table: pa.Table) -> Any:
    """Pages by host and state, the hosts with most changes."""
    order = list(_COLORS)
    rows = [row | {"order": order.index(row["state"])} for row in table.to_pylist()]
    changes: dict[str, int] = {}
    for row in rows:
        changes[row["host"]] = changes.get(row["host"], 0) + (row["pages"] if row["order"] > 1 else 0)
    hosts = sorted(changes, key=lambda host: (-changes[host], host))
    chart = (
        alt.Chart(alt.InlineData(values=rows), width=420, height=alt.Step(18))
        .mark_bar()
        .encode(
            x=alt.X("pages:Q", title="pages of either crawl", axis=alt.Axis(format="~s")),
            y=alt.Y("host:N", title=None, sort=hosts, axis=alt.Axis(labelLimit=220)),
            color=alt.Color("state:N", title=None, scale=alt.Scale(domain=order, range=list(_COLORS.values()))),
            order="order:Q",
        )
    )
    return dressed(chart, "What became of the pages", f"The {len(hosts)} hosts with most changes")
