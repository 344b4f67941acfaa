"""Reuse: cutting and hashing, discovery and detection against SQL, and matching a stream of pages."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.debian_crawl import Crawl, make_crawl
from benchmarks.figure import Context, Figure, Limit, expect_equal
from benchmarks.ingest import WORKERS, ingested_corpus
from benchmarks.processes import Run, run_python, watch_python
from benchmarks.reuse_corpus import CHUNKS_PER_PAGE, make_corpus
from unquilt.detectors.reuse.labelled import Labelled
from unquilt.ingest.capture import Capture
from unquilt.ingest.chunks import Cutter
from unquilt.ingest.params import IngestParams
from unquilt.ingest.warc import read_warc

# The paper: 2.86 billion files hashed in 11,500 compute hours.
FILES_PER_SECOND_OF_THE_PAPER = 2.86e9 / 11_500 / 3600
_THRESHOLD = 1000
_GIB = 2**30
_MEMORY = "4GiB"


def figures(context: Context) -> list[Figure]:
    crawl = make_crawl(context)
    bodies = [one.body for one in _captures(crawl)]
    return [*_hashing(context, bodies), *_discovery(context), *_matching(context, crawl, bodies)]


def _captures(crawl: Crawl) -> list[Capture]:
    found = read_warc(str(crawl.path), 0, None, IngestParams(), name="crawl")
    return [one for one in found if isinstance(one, Capture)]


def _rates(repeat: int, work: Callable[[], object], amount: float) -> tuple[float, ...]:
    """The amount in a second of processor time, of this one process."""
    work()
    rates = []
    for _ in range(repeat):
        begun = time.process_time()
        work()
        rates.append(amount / (time.process_time() - begun))
    return tuple(rates)


def _hashing(context: Context, bodies: list[bytes]) -> list[Figure]:
    cutter = Cutter()

    def work() -> None:
        for body in bodies:
            cutter.digests(body, cutter.bounds(body, is_html=True))

    size = sum(map(len, bodies)) / 1e6
    rates = _rates(context.repeat, work, size)
    context.say(f"reuse: chunks and SHA-1 at {max(rates):,.0f} MB/s")
    return [
        Figure(
            name="chunks and their SHA-1, one core", unit="MB/s", ours=rates, limit=Limit("ours", "at least", 400),
            note=f"{len(bodies):,} pages, {size:,.0f} MB",
        ),
        Figure(
            name="files cut and hashed in a second, one core", unit="files",
            ours=tuple(rate / size * len(bodies) for rate in rates), peer=(FILES_PER_SECOND_OF_THE_PAPER,),
            peer_name="the paper, a machine", note="its 69 also fetched and inflated; for scale",
        ),
    ]  # fmt: skip


def _discovery(context: Context) -> list[Figure]:
    pages = 20_000 if context.small else 1_000_000
    path = context.cache / f"chunks-{pages}"
    if not (path / "skipped.parquet").exists():
        context.say(f"reuse: writing {pages * CHUNKS_PER_PAGE:,} chunk hashes")
        make_corpus(path, pages)
    command = [
        "reuse", str(path), "--workers", str(WORKERS), "--memory", _MEMORY, "--chunk-threshold", str(_THRESHOLD),
        "--file-threshold", str(_THRESHOLD), "--no-plots", "--json",
    ]  # fmt: skip

    def ours() -> Run:
        run = run_python("unquilt", *command)
        context.say(f"  unquilt reuse  {run.seconds:6.2f} s, processors {run.processor_seconds:6.2f} s")
        return run

    def peer() -> Run:
        run = run_python("benchmarks.reuse_sql", str(path), str(WORKERS), str(_THRESHOLD))
        context.say(f"  DuckDB         {run.seconds:6.2f} s, processors {run.processor_seconds:6.2f} s")
        return run

    ours()
    runs = [(ours(), peer()) for _ in range(context.repeat)]
    mine, other = runs[0][0].answer, runs[0][1].answer
    told = [mine["objects"]["labelled chunks"], mine["chunks"], mine["labelled_chunks_found"], mine["different_chunks"]]
    expect_equal("chunks of reuse", told, [other[name] for name in ("labelled", "chunks", "hits", "different")])
    expect_equal("mean of contains", round(mine["contains_mean"], 6), other["mean"])
    peak, _, _ = watch_python("unquilt", *command)
    name = f"reuse, {pages * CHUNKS_PER_PAGE:,} chunk hashes, {WORKERS} workers"
    return [
        Figure(
            name=name, unit="s", ours=tuple(run.seconds for run, _ in runs), peer=tuple(run.seconds for _, run in runs),
            peer_name="DuckDB SQL", inverted=True, limit=Limit("ratio", "at least", 3),
            note="ours with files, domains, neighborhoods and all tables; SQL counts, labels and contains only",
        ),
        Figure(
            name=f"{name}, peak memory", unit="GiB", ours=(peak.tree / _GIB,), limit=Limit("ours", "at most", 4),
            note=f"budget {_MEMORY}; private {peak.private / _GIB:.2f}, blocks {peak.shared / _GIB:.2f}",
        ),
    ]  # fmt: skip


def _matching(context: Context, crawl: Crawl, bodies: list[bytes]) -> list[Figure]:
    corpus = ingested_corpus(context)
    out = str(context.scratch / "reuse.set")
    run_python("unquilt", "export", str(corpus), "reuse", "--filter", out, "--everything", "--json")
    labelled = Labelled.open(out)
    size = sum(map(len, bodies)) / 1e6

    def stream() -> None:
        for one in read_warc(str(crawl.path), 0, None, IngestParams(), name="crawl"):
            if isinstance(one, Capture):
                labelled.match(one.body)

    def alone() -> None:
        for body in bodies:
            labelled.match(body)

    rates = _rates(context.repeat, stream, size)
    pages = _rates(context.repeat, alone, len(bodies))
    context.say(
        f"  match {max(rates):,.0f} MB/s, {1e6 / max(pages):,.1f} µs a page; {Path(out).stat().st_size:,} bytes"
    )
    return [
        Figure(
            name="match, from a gzip WARC, one core", unit="MB/s", ours=rates, limit=Limit("ours", "at least", 150),
            note=f"against {len(labelled.chunks):,} labelled chunks",
        ),
        Figure(
            name="Labelled.match, a page", unit="µs", ours=tuple(1e6 / rate for rate in pages),
            note=f"{size / len(bodies) * 1e3:,.0f} kB a page",
        ),
    ]  # fmt: skip
