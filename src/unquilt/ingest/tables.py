"""Crawls kept as rows: JSONL (plain, gzip, Zstandard) and Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.errors import BadInput
from unquilt.ingest.capture import Capture, Found, Reason, Skip
from unquilt.ingest.files import DamageError, line_blocks, why
from unquilt.ingest.http import has_text, media_type_of, parse_status
from unquilt.ingest.params import IngestParams
from unquilt.ingest.remote import is_remote, open_input
from unquilt.ingest.sites import host_of

if TYPE_CHECKING:
    from unquilt.ingest.inputs import Piece

TIME_COLUMNS = ("time", "date", "timestamp")
TYPE_COLUMNS = ("media_type", "content_type")
_OTHER_COLUMNS = ("ip", "status", "charset", *TIME_COLUMNS, *TYPE_COLUMNS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 253402300800_000_000  # the year 10000, in microseconds
_PROBED_ROWS = 100
_BATCH_ROWS = 256


def read_jsonl(piece: Piece, params: IngestParams) -> Found:
    """The pages of a JSONL file, or of its lines that start in the range begin to end."""
    seen: dict[str, None] = {}
    objects = 0
    is_known = piece.begin > 0  # the first piece speaks for the file
    for found in json_rows(piece, params):
        if isinstance(found, Skip):
            yield found
            continue
        offset, row = found
        if not is_known:
            objects += 1
            seen.update(dict.fromkeys(row))
            is_known = not missing_columns(seen, params)
            if not is_known and objects == _PROBED_ROWS:
                break
        yield _to_page(row, params, piece.name, offset)
    if not is_known and objects:
        raise_missing(piece.name, seen, params)


def json_rows(piece: Piece, params: IngestParams) -> Iterator[Skip | tuple[int, dict[str, Any]]]:
    max_line = 2 * params.max_page_bytes
    try:
        for offset, block in line_blocks(piece.path, piece.begin, piece.end, max_line=max_line):
            if block is None:
                yield Skip(piece.name, offset, "too-large", detail="the line is too long")
                continue
            at = offset
            for line in block.split(b"\n"):
                bare = line.strip(b" \t\r\0")
                if len(line) > max_line:
                    yield Skip(piece.name, at, "too-large", detail="the line is too long")
                elif bare and bare != b"\xef\xbb\xbf":
                    row = _parse(bare)
                    yield Skip(piece.name, at, "bad-row", detail=row) if isinstance(row, str) else (at, row)
                at += len(line) + 1
    except DamageError as damage:
        yield Skip(piece.name, damage.offset, "truncated", detail=str(damage))
    except OSError as error:
        yield Skip(piece.name, piece.begin, "unreadable", detail=why(error))


def _parse(line: bytes) -> dict[str, Any] | str:
    """The object on a line, or what is wrong with it."""
    try:
        row = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return "not JSON: " + (error.msg if isinstance(error, json.JSONDecodeError) else str(error))
    return row if isinstance(row, dict) else "not a JSON object"


def read_parquet(piece: Piece, params: IngestParams) -> Found:
    """The pages of the row groups begin to end of a Parquet file; a page's offset is its row number."""
    try:
        file = pq.ParquetFile(
            open_input(piece.path) if is_remote(piece.path) else piece.path, memory_map=False, pre_buffer=False
        )
    except (OSError, pa.ArrowException) as error:
        yield Skip(piece.name, 0, "unreadable", detail=why(error))
        return
    with file:
        names = file.schema_arrow.names
        if missing_columns(names, params):
            raise_missing(piece.name, names, params)
        end = file.num_row_groups if piece.end is None else piece.end
        row = sum(file.metadata.row_group(group).num_rows for group in range(piece.begin))
        for group in range(piece.begin, end):
            yield from _read_group(file, group, row, piece, params)
            row += file.metadata.row_group(group).num_rows


def _read_group(file: pq.ParquetFile, group: int, row: int, piece: Piece, params: IngestParams) -> Found:
    wanted = (params.url_column, params.html_column, params.text_column, *_OTHER_COLUMNS)
    columns = [name for name in dict.fromkeys(file.schema_arrow.names) if name in wanted]
    try:
        batches = file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False)
        for batch in batches:
            first = {name: batch.schema.get_all_field_indices(name)[0] for name in columns}
            values = {name: _values(batch.column(index)) for name, index in first.items()}
            for at in range(len(batch)):
                yield _to_page({name: column[at] for name, column in values.items()}, params, piece.name, row + at)
            row += len(batch)
    except (OSError, pa.ArrowException) as error:
        yield Skip(piece.name, row, "truncated", detail=f"the rest of row group {group} is damaged: {why(error)}")


class _Text(bytes):
    """The bytes of a string column."""


def _values(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # As bytes: pages need no decoding, and a string that is not UTF-8 is no reason to stop.
        column = column.cast(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
        return [None if value is None else _Text(value) for value in column.to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        instants = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_pylist()
        return [None if value is None else _Instant(value) for value in instants]
    values: list[Any] = column.to_pylist()
    return values


class _Instant(int):
    """Microseconds since 1970."""


def missing_columns(names: Collection[str], params: IngestParams) -> bool:
    has_body = params.html_column in names or params.text_column in names
    return params.url_column not in names or not has_body


def raise_missing(name: str, names: Collection[str], params: IngestParams) -> NoReturn:
    """Say which columns a table has, and which options name those that are needed."""
    shown = ", ".join(list(names)[:20]) + (", ..." if len(names) > 20 else "") or "none"
    if params.url_column not in names:
        raise BadInput(
            f"{name} has no column {params.url_column!r} with the URL; its columns are: {shown}.",
            fix="Name the column with --url-column.",
        )
    raise BadInput(
        f"{name} has no column {params.html_column!r} or {params.text_column!r}; its columns are: {shown}.",
        fix="Name the column with HTML source with --html-column, or that with text with --text-column.",
    )


def _to_page(row: Mapping[str, Any], params: IngestParams, source: str, offset: int) -> Capture | Skip:
    url = _text(row.get(params.url_column)).strip()
    if not url:
        return Skip(source, offset, "bad-row", detail="no URL")
    if not host_of(url):
        return Skip(source, offset, "bad-url", url)
    status = _status(row.get("status"))
    if status is not None and not _asked(params.status)(status):
        return Skip(source, offset, _status_reason(status), url, str(status))
    html, text = row.get(params.html_column), row.get(params.text_column)
    is_text_only = _is_nothing(html) and not _is_nothing(text)
    given = text if is_text_only else html
    if given is None or isinstance(given, float):
        return Skip(source, offset, "bad-row", url, f"no {params.html_column} and no {params.text_column}")
    if not isinstance(given, str | bytes):
        column = params.text_column if is_text_only else params.html_column
        return Skip(source, offset, "bad-row", url, f"{column} is neither text nor bytes")
    body = _utf8(given) if isinstance(given, str) else bytes(given)
    if not body.strip():
        return Skip(source, offset, "empty", url)
    if len(body) > params.max_page_bytes:
        return Skip(source, offset, "too-large", url)
    media_type, charset = media_type_of(_text(_first(row, TYPE_COLUMNS)).encode())
    if has_text(media_type) is False:
        return Skip(source, offset, "not-text", url, media_type)
    charset = _text(row.get("charset")).strip() or charset
    is_utf8 = is_text_only or isinstance(given, str | _Text)  # whatever the page itself declares
    return Capture(
        url=url,
        body=body if not is_text_only else body.decode("utf-8", "replace").encode(),
        source=source,
        offset=offset,
        media_type="text/plain" if is_text_only else media_type if has_text(media_type) else "text/html",
        charset="utf-8" if is_utf8 else charset,
        ip=_text(row.get("ip")).strip(),
        time=_time(_first(row, TIME_COLUMNS)),
        status=status,
        is_text_only=is_text_only,
    )


def _is_nothing(value: object) -> bool:
    return value is None or value in ("", b"") or (isinstance(value, float) and math.isnan(value))


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _utf8(text: str) -> bytes:
    """JSON can hold half a character (a lone surrogate); it becomes U+FFFD, as in a browser."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return _utf8(value).decode() if isinstance(value, str) else ""


def _status(value: object) -> int | None:
    try:
        status = int(_text(value) if isinstance(value, str | bytes) else value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return status if 0 < status < 1000 else None


_asked = cache(parse_status)


def _status_reason(status: int) -> Reason:
    if 300 <= status < 400:
        return "redirect"
    return "http-error" if 400 <= status < 600 else "other-status"


def _time(value: object) -> int | None:
    """Microseconds since 1970 of an instant, ISO text, YYYYMMDDhhmmss, or an epoch in s, ms, us or ns."""
    if isinstance(value, _Instant):
        return int(value)
    if isinstance(value, str | bytes):
        return _time_of_text(_text(value).strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    for least, unit in ((1e17, 1e-3), (1e14, 1), (1e11, 1e3)):
        if abs(value) >= least:
            return _in_range(int(value * unit))
    return _in_range(round(value * 1_000_000))


def _time_of_text(text: str) -> int | None:
    try:
        if text.isascii() and text.isdecimal() and len(text) == 14:
            when = datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        elif text.replace(".", "", 1).isdecimal() and len(text) != 8:
            return _time(float(text) if "." in text else int(text))
        else:
            when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return (when - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def _in_range(time: int) -> int | None:
    return time if abs(time) < _LATEST else None
