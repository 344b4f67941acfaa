"""A corpus in a few numbers and sentences: how much of it is copied, and what strikes most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from unquilt.corpus import Corpus
from unquilt.ingest.sites import domain_of
from unquilt.result import result_files

_MOST_STRIKING = 3


@dataclass(frozen=True, slots=True)
class Number:
    """How many pages one detector concerns."""

    detector: str
    name: str
    pages: int
    share: float  # of the pages of the corpus
    same_site: int
    cross_site: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person should look at."""

    detector: str
    sentence: str
    url: str
    pages: int


# For each detector: its number's name, and SQL for the pages it concerns and those of them across sites.
_NUMBERS = {
    "phrases": ("near-duplicates", "SELECT count(*), count(*) FILTER (cross_site) FROM {classes}"),
    "quilts": (
        "quilts, stitched from other pages",
        "SELECT count(*), count(*) FILTER (list_bool_or([s.foreign FOR s IN sources])) FROM {quilts}",
    ),
    "styles": (
        "made by a template others share",
        "SELECT coalesce(sum(pages), 0), coalesce(sum(pages) FILTER (domains > 1), 0) FROM {clusters}",
    ),
    "mirrors": ("on mirrored hosts", ""),
    "reuse": (
        "in bad neighborhoods",
        "SELECT coalesce(sum(files), 0), coalesce(sum(files) FILTER (2 * cross_site >= labelled), 0) "
        "FROM {neighborhoods} WHERE bad AND prefix = under",
    ),
}

# For each detector: SQL for the one finding of it that strikes most: url, pages it concerns, and facts for a sentence.
_STRIKING = {
    "phrases": (
        "SELECT url, pages, weakest, cross_site FROM {classes} WHERE representative "
        "ORDER BY cross_site DESC, pages DESC, url LIMIT 1",
        "{pages:,} pages{across} say nearly the same.",
    ),
    "quilts": (
        "SELECT url, len(sources) AS pages, covered_fraction AS share, list_bool_or([s.foreign FOR s IN sources]) AS "
        "cross_site FROM {quilts} ORDER BY covered_fraction * len(sources) DESC, url LIMIT 1",
        "A page is stitched together from {pages:,} pages{across}, which cover {share:.0%} of it.",
    ),
    "styles": (
        "SELECT prototype AS url, pages, domains, kind, domains > 1 AS cross_site FROM {clusters} "
        "ORDER BY domains * pages DESC, cluster LIMIT 1",
        "{pages:,} pages on {domains:,} domains are made alike ({kind}).",
    ),
    "reuse": (
        "SELECT prefix AS url, files AS pages, badness AS share, 2 * cross_site >= labelled AS cross_site "
        "FROM {neighborhoods} WHERE bad AND prefix = under ORDER BY labelled DESC, prefix LIMIT 1",
        "{share:.0%} of what {pages:,} pages of one neighborhood say is copied content.",
    ),
}


def five_numbers(corpus: Corpus) -> list[Number]:
    """For each detector that has run on these pages, how many of them it concerns."""
    numbers = []
    for detector, (name, sql) in _NUMBERS.items():
        files = result_files(corpus, detector)
        if files is None:
            continue
        pages, across = _mirrored(files) if detector == "mirrors" else ask(sql, files)[0]
        share = pages / corpus.pages if corpus.pages else 0.0
        numbers.append(Number(detector, name, int(pages), share, int(pages - across), int(across)))
    return numbers


def striking(corpus: Corpus) -> list[Finding]:
    """The findings of different detectors that concern most pages, those across sites first."""
    found = []
    for detector, (sql, sentence) in _STRIKING.items():
        files = result_files(corpus, detector)
        rows = ask(sql, files, as_dicts=True) if files else []
        if rows:
            row = rows[0]
            across = " of different sites" if row["cross_site"] else " of one site"
            found.append(
                (row["cross_site"], Finding(detector, sentence.format(across=across, **row), row["url"], row["pages"]))
            )
    found.sort(key=lambda one: (not one[0], -one[1].pages))
    return [finding for _, finding in found[:_MOST_STRIKING]]


def _mirrored(files: dict[str, str]) -> tuple[int, int]:
    """The URLs of hosts that have mirrors, and those of them whose group has hosts of several domains."""
    rows = ask('SELECT "group", host, urls FROM {groups}', files)
    domains: dict[int, set[str]] = {}
    for group, host, _ in rows:
        domains.setdefault(group, set()).add(domain_of(host))
    return sum(row[2] for row in rows), sum(urls for group, _, urls in rows if len(domains[group]) > 1)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()  # takes as long as a question


def ask(sql: str, files: dict[str, str], *, n: int = 0, as_dicts: bool = False) -> list[Any]:
    """The rows that answer a question about the tables of a result."""
    quoted = {name: "read_parquet('" + path.replace("'", "''") + "')" for name, path in files.items()}
    with _database().cursor() as cursor:
        answer = cursor.execute(sql.format(n=n, **quoted))
        rows = answer.fetchall()
        names = [column[0] for column in answer.description or []]
    return [dict(zip(names, row, strict=True)) for row in rows] if as_dicts else rows
