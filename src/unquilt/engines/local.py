"""The local engine: worker processes on one machine, blocks in memory or, beyond the budget, on disk."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from unquilt.engines import BUCKET_BITS, Block, Blocks, Bucket, Item, Result
from unquilt.engines.blocks import LocalBlocks, ReadAndWrite, ReadBuckets, WriteBlocks, Written, free_bytes
from unquilt.engines.worker import Failure, explain, run_step
from unquilt.errors import BadParameter, Cancelled, DiskFull, StepFailed
from unquilt.progress import Progress, Quiet

_SHARED_MEMORY = "/dev/shm"  # a file system in memory on every Linux
_MEMORY_SHARE = 0.7
_OWN_BYTES = 200 << 20  # what this process itself takes
_WORKER_BYTES = 512 << 20  # what a worker takes: libraries, a piece of input, a range of buckets and its sort
_LEAST_MEMORY = 512 << 20
_AHEAD = 4  # items for each worker that may be done before an earlier one is
_RANGES = 8  # of buckets for each worker, so that they end together

# A worker frees and asks for the same large arrays again and again: giving them back to the kernel each time costs
# more than a tenth of the time.
_TUNABLES = "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"
_WORKER = "from unquilt.engines.worker import main; main()"

Step = Callable[[Any], Any]


def free_memory() -> int:
    """Bytes this machine, or the container around it, can still give."""
    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):
        limit = Path("/sys/fs/cgroup/memory.max").read_text()
        used = Path("/sys/fs/cgroup/memory.current").read_text()
        free = min(free, int(limit) - int(used))
    return max(free, 0)


class LocalEngine:
    """Runs steps in ``workers`` processes (default: one a processor) within ``memory`` bytes in all.

    ``scratch`` is the folder for blocks that memory cannot hold. With ``preload``, modules or ``module:function``, the
    workers start at once and import or call them while the caller goes on. Use it in a ``with``, or call ``close``.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        memory: int | None = None,
        scratch: str | Path | None = None,
        progress: Progress | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        if workers is not None and workers < 1:
            raise BadParameter(
                f"--workers is {workers}; it must be at least 1.", fix="Leave it out to use every processor."
            )
        if memory is not None and memory < _LEAST_MEMORY:
            raise BadParameter(
                f"--memory is {memory >> 20} MiB; it must be at least {_LEAST_MEMORY >> 20} MiB.",
                fix="Give more, or leave it out to use 70 % of what is free.",
            )
        self.memory = memory or max(int(free_memory() * _MEMORY_SHARE), _LEAST_MEMORY)
        fitting = max((self.memory - _OWN_BYTES) // _WORKER_BYTES, 1)
        self.workers = min(workers or len(os.sched_getaffinity(0)), fitting)
        self.progress = progress or Quiet()
        self._scratch = str(scratch or tempfile.gettempdir())
        self._folders: tuple[str, str] | None = None
        self._preload = tuple(preload)
        self._pool: list[_Worker] = []
        self._files = 0
        self._memory_left = max(self.memory - _OWN_BYTES - self.workers * _WORKER_BYTES, 0)
        if preload and self.workers > 1:
            self._start_workers(self.workers)

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and remove the blocks that are left."""
        for worker in self._pool:
            worker.end()
        self._pool = []
        for folder in self._folders or ():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders = None

    def map(
        self,
        step: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        name: str,
        label: Callable[[Item], str] = str,
        size: Callable[[Item], int] | None = None,
    ) -> Iterator[Result]:
        """The result of each item, in order. With ``size`` (bytes of an item), progress is in bytes."""
        unit = "bytes" if size else "parts"
        return self._run(_Job(name, items, lambda _index: step, label, size, unit))

    def exchange(
        self,
        step: Callable[[Any], Iterable[Block]],
        items: Sequence[Any] | Blocks,
        *,
        name: str,
        buckets: int = 1 << BUCKET_BITS,
        label: Callable[[Any], str] = str,
        size: Callable[[Any], int] | None = None,
    ) -> LocalBlocks:
        """The blocks a step gives for each item, by bucket."""
        unit = "bytes" if size else "parts"
        if isinstance(items, LocalBlocks):
            step = ReadAndWrite(_reader(step, items))
            items, label, size, unit = self._ranges(items), _name_buckets, len, "buckets"
        assert isinstance(items, Sequence)
        memory, disk = self._open_folders()
        grants = _Grants(self._memory_left, self.workers)
        blocks = LocalBlocks(buckets)

        def call(index: int) -> Step:
            self._files += 1
            grant = grants.take(index, free_bytes(memory) // 2)
            return WriteBlocks(step, f"{memory}/{self._files}", f"{disk}/{self._files}", grant, buckets)

        def done(index: int, written: Written) -> None:
            grants.give_back(index, written.memory_bytes)

        try:
            for written in self._run(_Job(name, items, call, label, size, unit, done)):
                blocks.add(written)
        except BaseException:
            blocks.close()
            raise
        self._memory_left -= blocks.memory_bytes
        blocks.free = self._take_back
        return blocks

    def reduce(self, step: Callable[[Bucket], Result], blocks: Blocks, *, name: str) -> Iterator[Result]:
        """The result of each bucket, in order."""
        assert isinstance(blocks, LocalBlocks)
        read = _reader(step, blocks)
        for results in self._run(_Job(name, self._ranges(blocks), lambda _index: read, _name_buckets, len, "buckets")):
            yield from results

    def gather(self, tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
        """Small tables as one."""
        return pa.concat_tables([schema.empty_table(), *tables])

    def _ranges(self, blocks: LocalBlocks) -> list[range]:
        return blocks.ranges(self.workers * _RANGES, _WORKER_BYTES // 8)

    def _take_back(self, memory_bytes: int) -> None:
        self._memory_left += memory_bytes

    def _open_folders(self) -> tuple[str, str]:
        if self._folders is None:
            in_memory = _SHARED_MEMORY if Path(_SHARED_MEMORY).is_dir() else self._scratch
            if in_memory == self._scratch:
                self._memory_left = 0
            self._folders = (_make_folder(in_memory), _make_folder(self._scratch))
        return self._folders

    def _run(self, job: _Job) -> Iterator[Any]:
        if not job.items:
            return
        meter = self.progress.start(job.name, sum(map(job.weight, job.items)), job.unit)
        try:
            many = self.workers > 1 and len(job.items) > 1
            yield from _in_order(job, self._pooled(job, meter) if many else _one_by_one(job, meter))
        except KeyboardInterrupt:
            raise Cancelled(f"{job.name} was stopped.", fix="Run the same command again to go on.") from None
        except BaseException:
            self._drop_workers()
            raise
        finally:
            meter.finish()

    def _start_workers(self, count: int) -> None:
        while len(self._pool) < count:
            self._pool.append(_Worker(self._preload))

    def _drop_workers(self) -> None:
        """Workers that may still be at work for nobody."""
        for worker in self._pool:
            worker.end()
        self._pool = []

    def _pooled(self, job: _Job, meter: Any) -> Iterator[tuple[int, Any]]:
        self._start_workers(min(self.workers, len(job.items)))
        idle = list(self._pool)
        busy: dict[Connection, tuple[_Worker, int]] = {}
        given = told = 0
        try:
            while told < len(job.items):
                while idle and given < min(len(job.items), job.yielded + _AHEAD * self.workers):
                    worker = idle.pop()
                    worker.give(job.call(given), job.items[given])
                    busy[worker.connection] = worker, given
                    given += 1
                for connection in wait(list(busy)):
                    assert isinstance(connection, Connection)
                    worker, index = busy.pop(connection)
                    result = worker.take(job, index)
                    idle.append(worker)
                    job.finish(index, result, meter)
                    told += 1
                    yield index, result
        except BaseException:
            self._drop_workers()
            raise


@dataclass(slots=True)
class _Job:
    """A step over items, under way."""

    name: str
    items: Sequence[Any]
    call: Callable[[int], Step]  # what to run for the item of that index
    label: Callable[[Any], str]
    size: Callable[[Any], int] | None
    unit: str
    done: Callable[[int, Any], None] = lambda _index, _result: None
    yielded: int = 0

    def weight(self, item: Any) -> int:
        return self.size(item) if self.size else 1

    def finish(self, index: int, result: Any, meter: Any) -> None:
        item = self.items[index]
        if isinstance(result, Failure):
            raise explain(result, self.name, self.label(item)) from result.error
        self.done(index, result)
        meter.advance(self.weight(item))


def _one_by_one(job: _Job, meter: Any) -> Iterator[tuple[int, Any]]:
    for index, item in enumerate(job.items):
        result = run_step(job.call(index), item)
        job.finish(index, result, meter)
        yield index, result


def _in_order(job: _Job, finished: Iterator[tuple[int, Any]]) -> Iterator[Any]:
    early: dict[int, Any] = {}
    for index, result in finished:
        early[index] = result
        while job.yielded in early:
            result = early.pop(job.yielded)
            job.yielded += 1
            yield result


class _Worker:
    """A worker process and the line to it."""

    def __init__(self, preload: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        read_life, self._life = os.pipe()
        environment = {"GLIBC_TUNABLES": _TUNABLES} | os.environ
        environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(theirs.fileno()), str(read_life), *preload],
            pass_fds=(theirs.fileno(), read_life),
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        theirs.close()
        os.close(read_life)
        self.connection = Connection(ours.detach())
        self._is_ready = False

    def give(self, step: Step, item: Any) -> None:
        if not self._is_ready:
            try:
                self.connection.recv_bytes()  # it is there
            except (EOFError, OSError):
                raise StepFailed("A worker process could not be started.", fix="Try --workers 1.") from None
            self._is_ready = True
        with suppress(BrokenPipeError):  # a dead worker is met when its result is taken
            self.connection.send((step, item))

    def take(self, job: _Job, index: int) -> Any:
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        raise StepFailed(
            f"{job.name}: a worker process died ({how}) at {job.label(job.items[index])}.",
            fix="If it was killed for want of memory, run again with fewer --workers or less --memory.",
        )

    def end(self) -> None:
        self.connection.close()
        os.close(self._life)
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()


class _Grants:
    """How much of the memory for blocks each item under way may use."""

    def __init__(self, memory: int, workers: int) -> None:
        self._left = memory
        self._workers = workers
        self._out: dict[int, int] = {}

    def take(self, index: int, most: int) -> int:
        grant = max(min(self._left // self._workers, most), 0)
        self._left -= grant
        self._out[index] = grant
        return grant

    def give_back(self, index: int, used: int) -> None:
        self._left += self._out.pop(index) - used


def _reader(step: Step, blocks: LocalBlocks) -> ReadBuckets:
    return ReadBuckets(step, tuple(blocks.segments), blocks.dtypes, blocks.buckets)


def _name_buckets(numbers: range) -> str:
    return f"buckets {numbers.start} to {numbers.stop - 1}"


def _make_folder(parent: str) -> str:
    """A new folder of this process; those of processes that were killed are removed."""
    for old in Path(parent).glob("unquilt-blocks-*"):
        process = old.name.split("-")[2]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            shutil.rmtree(old, ignore_errors=True)
    try:
        return tempfile.mkdtemp(prefix=f"unquilt-blocks-{os.getpid()}-", dir=parent)
    except OSError as error:
        raise DiskFull(
            f"{parent} cannot be written to: {error.strerror}.", fix="Set TMPDIR to a folder with room."
        ) from error
