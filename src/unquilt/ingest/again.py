"""Pages read a second time from the crawl they came from, for what ingest did not keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha1
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from unquilt.errors import BadInput
from unquilt.ingest.capture import Capture, Found
from unquilt.ingest.charset import to_utf8
from unquilt.ingest.files import compression_of, read_folder, read_wacz
from unquilt.ingest.inputs import Piece, kind_of_file
from unquilt.ingest.params import IngestParams
from unquilt.ingest.tables import json_rows, read_jsonl, read_parquet
from unquilt.ingest.warc import read_warc

COLUMNS = ["url", "file_sha1", "source", "offset"]
"""What must be known of a page to find it again."""

Row = dict[str, Any]


def read_again(rows: Sequence[Row], params: IngestParams) -> Iterator[tuple[int, bytes]]:
    """The source of each page in UTF-8, with its place in ``rows``; as ``read_captures``."""
    for i, capture in read_captures(rows, params):
        yield i, to_utf8(capture.body, capture.charset)[0]


def read_captures(
    rows: Sequence[Row], params: IngestParams, *, beside: Path | None = None
) -> Iterator[tuple[int, Capture]]:
    """The capture of each page, with its place in ``rows`` (of ``COLUMNS``), in the order of the crawl.

    A relative source is looked for where the program runs, then in the folder ``beside``. Raises ``BadInput`` if a file
    is gone, or no longer holds a page that came from it.
    """
    by_file: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        by_file.setdefault(row["source"], []).append(i)
    for source, places in by_file.items():
        waiting: dict[tuple[int, bytes], list[int]] = {}
        for i in places:
            waiting.setdefault((rows[i]["offset"], rows[i]["file_sha1"]), []).append(i)
        offsets = [rows[i]["offset"] for i in places]
        for capture in _open(source, min(offsets), max(offsets), rows[places[0]], params, beside):
            if not isinstance(capture, Capture):
                continue
            found = waiting.pop((capture.offset, sha1(capture.body).digest()), [])
            yield from ((i, capture) for i in found)
            if not waiting:
                break
        if waiting:
            lost = next(iter(waiting.values()))[0]
            raise BadInput(
                f"{source} no longer holds {rows[lost]['url']} as it was ingested.",
                fix="Ingest the crawl again.",
            )


def _open(source: str, first: int, last: int, row: Row, params: IngestParams, beside: Path | None) -> Found:
    """What the stretch of a file holds that begins with the offset ``first`` and ends with ``last``."""
    path, inside = _locate(source, beside)
    kind = kind_of_file(path)
    piece = Piece(kind, str(path), source, first, last + 1)
    if kind == "warc":
        return read_warc(str(path), first, last + 1, params, name=source, exact=True)
    if kind == "wacz":
        return read_wacz(replace(piece, files=(inside,)), params, exact=True)
    if kind == "jsonl":
        with path.open("rb") as file:
            begin = 0 if compression_of(file.read(4)) else first
        piece = replace(piece, begin=begin)
        values = next((one[1] for one in json_rows(piece, params) if isinstance(one, tuple) and one[0] == first), {})
        return read_jsonl(piece, _with_columns(params, values, row))
    if kind == "parquet":
        return _open_parquet(piece, first, last, row, params)
    return read_folder(replace(piece, path=str(path.parent), name=str(path.parent), files=(path.name,)), params)


def _locate(source: str, beside: Path | None) -> tuple[Path, str]:
    """The file a source names, and for a WARC in a WACZ its name there."""
    path = Path(source)
    for place in (path, *([beside / path] if beside else [])):
        for above in (place, *place.parents):
            if above.is_file():
                return above, str(place.relative_to(above)) if above != place else ""
    where = "" if path.is_absolute() else f" It was named relative to a folder; this one is {Path.cwd()}."
    raise BadInput(
        f"{source} is not there any more, and its pages must be read again for this.{where}",
        fix="Put it back, or run in the folder it was named in.",
    )


def _open_parquet(piece: Piece, first: int, last: int, row: Row, params: IngestParams) -> Found:
    with pq.ParquetFile(piece.path) as file:
        ends = [0]
        for group in range(file.num_row_groups):
            ends.append(ends[-1] + file.metadata.row_group(group).num_rows)
        begin = max(group for group, end in enumerate(ends[:-1]) if end <= first)
        stop = next((group for group, end in enumerate(ends) if end > last), len(ends) - 1)
        values = file.read_row_group(begin).slice(first - ends[begin], 1).to_pylist()
    piece = replace(piece, begin=begin, end=stop)
    return read_parquet(piece, _with_columns(params, values[0] if values else {}, row))


def _with_columns(params: IngestParams, values: Row, row: Row) -> IngestParams:
    """The settings with the names of the columns that hold a page's URL and its source, as the page itself shows."""
    url = next((name for name, value in values.items() if _bytes(value) == row["url"].encode()), params.url_column)
    html = next(
        (name for name, value in values.items() if sha1(_bytes(value)).digest() == row["file_sha1"]), params.html_column
    )
    return replace(params, url_column=url, html_column=html)


def _bytes(value: object) -> bytes:
    return value.encode("utf-8", "replace") if isinstance(value, str) else value if isinstance(value, bytes) else b""
