"""What a corpus holds, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb

from unquilt.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Info:
    """Counts over the pages that count, and over everything that became no page."""

    path: str
    pages: int
    superseded: int
    hosts: int
    domains: int
    ips: int
    words: int
    bytes: int
    first: str | None  # when the first and the last page were captured
    last: str | None
    charsets: dict[str, int]
    media_types: dict[str, int]
    statuses: dict[str, int]
    top_hosts: dict[str, int]
    skipped: dict[str, int]
    passed: dict[str, int]
    settings: dict[str, Any]
    parts: int
    is_complete: bool
    digest: str


def describe(corpus: Corpus, *, top: int = 10) -> Info:
    """Count what a corpus holds; of hosts, media types and charsets the ``top`` most frequent."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        open_pages(corpus, database)
        totals = database.execute(
            "SELECT count(*), count(DISTINCT host), count(DISTINCT domain), count(DISTINCT ip), "
            "coalesce(sum(words), 0)::BIGINT, coalesce(sum(bytes), 0)::BIGINT, "
            "min(time)::VARCHAR, max(time)::VARCHAR FROM pages"
        ).fetchone()
        assert totals is not None
        pages, hosts, domains, ips, words, size, first, last = totals

        def count(column: str) -> dict[str, int]:
            return dict(
                database.execute(
                    f"SELECT coalesce({column}::VARCHAR, 'unknown') AS value, count(*) AS n FROM pages "
                    f"GROUP BY value ORDER BY n DESC, value LIMIT {int(top)}"
                ).fetchall()
            )

        return Info(
            path=str(corpus.path),
            pages=pages,
            superseded=corpus.rows - corpus.pages,
            hosts=hosts,
            domains=domains,
            ips=ips,
            words=words,
            bytes=size,
            first=first,
            last=last,
            charsets=count("charset"),
            media_types=count("media_type"),
            statuses=count("status"),
            top_hosts=count("host"),
            skipped=corpus.count_skipped(),
            passed=corpus.count_passed(),
            settings=corpus.settings,
            parts=len(corpus.parts),
            is_complete=corpus.is_complete,
            digest=corpus.digest,
        )


def open_pages(corpus: Corpus, database: duckdb.DuckDBPyConnection) -> None:
    """Make ``pages`` in a database: the pages of a corpus that count."""
    files = [str(corpus.path / part.file) for part in corpus.parts if part.pages]
    if not files:
        from unquilt.schema import PAGES

        database.register("pages", PAGES.empty_table())
        return
    names = ", ".join(_quoted(name) for name in files)
    where = ""
    if corpus.rows != corpus.pages:
        superseded = _quoted(str(corpus.path / "superseded.parquet"))
        where = f" WHERE page NOT IN (SELECT page FROM read_parquet({superseded}))"
    database.execute(f"CREATE VIEW pages AS SELECT * FROM read_parquet([{names}]){where}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
