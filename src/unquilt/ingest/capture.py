"""What a reader finds in a crawl, one at a time: a capture of a page, or a record it had to skip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "truncated",  # the record or its compressed data ends too early
    "garbage",  # bytes between records that belong to none
    "bad-header",  # the record's or the HTTP header cannot be read, or a needed field is missing
    "bad-encoding",  # the content encoding (gzip, br, ...) cannot be undone
    "too-large",  # longer than --max-page-bytes, before or after decompression
    "not-text",  # a media type without text: images, PDF, ...
    "empty",  # a response without a body
    "redirect",  # HTTP 3xx
    "http-error",  # HTTP 4xx, 5xx
    "other-status",  # any other status not asked for by --status
    "revisit",  # a revisit record: the same bytes as an earlier capture
    "not-http",  # dns:, ftp:, ... captures
    "bad-url",  # the URL has no host
    "segment",  # a continuation record: the rest of a record cut into segments
    "bad-row",  # a row of a table or a line of JSONL that cannot be read
    "unreadable",  # a file that cannot be opened or read
]


@dataclass(slots=True)
class Capture:
    """One captured document: transfer and content encodings are undone, the charset is not."""

    url: str
    body: bytes  # raw bytes; UTF-8 where is_text_only
    source: str  # the input file it came from, as it was named
    offset: int  # where in it: the byte offset of the record (of its gzip member), or the row number
    media_type: str = ""  # lower case, without parameters; "" if unknown
    charset: str = ""  # as declared by the HTTP header; "" if not declared
    ip: str = ""
    time: int | None = None  # microseconds since 1970, UTC
    status: int | None = None
    is_text_only: bool = False  # WET, text columns: body is the extracted text, there are no raw bytes


@dataclass(slots=True)
class Skip:
    """A record that became no page, and why."""

    source: str
    offset: int
    reason: Reason
    url: str = ""
    detail: str = ""


@dataclass(slots=True)
class Passed:
    """A record that is no capture by its nature (warcinfo, request, metadata): only counted."""

    kind: str


Found = Iterator[Capture | Skip | Passed]
