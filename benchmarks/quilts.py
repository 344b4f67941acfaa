"""Quilts of a real crawl: against the same definition in SQL, and against the time that ingest takes."""

from __future__ import annotations

import itertools

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, NotMeasured
from benchmarks.ingest import WORKERS, ingested_corpus
from benchmarks.processes import Run, run_python, watch_python
from benchmarks.synth import planted_crawl

# Najork 2012: 503.9 M pages, about 220 machines of 4 cores, 18 to 48 hours: at best so many pages per core-hour.
PAGES_PER_CORE_HOUR_2012 = 32_000
_GIB = 2**30


def figures(context: Context) -> list[Figure]:
    corpus = ingested_corpus(context)
    crawl = make_crawl(context)
    context.say(f"quilts: {crawl.pages:,} pages, {WORKERS} workers")

    def ours(*options: str) -> Run:
        arguments = ["quilts", str(corpus), "--workers", str(WORKERS), "--foreign", "none", "--json", *options]
        run = run_python("unquilt", *arguments)
        context.say(f"  unquilt quilts     {run.seconds:6.2f} s, {run.answer['quilts']:,} quilts {' '.join(options)}")
        return run

    ours()
    bare, whole, reading, peers = [], [], [], []
    for number in range(context.repeat):
        bare.append(ours("--no-patches"))
        whole.append(ours())
        out = context.scratch / f"quilts-ingest-{number}.corpus"
        reading.append(
            run_python("unquilt", "ingest", str(crawl.path), "-o", str(out), "--workers", str(WORKERS), "--json")
        )
        peers.append(run_python("benchmarks.quilts_sql", str(corpus), str(WORKERS)))
        peer = peers[-1]
        context.say(f"  DuckDB and Python  {peer.seconds:6.2f} s, {peer.answer['quilts']:,} quilts")
    if abs(peer.answer["quilts"] - bare[0].answer["quilts"]) > 0.1 * peer.answer["quilts"]:
        raise NotMeasured("the SQL found another number of quilts: its words are not ours, but nearly")
    rate = tuple(crawl.pages / run.processor_seconds * 3600 for run in bare)
    return [
        Figure(
            name=f"quilts, {crawl.pages:,} pages, {WORKERS} workers", unit="s",
            ours=tuple(run.seconds for run in bare), peer=tuple(run.seconds for run in peers),
            peer_name="DuckDB SQL, cover in Python", inverted=True, limit=Limit("ratio", "at least", 8),
            note=f"from the corpus on disk, without patch map; ours {bare[0].answer['quilts']:,} quilts, "
            f"SQL {peer.answer['quilts']:,} (its words differ a little)",
        ),
        Figure(
            name="quilts, without patch map, to ingest", unit="s", ours=tuple(run.seconds for run in bare),
            peer=tuple(run.seconds for run in reading), peer_name="unquilt ingest", limit=Limit("ratio", "at most", 1),
        ),
        Figure(
            name="quilts, with patch map, to ingest", unit="s", ours=tuple(run.seconds for run in whole),
            peer=tuple(run.seconds for run in reading), peer_name="unquilt ingest", limit=Limit("ratio", "at most", 1),
            note=f"{whole[0].answer['patches']:,} patches with their places in both texts",
        ),
        Figure(
            name="quilts, pages per core-hour", unit="pages", ours=rate, peer=(PAGES_PER_CORE_HOUR_2012,),
            peer_name="the 2012 run", limit=Limit("ratio", "at least", 300), note="processor time of all processes",
        ),
        *_scaling(context),
    ]  # fmt: skip


def _scaling(context: Context) -> list[Figure]:
    """Time per page on planted webs of growing size."""
    sizes = (1_000, 4_000) if context.small else (10_000, 100_000, 1_000_000)
    runs = []
    for pages in sizes:
        corpus = context.scratch / f"synth-{pages}.corpus"
        run_python("unquilt", "ingest", f"{planted_crawl(context, pages)}/*.warc.gz", "-o", str(corpus), "--json")
        command = ["quilts", str(corpus), "--workers", str(WORKERS), "--json", "--memory", "4GiB"]
        run_python("unquilt", *command)
        run = run_python("unquilt", *command)
        peak, _, _ = watch_python("unquilt", *command)
        runs.append((pages, run, peak))
        context.say(f"  {pages:,} planted pages  {run.seconds:6.2f} s, {peak.tree / _GIB:.2f} GiB")
    figures = [
        Figure(
            name=f"quilts, {pages:,} planted pages, peak memory", unit="GiB", ours=(peak.tree / _GIB,),
            limit=Limit("ours", "at most", 4), note=f"budget 4 GiB; {run.seconds / pages * 1e6:,.0f} µs a page",
        )
        for pages, run, peak in runs
    ]  # fmt: skip
    for (fewer, small, _), (more, large, _) in itertools.pairwise(runs):
        figures.append(
            Figure(
                name=f"quilts, time a page at {more:,} to {fewer:,}", unit="µs",
                ours=(large.processor_seconds / more * 1e6,), peer=(small.processor_seconds / fewer * 1e6,),
                peer_name=f"{fewer:,} pages", limit=Limit("ratio", "at most", 1.3), note="processor time",
            )
        )  # fmt: skip
    return figures
