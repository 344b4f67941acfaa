"""The planted web: pages a second, and crawls of it that others measure with."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.figure import Context, Figure, Limit, expect_equal
from benchmarks.processes import Run, run_python

WORKERS = 2


def figures(context: Context) -> list[Figure]:
    pages = 2_000 if context.small else 50_000
    context.say(f"synth: {pages:,} pages, {WORKERS} workers")

    def run(number: int) -> Run:
        out = context.scratch / f"synth-{number}"
        done = run_python("unquilt", "synth", str(out), "--pages", str(pages), "--workers", str(WORKERS), "--json")
        expect_equal("pages written", done.answer["pages"], pages)
        context.say(f"  unquilt synth      {done.seconds:6.2f} s, processors {done.processor_seconds:6.2f} s")
        return done

    run(0)
    runs = [run(number) for number in range(1, context.repeat + 1)]
    busy = statistics.median(done.processor_seconds for done in runs)
    return [
        Figure(
            name=f"synth, {pages:,} pages, {WORKERS} workers",
            unit="pages/s",
            ours=tuple(pages / done.seconds for done in runs),
            limit=Limit("ours", "at least", 5_000),
            note=f"wall time of a fresh process; {busy:.1f} s of processor time",
        )
    ]


def planted_crawl(context: Context, pages: int) -> Path:
    """A planted crawl, made once."""
    web = context.cache / f"synth-{pages}"
    if not (web / "synth.json").exists():
        context.say(f"Making a planted crawl of {pages:,} pages")
        run_python("unquilt", "synth", str(web), "--pages", str(pages), "--json")
    return web
