"""Mirrors from lists of URLs: how fast stage I is, how it grows, and what skew does to it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.figure import Context, Figure, Limit, WrongAnswer
from benchmarks.ingest import WORKERS
from benchmarks.processes import Run, run_python, watch_python

_MILLION = 1e6
_GIB = 2**30
_BUDGET = "4GiB"


def figures(context: Context) -> list[Figure]:
    fewer, more, skewed = (100_000, 400_000, 200_000) if context.small else (4_000_000, 16_000_000, 20_000_000)
    found = []
    answers = set()
    rates = {}
    for kind, urls in (("sorted", fewer), ("unsorted", fewer), ("unsorted", more), ("skewed", skewed)):
        corpus = _corpus(context, kind, urls)
        command = ["mirrors", str(corpus), "--pages", "none", "--no-trees", "--json", "--workers", str(WORKERS)]
        command += ["--memory", _BUDGET]
        run_python("unquilt", *command)
        runs = [run_python("unquilt", *command) for _ in range(context.repeat)]
        peak, _, _ = watch_python("unquilt", *command)
        pairs = runs[0].answer["counts"]["candidate pairs"]
        context.say(f"  {urls:,} {kind} URLs  {runs[0].seconds:6.2f} s, {peak.tree / _GIB:.2f} GiB, {pairs:,} pairs")
        rates[kind, urls] = runs
        if urls == fewer:
            answers.add(pairs)
        found += [_rate(kind, urls, runs, pairs), _processor_rate(kind, urls, runs)]
        found.append(
            Figure(
                name=f"mirrors, {urls / _MILLION:g} M {kind} URLs, peak memory", unit="GiB", ours=(peak.tree / _GIB,),
                limit=Limit("ours", "at most", 4), note=f"budget {_BUDGET}",
            )
        )  # fmt: skip
    if len(answers) != 1:
        raise WrongAnswer(f"candidate pairs depend on the order of the URLs: {answers}.")
    found.append(
        Figure(
            name=f"mirrors, time a URL at {more / _MILLION:g} M to {fewer / _MILLION:g} M", unit="µs",
            ours=_microseconds(rates["unsorted", more], more), peer=_microseconds(rates["unsorted", fewer], fewer),
            peer_name=f"{fewer / _MILLION:g} M URLs", limit=Limit("ratio", "at most", 1.3), note="processor time",
        )
    )  # fmt: skip
    return found


def _rate(kind: str, urls: int, runs: list[Run], pairs: int) -> Figure:
    what = "half on one host, one folder on all others" if kind == "skewed" else f"in {kind} order"
    return Figure(
        name=f"mirrors, stage I, {urls / _MILLION:g} M {kind} URLs, {WORKERS} workers", unit="URLs/s",
        ours=tuple(urls / run.seconds for run in runs), limit=Limit("ours", "at least", _MILLION),
        note=f"from the corpus on disk, {what}, start of the program included; {pairs:,} candidate pairs",
    )  # fmt: skip


def _processor_rate(kind: str, urls: int, runs: list[Run]) -> Figure:
    return Figure(
        name=f"mirrors, stage I, {urls / _MILLION:g} M {kind} URLs, a processor second", unit="URLs",
        ours=tuple(urls / run.processor_seconds for run in runs), limit=Limit("ours", "at least", _MILLION / WORKERS),
        note="what other programs do to the machine counts less",
    )  # fmt: skip


def _microseconds(runs: list[Run], urls: int) -> tuple[float, ...]:
    return tuple(run.processor_seconds / urls * 1e6 for run in runs)


def _corpus(context: Context, kind: str, urls: int) -> Path:
    """A list of URLs as a corpus, made once."""
    corpus = context.cache / f"mirrors-{kind}-{urls}.corpus"
    if not (corpus / "corpus.json").exists():
        text = context.scratch / f"{kind}.txt"
        run_python("benchmarks.mirror_urls", kind, str(urls), str(text))
        run_python("unquilt", "ingest", str(text), "-o", str(corpus), "--json")
        text.unlink()
    return corpus
