"""Near-duplicates of a real crawl, from text to classes: against datatrove, text-dedup, datasketch and rensa."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, NotMeasured, alternate
from benchmarks.ingest import WORKERS, ingested_corpus
from benchmarks.near_truth import HALF, SURE, Truth
from benchmarks.peers import python_of
from benchmarks.processes import Run, RunFailed, run_python, watch_python
from unquilt.corpus import Corpus

# datasketch has no workers of its own: alone as it comes, and in a pool of processes as a user could have it.
_PEERS = (
    ("datatrove", WORKERS, 50),
    ("text-dedup", WORKERS, None),
    ("datasketch", 1, 20),
    ("datasketch", WORKERS, None),
    ("rensa", WORKERS, None),
)
_AGAINST = "dedup, from text to classes, to "
_GIB = 2**30
_MEMORY = 2


def figures(context: Context) -> list[Figure]:
    crawl = make_crawl(context)
    corpus = ingested_corpus(context)
    context.say(f"phrases: {crawl.pages:,} pages, {WORKERS} workers")

    def ours(command: str, *options: str) -> Run:
        shutil.rmtree(corpus / "results" / "phrases", ignore_errors=True)  # dedup would take its classes
        run = run_python("unquilt", command, str(corpus), "--workers", str(WORKERS), "--json", *options)
        context.say(f"  unquilt {command} {' '.join(options)}  {run.seconds:6.2f} s")
        return run

    mixed = ours("dedup")
    ours("phrases")
    families = _families(ours, mixed)
    whole, reading = [], []
    for number in range(context.repeat):
        whole.append(ours("phrases"))
        out = context.scratch / f"phrases-ingest-{number}.corpus"
        reading.append(
            run_python("unquilt", "ingest", str(crawl.path), "-o", str(out), "--workers", str(WORKERS), "--json")
        )
    peak, _, _ = watch_python(
        "unquilt", "phrases", str(corpus), "--workers", str(WORKERS), "--json", "--memory", f"{_MEMORY}GiB"
    )
    ingest = tuple(run.seconds for run in reading)
    return [
        *_peers(context, corpus, ours),
        Figure(
            name="phrases, all of it, to ingest", unit="s", ours=tuple(run.seconds for run in whole), peer=ingest,
            peer_name="unquilt ingest", limit=Limit("ratio", "at most", 0.5),
            note=f"{whole[0].answer['covers']:,} covering sets among it",
        ),
        Figure(
            name="phrases, peak memory", unit="GiB", ours=(peak.tree / _GIB,), limit=Limit("ours", "at most", _MEMORY),
            note=f"budget {_MEMORY} GiB",
        ),
        families,
    ]  # fmt: skip


def _families(ours: Callable[..., Run], mixed: Run) -> Figure:
    """Pages that one family of hash functions drops and the other keeps, though they surely should agree."""
    mine = _dropped(Path(mixed.answer["files"][0]))
    rabin = ours("dedup", "--hash", "rabin")
    theirs = _dropped(Path(rabin.answer["files"][0]))
    differ = [(mine | theirs)[url] for url in set(mine) ^ set(theirs)]
    return Figure(
        name=f"dedup, pages of resemblance from {SURE} that one hash family alone drops", unit="pages",
        ours=(sum(one >= SURE for one in differ),), peer=(sum(one >= SURE for one in mine.values()),),
        peer_name="dropped by mixing", limit=Limit("ratio", "at most", 0.05),
        note=f"of any resemblance {len(differ):,}, median {statistics.median(differ or [1]):.2f}; mixing drops "
        f"{len(mine):,}, Rabin {len(theirs):,} in {rabin.seconds:.1f} s",
    )  # fmt: skip


def _dropped(path: Path) -> dict[str, float]:
    """The pages to drop, with the resemblance to what is kept."""
    return {row["url"]: row["resemblance"] for row in pq.read_table(path).to_pylist() if not row["keep"]}


def _peers(context: Context, corpus: Path, ours: Callable[..., Run]) -> list[Figure]:
    """Each peer against ours; one that cannot be had or fails does not take the others away."""
    texts = str(_write_texts(context, corpus))
    truth = Truth(corpus)
    context.say(f"  {len(truth.one):,} pairs of pages of resemblance from {SURE}")
    found = []
    for name, workers, least in _PEERS:
        try:
            python = python_of(context, name)

            def peer(name: str = name, workers: int = workers, python: str = python) -> Run:
                run = run_python("benchmarks.phrases_peers", name, texts, str(workers), python=python)
                context.say(f"  {name}, {workers} processes  {run.seconds:6.2f} s")
                return run

            runs = alternate(context.repeat, lambda: ours("dedup"), peer)
        except (NotMeasured, RunFailed) as why:
            reason = str(why).splitlines()[-1]
            context.say(f"  {name} not measured: {why}")
            mine = ours("dedup").seconds
            found.append(Figure(name=_AGAINST + name, unit="s", ours=(mine,), peer_name=f"not measured: {reason}"))
            continue
        found.append(_speed(*runs, name, workers, least))
        if workers == WORKERS:
            found += _quality(*runs, truth, name)
    return found


def _speed(ours: Sequence[Run], peer: Sequence[Run], name: str, workers: int, least: float | None) -> Figure:
    used, own = (statistics.median(run.processor_seconds for run in runs) for runs in (peer, ours))
    dropped = len(peer[0].answer["labels"]) - len(set(peer[0].answer["labels"]))
    return Figure(
        name=_AGAINST + name, unit="s", ours=tuple(run.seconds for run in ours),
        peer=tuple(run.seconds for run in peer), peer_name=f"{name}, {workers} processes", inverted=True,
        limit=Limit("ratio", "at least", least) if least else None,
        note=f"{WORKERS} workers; processor time {used:.1f} s to {own:.2f} s; ours drops {ours[0].answer['dropped']:,} "
        f"(2 of 6 runs, measured exactly), theirs {dropped:,} (1 of 6 bands)",
    )  # fmt: skip


def _quality(ours: Sequence[Run], peer: Sequence[Run], truth: Truth, name: str) -> list[Figure]:
    """How much of what surely is alike is found, and how much of what is dropped is alike."""
    kept = pq.read_table(ours[0].answer["files"][0], columns=["kept"])["kept"].to_pylist()
    mine, theirs = truth.measure(kept), truth.measure(peer[0].answer["labels"])
    what = (
        (f"pairs of pages alike by {SURE} that are found", f"of {len(truth.one):,}, by the exact Jaccard of phrases"),
        (f"dropped pages alike by {HALF} to what is kept", "kept: the first page of each class"),
    )
    return [
        Figure(
            name=f"dedup, {about}, to {name}", unit="%", ours=(100 * own,), peer=(100 * other,), peer_name=name,
            note=note,
        )
        for (about, note), own, other in zip(what, mine, theirs, strict=True)
        if own is not None and other is not None
    ]  # fmt: skip


def _write_texts(context: Context, corpus: Path) -> Path:
    """The texts of a corpus as JSON lines, a file for each part."""
    folder = context.scratch / "phrases-texts"
    folder.mkdir(exist_ok=True)
    for number, file in enumerate(Corpus(corpus).files()):
        page = file.first
        with (folder / f"{number:03}.jsonl").open("w", encoding="utf-8") as out:
            for table in file.batches(["text"]):
                for text in table["text"].to_pylist():
                    out.write(json.dumps({"id": str(page), "text": text or ""}) + "\n")
                    page += 1
    return folder
