"""What the header of a record or a response says, and a body without transfer and content encodings."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import brotli
import zstandard

from unquilt.errors import BadParameter

_MAX_ENCODINGS = 4
_STEP = 64  # compressed bytes fed at a time where as much as possible is to be saved

_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_FIELD = re.compile(rb"\n([^\s:]+):([^\n]*)")
_STATUS_LINE = re.compile(rb"HTTP/\d+(?:\.\d+)?[ \t]+(\d{3})(?!\d)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:T?(\d\d):?(\d\d)(?::?(\d\d)\d{0,3})?)?)?)?Z?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_RANGE = re.compile(r"\s*(\d{3})\s*(?:-\s*(\d{3})\s*)?")
_CHARSET = re.compile(rb";\s*charset\s*=\s*[\"']?([^\s;\"',]+)", re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_MARKUP = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|link|script|style|div|span|table|center|font|form|frameset"
    rb"|h[1-6]|p|br|a|b|ul|ol)[\s/>]",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s+|<!--.*?-->|<\?xml.*?\?>)*", re.DOTALL)
_BINARY = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"%PDF-",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"BZh",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd",
    b"\x7fELF",
    b"MZ\x90\0",
    b"OggS",
    b"ID3",
    b"fLaC",
    b"FWS",
    b"CWS",
    b"wOFF",
    b"wOF2",
    b"\0\x01\0\0",
    b"OTTO",
    b"\0\0\x01\0",
    b"\x1aE\xdf\xa3",
    b"FLV\x01",
    b"\xca\xfe\xba\xbe",
    b"\xd0\xcf\x11\xe0",
    b"SQLite format 3\0",
    b"II*\0",
    b"MM\0*",
    b"\0asm",
)
_BINARY_STARTS = frozenset(magic[:1] for magic in _BINARY)
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # UTF-16: its NUL bytes are text
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))

HTML_TYPES = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = ("application/xml", "application/json", *HTML_TYPES)
_UNKNOWN_TYPES = (
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-unknown",
    "unknown/unknown",
)


class TooLargeError(Exception):
    """A body that is longer than a page may be, once its encodings are undone."""


class EncodingError(Exception):
    """A body whose content encoding cannot be undone."""


def parse_status(text: str) -> Callable[[int], bool]:
    """Which HTTP statuses are asked for: "200,203", "200-299", "any"."""
    if text.strip().lower() == "any":
        return lambda status: True
    asked: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if low > high:
            raise BadParameter(
                f"--status is {text!r}; {part.strip()!r} is neither a status nor a range of statuses.",
                fix="Give numbers, ranges or 'any', as 200,203 or 200-299.",
            )
        asked.update(range(low, high + 1))
    return asked.__contains__


def fields_of(head: bytes) -> dict[bytes, bytes]:
    """The fields of a header by lower-case name. Of two of one name the first counts; encodings add up."""
    fields = {name.lower(): value.strip() for name, value in _FIELD.findall(head)}
    if len(fields) == head.count(b"\n"):
        return fields
    fields, last = {}, b""
    for line in head.split(b"\n"):
        name, colon, value = line.partition(b":")
        if last and line[:1] in (b" ", b"\t"):
            fields[last] += b" " + line.strip()
        elif colon and (name := name.strip().lower()):
            if name not in fields:
                fields[name] = value.strip()
            elif name.endswith(b"-encoding"):
                fields[name] += b"," + value.strip()
            last = name
    return fields


def status_of(head: bytes) -> int | None:
    """The status of a response, from its status line; None if it has none."""
    found = _STATUS_LINE.match(head)
    return int(found[1]) if found else None


@lru_cache(maxsize=1024)
def time_of(value: bytes) -> int | None:
    """Microseconds since 1970 of a WARC date (with fractions, or of less precision) or an ARC date."""
    text = value.decode("latin-1")
    try:
        if len(text) > 16 and text[4] == "-":
            moment = datetime.fromisoformat(text)
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif found := _DATE.fullmatch(text):
            year, month, day, hour, minute, second = (int(part) if part else 0 for part in found.groups())
            moment = datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=UTC)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // _MICROSECOND


def header_end(data: bytes, begin: int, end: int) -> tuple[int, int]:
    """Where a header that begins at ``begin`` ends, and where what follows its empty line begins."""
    # Some servers mix line ends: the empty line is the first of either kind.
    stop, size = data.find(b"\n\r\n", begin, end), 3
    bare = data.find(b"\n\n", begin, stop + 1 if stop >= 0 else end)
    if bare >= 0:
        stop, size = bare, 2
    if stop < 0:
        return end, end
    return stop - (stop > begin and data[stop - 1] == 13), stop + size


@lru_cache(maxsize=1024)
def media_type_of(content_type: bytes) -> tuple[str, str]:
    """Media type, lower case and without parameters, and charset; "" for what is not given."""
    charset = _CHARSET.search(content_type)
    media_type = content_type.split(b";", 1)[0].split(b",", 1)[0].strip().lower().decode("latin-1")
    return media_type, charset[1].decode("latin-1") if charset else ""


@lru_cache(maxsize=1024)
def has_text(media_type: str) -> bool | None:
    """Whether a media type is text; None if only the body can tell."""
    if media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith("+xml"):
        return True
    if media_type in _UNKNOWN_TYPES or not _MEDIA_TYPE.fullmatch(media_type):
        return None
    return False


def sniff(body: bytes, media_type: str) -> str:
    """The declared media type, or where it does not tell, that of the first bytes; "" if it is not text."""
    if body[:1] in _BINARY_STARTS and body.startswith(_BINARY):
        return ""
    if has_text(media_type):
        return media_type
    head = body[:1024]
    if head.startswith(_WIDE):
        head = head.replace(b"\0", b"")[2:]
    elif b"\0" in head:
        return ""
    preamble = _PREAMBLE.match(head)
    return "text/html" if _MARKUP.match(head, preamble.end() if preamble else 0) else "text/plain"


def decode_body(body: bytes, *, transfer: bytes, content: bytes, most: int) -> bytes:
    """A body without its encodings, at most ``most`` bytes.

    A declared encoding that the body does not have was undone by the crawler: the body is taken as it is.
    Of one that breaks off, what could be decoded is kept. Raises ``TooLargeError`` and ``EncodingError``.
    """
    if transfer:
        encodings = _names(transfer)
        if "chunked" in encodings:
            body = _unchunk(body)
        content += b"," + ",".join(name for name in encodings if name != "chunked").encode("latin-1")
    if content:
        for name in reversed(_names(content)[:_MAX_ENCODINGS]):
            body = _undo(name, body, most)
    if len(body) > most:
        raise TooLargeError
    return body


def _names(value: bytes) -> list[str]:
    names = (name.strip().lower().decode("latin-1") for name in value.split(b","))
    return [name for name in names if name not in ("", "identity", "none")]


def _unchunk(body: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while (size := _CHUNK.match(body, at)) and (length := int(size[1], 16)):
        begin, at = size.end(), size.end() + length
        if not parts and at <= len(body) and body[at : at + 1] not in (b"\r", b"\n", b""):
            return body  # a text that happens to begin like a chunk
        parts.append(body[begin:at])
        at += 2 if body[at : at + 2] == b"\r\n" else 1
    if not parts and not size:
        return body
    return b"".join(parts)


def _undo(name: str, body: bytes, most: int) -> bytes:
    if not body:
        return body
    if name in ("gzip", "x-gzip"):
        return _inflate(body, 31, most) if body.startswith(b"\x1f\x8b") else body
    if name == "zstd":
        return _inflate_zstd(body, most) if body.startswith(b"\x28\xb5\x2f\xfd") else body
    if name == "deflate":
        return _inflate_deflate(body, most)
    if name == "br":
        return _inflate_brotli(body, most)
    if _looks_plain(body):
        return body
    raise EncodingError(f"{name[:40]} is not known")


def _looks_plain(body: bytes) -> bool:
    head = body[:512]
    return head.startswith(_WIDE) or len(head.translate(None, _CONTROL)) == len(head)


def _inflate(body: bytes, wbits: int, most: int) -> bytes:
    parts: list[bytes] = []
    left = most
    while body:
        inflater = zlib.decompressobj(wbits)
        try:
            data = inflater.decompress(body, left + 1)
        except zlib.error as error:
            data = _salvage(body, wbits, left)
            if not data and not parts:
                raise EncodingError(str(error)) from None
        left -= len(data)
        if left < 0:
            raise TooLargeError
        parts.append(data)
        body = inflater.unused_data if wbits == 31 and inflater.unused_data.startswith(b"\x1f\x8b") else b""
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _salvage(body: bytes, wbits: int, most: int) -> bytes:
    """What can be inflated before the damage."""
    inflater = zlib.decompressobj(wbits)
    data = bytearray()
    try:
        for at in range(0, len(body), _STEP):
            data += inflater.decompress(body[at : at + _STEP], most + 1 - len(data))
            if len(data) > most:
                break
    except zlib.error:
        pass
    return bytes(data)


def _inflate_deflate(body: bytes, most: int) -> bytes:
    if body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0:
        try:
            return _inflate(body, 15, most)
        except EncodingError:
            pass
    try:
        inflater = zlib.decompressobj(-15)
        data = inflater.decompress(body, most + 1)
        if len(data) > most:
            raise TooLargeError
        if inflater.eof:
            return data
    except zlib.error:
        pass
    if _looks_plain(body):
        return body
    return _inflate(body, -15, most)


def _inflate_brotli(body: bytes, most: int) -> bytes:
    # It has no magic; what cannot be decoded and looks like text is taken for text.
    data = bytearray()
    inflater = brotli.Decompressor()
    at = 0
    try:
        while not inflater.is_finished():
            feed = b""
            if inflater.can_accept_more_data():
                feed, at = body[at : at + 4096], at + 4096
                if not feed:
                    raise brotli.error  # it is cut
            data += inflater.process(feed, output_buffer_limit=1 << 16)
            if len(data) > most:
                raise TooLargeError
    except brotli.error:
        if _looks_plain(body):
            return body
        if not data:
            raise EncodingError("the brotli data is damaged") from None
    return bytes(data)


def _inflate_zstd(body: bytes, most: int) -> bytes:
    data = bytearray()
    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body, read_across_frames=True)
    try:
        while more := reader.read(1 << 16):
            data += more
            if len(data) > most:
                raise TooLargeError
    except zstandard.ZstdError as error:
        if not data:
            raise EncodingError(str(error)) from None
    return bytes(data)
