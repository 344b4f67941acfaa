"""Things made of many pages: template clusters, mirrored hosts, neighborhoods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unquilt.serve.index import Index
from unquilt.serve.pages import find_page, read_page

_STRIPS = 12  # members whose noise is drawn
_MOST_NODES = 60
_MOST_CHILDREN = 200


def cluster_of(index: Index, cluster: str) -> dict[str, Any] | None:
    """A template cluster: its row, its first members, and the noise of some of them next to the prototype's."""
    rows = index.ask("SELECT * FROM {styles}.clusters WHERE cluster::VARCHAR = ?", [cluster])
    if not rows:
        return None
    members = index.ask(
        "SELECT url, similarity FROM {styles}.members WHERE cluster::VARCHAR = ? ORDER BY similarity DESC, url LIMIT ?",
        [cluster, _STRIPS],
    )
    prototype = _style(index, rows[0]["prototype"])
    strips = [(rows[0]["prototype"], None, _strip(prototype, prototype))]
    strips += [(one["url"], one["similarity"], _strip(_style(index, one["url"]), prototype)) for one in members]
    return {"row": rows[0], "strips": strips}


def _style(index: Index, url: str | None) -> np.ndarray[Any, np.dtype[np.uint16]] | None:
    rows = index.ask("SELECT page FROM {pages}.page WHERE url_hash = hash(?) AND url = ? LIMIT 1", [url, url])
    style = read_page(index, rows[0]["page"], ["style"])["style"] if rows else None
    return None if style is None else np.frombuffer(style, "<u2")


def _strip(
    style: np.ndarray[Any, np.dtype[np.uint16]] | None, prototype: np.ndarray[Any, np.dtype[np.uint16]] | None
) -> dict[str, str] | None:
    """The cells of a fingerprint as SVG paths: those that agree with the prototype, by shade, and the others."""
    if style is None:
        return None
    is_same = style == prototype if prototype is not None and len(prototype) == len(style) else style < 0
    paths: dict[str, list[str]] = {}
    for i, value in enumerate(style.tolist()):
        if value:
            kind = f"same{value % 3}" if is_same[i] else "other"
            paths.setdefault(kind, []).append(f"M{i} 0h1v8h-1z")
    return {kind: "".join(cells) for kind, cells in sorted(paths.items())}


def pair_of(index: Index, host_a: str, host_b: str) -> dict[str, Any] | None:
    """Two hosts that were compared: how alike they are, and the tests that say so."""
    rows = index.ask(
        "SELECT * FROM {mirrors}.pairs WHERE (host_a = ? AND host_b = ?) OR (host_a = ? AND host_b = ?)",
        [host_a, host_b, host_b, host_a],
    )
    return rows[0] if rows else None


def group_of(index: Index, group: str) -> dict[str, Any] | None:
    """A group of mirrored hosts as a graph: places of the hosts on a circle, and the pairs between them."""
    hosts = [
        row["host"]
        for row in index.ask('SELECT host FROM {mirrors}.groups WHERE "group"::VARCHAR = ? ORDER BY host', [group])
    ]
    if not hosts:
        return None
    shown = hosts[:_MOST_NODES]
    pairs = []
    if index.has("mirrors", "pairs"):
        pairs = index.ask(
            "SELECT host_a, host_b, level FROM {mirrors}.pairs WHERE host_a IN (SELECT unnest(?::VARCHAR[])) "
            "AND host_b IN (SELECT unnest(?::VARCHAR[])) ORDER BY level, host_a, host_b LIMIT 2000",
            [shown, shown],
        )
    at = {host: _on_circle(i, len(shown)) for i, host in enumerate(shown)}
    nodes = [{"host": host, "x": x, "y": y, "anchor": "end" if x < 0 else "start"} for host, (x, y) in at.items()]
    edges = [
        {"a": at[pair["host_a"]], "b": at[pair["host_b"]], "level": pair["level"], "pair": pair}
        for pair in pairs
        if pair["level"] in ("1", "2", "3", "4", "5")
    ]
    return {"group": group, "hosts": hosts, "nodes": nodes, "edges": edges, "pairs": pairs}


def _on_circle(i: int, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * (i + 0.5) / count - math.pi / 2
    return round(130 * math.cos(angle), 1), round(130 * math.sin(angle), 1)


def children_of(index: Index, prefix: str, *, first: int = 0) -> tuple[list[dict[str, Any]], bool]:
    """The neighborhoods right below one, or the hosts if it is empty, the worst first; and whether there are more."""
    rows = index.ask(
        "SELECT prefix, files, chunks, labelled, badness, bad, EXISTS (SELECT 1 FROM {reuse}.neighborhoods AS below "
        "WHERE below.parent = above.prefix) AS has_children FROM {reuse}.neighborhoods AS above "
        "WHERE parent = ? ORDER BY badness DESC NULLS LAST, files DESC, prefix LIMIT ? OFFSET ?",
        [prefix, _MOST_CHILDREN + 1, first],
    )
    return rows[:_MOST_CHILDREN], len(rows) > _MOST_CHILDREN


def neighborhood_of(index: Index, prefix: str) -> dict[str, Any] | None:
    """A neighborhood and the worst of its files."""
    rows = index.ask("SELECT * FROM {reuse}.neighborhoods WHERE prefix = ? LIMIT 1", [prefix])
    if not rows:
        return None
    files = []
    if index.has("reuse", "files"):
        files = index.ask(
            "SELECT url, chunks, labelled, contains, target FROM {reuse}.files "
            "WHERE starts_with(regexp_replace(url, '^[a-zA-Z]+://', ''), ?) ORDER BY contains DESC, url LIMIT 30",
            [prefix],
        )
    return {"row": rows[0], "files": files, "page": _first_page(index, files)}


def _first_page(index: Index, files: list[dict[str, Any]]) -> dict[str, Any] | None:
    return find_page(index, files[0]["url"]) if files else None
