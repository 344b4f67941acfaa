"""Quilts on one engine, in a process of its own: python -m benchmarks.spark_run CORPUS local|spark|sql REPEAT.

The engine is there, and has run once, before time is taken: what Spark takes to start is told apart.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from typing import Any

import psutil

from benchmarks.quilts_sql import SIGMA, C, K, M, count_sources
from unquilt.corpus import Corpus
from unquilt.detectors.quilts.find import find_quilts
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.engines.local import LocalEngine
from unquilt.engines.spark import SparkEngine

WORKERS = 2
_CONF = {"spark.driver.memory": "6g", "spark.ui.showConsoleProgress": "false"}
_GRAM = ", ".join(f"h[i + {n}]" for n in range(K))
_SQL = {
    "words": """
        SELECT page, transform(regexp_extract_all(lower(text), '[\\\\p{L}\\\\p{N}]+', 0), word -> xxhash64(word)) AS h
        FROM pages""",
    "grams": f"""
        SELECT DISTINCT page, gram FROM (
            SELECT page, explode(transform(sequence(0, size(h) - {K}), i -> xxhash64({_GRAM}))) AS gram
            FROM words WHERE size(h) >= {K})""",
    "shared": f"""
        SELECT collect_list(page) AS pages FROM grams GROUP BY gram HAVING count(*) BETWEEN 2 AND {M}""",
    "candidates": "SELECT explode(pages) AS page, pages FROM shared",
    "quiltable": f"""
        WITH patches AS (SELECT page, count(*) AS p FROM candidates GROUP BY page),
             totals AS (SELECT page, count(*) AS n FROM grams GROUP BY page)
        SELECT page FROM patches JOIN totals USING (page) WHERE p / n >= {SIGMA}""",
}
_COVERED = f"""
    SELECT count(*) AS quilts FROM (
        SELECT page, count_sources(page, collect_list(pages)) AS sources
        FROM candidates LEFT SEMI JOIN quiltable USING (page) GROUP BY page)
    WHERE sources >= {C}"""
_KEPT = ("grams", "shared")  # needed twice


def main() -> None:
    path, kind, repeat = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with ExitStack() as stack:
        begun = time.perf_counter()
        if kind == "local":
            engine: Any = stack.enter_context(LocalEngine(workers=WORKERS))
        else:
            engine = stack.enter_context(SparkEngine(master=f"local[{WORKERS}]", conf=_CONF))
        answer: dict[str, Any] = {"start_seconds": time.perf_counter() - begun, "seconds": []}
        for _ in range(repeat + (kind != "sql")):
            before, used = _shuffled(engine), _used()
            begun = time.perf_counter()
            answer["quilts"] = _query(engine.session, path) if kind == "sql" else _find(engine, path)
            answer["seconds"].append(time.perf_counter() - begun)
            answer["shuffle_bytes"] = _shuffled(engine) - before
            answer["processor_seconds"] = _used() - used
    answer["first_seconds"] = answer["seconds"][0]
    answer["seconds"] = answer["seconds"][-repeat:]
    print(json.dumps(answer))


def _find(engine: Any, path: str) -> int:
    params = QuiltParams(foreign="none", patches=False)
    return len(find_quilts(Corpus(path), params, engine=engine).tables["quilts"])


def _query(session: Any, path: str) -> int:
    session.conf.set("spark.sql.shuffle.partitions", 8 * WORKERS)
    session.udf.register("count_sources", count_sources, "int")
    session.read.parquet(f"{path}/pages").select("page", "text").createOrReplaceTempView("pages")
    for name, query in _SQL.items():
        table = session.sql(query)
        (table.cache() if name in _KEPT else table).createOrReplaceTempView(name)
    found = session.sql(_COVERED).first()
    session.catalog.clearCache()
    return int(found["quilts"])


def _used() -> float:
    """Processor seconds of this process and all below it, which live as long as the engine."""
    this = psutil.Process()
    times = [process.cpu_times() for process in [this, *this.children(recursive=True)]]
    return float(sum(one.user + one.system for one in times))


def _shuffled(engine: Any) -> int:
    """Bytes that all stages so far have written for a shuffle."""
    if not isinstance(engine, SparkEngine):
        return 0
    context = engine.session.sparkContext
    none = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    return sum(stages.apply(i).shuffleWriteBytes() for i in range(stages.size()))


if __name__ == "__main__":
    main()
