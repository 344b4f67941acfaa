"""Discovery and detection of chunks, written in SQL for DuckDB: a process to be timed."""

from __future__ import annotations

import json
import sys

import duckdb

_COUNTED = """
CREATE TEMP TABLE counted AS
SELECT chunk, count(*) AS n FROM (SELECT unnest(chunk_sha1s) AS chunk FROM read_parquet(?)) GROUP BY chunk
"""
_PAGES = """
CREATE TEMP TABLE pages AS
SELECT page, count(*) AS chunks, count(labelled.chunk) AS hits
FROM (SELECT page, unnest(chunk_sha1s) AS chunk FROM read_parquet(?)) AS every
LEFT JOIN labelled ON labelled.chunk = every.chunk GROUP BY page
"""


def main() -> None:
    """Print what a corpus has: python -m benchmarks.reuse_sql CORPUS THREADS THRESHOLD."""
    corpus, threads, threshold = sys.argv[1:]
    parts = f"{corpus}/pages/part-*[0-9].parquet"
    with duckdb.connect(config={"threads": int(threads), "memory_limit": "8GB"}) as database:
        database.execute(_COUNTED, [parts])
        distribution = database.execute("SELECT n, count(*) FROM counted GROUP BY n").fetchall()
        database.execute(f"CREATE TEMP TABLE labelled AS SELECT chunk FROM counted WHERE n > {int(threshold)}")
        database.execute(_PAGES, [parts])
        row = database.execute(
            "SELECT (SELECT count(*) FROM labelled), sum(chunks), sum(hits), avg(hits / chunks) FROM pages"
        ).fetchone()
    assert row is not None
    labelled, chunks, hits, mean = row
    found = {"labelled": labelled, "chunks": int(chunks), "hits": int(hits), "mean": round(mean, 6)}
    print(json.dumps(found | {"different": sum(count for _, count in distribution)}))


if __name__ == "__main__":
    main()
