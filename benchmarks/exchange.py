"""Grams on 2 to 50 pages: the engine's exchange and reduce, against DuckDB and against its own memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.exchange_run import WORKERS
from benchmarks.figure import Context, Figure, Limit, alternate, expect_equal
from benchmarks.processes import run_python, watch_python
from benchmarks.steps import MAX_PAGES, MIN_PAGES, RecordFile, count, emit, write_records
from unquilt.engines.local import LocalEngine

RECORDS = 200_000_000
SMALL_RECORDS = 4_000_000
FILES = 40
BUDGET = 2 << 30
_GIB = 2**30

_QUERY = f"""
    select count(*), sum(pages)
    from (select gram, count(distinct page) as pages from records group by gram)
    where pages between {MIN_PAGES} and {MAX_PAGES}
"""

Answer = tuple[int, int]


def figures(context: Context) -> list[Figure]:
    records = SMALL_RECORDS if context.small else RECORDS
    context.say(f"exchange: {records / 1e6:,.0f} M (page, gram) records, {WORKERS} workers")
    folder = _make_records(context, records)
    from_memory, answer = _against_duckdb(context, folder, records)
    return [from_memory, *_within_budget(context, folder, records, answer)]


def _make_records(context: Context, records: int) -> Path:
    """The folder of Parquet files with the records, from the cache if it is there."""
    folder = context.cache / f"records-{records}"
    if not folder.exists():
        context.say("  writing the records")
        unfinished = context.scratch / folder.name
        unfinished.mkdir()
        size = records // FILES
        files = [RecordFile(f"{unfinished}/{i:03}.parquet", i, size, records) for i in range(FILES)]
        with LocalEngine(workers=WORKERS) as engine:
            expect_equal("records", sum(engine.map(write_records, files, name="records")), records)
        unfinished.rename(folder)
    return folder


def _against_duckdb(context: Context, folder: Path, records: int) -> tuple[Figure, Answer]:
    database = duckdb.connect(config={"threads": WORKERS, "temp_directory": str(context.scratch)})
    database.execute(f"create table records as select page, gram from read_parquet('{folder}/*.parquet')")
    files = sorted(map(str, folder.glob("*.parquet")))
    answers: list[Answer] = []

    def duck() -> Answer:
        found = database.execute(_QUERY).fetchone()
        assert found is not None
        return int(found[0]), int(found[1])

    with LocalEngine(workers=WORKERS) as engine, engine.exchange(emit, files, name="exchange") as blocks:
        note = "blocks and table in memory" if not blocks.disk_bytes else "not all blocks were in memory"

        def reduce() -> Answer:
            found = list(engine.reduce(count, blocks, name="count"))
            return sum(one[0] for one in found), sum(one[1] for one in found)

        reduce()  # the workers load the kernels
        times = alternate(
            context.repeat,
            _seconds(context, "engine.reduce", reduce, answers),
            _seconds(context, "DuckDB count(distinct)", duck, answers),
        )
    database.close()
    figure = Figure(
        name=f"grams on {MIN_PAGES} to {MAX_PAGES} pages, {records / 1e6:,.0f} M records in memory",
        unit="s",
        ours=times[0],
        peer=times[1],
        peer_name=f"DuckDB count(distinct), {WORKERS} threads",
        inverted=True,
        limit=Limit("ratio", "at least", 4),
        note=f"{note}; the same answer",
    )
    return figure, answers[0]


def _seconds(context: Context, name: str, call: Callable[[], Answer], answers: list[Answer]) -> Callable[[], float]:
    """A measurement of ``call``, whose answer must be the one that is there already."""

    def measure() -> float:
        begun = time.perf_counter()
        answers.append(call())
        seconds = time.perf_counter() - begun
        expect_equal("grams, and the pages they are on", answers[0], answers[-1])
        context.say(f"  {name:<24} {seconds:6.2f} s")
        return seconds

    return measure


def _within_budget(context: Context, folder: Path, records: int, answer: Answer) -> list[Figure]:
    # A small run has a small budget too, so that it meets the disk as well.
    budget = BUDGET if not context.small else 512 << 20

    def check(found: Any) -> None:
        expect_equal("grams, and the pages they are on", tuple(found["answer"]), answer)

    def whole(memory: int) -> Callable[[], float]:
        def measure() -> float:
            found = run_python("benchmarks.exchange_run", str(folder), str(memory)).answer
            check(found)
            seconds = float(found["seconds"])
            context.say(
                f"  exchange and reduce, {memory / _GIB or 'all the'} GiB: {seconds:6.2f} s, exchange "
                f"{found['exchange_seconds']:.2f} s, {found['disk_bytes'] / 1e9:.2f} GB on disk"
            )
            return seconds

        return measure

    times = alternate(context.repeat, whole(budget), whole(0))
    peak, _, found = watch_python("benchmarks.exchange_run", str(folder), str(budget))
    check(found)
    return [
        Figure(
            name=f"exchange and reduce within {budget / _GIB:g} GiB",
            unit="s",
            ours=times[0],
            peer=times[1],
            peer_name="the same with all blocks in memory",
            limit=Limit("ratio", "at most", 3),
            note=f"{found['disk_bytes'] / 1e9:.1f} of {records * 12 / 1e9:.1f} GB on disk, "
            f"{found['workers']} workers; the kernel may cache what is on disk; the same answer",
        ),
        Figure(
            name=f"peak memory within {budget / _GIB:g} GiB",
            unit="GiB",
            ours=(peak.tree / _GIB,),
            limit=Limit("ours", "at most", budget / _GIB),
            note="all processes, sampled: "
            f"{peak.private / _GIB:.2f} private (PSS), {peak.mapped / _GIB:.2f} mapped files (PSS), "
            f"{peak.shared / _GIB:.2f} blocks in /dev/shm",
        ),
    ]
