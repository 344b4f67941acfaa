"""URL lists: a URL on each line, or a host and a path with a tab between; # begins a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.ingest.capture import Skip
from unquilt.ingest.files import DamageError, line_blocks, why
from unquilt.ingest.params import IngestParams
from unquilt.ingest.sites import hosts_of

if TYPE_CHECKING:
    from unquilt.ingest.inputs import Piece

MAX_LINE = 1 << 16
_BLOCK = 4 << 20
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")

URL_TABLE = pa.schema([("url", pa.string()), ("host", pa.string()), ("offset", pa.int64())])


def read_urls(piece: Piece, params: IngestParams) -> Iterator[pa.Table | Skip]:
    """The URLs of a list, as tables of ``url``, ``host`` and the ``offset`` of the line; and its bad lines.

    Offsets count inflated bytes.
    """
    try:
        for offset, block in line_blocks(piece.path, piece.begin, piece.end, max_line=MAX_LINE, block=_BLOCK):
            if block is None:
                yield Skip(piece.name, offset, "too-large", detail="a line longer than any URL")
            else:
                yield from _read_block(piece.name, offset, block)
    except DamageError as damage:
        yield Skip(piece.name, damage.offset, "truncated", detail=str(damage))
    except OSError as error:
        yield Skip(piece.name, piece.begin, "unreadable", detail=why(error))


def _read_block(name: str, offset: int, block: bytes) -> Iterator[pa.Table | Skip]:
    lines, offsets = _lines(block)
    offsets += offset
    kept = pc.invert(pc.or_(pc.equal(pc.binary_length(lines), 0), pc.starts_with(lines, "#")))
    if not pc.all(kept, min_count=0).as_py():
        lines, offsets = lines.filter(kept), offsets[kept.to_numpy(zero_copy_only=False)]
    urls = _urls(lines)
    hosts = hosts_of(urls)
    table = pa.table([urls, hosts, pa.array(offsets, pa.int64())], schema=URL_TABLE)
    is_http = pc.or_(pc.starts_with(urls, "http://"), pc.starts_with(urls, "https://"))
    if not pc.all(is_http, min_count=0).as_py():
        is_http = pc.match_substring_regex(urls, "^https?:", ignore_case=True)
    is_long = pc.greater(pc.binary_length(lines), MAX_LINE)
    good = pc.and_(pc.and_(is_http, pc.not_equal(hosts, "")), pc.invert(is_long))
    if not pc.all(good, min_count=0).as_py():
        bad = table.append_column("long", is_long).filter(pc.invert(good))
        yield from (_skip(name, row) for row in bad.to_pylist())
        table = table.filter(good)
    if len(table):
        yield table


def _skip(name: str, row: dict[str, object]) -> Skip:
    url, offset = str(row["url"]), row["offset"]
    assert isinstance(offset, int)
    if row["long"]:
        return Skip(name, offset, "too-large", detail="a line longer than any URL")
    return Skip(name, offset, "not-http" if row["host"] else "bad-url", url)


def _lines(block: bytes) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The lines of a block without the white space around them, and where in the block each begins."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
    begins = np.concatenate(([0], ends))
    if begins[-1] == len(block):
        begins = begins[:-1]
    try:
        lines = _cut(block, begins)
        lines.validate(full=True)
    except pa.ArrowInvalid:  # bytes that are not UTF-8 stay in the URL as %FF
        text = block.decode("utf-8", "surrogateescape")
        block = _NOT_UTF_8.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", text).encode()
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
        lines = _cut(block, np.concatenate(([0], ends))[: len(begins)])
    return pc.utf8_trim(lines, " \t\r\n\v\f\ufeff"), begins.astype(np.int64)


def _cut(block: bytes, begins: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    bounds = np.append(begins, len(block)).astype(np.int32)
    return pa.StringArray.from_buffers(len(begins), pa.py_buffer(bounds), pa.py_buffer(block))


def _urls(lines: pa.Array) -> pa.Array:
    tabbed = pc.match_substring(lines, "\t")
    if not pc.any(tabbed, min_count=0).as_py():
        return lines
    if pc.all(tabbed, min_count=0).as_py():
        return _joined(lines)
    return pc.replace_with_mask(lines, tabbed, _joined(lines.filter(tabbed)))


def _joined(lines: pa.Array) -> pa.Array:
    """http://host/path of every "host TAB /path"."""
    rooted = pc.replace_substring(lines, "\t/", "/", max_replacements=1)
    return pc.binary_join_element_wise("http://", pc.replace_substring(rooted, "\t", "/", max_replacements=1), "")
