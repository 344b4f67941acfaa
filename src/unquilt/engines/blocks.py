"""Blocks between two steps of the local engine: in shared memory while the budget lasts, then on disk.

Each item of an exchange writes one file for memory and one for disk, as it needs them. A file is a row of
segments, one a block: the bucket offsets, then the columns, each aligned to 8 bytes. Rows of neighbouring
buckets are neighbours, so that a reducer reads a stretch of each file.
"""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unquilt.engines import Block, Bucket, Column
from unquilt.errors import StepFailed

_ALIGN = 8
_BLOCK_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Segment:
    """One block in a file."""

    path: str
    at: int
    rows: int
    in_memory: bool


@dataclass(slots=True)
class Written:
    """What one item of an exchange left behind."""

    segments: list[Segment] = field(default_factory=list)
    dtypes: tuple[str, ...] = ()
    memory_bytes: int = 0
    disk_bytes: int = 0


@dataclass(slots=True)
class LocalBlocks:
    """The blocks of an exchange, as segments of files in the order of the items."""

    buckets: int
    segments: list[Segment] = field(default_factory=list)
    dtypes: tuple[str, ...] = ()
    rows: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    free: Callable[[int], None] = lambda _memory_bytes: None

    def add(self, written: Written) -> None:
        if written.segments:
            if self.dtypes and self.dtypes != written.dtypes:
                raise StepFailed(
                    f"A step gave columns {written.dtypes} after {self.dtypes}.",
                    fix="Every block of one exchange must have the same columns.",
                )
            self.dtypes = written.dtypes
        self.segments += written.segments
        self.rows += sum(segment.rows for segment in written.segments)
        self.memory_bytes += written.memory_bytes
        self.disk_bytes += written.disk_bytes

    def close(self) -> None:
        for path in {segment.path for segment in self.segments}:
            Path(path).unlink(missing_ok=True)
        self.free(self.memory_bytes)
        self.segments, self.memory_bytes, self.disk_bytes = [], 0, 0

    def __enter__(self) -> LocalBlocks:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        self.close()

    def ranges(self, parts: int, most_bytes: int) -> list[range]:
        """Neighbouring buckets in ``parts`` ranges, or in more of about ``most_bytes``."""
        row_bytes = sum(np.dtype(name).itemsize for name in self.dtypes)
        parts = max(parts, -(-self.rows * row_bytes // max(most_bytes, 1)))
        parts = min(parts, self.buckets)
        bounds = [self.buckets * i // parts for i in range(parts + 1)]
        return [range(a, b) for a, b in itertools.pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class WriteBlocks:
    """A step whose blocks go to files. ``grant`` is how much of it may stay in memory."""

    step: Callable[[Any], Iterable[Block]]
    memory_path: str
    disk_path: str
    grant: int
    buckets: int

    def __call__(self, item: Any) -> Written:
        written = Written()
        with ExitStack() as stack:
            memory = _Appender(self.memory_path, stack, in_memory=True)
            disk = _Appender(self.disk_path, stack, in_memory=False)
            for block in joined(checked(self.step(item), self.buckets)):
                size = block.bytes + block.offsets.nbytes
                fits = written.memory_bytes + size <= self.grant
                segment = (memory if fits else disk).append(block)
                written.segments.append(segment)
                written.dtypes = tuple(column.dtype.str for column in block.columns)
                if fits:
                    written.memory_bytes += size
                else:
                    written.disk_bytes += size
        return written


def checked(blocks: Iterable[Block], buckets: int) -> Iterator[Block]:
    """The blocks that have rows; an error if one is not cut into so many buckets."""
    for block in blocks:
        rows = len(block.columns[0])
        if len(block.offsets) != buckets + 1 or block.offsets[-1] != rows:
            raise ValueError(f"a block of {len(block.offsets) - 1} buckets where {buckets} were asked for")
        if any(len(column) != rows for column in block.columns):
            raise ValueError("the columns of a block have different lengths")
        if rows:
            yield block


def joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same rows in larger blocks: reading takes time for every bucket of every block."""
    waiting: list[Block] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += block.bytes
        if size >= _BLOCK_BYTES:
            yield _join(waiting)
            waiting, size = [], 0
    if waiting:
        yield _join(waiting)


def _join(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    from unquilt.kernels.radix import regroup  # numba takes its time; not every engine needs it

    starts = np.cumsum([0, *(len(block.columns[0]) for block in blocks[:-1])])
    cuts = np.stack([block.offsets + start for block, start in zip(blocks, starts, strict=True)])
    columns = zip(*(block.columns for block in blocks), strict=True)
    return Block(
        np.sum([block.offsets for block in blocks], axis=0),
        tuple(regroup(np.concatenate(column), cuts) for column in columns),
    )


class _Appender:
    """A file that exists only once something is written to it."""

    def __init__(self, path: str, stack: ExitStack, *, in_memory: bool) -> None:
        self._path = path
        self._in_memory = in_memory
        self._stack = stack
        self._file: Any = None
        self._at = 0

    def append(self, block: Block) -> Segment:
        if self._file is None:
            self._file = self._stack.enter_context(open(self._path, "wb", buffering=0))  # noqa: PTH123, SIM115
        begin = self._at
        for column in (block.offsets, *block.columns):
            self._write(np.ascontiguousarray(column).view(np.uint8).data)
        return Segment(self._path, begin, len(block.columns[0]), self._in_memory)

    def _write(self, data: memoryview) -> None:
        padding = -len(data) % _ALIGN
        self._at += len(data) + padding
        for piece in (data, memoryview(bytes(padding))):
            while len(piece):
                piece = piece[self._file.write(piece) :]


@dataclass(frozen=True, slots=True)
class ReadBuckets:
    """A step over buckets, as one over ranges of buckets."""

    step: Callable[[Bucket], Any]
    segments: tuple[Segment, ...]
    dtypes: tuple[str, ...]
    buckets: int

    def __call__(self, numbers: range) -> list[Any]:
        return [self.step(bucket) for bucket in read_buckets(self, numbers)]


@dataclass(frozen=True, slots=True)
class ReadAndWrite:
    """An exchange of what an earlier exchange holds: a step over buckets that gives blocks."""

    read: ReadBuckets

    def __call__(self, numbers: range) -> Iterator[Block]:
        for bucket in read_buckets(self.read, numbers):
            yield from self.read.step(bucket)


def read_buckets(read: ReadBuckets, numbers: range) -> Iterator[Bucket]:
    """Each of the buckets, put together from all segments."""
    with ExitStack() as stack:
        files = _Files(stack)
        views = [_view(segment, read, numbers, files) for segment in read.segments]
        for i, number in enumerate(numbers):
            yield Bucket(
                number,
                tuple(
                    np.concatenate([columns[c][offsets[i] : offsets[i + 1]] for offsets, columns in views])
                    if views
                    else np.empty(0, dtype)
                    for c, dtype in enumerate(read.dtypes)
                ),
            )


def _view(segment: Segment, read: ReadBuckets, numbers: range, files: _Files) -> tuple[Column, list[Column]]:
    """What a segment has of neighbouring buckets: where each begins, and the columns."""
    offsets = files.read(segment, segment.at + 8 * numbers.start, np.dtype(np.int64), len(numbers) + 1)
    at = segment.at + 8 * (read.buckets + 1)
    columns = []
    for name in read.dtypes:
        dtype = np.dtype(name)
        columns.append(files.read(segment, at + dtype.itemsize * offsets[0], dtype, offsets[-1] - offsets[0]))
        size = dtype.itemsize * segment.rows
        at += size + -size % _ALIGN
    return offsets - offsets[0], columns


class _Files:
    """Arrays in files of blocks: of those in memory as they lie there, of those on disk as copies.

    What is mapped of a file on disk would stay in memory, all that was read of it, as long as the file is open.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._maps: dict[str, mmap.mmap] = {}
        self._files: dict[str, int] = {}

    def read(self, segment: Segment, at: int, dtype: np.dtype[Any], count: int) -> Column:
        if not count:
            return np.empty(0, dtype)
        if segment.in_memory:
            return np.frombuffer(self._map(segment.path), dtype, count, at)
        array = np.empty(count * dtype.itemsize, np.uint8)
        file, done = self._open(segment.path), 0
        while done < len(array):
            got = os.preadv(file, [array[done:].data], at + done)
            if not got:
                raise OSError(f"{segment.path} is shorter than it was")
            done += got
        return array.view(dtype)

    def _map(self, path: str) -> mmap.mmap:
        if path not in self._maps:
            with Path(path).open("rb") as file:
                self._maps[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._maps[path]

    def _open(self, path: str) -> int:
        if path not in self._files:
            self._files[path] = os.open(path, os.O_RDONLY)
            self._stack.callback(os.close, self._files[path])
        return self._files[path]


def free_bytes(folder: str) -> int:
    """What a file system still takes; 0 if it is not there."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize
