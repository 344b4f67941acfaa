"""One piece of input to one part of the corpus: the step of ingest."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unquilt.engines import working_on
from unquilt.ingest.capture import Capture, Passed, Skip
from unquilt.ingest.files import read_folder, read_wacz
from unquilt.ingest.inputs import Piece
from unquilt.ingest.params import IngestParams
from unquilt.ingest.tables import read_jsonl, read_parquet
from unquilt.ingest.urls import read_urls
from unquilt.ingest.warc import Span, read_warc
from unquilt.schema import PAGES, SKIPPED

_SKIPS_AT_A_TIME = 65536
# Columns of few different values; in the others a dictionary only costs time.
_DICTIONARY = ["host", "domain", "ip", "status", "media_type", "charset", "canonical", "generator", "source"]


@dataclass(frozen=True, slots=True)
class PartTask:
    """What to read, and where to put what is found."""

    number: int
    piece: Piece
    params: IngestParams
    pages_path: str
    skipped_path: str
    exact: bool = False  # the piece begins at its first record for sure


@dataclass(slots=True)
class PartDone:
    """What a part holds. Its files are complete, under their temporary names."""

    number: int
    pages: int = 0
    words: int = 0
    bytes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    span: tuple[int, int] | None = None


def write_part(task: PartTask) -> PartDone:
    """Read a piece and write its pages and what was skipped."""
    done = PartDone(task.number)
    with _TableFile(task.pages_path, PAGES) as pages, _TableFile(task.skipped_path, SKIPPED) as skipped:
        skips = _Skips(skipped)
        for table in _tables(task, skips, done):
            pages.write(table)
            done.pages += len(table)
            done.words += _total(table["words"])
            done.bytes += _total(table["bytes"])
        skips.flush()
    done.skipped = dict(sorted(skips.counts.items()))
    done.passed = dict(sorted(done.passed.items()))
    done.digest = file_digest(task.pages_path)
    return done


def write_unread(number: int, skips: Sequence[Skip], pages_path: str, skipped_path: str) -> PartDone:
    """A part without pages, for input files that could not be read at all."""
    with _TableFile(pages_path, PAGES), _TableFile(skipped_path, SKIPPED) as skipped:
        skipped.write(skipped_table(skips))
    counts = Counter(str(skip.reason) for skip in skips)
    return PartDone(number, skipped=dict(sorted(counts.items())), digest=file_digest(pages_path))


def _tables(task: PartTask, skips: _Skips, done: PartDone) -> Iterator[pa.Table]:
    from unquilt.ingest.chunks import Cutter
    from unquilt.ingest.page import PageRows, url_rows  # kernels: a process that only plans the work needs none

    first_page = task.number << 32
    if task.piece.kind == "urls":
        for found in read_urls(task.piece, task.params):
            if isinstance(found, Skip):
                skips.add(found)
            else:
                yield url_rows(found, task.piece.name, first_page)
                first_page += len(found)
        return
    rows = PageRows(task.params.seed, Cutter(task.params.cutter, task.params.normalize))
    captures = _captures(task, skips, done)
    for capture in captures:
        working_on(f"{capture.url} at {capture.offset}")
        if skip := rows.add(capture):
            skips.add(skip)
        if rows.is_full:
            table = rows.take(first_page)
            first_page += len(table)
            yield table
    yield rows.take(first_page)


def _captures(task: PartTask, skips: _Skips, done: PartDone) -> Iterator[Capture]:
    passed: Counter[str] = Counter()
    found = read_piece(task)
    while True:
        try:
            one = next(found)
        except StopIteration as stopped:
            if isinstance(stopped.value, Span):
                done.span = stopped.value.first, stopped.value.stop
            break
        if isinstance(one, Capture):
            yield one
        elif isinstance(one, Skip):
            skips.add(one)
        else:
            passed[one.kind] += 1
    done.passed = dict(passed)


def read_piece(task: PartTask) -> Generator[Capture | Skip | Passed, None, Any]:
    """What a piece holds, one at a time."""
    piece, params = task.piece, task.params
    if task.exact and piece.end is not None and piece.begin >= piece.end:
        return Span(piece.begin, piece.begin)  # a record of an earlier piece reaches beyond this one
    if piece.kind == "warc":
        return (yield from read_warc(piece.path, piece.begin, piece.end, params, name=piece.name, exact=task.exact))
    if piece.kind == "wacz":
        return (yield from read_wacz(piece, params, exact=task.exact))
    readers = {"html": read_folder, "jsonl": read_jsonl, "parquet": read_parquet}
    yield from readers[piece.kind](piece, params)
    return None


class _Skips:
    """Skipped records, counted, and written in bounded memory."""

    def __init__(self, file: _TableFile) -> None:
        self.counts: Counter[str] = Counter()
        self._file = file
        self._waiting: list[Skip] = []

    def add(self, skip: Skip) -> None:
        self.counts[skip.reason] += 1
        self._waiting.append(skip)
        if len(self._waiting) >= _SKIPS_AT_A_TIME:
            self.flush()

    def flush(self) -> None:
        self._file.write(skipped_table(self._waiting))
        self._waiting = []


def skipped_table(skips: Sequence[Skip]) -> pa.Table:
    def text(value: str) -> str:
        return value.encode("utf-8", "replace").decode()

    return pa.table(
        {
            "source": [text(skip.source) for skip in skips],
            "offset": [skip.offset for skip in skips],
            "url": [text(skip.url) or None for skip in skips],
            "reason": [skip.reason for skip in skips],
            "detail": [text(skip.detail) or None for skip in skips],
        },
        schema=SKIPPED,
    )


class _TableFile:
    """A Parquet file written a table at a time, and there once it is whole.

    Until then it has a name that no other has: a cluster may read a piece twice, on two machines.
    """

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._path = Path(path)
        self._unfinished = self._path.with_suffix(f".{uuid4().hex}.tmp")
        self._file = self._unfinished.open("wb")
        dictionary = [name for name in _DICTIONARY if name in schema.names]
        self._writer = pq.ParquetWriter(
            self._file, schema, compression="zstd", compression_level=1, use_dictionary=dictionary,
            write_statistics=["page", "time", "host", "domain"] if "page" in schema.names else False,
        )  # fmt: skip

    def write(self, table: pa.Table) -> None:
        if len(table):
            self._writer.write_table(table, row_group_size=len(table))

    def __enter__(self) -> _TableFile:
        return self

    def __exit__(self, kind: object, *stopped_by: object) -> None:
        try:
            if kind is None:
                self._writer.close()
        finally:
            self._file.close()
        if kind is None:
            self._unfinished.replace(self._path)
        else:
            self._unfinished.unlink(missing_ok=True)


def file_digest(path: str) -> str:
    """SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _total(column: pa.ChunkedArray) -> int:
    return pc.sum(column, min_count=0).as_py() or 0
