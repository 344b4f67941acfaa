"""The main job, from a crawl to the report: a real crawl against reading and parsing it alone, and how it grows."""

from __future__ import annotations

import itertools
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, alternate, expect_equal
from benchmarks.ingest import WORKERS
from benchmarks.processes import Peak, Run, run_python, watch_python
from benchmarks.synth import planted_crawl

_PEER = "FastWARC + Lexbor body.text()"
_GIB = 2**30
_BUDGET = 2
_ONCE = 1_000_000  # pages: a run of so many is not repeated


def figures(context: Context) -> list[Figure]:
    return [*_real(context), *_growth(context)]


def _real(context: Context) -> list[Figure]:
    crawl = make_crawl(context)
    context.say(f"run: {crawl.pages:,} pages, {crawl.bytes / 1e6:,.0f} MB of HTML, {WORKERS} processes")

    def ours() -> Run:
        return _run(context, crawl.path, crawl.pages)

    def peer() -> Run:
        run = run_python("benchmarks.text_peer", str(crawl.path), str(WORKERS))
        expect_equal("pages read by both", crawl.pages, run.answer["pages"])
        context.say(f"  FastWARC + Lexbor  {run.seconds:6.2f} s, processors {run.processor_seconds:6.2f} s")
        return run

    ours()  # kernels are compiled and the crawl comes into memory
    peer()
    runs, peer_runs = alternate(context.repeat, ours, peer)
    alone = tuple(run.seconds for run in peer_runs)
    stages = {name: tuple(run.answer["seconds"][name] for run in runs) for name in runs[0].answer["seconds"]}
    stages["start and report"] = tuple(run.seconds - sum(run.answer["seconds"].values()) for run in runs)
    return [
        Figure(
            name=f"run, {crawl.bytes / 1e6:,.0f} MB, {WORKERS} workers", unit="s",
            ours=tuple(run.seconds for run in runs), peer=alone, peer_name=_PEER, limit=Limit("ratio", "at most", 2),
            note="ingest, five detectors, report; wall time of a fresh process, kernels compiled before",
        ),
        Figure(
            name="run, processor time of all processes", unit="s", ours=tuple(run.processor_seconds for run in runs),
            peer=tuple(run.processor_seconds for run in peer_runs), peer_name=_PEER,
        ),
        *(
            Figure(name=f"run, of it {name}", unit="s", ours=seconds, peer=alone, peer_name=_PEER)
            for name, seconds in stages.items()
        ),
    ]  # fmt: skip


def _run(context: Context, crawl: Path, pages: int) -> Run:
    run = run_python("unquilt", *_command(context, crawl))
    expect_equal("pages ingested", run.answer["ingest"]["pages"], pages)
    context.say(f"  unquilt run        {run.seconds:6.2f} s, processors {run.processor_seconds:6.2f} s")
    return run


def _command(context: Context, crawl: Path, *options: str) -> list[str]:
    """Of a run into a new corpus, in the place of the one before."""
    out = context.scratch / "run.corpus"
    shutil.rmtree(out, ignore_errors=True)
    return ["run", str(crawl), "-o", str(out), "--workers", str(WORKERS), "--json", *options]


@dataclass(frozen=True, slots=True)
class _Size:
    """What was measured on a planted crawl of some size."""

    pages: int
    runs: Sequence[Run]
    peak: Peak

    @property
    def microseconds(self) -> tuple[float, ...]:
        return tuple(run.seconds / self.pages * 1e6 for run in self.runs)

    @property
    def note(self) -> str:
        """Where the time of a page goes."""
        seconds = self.runs[0].answer["seconds"]
        used = statistics.median(run.processor_seconds for run in self.runs) / self.pages * 1e6
        stages = ", ".join(f"{name} {took / self.pages * 1e6:,.0f}" for name, took in seconds.items())
        return f"{stages}; processor time {used:,.0f} µs"


def _growth(context: Context) -> list[Figure]:
    """Time per page and memory on planted crawls of growing size."""
    sizes = [_measure(context, pages) for pages in ((500, 2_000) if context.small else (10_000, 100_000, 1_000_000))]
    found = [
        Figure(
            name=f"run, {size.pages:,} planted pages, peak memory", unit="GiB", ours=(size.peak.tree / _GIB,),
            limit=Limit("ours", "at most", _BUDGET),
            note=f"budget {_BUDGET} GiB: private {size.peak.private / _GIB:.2f}, blocks {size.peak.shared / _GIB:.2f}, "
            f"mapped files {size.peak.mapped / _GIB:.2f}",
        )
        for size in sizes
    ]  # fmt: skip
    for small, large in itertools.combinations(sizes, 2):
        found.append(
            Figure(
                name=f"run, time a page at {large.pages:,} to {small.pages:,}", unit="µs", ours=large.microseconds,
                peer=small.microseconds, peer_name=f"{small.pages:,} pages", limit=Limit("ratio", "at most", 1.3),
                note=large.note,
            )
        )  # fmt: skip
    return found


def _measure(context: Context, pages: int) -> _Size:
    crawl = planted_crawl(context, pages)
    context.say(f"run: {pages:,} planted pages, {WORKERS} workers, {_BUDGET} GiB")
    within = ("--memory", f"{_BUDGET}GiB")
    repeat = context.repeat if pages < _ONCE else 1
    runs = [run_python("unquilt", *_command(context, crawl, *within)) for _ in range(repeat)]
    peak, _, _ = watch_python("unquilt", *_command(context, crawl, *within))
    size = _Size(pages, runs, peak)
    context.say(f"  {runs[-1].seconds:6.1f} s, {peak.tree / _GIB:.2f} GiB; µs a page: {size.note}")
    return size
