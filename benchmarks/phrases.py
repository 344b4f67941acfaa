"""Near-duplicates of a real crawl, from text to classes: against datatrove and datasketch."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, NotMeasured
from benchmarks.ingest import WORKERS, ingested_corpus
from benchmarks.processes import Run, run_python, watch_python
from unquilt.corpus import Corpus

PEERS = ("datatrove", "datasketch", "spacy", "tokenizers", "orjson", "xxhash<3.6", "regex")
_SCRIPT = Path(__file__).with_name("phrases_peers.py")
_GIB = 2**30
_MEMORY = 2


def figures(context: Context) -> list[Figure]:
    crawl = make_crawl(context)
    corpus = ingested_corpus(context)
    context.say(f"phrases: {crawl.pages:,} pages, {WORKERS} workers")

    def ours(command: str, *options: str) -> Run:
        run = run_python("unquilt", command, str(corpus), "--workers", str(WORKERS), "--json", *options)
        context.say(f"  unquilt {command} {' '.join(options)}  {run.seconds:6.2f} s")
        return run

    ours("dedup")
    ours("phrases")
    dedup, whole, reading = [], [], []
    for number in range(context.repeat):
        dedup.append(ours("dedup"))
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
        *_peers(context, corpus, dedup),
        Figure(
            name="phrases, all of it, to ingest", unit="s", ours=tuple(run.seconds for run in whole), peer=ingest,
            peer_name="unquilt ingest", limit=Limit("ratio", "at most", 0.5),
            note=f"{whole[0].answer['covers']:,} covering sets among it",
        ),
        Figure(
            name="phrases, peak memory", unit="GiB", ours=(peak.tree / _GIB,), limit=Limit("ours", "at most", _MEMORY),
            note=f"budget {_MEMORY} GiB",
        ),
        _families(ours, dedup[0]),
    ]  # fmt: skip


def _families(ours: object, mixed: Run) -> Figure:
    """Pages that one family of hash functions drops and the other does not."""
    lists = [set(_dropped(Path(mixed.answer["files"][0])))]
    assert callable(ours)
    rabin = ours("dedup", "--hash", "rabin")
    lists.append(set(_dropped(Path(rabin.answer["files"][0]))))
    differ = len(lists[0] ^ lists[1])
    return Figure(
        name="dedup, pages dropped by one hash family only", unit="pages", ours=(differ,), peer=(len(lists[0]),),
        peer_name="dropped by mixing", limit=Limit("ratio", "at most", 0.25),
        note=f"Rabin drops {len(lists[1]):,} pages in {rabin.seconds:.1f} s; near the threshold it is chance",
    )  # fmt: skip


def _dropped(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return [row["url"] for row in table.to_pylist() if not row["keep"]]


def _peers(context: Context, corpus: Path, dedup: list[Run]) -> list[Figure]:
    python = _peer_python(context)
    texts = _write_texts(context, corpus)
    dropped, own = dedup[0].answer["dropped"], statistics.median(run.processor_seconds for run in dedup)
    found = []
    # datasketch has no workers of its own: alone as it comes, and in a pool of processes as a user could have it.
    for name, workers, least in (("datatrove", WORKERS, 50), ("datasketch", 1, 20), ("datasketch", WORKERS, None)):
        used, begun = _used(), time.perf_counter()
        done = subprocess.run(
            [python, _SCRIPT, name, texts, str(workers)], capture_output=True, check=False,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )  # fmt: skip
        taken, used = time.perf_counter() - begun, _used() - used
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise NotMeasured(f"{name} failed: {' '.join(last)}")
        theirs = json.loads(done.stdout.splitlines()[-1])["dropped"]
        context.say(f"  {name}, {workers} processes  {taken:6.2f} s, {theirs:,} pages dropped")
        found.append(
            Figure(
                name=f"dedup, from text to classes, to {name}", unit="s", ours=tuple(run.seconds for run in dedup),
                peer=(taken,), peer_name=f"{name}, {workers} processes", inverted=True,
                limit=Limit("ratio", "at least", least) if least else None,
                note=f"{WORKERS} workers; processor time {used:.1f} s to {own:.2f} s; ours drops {dropped:,} (2 of "
                f"6 runs, measured exactly), theirs {theirs:,} (1 of 6 bands)",
            )
        )  # fmt: skip
    return found


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _peer_python(context: Context) -> str:
    """The Python of an environment that has the peers, made once."""
    home = context.cache / "peers"
    python = home / "bin" / "python"
    if not (home / ".ready").exists():
        context.say("Installing " + ", ".join(PEERS))
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotMeasured(f"The peers cannot be installed: {error}") from None
        (home / ".ready").touch()
    return str(python)


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
