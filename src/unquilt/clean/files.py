"""The files of a clean crawl: JSON lines or Parquet, written a table at a time and there once they are whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

_GZIP_LEVEL = 3  # half the time of the usual 6, and little longer files
_ROWS = 1024


class TableWriter:
    """A file of rows, of the format that the ending of its name says. Use it in a ``with``."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._unfinished = path.with_name(f"{path.name}.{uuid4().hex}.tmp")  # a cluster may run a step twice
        self._file = self._unfinished.open("wb")
        self._rows: Any = self._file  # or what writes to it
        if path.suffix == ".parquet":
            self._rows = pq.ParquetWriter(self._file, schema, compression="zstd")
        elif path.suffix == ".gz":  # without name and time, so that equal rows make equal files
            self._rows = gzip.GzipFile("", "wb", _GZIP_LEVEL, self._file, mtime=0)

    def write(self, table: pa.Table) -> None:
        if self._path.suffix == ".parquet":
            if len(table):
                self._rows.write_table(table)
            return
        for batch in table.to_batches(max_chunksize=_ROWS):
            rows = (json.dumps(row, ensure_ascii=False, default=_plain) + "\n" for row in batch.to_pylist())
            self._rows.write("".join(rows).encode())

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._rows.close()
        finally:
            self._file.close()
        if kind is None:
            self._unfinished.replace(self._path)
        else:
            self._unfinished.unlink(missing_ok=True)


def _plain(value: Any) -> str:
    """A value that JSON does not know."""
    return value.hex() if isinstance(value, bytes) else value.isoformat()


def read_tables(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of such a file, in order, some at a time."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, schema.names, use_threads=False).cast(schema)
        return
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        rows: list[dict[str, Any]] = []
        for line in lines:
            rows.append({name: _typed(value, schema.field(name).type) for name, value in json.loads(line).items()})
            if len(rows) == _ROWS:
                yield pa.Table.from_pylist(rows, schema)
                rows = []
        yield pa.Table.from_pylist(rows, schema)


def _typed(value: Any, kind: pa.DataType) -> Any:
    if value is not None and pa.types.is_fixed_size_binary(kind):
        return bytes.fromhex(value)
    return datetime.fromisoformat(value) if value is not None and pa.types.is_timestamp(kind) else value
