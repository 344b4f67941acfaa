"""The bytes of a page, read again from where its crawl lies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from unquilt.errors import UnquiltError
from unquilt.ingest.capture import Capture
from unquilt.ingest.inputs import plan
from unquilt.ingest.params import IngestParams
from unquilt.ingest.part import PartTask, read_piece

_SETTINGS = ("status", "max_page_bytes")


def read_bytes(
    source: str, offset: int, digest: bytes, settings: dict[str, Any], *, beside: Path | None = None
) -> bytes | None:
    """The page at an offset of a source, as ``settings`` of its corpus read it; None if it is not there any more.

    ``digest`` is its SHA-1, which tells whether it is still the same. A relative source is looked for where the
    program runs, then in the folder ``beside``. Of JSONL and Parquet files the usual columns are read.
    """
    params = IngestParams(**{name: settings[name] for name in _SETTINGS if name in settings})
    for place in (Path(source), *([beside / source] if beside else [])):
        for capture in _captures(place, offset, params):
            if hashlib.sha1(capture.body).digest() == digest:
                return capture.body
    return None


def _captures(source: Path, offset: int, params: IngestParams) -> Iterator[Capture]:
    """What may lie there."""
    path = next((one for one in (source, *source.parents) if one.is_file()), None)  # a WACZ has files inside
    if path is None:
        return
    try:
        pieces = plan([str(path)], params).pieces
        for piece in pieces:
            if piece.kind == "wacz" and piece.name != str(source):
                continue
            is_warc = piece.kind == "warc"
            if is_warc:
                piece = replace(piece, begin=offset, end=offset + 1)
            found = read_piece(PartTask(0, piece, params, "", "", exact=is_warc))
            yield from (one for one in found if isinstance(one, Capture) and one.offset == offset)
            if is_warc:
                return
    except (UnquiltError, OSError):
        return
