"""Ingest of a real crawl, against reading and parsing it alone."""

from __future__ import annotations

import itertools
from pathlib import Path

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, alternate, expect_equal
from benchmarks.processes import Run, run_python, watch_python

WORKERS = 2
_GB = 1e9
_PEER = "FastWARC + Lexbor body.text()"


def figures(context: Context) -> list[Figure]:
    crawl = make_crawl(context)
    context.say(f"ingest: {crawl.pages:,} pages, {crawl.bytes / 1e6:,.0f} MB of HTML, {WORKERS} processes")
    numbers = itertools.count()

    def arguments() -> list[str]:
        out = context.scratch / f"ingest-{next(numbers)}.corpus"
        return ["ingest", str(crawl.path), "-o", str(out), "--workers", str(WORKERS), "--json"]

    def ours() -> Run:
        run = run_python("unquilt", *arguments())
        expect_equal("pages ingested", run.answer["pages"], crawl.pages)
        context.say(f"  unquilt ingest     {run.seconds:6.2f} s, processors {run.processor_seconds:6.2f} s")
        return run

    def peer(*visible: str) -> Run:
        run = run_python("benchmarks.text_peer", str(crawl.path), str(WORKERS), *visible)
        expect_equal("pages read by both", crawl.pages, run.answer["pages"])
        context.say(f"  FastWARC + Lexbor  {run.seconds:6.2f} s, processors {run.processor_seconds:6.2f} s")
        return run

    ours()  # numba compiles into its cache and the crawl comes into memory
    peer()
    peak, parent, _ = watch_python("unquilt", *arguments())
    runs, peer_runs = alternate(context.repeat, ours, peer)
    visible_runs = [peer("visible") for _ in range(context.repeat)]
    return [
        Figure(
            name=f"ingest, {crawl.bytes / 1e6:,.0f} MB, {WORKERS} workers",
            unit="s",
            ours=tuple(run.seconds for run in runs),
            peer=tuple(run.seconds for run in peer_runs),
            peer_name=_PEER,
            limit=Limit("ratio", "at most", 1.5),
            note="wall time of a fresh process, numba's cache warm; the peer keeps script and style and writes nothing",
        ),
        Figure(
            name="ingest, against the visible text alone",
            unit="s",
            ours=tuple(run.seconds for run in runs),
            peer=tuple(run.seconds for run in visible_runs),
            peer_name=_PEER + " without script and style, words apart",
        ),
        Figure(
            name="ingest, processor time of all processes",
            unit="s",
            ours=tuple(run.processor_seconds for run in runs),
            peer=tuple(run.processor_seconds for run in peer_runs),
            peer_name=_PEER,
        ),
        Figure(
            name="ingest, peak memory of a worker",
            unit="GB",
            ours=(peak.of_children(parent) / _GB,),
            limit=Limit("ours", "at most", 1.0),
            note="resident set, high-water mark of the kernel, the larger of the workers",
        ),
    ]


def ingested_corpus(context: Context) -> Path:
    """A corpus of the crawl, from this run if it made one."""
    out = context.scratch / "ingest-0.corpus"
    if not (out / "corpus.json").exists():
        crawl = make_crawl(context)
        run_python("unquilt", "ingest", str(crawl.path), "-o", str(out), "--workers", str(WORKERS), "--json")
    return out
