"""Quilts by the same definition, written in SQL for DuckDB, with the greedy cover in Python: a process to be timed."""

from __future__ import annotations

import json
import sys
from collections import defaultdict

import duckdb

K, M, C, SIGMA = 5, 50, 4, 0.5
_WORDS = """
CREATE TEMP TABLE words AS
SELECT row_number() OVER (ORDER BY page) - 1 AS page,
       list_transform(regexp_extract_all(lower(text), '[\\p{L}\\p{N}]+'), lambda word: hash(word)) AS h
FROM read_parquet(?)
"""
_GRAM = ", ".join(f"h[i + {n}]" for n in range(K))
_GRAMS = f"""
CREATE TEMP TABLE grams AS
SELECT DISTINCT page, gram FROM (
    SELECT page, unnest([hash({_GRAM}) FOR i IN range(1, len(h) - {K - 2})]) AS gram FROM words
)
"""
_SHARED = f"""
CREATE TEMP TABLE shared AS SELECT list(page) AS pages FROM grams GROUP BY gram HAVING count(*) BETWEEN 2 AND {M}
"""
_QUILTABLE = f"""
CREATE TEMP TABLE quiltable AS
WITH patches AS (SELECT page, count(*) AS p FROM (SELECT unnest(pages) AS page FROM shared) GROUP BY page),
     totals AS (SELECT page, count(*) AS n FROM grams GROUP BY page)
SELECT page FROM patches JOIN totals USING (page) WHERE p / n >= {SIGMA}
"""
_CANDIDATES = """
SELECT page, pages FROM (SELECT unnest(pages) AS page, pages FROM shared) SEMI JOIN quiltable USING (page) ORDER BY page
"""


def main() -> None:
    """Print how many pages of a corpus are quilts: python -m benchmarks.quilts_sql CORPUS THREADS."""
    with duckdb.connect(config={"threads": int(sys.argv[2])}) as database:
        database.execute(_WORDS, [f"{sys.argv[1]}/pages/part-??????.parquet"])
        database.execute(_GRAMS)
        database.execute(_SHARED)
        database.execute(_QUILTABLE)
        rows = database.execute(_CANDIDATES)
        quilts = 0
        page = -1
        grams: list[list[int]] = []
        while batch := rows.fetchmany(100_000):
            for number, pages in batch:
                if number != page:
                    quilts += count_sources(page, grams) >= C
                    page, grams = number, []
                grams.append(pages)
        quilts += count_sources(page, grams) >= C
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
