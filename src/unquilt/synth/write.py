"""The planted web on disk: files in parallel, truth tables joined, a summary last."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from unquilt.errors import BadInput, BadParameter, Cancelled, DiskFull, StepFailed
from unquilt.synth.params import SynthParams, SynthSummary
from unquilt.synth.plan import make_plan, shard_count
from unquilt.synth.shards import warc_name, write_shard
from unquilt.synth.truth import SCHEMAS, join_tables, write_plan_tables

_FORMAT = 1
_stop: Any = None  # in a worker: set when the user wants no more
_done: Any = None  # in a worker: pages written by all


class _StoppedError(Exception):
    pass


def write_synth(
    out: str | Path,
    params: SynthParams = SynthParams(),
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SynthSummary:
    """Write a made-up crawl with known copies to the folder ``out``.

    The bytes depend on the parameters alone, not on the number of workers (default: one for each processor).
    ``progress`` is called with pages written and pages to write.
    """
    folder = Path(out)
    if workers is not None and workers < 1:
        raise BadParameter(
            f"--workers is {workers}; it must be at least 1.", fix="Leave it out to use every processor."
        )
    _prepare(folder, params)
    shards = shard_count(params)
    workers = min(workers or os.cpu_count() or 1, shards)
    report = progress or (lambda _done, _all: None)
    try:
        totals = (
            _in_process(folder, params, shards, report)
            if workers == 1
            else _pooled(folder, params, shards, workers, report)
        )
        plan = make_plan(params)
        counts = join_tables(folder / "truth", shards) | write_plan_tables(folder / "truth", plan)
    except KeyboardInterrupt:
        _clear(folder)
        raise Cancelled("Stopped; the unfinished crawl was removed.", fix="Run the same command again.") from None
    except OSError as error:
        raise DiskFull(f"{folder} could not be written: {error}.", fix="Make room or choose another folder.") from error
    summary = SynthSummary(
        path=folder,
        pages=totals[0],
        records=totals[1],
        files=shards,
        bytes=totals[2],
        counts=counts,
        left_out=plan.left_out,
    )
    _write_json(folder, params, summary)
    return summary


def _prepare(folder: Path, params: SynthParams) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file, not a folder.", fix="Choose another name for the planted web.")
    if folder.exists() and any(folder.iterdir()) and not (folder / "synth.json").exists():
        raise BadInput(
            f"{folder} is not empty, and holds no planted web (no synth.json).",
            fix="Choose a new folder, or empty this one first.",
        )
    try:
        (folder / "truth").mkdir(parents=True, exist_ok=True)
        _clear(folder)
        _write_json(folder, params, None)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error}.", fix="Choose a folder you may write to.") from error


def _clear(folder: Path) -> None:
    """Remove what an earlier run left, and only that."""
    for pattern in ("crawl-*.warc.gz", "crawl-*.warc.gz.tmp"):
        for path in folder.glob(pattern):
            path.unlink()
    for name in SCHEMAS:
        for path in [
            *(folder / "truth").glob(f".{name}-*.parquet.tmp"),
            *(folder / "truth").glob(f"{name}.parquet*"),
        ]:
            path.unlink()


def _write_json(folder: Path, params: SynthParams, summary: SynthSummary | None) -> None:
    """Say in synth.json what the folder holds; without a summary, that it is not complete."""
    known: dict[str, Any] = {"format": _FORMAT, "complete": summary is not None, "params": params.as_dict()}
    if summary is not None:
        known |= {
            "pages": summary.pages,
            "records": summary.records,
            "bytes": summary.bytes,
            "files": [warc_name(shard) for shard in range(summary.files)],
            "truth": summary.counts,
            "left_out": summary.left_out,
        }
    temporary = folder / "synth.json.tmp"
    temporary.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(folder / "synth.json")


def _in_process(
    folder: Path, params: SynthParams, shards: int, report: Callable[[int, int], None]
) -> tuple[int, int, int]:
    done = 0

    def tick(pages: int) -> None:
        nonlocal done
        done += pages
        report(done, params.pages)

    return _sum([write_shard(params, shard, folder, tick) for shard in range(shards)])


def _pooled(
    folder: Path, params: SynthParams, shards: int, workers: int, report: Callable[[int, int], None]
) -> tuple[int, int, int]:
    context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
    stop, done = context.Event(), context.Value("q", 0)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=(stop, done))
    try:
        waiting: set[Future[tuple[int, int, int]]] = {
            pool.submit(_work, params, shard, folder) for shard in range(shards)
        }
        every = list(waiting)
        while waiting:
            finished, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
            report(min(int(done.value), params.pages), params.pages)
        return _sum([future.result() for future in every])
    except BrokenProcessPool as error:
        raise StepFailed("A worker process died.", fix="Run again with fewer --workers.") from error
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker(stop: Any, done: Any) -> None:
    global _stop, _done
    _stop, _done = stop, done
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides


def _work(params: SynthParams, shard: int, folder: Path) -> tuple[int, int, int]:
    _tick(0)
    return write_shard(params, shard, folder, _tick)


def _tick(pages: int) -> None:
    with _done.get_lock():
        _done.value += pages
    if _stop.is_set():
        raise _StoppedError


def _sum(totals: list[tuple[int, int, int]]) -> tuple[int, int, int]:
    return sum(t[0] for t in totals), sum(t[1] for t in totals), sum(t[2] for t in totals)
