"""The planted web: pages a second."""

from __future__ import annotations

from benchmarks.figure import Context, Figure, Limit, expect_equal
from benchmarks.processes import run_python

WORKERS = 2


def figures(context: Context) -> list[Figure]:
    pages = 2_000 if context.small else 50_000
    context.say(f"synth: {pages:,} pages, {WORKERS} workers")

    def rate(number: int) -> float:
        out = context.scratch / f"synth-{number}"
        seconds, answer = run_python(
            "unquilt", "synth", str(out), "--pages", str(pages), "--workers", str(WORKERS), "--json"
        )
        expect_equal("pages written", answer["pages"], pages)
        context.say(f"  unquilt synth      {seconds:6.2f} s")
        return pages / seconds

    rate(0)
    return [
        Figure(
            name=f"synth, {pages:,} pages, {WORKERS} workers",
            unit="pages/s",
            ours=tuple(rate(number) for number in range(1, context.repeat + 1)),
            limit=Limit("ours", "at least", 5_000),
            note="wall time of a fresh process",
        )
    ]
