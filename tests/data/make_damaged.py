"""Makes the damaged archives of this folder; each is named for its damage. The same bytes on every run.

python tests/data/make_damaged.py
"""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import zstandard

HERE = Path(__file__).parent
URLS = ("http://a.example/", "http://b.example/", "http://c.example/")


def gzip_member(data: bytes, level: int = 6) -> bytes:
    """One gzip member without a time, so that its bytes depend on the data alone."""
    deflater = zlib.compressobj(level, zlib.DEFLATED, -15)
    deflated = deflater.compress(data) + deflater.flush()
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + deflated + struct.pack("<II", zlib.crc32(data), len(data))


def record(
    block: bytes,
    url: str | None = "http://a.example/",
    *,
    kind: str = "response",
    content_type: str = "application/http; msgtype=response",
    length: str | None = "",
    version: str = "1.0",
    date: str = "2024-05-06T07:08:09Z",
    extra: str = "",
) -> bytes:
    """A WARC record; ``length`` None leaves the field out, "" gives the true one."""
    head = f"WARC/{version}\r\nWARC-Type: {kind}\r\nWARC-Date: {date}\r\n"
    if url is not None:
        head += f"WARC-Target-URI: {url}\r\n"
    head += f"WARC-IP-Address: 192.0.2.1\r\nContent-Type: {content_type}\r\n{extra}"
    if length is not None:
        head += f"Content-Length: {length or len(block)}\r\n"
    return head.encode() + b"\r\n" + block + b"\r\n\r\n"


def response(body: bytes, *, status: str = "200 OK", content_type: str | None = "text/html", extra: str = "") -> bytes:
    typed = f"Content-Type: {content_type}\r\n" if content_type is not None else ""
    return f"HTTP/1.1 {status}\r\n{typed}{extra}\r\n".encode() + body


def page(url: str) -> bytes:
    """The body of the page at ``url``: 2 KB of words that hardly compress, so that a member has a middle."""
    words = random.Random(url).choices(range(10**6), k=300)
    return f"<html><title>{url}</title><p>{' '.join(map(str, words))}</html>".encode()


def whole(url: str, **more: str | None) -> bytes:
    return record(response(page(url)), url, **more)  # type: ignore[arg-type]


def archives() -> dict[str, bytes]:
    a, b, c = (whole(url) for url in URLS)
    first, second, third = (gzip_member(one) for one in (a, b, c))
    middle = len(second) // 2
    corrupt = second[:middle] + bytes(byte ^ 0xFF for byte in second[middle : middle + 16]) + second[middle + 16 :]
    longer = str(len(response(page(URLS[1]))) + 500)
    shorter = str(len(response(page(URLS[1]))) - 500)
    no_fields = b"WARC/1.0\r\n\r\n" + response(page(URLS[1])) + b"\r\n\r\n"
    no_type = b.replace(b"WARC-Type: response\r\n", b"")
    no_http = record(page(URLS[1]), URLS[1])
    nul = b.replace(b"WARC-IP-Address: 192", b"WARC-IP-Address: \0\0\0")
    dictionary = zstandard.ZstdCompressionDict((a + c)[:3000], dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    plain_zstd = zstandard.ZstdCompressor(level=3)
    framed = [plain_zstd.compress(one) for one in (a, b, c)]
    with_dictionary = zstandard.ZstdCompressor(level=3, dict_data=dictionary)
    return {
        "sound.warc.gz": first + second + third,
        "sound.warc": a + b + c,
        "sound.warc.zst": b"".join(framed),
        "sound-dictionary.warc.zst": struct.pack("<II", 0x184D2A5D, len(dictionary.as_bytes()))
        + dictionary.as_bytes()
        + b"".join(with_dictionary.compress(one) for one in (a, b, c)),
        "sound-one-member.warc.gz": gzip_member(a + b + c),
        "truncated-last-member.warc.gz": first + second + third[: len(third) // 2],
        "truncated-trailer.warc.gz": first + second + third[:-8],
        "truncated-member.warc.gz": first + second[:middle] + third,
        "truncated-one-member.warc.gz": gzip_member(a + b + c)[:-700],
        "truncated.warc": a + b + c[: len(c) // 2],
        "truncated-in-header.warc": a + b + c[:40],
        "truncated-frame.warc.zst": framed[0] + framed[1] + framed[2][:-300],
        "corrupt-member.warc.gz": first + corrupt + third,
        "corrupt-frame.warc.zst": framed[0] + framed[1][:300] + b"\xff" * 200 + framed[1][500:] + framed[2],
        "wrong-checksum.warc.gz": first + second[:-8] + b"\0\1\2\3" + second[-4:] + third,
        "garbage-between-members.warc.gz": first + b"this is no gzip member\n" * 3 + second + third,
        "garbage-first.warc.gz": b"this is no gzip member\n" + first + second + third,
        "garbage-like-a-member.warc.gz": first + b"\x1f\x8b\x08\0" + b"\xff" * 60 + second + third,
        "garbage-inside-a-member.warc.gz": gzip_member(a + b"this is no record\r\n" + b + c),
        "zeros-at-the-end.warc.gz": first + second + third + b"\0" * 512,
        "empty-member.warc.gz": first + gzip_member(b"") + second + third,
        "no-warc-in-a-member.warc.gz": first + gzip_member(b"this is no record\n") + second + third,
        "content-length-too-long.warc.gz": first + gzip_member(whole(URLS[1], length=longer)) + third,
        "content-length-too-long.warc": a + whole(URLS[1], length=longer) + c,
        "content-length-huge.warc": a + whole(URLS[1], length="99999999999") + c,
        "content-length-huge-one-member.warc.gz": gzip_member(a + whole(URLS[1], length="99999999999") + c),
        "content-length-too-short.warc.gz": first + gzip_member(whole(URLS[1], length=shorter)) + third,
        "content-length-too-short.warc": a + whole(URLS[1], length=shorter) + c,
        "content-length-missing.warc.gz": first + gzip_member(whole(URLS[1], length=None)) + third,
        "content-length-missing.warc": a + whole(URLS[1], length=None) + c,
        "content-length-not-a-number.warc.gz": first + gzip_member(whole(URLS[1], length="-1")) + third,
        "target-uri-missing.warc.gz": first + gzip_member(record(response(page(URLS[1])), None)) + third,
        "fields-missing.warc.gz": first + gzip_member(no_fields) + third,
        "type-missing.warc.gz": first + gzip_member(no_type) + third,
        "http-header-missing.warc.gz": first + gzip_member(no_http) + third,
        "nul-in-header.warc.gz": first + gzip_member(nul) + third,
        "no-end-of-header.warc.gz": first + gzip_member(b"WARC/1.0\r\nX: " + b"x" * 80000) + third,
    }


if __name__ == "__main__":
    for name, data in archives().items():
        (HERE / name).write_bytes(data)
