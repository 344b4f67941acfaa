"""What the tasks of the Spark engine do: run a step over items or buckets, and cut its blocks for the shuffle.

A record of the shuffle is what one block has for one partition, a range of buckets: where it comes from, where each
bucket begins, then the columns, as bytes that neither Python nor Spark looks into. One more partition takes a note from
each task: how many rows it sent, of what types, or how it failed.
"""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark import TaskContext

from unquilt.engines import Block, Bucket, Column, current_work, working_on
from unquilt.engines.blocks import checked, joined
from unquilt.engines.worker import Failure, portable, run_step

_ALIGN = 8
_HEAD = 3  # task, number of the block in it, rows; each of 8 bytes
_HELD_BYTES = 64 << 20  # of a partition, in memory; the rest waits on the executor's disk


@dataclass(frozen=True, slots=True)
class Cut:
    """Buckets in ranges of neighbours, one for each partition."""

    buckets: int
    partitions: int

    def bounds(self) -> list[int]:
        return [self.buckets * i // self.partitions for i in range(self.partitions + 1)]

    def range(self, partition: int) -> range:
        begin, end = (self.buckets * i // self.partitions for i in (partition, partition + 1))
        return range(begin, end)


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure in the place of a result: of which task, at which of its items or at which bucket."""

    task: int
    at: int
    failure: Failure


@dataclass(slots=True)
class Note:
    """What a task of an exchange tells the engine."""

    task: int
    rows: int = 0
    bytes: int = 0
    dtypes: tuple[str, ...] = ()
    failed: Failed | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a task, as they were pickled for it."""

    def read(self, _task: int, records: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
        return ((at, pickle.loads(record)) for at, record in enumerate(records))


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of a partition of an earlier exchange."""

    cut: Cut
    dtypes: tuple[str, ...]

    def read(self, task: int, records: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
        if task == self.cut.partitions:  # that of the notes
            return
        for bucket in read_partition(records, self.cut.range(task), self.dtypes):
            yield bucket.number, bucket


Source = Items | Buckets


@dataclass(frozen=True, slots=True)
class RunStep:
    """The result of a step for each item or bucket of a task; a failure is the last."""

    step: Callable[[Any], Any]
    source: Source
    attempts: int

    def __call__(self, task: int, records: Iterable[bytes]) -> Iterator[Any]:
        for at, item in self.source.read(task, records):
            result = run_step(self.step, item)
            if isinstance(result, Failure):
                _try_again(result.error, self.attempts)
                yield Failed(task, at, portable(result))
                return
            yield result


@dataclass(frozen=True, slots=True)
class SendBlocks:
    """The blocks of a step, cut for the partitions of the shuffle: number and record in turn."""

    step: Callable[[Any], Iterable[Block]]
    source: Source
    cut: Cut
    attempts: int

    def __call__(self, task: int, records: Iterable[bytes]) -> Iterator[bytes]:
        note = Note(task)
        working_on("")
        at = [-1]
        try:
            for number, block in enumerate(joined(checked(self._blocks(task, records, at), self.cut.buckets))):
                note.rows += len(block.columns[0])
                note.bytes += block.bytes
                note.dtypes = tuple(column.dtype.str for column in block.columns)
                yield from self._cut(block, task, number)
        except Exception as error:
            _try_again(error, self.attempts)
            note.failed = Failed(task, at[0], portable(Failure(error, current_work(), traceback.format_exc())))
        yield _partition_key(self.cut.partitions)
        yield pickle.dumps(note)

    def _blocks(self, task: int, records: Iterable[bytes], now: list[int]) -> Iterator[Block]:
        for now[0], item in self.source.read(task, records):
            yield from self.step(item)

    def _cut(self, block: Block, task: int, number: int) -> Iterator[bytes]:
        columns = [np.ascontiguousarray(column) for column in block.columns]
        for partition, (begin, end) in enumerate(itertools.pairwise(self.cut.bounds())):
            offsets = block.offsets[begin : end + 1]
            first, last = int(offsets[0]), int(offsets[-1])
            if first < last:
                yield _partition_key(partition)
                yield _pack(task, number, offsets - first, [column[first:last] for column in columns])


def _try_again(error: BaseException, attempts: int) -> None:
    """Let Spark run the task once more, elsewhere, if it was the machine that failed rather than the step."""
    context = TaskContext.get()
    if isinstance(error, (OSError, MemoryError)) and context is not None and context.attemptNumber() + 1 < attempts:
        raise error


def _partition_key(partition: int) -> bytes:
    return struct.pack("!q", partition)


def _pack(task: int, number: int, offsets: npt.NDArray[np.int64], columns: list[Column]) -> bytes:
    parts: list[Any] = [np.array([task, number, len(columns[0])], np.int64), offsets]
    for column in columns:
        parts += [column.view(np.uint8), bytes(-column.nbytes % _ALIGN)]
    return b"".join(parts)


def read_partition(records: Iterable[bytes], numbers: range, dtypes: tuple[str, ...]) -> Iterator[Bucket]:
    """Each bucket of a partition, its rows in the order of the tasks that sent them.

    However large the partition, memory holds little more than one of its buckets.
    """
    with _Held() as held:
        for record in records:
            held.add(record)
        views = sorted((_view(*place, len(numbers), dtypes) for place in held.places()), key=lambda view: view[0])
        for i, number in enumerate(numbers):
            yield Bucket(
                number,
                tuple(
                    np.concatenate(
                        [np.empty(0, dtype), *(columns[c][cuts[i] : cuts[i + 1]] for _, cuts, columns in views)]
                    )
                    for c, dtype in enumerate(dtypes)
                ),
            )


def _view(
    data: Any, at: int, buckets: int, dtypes: tuple[str, ...]
) -> tuple[tuple[int, int], npt.NDArray[np.int64], list[Column]]:
    """A record as it lies in memory or in a file: which block it is of, offsets and columns."""
    head = np.frombuffer(data, np.int64, _HEAD + buckets + 1, at)
    task, number, rows = head[:_HEAD].tolist()
    at += head.nbytes
    columns = []
    for dtype in dtypes:
        column = np.frombuffer(data, dtype, rows, at)
        at += column.nbytes + -column.nbytes % _ALIGN
        columns.append(column)
    return (task, number), head[_HEAD:], columns


class _Held:
    """Records until all have come: the first in memory, more in a file that goes with the task."""

    def __init__(self) -> None:
        self._records: list[bytes] = []
        self._bytes = 0
        self._file: Any = None
        self._begins: list[int] = []

    def __enter__(self) -> _Held:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, record: bytes) -> None:
        if self._bytes + len(record) <= _HELD_BYTES:
            self._records.append(record)
            self._bytes += len(record)
            return
        if self._file is None:
            folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
            self._file = tempfile.TemporaryFile(dir=folders[os.getpid() % len(folders)] or None)  # noqa: SIM115 closed on exit
        self._begins.append(self._file.tell())
        self._file.write(record)

    def places(self) -> Iterator[tuple[Any, int]]:
        yield from ((record, 0) for record in self._records)
        if self._file is not None:
            self._file.flush()
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            yield from ((mapped, begin) for begin in self._begins)
