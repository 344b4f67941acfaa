"""Starting: what a small job waits for before it does anything, and what the very first one waits for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from benchmarks.figure import Context, Figure, Limit, alternate
from benchmarks.ingest import WORKERS
from benchmarks.processes import Run, run_python
from benchmarks.synth import planted_crawl
from unquilt.sample import sample_files

_PAGES = 100
_LEAST_RUNS = 5  # of what takes a second


def figures(context: Context) -> list[Figure]:
    return [_help(context), _small_job(context), *_first_run(context)]


def _help(context: Context) -> Figure:
    runs = _repeated(context, lambda: run_python("unquilt", "--help", read=bytes.decode))
    context.say(f"  unquilt --help  {runs[-1].seconds:6.2f} s")
    return Figure(
        name="start, unquilt --help", unit="s", ours=_seconds(runs), limit=Limit("ours", "at most", 0.3),
        note=f"a fresh process, Python itself included; processor time {runs[-1].processor_seconds:.2f} s",
    )  # fmt: skip


def _small_job(context: Context) -> Figure:
    corpus = str(context.scratch / "start.corpus")
    run_python("unquilt", "ingest", str(planted_crawl(context, _PAGES)), "-o", corpus, "--json")
    runs = _repeated(context, lambda: run_python("unquilt", "quilts", corpus, "--workers", str(WORKERS), "--json"))
    context.say(f"  unquilt quilts, {_PAGES} pages  {runs[-1].seconds:6.2f} s")
    return Figure(
        name=f"start, unquilt quilts on {_PAGES} pages, warm", unit="s", ours=_seconds(runs),
        limit=Limit("ours", "at most", 2),
        note=f"kernels compiled before; processor time {runs[-1].processor_seconds:.2f} s",
    )  # fmt: skip


def _first_run(context: Context) -> list[Figure]:
    """The bundled sample with no kernel compiled, and then with all."""
    numbers = itertools.count()

    def run() -> Run:
        number = next(numbers)
        out, kernels = context.scratch / f"start-{number}.corpus", context.scratch / f"kernels-{number // 2}"
        files = [str(file) for file in sample_files()]
        done = run_python(
            "unquilt", "run", *files, "-o", str(out), "--workers", str(WORKERS), "--json",
            environment={"NUMBA_CACHE_DIR": str(kernels)},
        )  # fmt: skip
        context.say(f"  unquilt run on the sample, {'warm' if number % 2 else 'cold'}  {done.seconds:6.2f} s")
        return done

    cold, warm = alternate(context.repeat, run, run)
    pairs = list(zip(cold, warm, strict=True))
    return [
        Figure(
            name="first start, all kernels compiled", unit="s",
            ours=tuple(first.seconds - second.seconds for first, second in pairs),
            limit=Limit("ours", "at most", 15),
            note="how much longer unquilt run takes on the bundled sample with no compiled kernel than with all",
        ),
        Figure(
            name="first start, all kernels compiled, processor time", unit="s",
            ours=tuple(first.processor_seconds - second.processor_seconds for first, second in pairs),
            note=f"of all processes: {WORKERS} workers may compile the same kernel at the same time",
        ),
        Figure(
            name="first start, unquilt run on the sample", unit="s", ours=_seconds(cold), peer=_seconds(warm),
            peer_name="the same, kernels compiled",
        ),
    ]  # fmt: skip


def _repeated(context: Context, run: Callable[[], Run]) -> list[Run]:
    run()
    return [run() for _ in range(max(context.repeat, _LEAST_RUNS))]


def _seconds(runs: Sequence[Run]) -> tuple[float, ...]:
    return tuple(run.seconds for run in runs)
