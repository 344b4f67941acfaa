"""What the other detectors know about one page, read from their results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb

from unquilt.corpus import Corpus
from unquilt.detectors import DETECTORS
from unquilt.ingest.sites import host_of
from unquilt.result import result_files


@dataclass(frozen=True, slots=True)
class Class:
    """The near-duplicates of a page."""

    pages: int
    representative: str
    resemblance: float  # of the page and the representative
    cross_site: bool


@dataclass(frozen=True, slots=True)
class Popular:
    """How much of a page many others say too."""

    popular: int
    originality: float | None


@dataclass(frozen=True, slots=True)
class Family:
    """The pages made by the same template."""

    cluster: int
    pages: int
    domains: int
    kind: str
    similarity: float  # of the page and the prototype
    prototype: str


@dataclass(frozen=True, slots=True)
class Mirror:
    """A host that mirrors the page's host, or is mirrored by it."""

    host: str
    level: str
    cross_domain: bool


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """The smallest neighborhood of a page that was judged, or the highest bad one it lies in."""

    prefix: str
    files: int
    badness: float
    bad: bool


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of a page beside its patches; None where nothing was found, or the detector has not run."""

    near_duplicates: Class | None = None
    popular: Popular | None = None
    style: Family | None = None
    mirrors: list[Mirror] = field(default_factory=list)
    neighborhood: Neighborhood | None = None
    not_run: list[str] = field(default_factory=list)


def context_of(corpus: Corpus, url: str) -> Context:
    """What the results next to a corpus say about a page."""
    files = {name: result_files(corpus, name) for name in DETECTORS}
    with duckdb.connect() as database:
        near_duplicates, popular = _phrases(database, files["phrases"], url)
        return Context(
            near_duplicates=near_duplicates,
            popular=popular,
            style=_style(database, files["styles"], url),
            mirrors=_mirrors(database, files["mirrors"], host_of(url)),
            neighborhood=_neighborhood(database, files["reuse"], url),
            not_run=[name for name, found in files.items() if found is None and name != "quilts"],
        )


def _ask(database: Any, sql: str, files: dict[str, str], *values: Any) -> list[tuple[Any, ...]]:
    tables = {name: "read_parquet('" + path.replace("'", "''") + "')" for name, path in files.items()}
    try:
        rows: list[tuple[Any, ...]] = database.execute(sql.format(**tables), list(values)).fetchall()
    except duckdb.BinderException:  # a result of another version has other columns
        return []
    return rows


def _phrases(database: Any, files: dict[str, str] | None, url: str) -> tuple[Class | None, Popular | None]:
    if files is None:
        return None, None
    classes = _ask(
        database,
        "SELECT mine.pages, first.url, mine.resemblance, mine.cross_site FROM {classes} mine JOIN {classes} first "
        "ON first.class = mine.class AND first.representative WHERE mine.url = ? LIMIT 1",
        files, url,
    )  # fmt: skip
    pages = _ask(database, "SELECT popular, originality FROM {pages} WHERE url = ? LIMIT 1", files, url)
    return (Class(*classes[0]) if classes else None), (Popular(*pages[0]) if pages else None)


def _style(database: Any, files: dict[str, str] | None, url: str) -> Family | None:
    if files is None:
        return None
    rows = _ask(
        database,
        "SELECT cluster, pages, domains, kind, similarity, prototype "
        "FROM {members} m JOIN {clusters} c USING (cluster) WHERE url = ? LIMIT 1",
        files, url,
    )  # fmt: skip
    return Family(*rows[0]) if rows else None


def _mirrors(database: Any, files: dict[str, str] | None, host: str) -> list[Mirror]:
    if files is None:
        return []
    rows = _ask(
        database,
        "SELECT CASE WHEN host_a = $1 THEN host_b ELSE host_a END, level, cross_domain FROM {pairs} "
        "WHERE (host_a = $1 OR host_b = $1) AND level IN ('1', '2', '3', '4', '5') ORDER BY level, 1",
        files, host,
    )  # fmt: skip
    return [Mirror(*row) for row in rows]


def _neighborhood(database: Any, files: dict[str, str] | None, url: str) -> Neighborhood | None:
    if files is None:
        return None
    rows = _ask(
        database,
        "SELECT prefix, files, badness, bad FROM {neighborhoods} WHERE starts_with($1, prefix) "
        "ORDER BY bad DESC, CASE WHEN bad THEN len(prefix) ELSE -len(prefix) END LIMIT 1",
        files, url.partition("://")[2],
    )  # fmt: skip
    return Neighborhood(*rows[0]) if rows else None
