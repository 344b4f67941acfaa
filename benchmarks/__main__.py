"""Measure, and print one table of ratios: python -m benchmarks [NAME...] [--repeat N] [--small].

Timings never decide the exit status: a limit that is missed is shown as missed. It is 1 if an answer was
wrong or a run failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import (
    clean,
    exchange,
    ingest,
    kernels,
    mirrors,
    phrases,
    quilts,
    reuse,
    serve,
    spark,
    start,
    styles,
    synth,
    whole,
)
from benchmarks.figure import Context, Figure, NotMeasured, WrongAnswer
from benchmarks.machine import Others, describe_machine
from benchmarks.peers import peer_versions
from benchmarks.processes import RunFailed, adopt_orphans
from benchmarks.report import print_machine, print_others, print_table, write_docs, write_json

BENCHMARKS = {
    "run": whole.figures,
    "start": start.figures,
    "ingest": ingest.figures,
    "kernels": kernels.figures,
    "exchange": exchange.figures,
    "clean": clean.figures,
    "phrases": phrases.figures,
    "mirrors": mirrors.figures,
    "quilts": quilts.figures,
    "spark": spark.figures,
    "styles": styles.figures,
    "reuse": reuse.figures,
    "serve": serve.figures,
    "synth": synth.figures,
}
_RESULTS = Path(__file__).with_name("results.json")
_DOCS = Path(__file__).parent.parent / "docs" / "performance.md"


def main() -> int:
    given = _arguments()
    names = given.names or list(BENCHMARKS)
    figures: dict[str, list[Figure]] = {}
    problems: dict[str, str] = {}
    shares: dict[str, float] = {}
    is_wrong = False
    cache = _cache()
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="run-", dir=cache) as scratch:
        context = Context(given.repeat, given.small, cache, Path(scratch))
        for name in names:
            others = Others()
            try:
                figures[name] = BENCHMARKS[name](context)
            except NotMeasured as why:
                problems[name] = f"not measured: {why}"
            except (WrongAnswer, RunFailed) as why:
                problems[name] = f"failed: {why}"
                is_wrong = True
            shares[name] = others.share()
    machine = describe_machine() | {"peers": peer_versions(cache)}
    print_machine(machine)
    print_table([figure for some in figures.values() for figure in some])
    print_others(shares)
    for name, problem in problems.items():
        print(f"{name} {problem}")
    out = given.out or (None if given.small else _RESULTS)
    if out:
        write_json(out, machine, figures, others=shares, repeat=given.repeat, order=list(BENCHMARKS))
    if out == _RESULTS:
        write_docs(_RESULTS, _DOCS)
    return 1 if is_wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time and memory, as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(BENCHMARKS)}; else all")
    parser.add_argument("--repeat", type=int, default=3, help="runs of ours and of the peer, in turn [3]")
    parser.add_argument("--small", action="store_true", help="little data: only to see that it runs")
    parser.add_argument("--out", type=Path, help="JSON file for the figures [benchmarks/results.json, unless --small]")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if given.repeat < 1:
        parser.error("--repeat must be at least 1")
    return given


def _cache() -> Path:
    """Where downloads and data made once are kept: about 10 GB."""
    home = os.environ.get("UNQUILT_BENCH_CACHE")
    cache = Path(home) if home else Path.home() / ".cache" / "unquilt-bench"
    cache.mkdir(parents=True, exist_ok=True)
    return cache.resolve()


if __name__ == "__main__":
    sys.exit(main())
