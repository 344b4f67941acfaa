"""The bundled sample is what its README says."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from fastwarc.warc import ArchiveIterator

import unquilt.sample
from unquilt.ingest.capture import Capture, Passed, Skip
from unquilt.ingest.params import IngestParams
from unquilt.ingest.warc import read_warc
from unquilt.sample import sample_files

README = Path(unquilt.sample.__file__).with_name("README.md").read_text()


class Record(NamedTuple):
    fields: dict[str, str]
    block: bytes

    @property
    def url(self) -> str:
        return self.fields.get("WARC-Target-URI", "")

    @property
    def status(self) -> int:
        return int(self.block[9:12]) if self.block.startswith(b"HTTP/") else 0

    @property
    def payload(self) -> bytes:
        return self.block.partition(b"\r\n\r\n")[2]


def read_members(path: Path) -> list[Record]:
    """Every gzip member as one record, read with nothing but zlib."""
    records = []
    rest = path.read_bytes()
    while rest:
        member = zlib.decompressobj(wbits=31)
        data = member.decompress(rest)
        assert member.eof
        rest = member.unused_data
        head, _, tail = data.partition(b"\r\n\r\n")
        version, *lines = head.decode().split("\r\n")
        assert version == "WARC/1.0"
        fields = dict(line.split(": ", 1) for line in lines)
        length = int(fields["Content-Length"])
        assert tail[length:] == b"\r\n\r\n"
        records.append(Record(fields, tail[:length]))
    return records


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [record for path in sample_files() for record in read_members(path)]


@pytest.fixture(scope="module")
def pages(records: list[Record]) -> dict[str, bytes]:
    return {record.url: record.payload for record in records if record.status == 200 and record.payload}


def test_is_small() -> None:
    sizes = [path.stat().st_size for path in sample_files()]
    assert len(sizes) == 4
    assert max(sizes) < 950_000
    assert sum(sizes) <= 3_600_000


def test_holds_the_kinds_of_records_the_readme_counts(records: list[Record]) -> None:
    kinds = Counter((record.fields["WARC-Type"], record.status) for record in records)
    assert kinds == {
        ("warcinfo", 0): 4,
        ("request", 0): 10,
        ("response", 0): 1,
        ("response", 200): 1062,
        ("response", 301): 14,
        ("response", 404): 12,
        ("revisit", 200): 1,
    }


def test_every_payload_has_the_digest_its_record_names(records: list[Record]) -> None:
    responses = [record for record in records if record.fields["WARC-Type"] == "response" and record.status]
    for record in responses:
        digest = base64.b32encode(hashlib.sha1(record.payload).digest()).decode()
        assert record.fields["WARC-Payload-Digest"] == f"sha1:{digest}"


def test_the_readme_names_every_host_and_its_number_of_pages(records: list[Record]) -> None:
    counted = Counter(
        urlsplit(record.url).hostname
        for record in records
        if record.status == 200 and record.fields["WARC-Type"] == "response"
    )
    named = {host: int(count) for host, count in re.findall(r"^\| `([\w.-]+)` \| (\d+) \|", README, re.M)}
    assert named == counted


def test_every_notice_is_in_the_sample(pages: dict[str, bytes]) -> None:
    packages = set(re.findall(r"^\| `[\w.-]+` \| \d+ \| ([\w.+-]+) ", README, re.M))
    notices = {url.split("/")[3].split("_")[0] for url in pages if url.endswith("/copyright")}
    assert notices == {package.replace("+", "%2B") for package in packages}


def test_the_hosts_called_level_1_agree_byte_for_byte(pages: dict[str, bytes]) -> None:
    def of(host: str) -> dict[str, bytes]:
        start = f"http://{host}/"
        return {url.removeprefix(start): page for url, page in pages.items() if url.startswith(start)}

    assert len(of("docbook-xsl.example")) == 111
    assert of("docbook-xsl.example") == of("docbook-xsl-copy.example")
    assert of("udo.example").keys() == of("udo-copy.example").keys()
    assert not set(of("udo.example").values()) & set(of("udo-copy.example").values())


def test_one_url_was_captured_twice_with_different_bytes(records: list[Record]) -> None:
    captures = Counter(record.url for record in records if record.fields["WARC-Type"] == "response" and record.status)
    [(url, times)] = [(url, times) for url, times in captures.items() if times > 1]
    assert (url, times) == ("http://policy.example/policy.html/ap-license.html", 2)
    assert len({record.payload for record in records if record.url == url}) == 2


def test_fastwarc_finds_the_same_records(records: list[Record]) -> None:
    found = []
    for path in sample_files():
        with path.open("rb") as stream:
            found += [record.record_id for record in ArchiveIterator(stream, parse_http=False)]
    assert found == [record.fields["WARC-Record-ID"] for record in records]


def test_our_reader_makes_pages_of_what_is_text(records: list[Record]) -> None:
    urls, skipped, passed = [], Counter[str](), Counter[str]()
    for path in sample_files():
        for found in read_warc(str(path), 0, None, IngestParams(), name=path.name):
            if isinstance(found, Capture):
                urls.append(found.url)
            elif isinstance(found, Skip):
                skipped[found.reason] += 1
            elif isinstance(found, Passed):
                passed[found.kind] += 1
    assert len(urls) == 1061
    assert skipped == {"redirect": 14, "http-error": 12, "not-text": 1, "not-http": 1, "revisit": 1}
    assert passed == {"warcinfo": 4, "request": 10}
