"""Pages that lie in files of their own, WARCs inside a WACZ, and reading large files in little memory."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import zstandard

from unquilt.ingest.capture import Capture, Found, Reason, Skip
from unquilt.ingest.http import sniff
from unquilt.ingest.params import IngestParams
from unquilt.ingest.remote import open_input
from unquilt.ingest.sites import host_of
from unquilt.ingest.warc import Reading, Span, is_splittable, read_warc

if TYPE_CHECKING:
    from unquilt.ingest.inputs import Piece

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"  # the frame a WARC in Zstandard keeps its dictionary in

_MEDIA_TYPES = {
    ".xhtml": "application/xhtml+xml",
    ".xht": "application/xhtml+xml",
}
HTML_ENDINGS = (".html", ".htm", ".xhtml", ".xht", ".shtml", ".php", ".asp", ".aspx", ".jsp", ".cgi")


class DamageError(Exception):
    """Compressed data that ends too early or cannot be inflated; what came before it has been read."""

    def __init__(self, detail: str, offset: int = 0) -> None:
        super().__init__(detail)
        self.offset = offset


class Inflated:
    """A file to read from its beginning to its end, without its compression (gzip, Zstandard) if it has one.

    ``read`` raises ``DamageError`` once it has given all that can be read.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.compression = compression_of(file.read(4))
        file.seek(0)
        self._chunks = _inflate(file, is_gzip=self.compression == "gzip")
        self._ready = bytearray()
        self._damage: DamageError | None = None

    def read(self, size: int) -> bytes:
        """``size`` bytes, fewer only at the end."""
        if not self.compression:
            return self._file.read(size)
        while len(self._ready) < size and self._damage is None:
            try:
                self._ready += next(self._chunks)
            except StopIteration:
                break
            except DamageError as damage:
                self._damage = damage
        if self._damage is not None and not self._ready:
            raise self._damage
        given = bytes(self._ready[:size])
        del self._ready[:size]
        return given


def _inflate(file: BinaryIO, *, is_gzip: bool) -> Iterator[bytes]:
    # zlib can be told how much to give; Zstandard gives up to 32,768 times what it is fed: it is fed little.
    step = 1 << 16 if is_gzip else 1 << 12
    inflater: Any = None
    data = b""
    try:
        while data or (data := file.read(step)):
            if inflater is None:
                data = data.lstrip(b"\0")  # padding after a member
                if not data:
                    continue
                inflater = zlib.decompressobj(31) if is_gzip else zstandard.ZstdDecompressor().decompressobj()
            yield inflater.decompress(data, 1 << 18) if is_gzip else inflater.decompress(data)
            data = inflater.unused_data or (inflater.unconsumed_tail if is_gzip else b"")
            if inflater.eof:
                inflater = None
        if inflater is not None:
            yield inflater.flush() or b""
            if not inflater.eof:
                raise DamageError("the compressed data ends too early")
    except (zlib.error, zstandard.ZstdError) as error:
        raise DamageError(f"the compressed data is damaged: {error}") from None


def compression_of(head: bytes) -> str:
    """ "gzip", "zstd" or "" by the first bytes of a file."""
    if head.startswith(GZIP):
        return "gzip"
    is_skippable = head[1:4] == ZSTD_DICTIONARY[1:] and 0x50 <= head[0] <= 0x5F
    return "zstd" if is_skippable or head.startswith(ZSTD) else ""


def read_head(file: BinaryIO, size: int) -> bytes:
    """The first bytes of a file, inflated as far as that can be done."""
    try:
        return Inflated(file).read(size)
    except DamageError:
        return b""


def line_blocks(
    path: str, begin: int, end: int | None, *, max_line: int, block: int = 1 << 20
) -> Iterator[tuple[int, bytes | None]]:
    """Whole lines, many at a time, that start at ``begin`` or later and before ``end``, with their offset.

    A line longer than ``max_line`` comes as None. Offsets count inflated bytes; only a file that is not
    compressed can be read from ``begin``. Raises ``DamageError`` with the offset of the line that cannot
    be read.
    """
    with open_input(path) as file:
        stream = Inflated(file)
        position = max(0, begin - 1)  # the line break before begin tells whether a line starts there
        is_inside = begin > 0
        if is_inside:
            file.seek(position)
        rest = b""
        while end is None or position < end:
            try:
                data = stream.read(block)
            except DamageError as damage:
                raise DamageError(str(damage), position) from None
            if not data:
                if rest:
                    yield position, rest
                return
            if is_inside:
                cut = data.find(b"\n") + 1
                position += cut or len(data)
                if not cut:
                    continue
                data, is_inside = data[cut:], False
                if end is not None and position >= end:
                    return
            data = rest + data
            cut = data.rfind(b"\n") + 1
            if end is not None and position + cut >= end:
                cut = data.find(b"\n", end - 1 - position) + 1
            lines, rest = data[:cut], data[cut:]
            if lines:
                yield position, lines
                position += cut
            if len(rest) > max_line and (end is None or position < end):
                yield position, None
                position += len(rest)
                rest, is_inside = b"", True


def display(path: str) -> str:
    """A path as text: bytes of its name that are not UTF-8 are shown as \\xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_folder(piece: Piece, params: IngestParams) -> Found:
    """The pages of an HTML folder. They have no time: a file's own would differ on every machine."""
    for name in piece.files:
        yield _read_page(piece, name, params)


def _read_page(piece: Piece, name: str, params: IngestParams) -> Capture | Skip:
    source = display(f"{piece.name}/{name}")
    url = url_of_file(piece.path, name, params.url_prefix)

    def skip(reason: Reason, detail: str = "") -> Skip:
        return Skip(source, 0, reason, url, detail)

    try:
        body = _read_bounded(Path(piece.path) / name, params.max_page_bytes)
    except DamageError as damage:
        return skip("truncated", str(damage))
    except (OSError, ValueError) as error:
        return skip("unreadable", why(error))
    if body is None:
        return skip("too-large")
    if not body.strip():
        return skip("empty")
    media_type = sniff(body, _type_by_name(name))
    if not media_type:
        return skip("not-text")
    return Capture(url=url, body=body, source=source, offset=0, media_type=media_type)


def _read_bounded(path: Path, most: int) -> bytes | None:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("not a regular file")
    if found.st_size > most:
        return None
    body = bytearray()
    with path.open("rb") as file:
        stream = Inflated(file)
        while len(body) <= most and (more := stream.read(most + 1 - len(body))):
            body += more
    return bytes(body) if len(body) <= most else None


def _type_by_name(name: str) -> str:
    ending = Path(name.lower().removesuffix(".gz").removesuffix(".zst")).suffix
    return _MEDIA_TYPES.get(ending, "text/html" if ending in HTML_ENDINGS else "")


def why(error: BaseException) -> str:
    """What the system says about a file it cannot read, without the path."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()


def url_of_file(folder: str, name: str, prefix: str = "") -> str:
    """The URL of a file of an HTML folder: prefix/name, or http://first level/rest.

    A file that lies in the folder itself belongs to the host the folder is named for.
    """
    path = os.fsencode(name)
    if prefix:
        return prefix.removesuffix("/") + "/" + _quote(path)
    first, slash, rest = path.partition(b"/")
    if not slash:
        first, rest = os.fsencode(Path(folder).resolve().name), path
    return f"http://{_host_name(first)}/{_quote(rest)}"


def _quote(path: bytes) -> str:
    return quote(path, safe="/~!$&'()*+,;=:@")


def _host_name(folder: bytes) -> str:
    """A host for a folder; one whose name cannot be a host gets -20 for a space, and so on."""
    name = folder.decode("utf-8", "replace")
    if re.fullmatch(r"[A-Za-z0-9._-]+(?::[0-9]+)?", name) and host_of(f"http://{name}/"):
        return name
    is_clear = "\ufffd" not in name and not re.search(r"[@:%/?#\\\[\]\s]", name)
    if is_clear and (host := host_of(f"http://{name}/")).isascii() and host:
        return host
    escaped = re.sub(rb"[^A-Za-z0-9_.]", lambda byte: b"-%02x" % byte[0][0], folder).decode()
    return escaped if host_of(f"http://{escaped}/") else escaped.replace(".", "-2e") or "localhost"


def read_wacz(piece: Piece, params: IngestParams, *, exact: bool = False) -> Reading:
    """What one WARC in a WACZ holds, or the range begin to end of it; offsets are those in the WARC."""
    (member,) = piece.files
    try:
        with open_input(piece.path) as zipped, zipfile.ZipFile(zipped) as archive:
            info = archive.getinfo(member)
            with archive.open(info) as file:
                is_cut = is_splittable(file.read(16)) and info.compress_type == zipfile.ZIP_STORED
            if is_cut:
                return (yield from _read_stored(piece, info, params, exact=exact))
            with tempfile.NamedTemporaryFile(prefix="unquilt-", suffix=Path(member).suffix) as copy:
                with archive.open(info) as file:
                    shutil.copyfileobj(file, copy, 1 << 20)
                copy.flush()
                return (yield from read_warc(copy.name, 0, None, params, name=piece.name))
    except (OSError, KeyError, RuntimeError, NotImplementedError, zlib.error, zipfile.BadZipFile) as error:
        yield Skip(piece.name, piece.begin, "unreadable", detail=why(error))
        return Span(piece.begin, piece.begin)


def _read_stored(piece: Piece, info: zipfile.ZipInfo, params: IngestParams, *, exact: bool) -> Reading:
    start = stored_at(piece.path, info)
    end = info.file_size if piece.end is None else piece.end
    exact = exact or piece.begin == 0
    found = read_warc(piece.path, start + piece.begin, start + end, params, name=piece.name, exact=exact)
    while True:
        try:
            one = next(found)
        except StopIteration as stopped:
            span: Span = stopped.value  # behind a damaged last record lies the next file of the WACZ
            return Span(min(span.first - start, info.file_size), min(span.stop - start, info.file_size))
        if isinstance(one, Capture | Skip):
            one.offset -= start
        yield one


def stored_at(path: str, info: zipfile.ZipInfo) -> int:
    """Where in a zip file the bytes of a stored member begin."""
    with open_input(path) as file:
        file.seek(info.header_offset)
        header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"no header of {info.filename}")
    return info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
