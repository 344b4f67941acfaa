"""WARC/1.0 records, one gzip member each."""

from __future__ import annotations

import base64
import hashlib
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from unquilt.synth.chance import mix

_EPOCH = datetime(2024, 3, 1, tzinfo=UTC)
_SAME = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
HALF = 5 * 86_400  # seconds: originals are crawled in the first half, copies in the second


def date_of(second: int) -> str:
    """The time of a capture."""
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def http_date(second: int) -> str:
    """The same time as a server writes it."""
    return format_datetime(_EPOCH + timedelta(seconds=second), usegmt=True)


def record_id(*parts: int) -> str:
    """A record's name, the same in every run."""
    digits = f"{mix(*parts):016x}{mix(1, *parts):016x}"
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


def member(data: bytes) -> bytes:
    """The bytes as one gzip member; its header holds no time."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def digest_of(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def http_message(status: str, headers: str, body: bytes) -> bytes:
    ending = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    head = f"HTTP/1.1 {status}\r\nServer: Apache\r\n{headers}{ending}"
    return head.encode("ascii") + body


def response(url: str, ip: str, date: str, name: str, message: bytes, digest: str) -> bytes:
    """A response record."""
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: {name}\r\nWARC-IP-Address: {ip}\r\nWARC-Payload-Digest: {digest}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(message)}\r\n\r\n"
    )
    return member(b"%b%b\r\n\r\n" % (head.encode("ascii"), message))


def revisit(url: str, ip: str, date: str, name: str, first_date: str, digest: str) -> bytes:
    """A record that says: the same as last time."""
    message = b"HTTP/1.1 304 Not Modified\r\nServer: Apache\r\n\r\n"
    head = (
        f"WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: {name}\r\nWARC-IP-Address: {ip}\r\nWARC-Profile: {_SAME}\r\n"
        f"WARC-Refers-To-Target-URI: {url}\r\nWARC-Refers-To-Date: {first_date}\r\n"
        f"WARC-Payload-Digest: {digest}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(message)}\r\n\r\n"
    )
    return member(b"%b%b\r\n\r\n" % (head.encode("ascii"), message))


def warcinfo(filename: str, name: str) -> bytes:
    """The record a WARC file begins with."""
    body = b"software: unquilt synth\r\nformat: WARC File Format 1.0\r\ndescription: a made-up web\r\n"
    head = (
        f"WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Date: {date_of(0)}\r\nWARC-Filename: {filename}\r\n"
        f"WARC-Record-ID: {name}\r\nContent-Type: application/warc-fields\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return member(head.encode("ascii") + body + b"\r\n\r\n")
