"""A real crawl without its copies, and against an earlier one: both compared with the time that ingest takes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, alternate
from benchmarks.ingest import WORKERS, ingested_corpus
from benchmarks.processes import Run, run_python

_PEER = "unquilt ingest"


def figures(context: Context) -> list[Figure]:
    corpus, crawl = ingested_corpus(context), make_crawl(context)
    context.say(f"clean: {crawl.pages:,} pages, {WORKERS} workers")

    def ours(*arguments: str) -> Run:
        run = run_python("unquilt", *arguments, "--workers", str(WORKERS), "--json")
        context.say(f"  unquilt {arguments[0]:<10} {run.seconds:6.2f} s")
        return run

    def clean() -> Run:
        return ours("clean", str(corpus), "-o", str(context.scratch / "clean"), "--format", "parquet")

    def ingest() -> Run:
        return ours("ingest", str(crawl.path), "-o", str(_new(context.scratch, "clean")))

    clean()
    runs, reading = alternate(context.repeat, clean, ingest)
    other = _new(context.scratch, "against")
    ours("ingest", str(crawl.path), "-o", str(other))
    compared = [ours("against", str(other), str(corpus)) for _ in range(context.repeat + 1)][1:]
    counts = runs[0].answer
    alone = tuple(run.seconds for run in reading)
    return [
        Figure(
            name="clean, as Parquet, to ingest", unit="s", ours=tuple(run.seconds for run in runs), peer=alone,
            peer_name=_PEER,
            note=f"{counts['pages']:,} pages to {counts['kept_pages']:,}, {counts['words']:,} words to "
            f"{counts['clean_words']:,}",
        ),
        Figure(
            name="against, the same crawl again, to ingest", unit="s", ours=tuple(run.seconds for run in compared),
            peer=alone, peer_name=_PEER, note="every page is the same: what comparing costs when little has changed",
        ),
    ]  # fmt: skip


def _new(folder: Path, name: str) -> Path:
    """A folder that is not there yet."""
    return next(path for path in (folder / f"{name}-{number}.corpus" for number in range(1000)) if not path.exists())
