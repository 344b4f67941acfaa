"""Quilts by the same definition, written in SQL for DuckDB, with the greedy cover in Python: a process to be timed."""

from __future__ import annotations

import json
import sys
from collections import defaultdict

import duckdb

K, M, C, SIGMA = 5, 50, 4, 0.5
_GRAMS = f"""
CREATE TEMP TABLE grams AS
WITH words AS (
    SELECT row_number() OVER (ORDER BY page) - 1 AS page,
           regexp_extract_all(lower(text), '[\\p{{L}}\\p{{N}}]+') AS words
    FROM read_parquet(?)
)
SELECT DISTINCT page, unnest([hash(words[i:i + {K - 1}]) FOR i IN range(1, len(words) - {K - 2})]) AS gram FROM words
"""
_SHARED = f"""
CREATE TEMP TABLE shared AS SELECT list(page) AS pages FROM grams GROUP BY gram HAVING count(*) BETWEEN 2 AND {M}
"""
_CANDIDATES = f"""
WITH patches AS (SELECT unnest(pages) AS page, pages FROM shared),
     totals AS (SELECT page, count(*) AS n FROM grams GROUP BY page)
SELECT page, list(pages) FROM patches JOIN totals USING (page) GROUP BY page HAVING count(*) / any_value(n) >= {SIGMA}
"""


def main() -> None:
    """Print how many pages of a corpus are quilts: python -m benchmarks.quilts_sql CORPUS THREADS."""
    with duckdb.connect(config={"threads": int(sys.argv[2])}) as database:
        database.execute(_GRAMS, [f"{sys.argv[1]}/pages/part-*.parquet"])
        database.execute(_SHARED)
        found = database.execute(_CANDIDATES)
        quilts = 0
        while batch := found.fetchmany(1_000):
            quilts += sum(count_sources(page, grams) >= C for page, grams in batch)
    print(json.dumps({"quilts": quilts}))


def count_sources(own: int, grams: list[list[int]]) -> int:
    """How many pages the greedy cover takes; each gram is given by its pages."""
    shared: dict[int, set[int]] = defaultdict(set)
    for gram, pages in enumerate(grams):
        for page in pages:
            if page != own:
                shared[page].add(gram)
    sources = 0
    while shared:
        best = min(shared, key=lambda page: (-len(shared[page]), page))
        taken = shared.pop(best)
        shared = {page: left for page, has in shared.items() if (left := has - taken)}
        sources += 1
    return sources


if __name__ == "__main__":
    main()
