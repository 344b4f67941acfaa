"""WARC, WET and ARC files: every record is a page, a record skipped for a reason, or one that is no capture.

Gzip and Zstandard are read member by member. A damaged record costs that record only: the reader goes on at
the next one it finds.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from unquilt.errors import BadInput
from unquilt.ingest import http
from unquilt.ingest.capture import Capture, Passed, Reason, Skip
from unquilt.ingest.members import (
    GZIP_MAGIC,
    Batch,
    File,
    Gzip,
    Window,
    Zstd,
    inflate_head,
    is_zstd,
    plain_window,
)
from unquilt.ingest.params import IngestParams

_MAX_HEADER = 1 << 16

_WARC = re.compile(rb"WARC/\d+\.\d+")
_ARC = re.compile(
    rb"([A-Za-z][A-Za-z0-9+.-]*:[^\r\n]*?) ([0-9A-Fa-f.:-]+) (\d{12,17}) (?:([^\r\n]*) )??(\d{1,18})\r?\n"
)
_NOT_BLANK = re.compile(rb"[^\r\n]")
# Where a record begins; each with a fixed first part, which makes them fast to search for.
_NEXT_WARC = re.compile(rb"WARC/\d+\.\d+\r?\n[A-Za-z-]+[ \t]*:")
_NEXT_ARC = re.compile(
    rb"\n(?=(?:https?|ftp|dns|filedesc):[^\r\n]{0,3000} [0-9A-Fa-f.:-]+ \d{12,17}"
    rb" [^\r\n]{0,500} ?\d{1,18}\r?\n)"
)


class Span(NamedTuple):
    """Where in the file the first record read begins, and the first one that was not read any more.

    Ranges that meet have the stop of one equal to the first of the next. Where they do not, the later range
    began at bytes that only look like a member (a WARC inside a page), or behind garbage: read it again from
    that stop, with ``exact``.
    """

    first: int
    stop: int


Reading = Generator[Capture | Skip | Passed, None, Span]


def is_splittable(head: bytes) -> bool:
    """Whether it is worth while to read a file that begins so in ranges: gzip with a member for a record."""
    if not head.startswith(GZIP_MAGIC):
        return False
    window = Window(inflate_head(head))
    header = _read_header(window)
    if not isinstance(header, _Header) or header.length < 0:
        return True
    window.pos += header.size
    window.skip(header.length)
    return not _is_record(window.data[window.pos : window.pos + _MAX_HEADER])


def read_warc(
    path: str, begin: int, end: int | None, params: IngestParams, *, name: str, exact: bool = False
) -> Reading:
    """What the records hold that begin in [begin, end) of a file; returns their ``Span``.

    A record that begins before ``end`` is read whole. Reading starts at the first record at ``begin`` or
    later, or with ``exact`` at ``begin`` itself. ``name`` is the source of what is found.
    """
    pages = _Pages(params, name)
    try:
        file = File(path)
    except OSError as error:
        raise BadInput(
            f"{name} cannot be opened: {(error.strerror or str(error)).lower()}.",
            fix="Give a WARC, WET or ARC file that can be read.",
        ) from error
    exact = exact or begin == 0
    try:
        if begin >= min(file.size, file.size if end is None else end):
            return Span(min(begin, file.size), min(begin, file.size))
        kind = _kind_of(file.read(0, 16), file.read(begin, 16) if exact else b"", path)
        if kind == "plain":
            return (yield from _read_plain(file, begin, end, pages, exact=exact))
        members = Gzip(file) if kind == "gzip" else Zstd(file)
        return (yield from _read_members(file, members, begin, end, pages, exact=exact))
    except OSError as error:
        yield Skip(pages.name, begin, "unreadable", detail=(error.strerror or str(error)).lower())
        return Span(begin, file.size)
    finally:
        file.close()


def _kind_of(head: bytes, here: bytes, path: str) -> str:
    for start in (here, head):
        if start.startswith(GZIP_MAGIC):
            return "gzip"
        if is_zstd(start):
            return "zstd"
        if _is_record(start) or start.startswith(b"filedesc:"):
            return "plain"
    if head.startswith(b"PK"):  # a WACZ: the ranges given lie in a gzip file stored in it
        return "gzip"
    return {".gz": "gzip", ".zst": "zstd"}.get(Path(path).suffix.lower(), "plain")


def _read_members(
    file: File, members: Gzip | Zstd, begin: int, end: int | None, pages: _Pages, *, exact: bool
) -> Reading:
    at = begin if exact else members.find(begin, _is_record)
    first = at
    if exact and not members.starts(at):
        first = at = members.find(begin, _is_record)
        yield pages.skip_garbage(begin, at)
    most = pages.most + _MAX_HEADER
    is_usual = True
    while at < file.size and (end is None or at < end):
        if is_usual and (batch := members.batch(at)):
            at = yield from pages.of_batch(batch, file.size if end is None else end)
            is_usual = at == batch[1][-1][0]
            continue
        inflated = members.whole(at, most)
        if inflated is not None:
            data, after = inflated
            yield from pages.of(Window(data), at)
        else:
            window = Window(source=members.open(at))
            yield from pages.of(window, at)
            source = window.source
            assert source is not None
            while source.pull(1 << 20):
                pass
            after = source.end
            if after < 0:
                at = members.find(at + 1, _is_record)
                continue
        # Bytes right at the end of the range are for the next one to judge.
        if after < file.size and after != end and not members.starts(after):
            found = members.find(after, _is_record)
            yield pages.skip_garbage(after, found)
            after = found
        at = after
    return Span(first, at)


def _read_plain(file: File, begin: int, end: int | None, pages: _Pages, *, exact: bool) -> Reading:
    if not exact:
        # The line break before begin tells whether a line starts there.
        window = plain_window(file, begin - 1)
        window.pos += window.has(1)
        window.search(_next_record)
        begin += window.tell() - 1
    window = plain_window(file, begin)
    yield from pages.of(window, begin, stop=None if end is None else end - begin, is_plain=True)
    return Span(begin, begin + window.tell())


def _next_record(data: bytes, at: int) -> int:
    """Where the next record begins at ``at`` or later, -1 if there is none."""
    warc = _NEXT_WARC.search(data, at)
    arc = _NEXT_ARC.search(data, max(0, at - 1), warc.start() if warc else len(data))
    if arc:
        return arc.end()
    return warc.start() if warc else -1


def _is_record(head: bytes) -> bool:
    head = head.lstrip(b"\r\n")
    return _WARC.match(head) is not None or _ARC.match(head) is not None


@dataclass(slots=True)
class _Record:
    """A record whose header could be read and whose end was where it should be."""

    at: int
    fields: dict[bytes, bytes]
    data: bytes  # holds the block, or its beginning if the block is too large to be a page
    begin: int
    end: int
    is_whole: bool


@dataclass(slots=True)
class _Trouble:
    """A record, or bytes that belong to none, that had to be given up."""

    at: int
    reason: Reason
    detail: str
    url: bytes = b""


@dataclass(slots=True)
class _Header:
    fields: dict[bytes, bytes]
    length: int  # of the block; -1 if not known
    size: int  # of the header
    wrong: str = ""
    is_arc: bool = False


def _records(window: Window, most: int, stop: int | None) -> Iterator[_Record | _Trouble]:
    """The records of a window that begin before ``stop``; of a block longer than ``most`` the beginning."""
    told = False
    while True:
        is_end = not _skip_blank(window)
        at = window.tell()
        if stop is not None and at >= stop:
            return
        if is_end:
            if window.damage and not told:
                yield _Trouble(at, "truncated", window.damage)
            return
        header = _read_header(window)
        if not isinstance(header, _Header):
            window.search(_next_record)
            if not header.detail:
                header.detail = f"{window.tell() - at} bytes"
            yield header
            told = True
            continue
        url = header.fields.get(b"warc-target-uri", b"")
        if header.length < 0:
            window.pos += header.size
            window.search(_next_record)
            yield _Trouble(at, "bad-header", header.wrong, url)
            told = True
            continue
        is_whole = header.length <= most
        window.has(header.size + (header.length if is_whole else _MAX_HEADER))
        data = window.data
        begin = window.pos + header.size
        window.pos = begin
        is_long_enough = window.skip(header.length)
        if is_long_enough and _is_settled(window, is_arc=header.is_arc):
            told = bool(header.wrong)
            if header.wrong:
                yield _Trouble(at, "bad-header", header.wrong, url)
            else:
                stop_at = min(len(data), begin + header.length)
                yield _Record(at, header.fields, data, begin, stop_at, is_whole)
            continue
        told = True
        yield _resync(window, at, at + header.size, header, url)


def _resync(window: Window, at: int, block_at: int, header: _Header, url: bytes) -> _Trouble:
    """Go to the next record after one whose length is wrong."""
    block_end = window.tell()
    damage = window.damage
    window.rewind(block_at)
    window.search(_next_record)
    if damage and window.tell() >= block_end:
        return _Trouble(at, "truncated", damage, url)
    if block_end < block_at + header.length or window.tell() < block_end:
        detail = f"Content-Length is {header.length}, the record is shorter"
        return _Trouble(at, "truncated", detail, url)
    return _Trouble(at, "bad-header", f"Content-Length is {header.length}, the record is longer", url)


def _skip_blank(window: Window) -> bool:
    """Go over line ends; False if nothing follows."""
    while not (found := _NOT_BLANK.search(window.data, window.pos)):
        window.pos = len(window.data)
        if not window.has(1):
            return False
    window.pos = found.start()
    return True


def _is_settled(window: Window, *, is_arc: bool) -> bool:
    """Whether a record ends here: its end is marked, or another one or a sound end follows line ends."""
    if window.source is None and not is_arc and window.data.startswith(b"\r\n\r\n", window.pos):
        return True
    window.has(_MAX_HEADER if is_arc else 64)
    at = window.pos
    while at < len(window.data) and window.data[at] in b"\r\n":
        at += 1
    if at == len(window.data):
        return not window.damage
    if not is_arc:
        if window.data.startswith(b"\r\n\r\n", window.pos):
            return True
        return b"WARC/".startswith(window.data[at : at + 5])  # a file may end within these
    return _ARC.match(window.data, at) is not None


def _read_header(window: Window) -> _Header | _Trouble:
    at = window.tell()
    size = 1 << 10
    while True:
        is_more = window.has(size)
        end = min(len(window.data), window.pos + size)
        begin = window.pos
        if not window.data.startswith(b"WARC/", begin):
            break
        stop, after = http.header_end(window.data, begin, end)
        if stop < after:
            return _parse_header(window.data[begin:stop], after - begin)
        if not is_more:
            window.pos = len(window.data)
            return _Trouble(at, "truncated", window.damage or "the record ends in its header")
        if size >= _MAX_HEADER:
            window.pos += 5
            return _Trouble(at, "bad-header", "the header has no end")
        size *= 8
    window.has(_MAX_HEADER)
    if found := _ARC.match(window.data, window.pos):
        url, ip, date, media_type, length = found.groups()
        fields = {
            b"warc-type": b"filedesc" if url.startswith(b"filedesc:") else b"response",
            b"warc-target-uri": url,
            b"warc-ip-address": ip,
            b"warc-date": date,
            b"content-type": (media_type or b"").split(b" ", 1)[0],
        }
        return _Header(fields, int(length), found.end() - found.start(), is_arc=True)
    window.pos += 1
    return _Trouble(at, "garbage", "")


def _parse_header(head: bytes, size: int) -> _Header:
    fields = http.fields_of(head)
    length = fields.get(b"content-length", b"")
    wrong = ""
    if b"\0" in head:
        wrong = "NUL bytes in the header"
    if not length.isdigit() or len(length) > 18:
        shown = length[:40].decode("latin-1")
        return _Header(fields, -1, size, f"Content-Length is {shown!r}" if length else "no Content-Length")
    if not wrong and not fields.get(b"warc-type"):
        wrong = "no WARC-Type"
    return _Header(fields, int(length), size, wrong)


def _lone_record(data: bytes, begin: int, end: int) -> _Record | None:
    """The record that takes up all of [begin, end), if there is one and all is well with it."""
    if not data.startswith(b"WARC/", begin) or data[end - 4 : end] != b"\r\n\r\n":
        return None
    stop, block = http.header_end(data, begin, min(end, begin + _MAX_HEADER))
    header = _parse_header(data[begin:stop], block - begin)
    if header.wrong or block + header.length != end - 4:
        return None
    return _Record(begin, header.fields, data, block, end - 4, is_whole=True)


class _Pages:
    """Makes a capture of a record, or says why not."""

    def __init__(self, params: IngestParams, name: str) -> None:
        self.name = name
        self.most = params.max_page_bytes
        self._is_asked = http.parse_status(params.status)

    def skip_garbage(self, begin: int, end: int) -> Skip:
        return Skip(self.name, begin, "garbage", detail=f"{end - begin} bytes")

    def of(
        self, window: Window, offset: int, *, stop: int | None = None, is_plain: bool = False
    ) -> Iterator[Capture | Skip | Passed]:
        for record in _records(window, self.most + _MAX_HEADER, stop):
            at = offset + record.at if is_plain else offset
            if isinstance(record, _Record):
                yield self._judge(record, at)
            else:
                yield Skip(self.name, at, record.reason, _url(record.url), record.detail)

    def of_batch(self, batch: Batch, end: int) -> Generator[Capture | Skip | Passed, None, int]:
        """What members that begin before ``end`` hold, up to the first that is more than one sound record."""
        data, places = batch
        for (at, begin), (_, stop) in pairwise(places):
            record = _lone_record(data, begin, stop) if at < end else None
            if record is None or record.end - record.begin > self.most:
                return at
            yield self._judge(record, at)
        return places[-1][0]

    def _judge(self, record: _Record, at: int) -> Capture | Skip | Passed:
        fields = record.fields
        kind = fields[b"warc-type"].lower()
        if kind not in (b"response", b"resource", b"revisit", b"conversion", b"continuation"):
            return Passed(kind.decode("latin-1"))
        url = _url(fields.get(b"warc-target-uri", b""))
        if kind == b"continuation":
            return Skip(self.name, at, "segment", url)
        if not url:
            return Skip(self.name, at, "bad-header", detail="no WARC-Target-URI")
        if url[:5].lower() not in ("http:", "https"):
            return Skip(self.name, at, "not-http", url)
        if kind == b"revisit":
            return Skip(self.name, at, "revisit", url)
        made = self._http(record, url, at) if kind == b"response" else self._document(record, url, at, kind)
        if isinstance(made, Capture):
            made.ip = fields.get(b"warc-ip-address", b"").decode("latin-1")
            made.time = http.time_of(fields.get(b"warc-date", b""))
        return made

    def _http(self, record: _Record, url: str, at: int) -> Capture | Skip:
        data, begin = record.data, record.begin
        stop, body = http.header_end(data, begin, min(record.end, begin + _MAX_HEADER))
        head = data[begin:stop]
        status = http.status_of(head)
        if status is None:
            if begin == record.end:
                return Skip(self.name, at, "empty", url)
            declared = record.fields.get(b"content-type", b"").lower()
            if not declared or declared.startswith(b"application/http"):
                return Skip(self.name, at, "bad-header", url, "no HTTP status line")
            return self._document(record, url, at, b"resource")
        if not self._is_asked(status):
            return Skip(self.name, at, _status_reason(status), url, str(status))
        fields = http.fields_of(head)
        media_type, charset = http.media_type_of(fields.get(b"content-type", b""))
        if http.has_text(media_type) is False:
            return Skip(self.name, at, "not-text", url, media_type)
        if not record.is_whole:
            return Skip(self.name, at, "too-large", url)
        content = data[body : record.end]
        transfer, encoding = fields.get(b"transfer-encoding", b""), fields.get(b"content-encoding", b"")
        try:
            if transfer or encoding:
                content = http.decode_body(content, transfer=transfer, content=encoding, most=self.most)
        except http.EncodingError as error:
            return Skip(self.name, at, "bad-encoding", url, str(error))
        except http.TooLargeError:
            return Skip(self.name, at, "too-large", url, "after its content encoding is undone")
        return self._page(content, url, at, media_type, charset, status)

    def _document(self, record: _Record, url: str, at: int, kind: bytes) -> Capture | Skip:
        """A block that is the document itself."""
        declared = record.fields.get(b"content-type", b"")
        media_type, charset = http.media_type_of(declared)
        if media_type == "application/http":
            return self._http(record, url, at)
        if kind == b"resource" and not self._is_asked(200):
            return Skip(self.name, at, "other-status", url, "a resource, which counts as 200")
        if http.has_text(media_type) is False:
            return Skip(self.name, at, "not-text", url, media_type)
        if not record.is_whole:
            return Skip(self.name, at, "too-large", url)
        page = self._page(record.data[record.begin : record.end], url, at, media_type, charset, None)
        if kind == b"conversion" and isinstance(page, Capture) and page.media_type == "text/plain":
            page.is_text_only = True
            page.body = page.body.decode("utf-8", "replace").encode()
        return page

    def _page(
        self, body: bytes, url: str, at: int, media_type: str, charset: str, status: int | None
    ) -> Capture | Skip:
        if len(body) > self.most:
            return Skip(self.name, at, "too-large", url)
        if not body or (len(body) < 4096 and not body.strip()):
            return Skip(self.name, at, "empty", url)
        sniffed = http.sniff(body, media_type)
        if not sniffed:
            return Skip(self.name, at, "not-text", url, f"{media_type or 'unknown'}, but binary")
        return Capture(url, body, self.name, at, sniffed, charset, status=status)


def _status_reason(status: int) -> Reason:
    if 300 <= status < 400:
        return "redirect"
    return "http-error" if 400 <= status < 600 else "other-status"


def _url(value: bytes) -> str:
    if value.startswith(b"<"):
        value = value[1:].removesuffix(b">").strip()
    return value.decode("utf-8", "replace")
