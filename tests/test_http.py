from __future__ import annotations

import contextlib
import gzip
import random
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from test_warc import HTML, MIB, PNG, A, only, read, record, response, short, write
from unquilt.errors import BadParameter
from unquilt.ingest.capture import Capture
from unquilt.ingest.http import EncodingError, TooLargeError, decode_body, fields_of, header_end, parse_status


def _chunked(body: bytes, size: int = 1000) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;x=y\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _raw_deflate(body: bytes) -> bytes:
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    return deflater.compress(body) + deflater.flush()


ENCODED = {
    "gzip": gzip.compress(HTML),
    "x-gzip": gzip.compress(HTML[:500]) + gzip.compress(HTML[500:]),
    "GZIP": gzip.compress(HTML) + b"trailing",
    "deflate": zlib.compress(HTML),
    " deflate": _raw_deflate(HTML),
    "br": brotli.compress(HTML),
    "zstd": zstandard.compress(HTML),
    "gzip, br": brotli.compress(gzip.compress(HTML)),
    "br,gzip, deflate ,zstd": zstandard.compress(zlib.compress(gzip.compress(brotli.compress(HTML)))),
    "identity": HTML,
    "": HTML,
    "utf-8": HTML,
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_encodings_are_undone(tmp_path: Path, encoding: str, is_chunked: bool) -> None:
    extra = f"Content-Encoding: {encoding}\r\n" + ("Transfer-Encoding: chunked\r\n" if is_chunked else "")
    body = _chunked(ENCODED[encoding]) if is_chunked else ENCODED[encoding]
    assert only(read(write(tmp_path, record(response(body, extra=extra), A)))[0]).body == HTML


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_a_body_stored_without_its_declared_encodings_is_taken_as_it_is(tmp_path: Path, encoding: str) -> None:
    extra = f"Content-Encoding: {encoding}\r\nTransfer-Encoding: chunked\r\n"
    assert only(read(write(tmp_path, record(response(HTML, extra=extra), A)))[0]).body == HTML


@pytest.mark.parametrize("body", [b"12 monkeys", b"12\r\nmonkeys went to see what was not there", b"<p>no"])
def test_a_body_that_is_not_chunked_is_taken_as_it_is(body: bytes) -> None:
    assert decode_body(body, transfer=b"chunked", content=b"", most=MIB) == body


def test_of_a_chunked_body_that_breaks_off_the_beginning_is_kept() -> None:
    body = _chunked(HTML)
    assert decode_body(body[:1500], transfer=b"chunked", content=b"", most=MIB) == HTML[:1480]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", " deflate", "br", "zstd"])
@pytest.mark.parametrize("damage", ["truncated", "corrupt"])
def test_of_an_encoded_body_that_breaks_off_the_beginning_is_kept(encoding: str, damage: str) -> None:
    html = b"<html>" + random.Random(3).randbytes(300_000).hex().encode()
    body = {
        "gzip": gzip.compress(html),
        "deflate": zlib.compress(html),
        " deflate": _raw_deflate(html),
        "br": brotli.compress(html, quality=5),
        "zstd": zstandard.compress(html),
    }[encoding]
    half = len(body) // 2
    hurt = body[:half] if damage == "truncated" else body[:half] + b"\xff" * 5000 + body[half + 5000 :]
    kept = decode_body(hurt, transfer=b"", content=encoding.encode(), most=MIB)
    assert html.startswith(kept[: len(html) // 5])
    assert len(kept) > len(html) // 5


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "sdch"])
def test_a_body_that_cannot_be_decoded_at_all_is_skipped(tmp_path: Path, encoding: str) -> None:
    magic = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}.get(encoding, b"")
    extra = f"Content-Encoding: {encoding}\r\n"
    path = write(tmp_path, record(response(magic + b"\xff\0\1\2" * 10, extra=extra), A))
    assert short(read(path)[0]) == [f"bad-encoding {A}"]


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"<p>", "text/html"),
        ("application/xhtml+xml; charset=utf-8", b"<p>", "application/xhtml+xml"),
        ("text/css", b"p {}", "text/css"),
        ("application/json", b"{}", "application/json"),
        ("image/svg+xml", b"<svg>", "image/svg+xml"),
        (None, b"\n <!DOCTYPE html><p>", "text/html"),
        (None, b"\xef\xbb\xbf<?xml version='1.0'?><!-- x --><html>", "text/html"),
        ("application/octet-stream", b"<HTML>", "text/html"),
        ("html", b"some words", "text/plain"),
        (None, b"\xff\xfe<\0h\0t\0m\0l\0>\0", "text/html"),
        (None, b"some\0bytes", "not-text"),
        (None, PNG, "not-text"),
        ("text/html", PNG, "not-text"),
        ("text/html", b"%PDF-1.4 x", "not-text"),
        ("text/plain", b"PK\x03\x04xx", "not-text"),
        ("image/png", b"<html>", "not-text"),
        ("application/pdf", b"<html>", "not-text"),
        ("text/html", b"", "empty"),
        ("text/html", b" \r\n", "empty"),
    ],
)
def test_what_is_text_is_told_by_type_and_first_bytes(
    tmp_path: Path, content_type: str | None, body: bytes, expected: str
) -> None:
    (one,), _ = read(write(tmp_path, record(response(body, content_type=content_type), A)))
    assert (one.media_type if isinstance(one, Capture) else one.reason) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("status", "asked", "expected"),
    [
        ("200 OK", "200", A),
        ("203", "200,203", A),
        ("204 No Content", "200-299", A),
        ("206 Partial", "200", f"other-status {A}"),
        ("301 Moved", "200", f"redirect {A}"),
        ("404 Not Found", "200", f"http-error {A}"),
        ("404 Not Found", " any ", A),
        ("503", "200", f"http-error {A}"),
        ("999 Denied", "200", f"other-status {A}"),
        ("200 OK", "404", f"other-status {A}"),
        ("OK", "any", f"bad-header {A}"),
    ],
)
def test_statuses_that_were_not_asked_for_are_skipped(tmp_path: Path, status: str, asked: str, expected: str) -> None:
    assert short(read(write(tmp_path, record(response(HTML, status=status), A)), status=asked)[0]) == [expected]


@pytest.mark.parametrize("text", ["", "ok", "200-", "299-200", "200,,203", "2xx", "20000"])
def test_a_status_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="neither a status nor a range"):
        parse_status(text)


@given(
    st.binary(max_size=300) | st.sampled_from([*ENCODED.values()]).map(lambda body: body[: len(body) // 2]),
    st.sampled_from([b"", b"chunked", b"gzip, chunked"]),
    st.lists(st.sampled_from([b"gzip", b"deflate", b"br", b"zstd", b"sdch"]), max_size=3).map(b",".join),
    st.integers(0, 2000),
)
def test_any_body_is_decoded_or_refused(body: bytes, transfer: bytes, content: bytes, most: int) -> None:
    with contextlib.suppress(TooLargeError, EncodingError):
        assert len(decode_body(body, transfer=transfer, content=content, most=most)) <= most


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nA: 1\r\nb-B:2 ", {b"a": b"1", b"b-b": b"2"}),
        (b"x\r\nA: 1\r\na: 2", {b"a": b"1"}),
        (b"x\r\nContent-Encoding: gzip\r\ncontent-encoding: br", {b"content-encoding": b"gzip,br"}),
        (b"x\r\nA: 1\r\n  2\r\nB : 3", {b"a": b"1 2", b"b": b"3"}),
        (b"x\nA: 1:2\nno field\n: none", {b"a": b"1:2"}),
        (b"", {}),
    ],
)
def test_fields_are_read_by_name(head: bytes, expected: dict[bytes, bytes]) -> None:
    assert fields_of(head) == expected


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n"])
@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_a_header_ends_at_its_first_empty_line(line_end: bytes, end: bytes) -> None:
    data = b"H" + line_end + b"A: 1" + end + b"body\r\n\r\n\n\n"
    stop, after = header_end(data, 0, len(data))
    assert data[:stop].split() == [b"H", b"A:", b"1"]
    assert data[after:] == b"body\r\n\r\n\n\n"
