from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from types import ModuleType

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator

from unquilt.ingest.capture import Capture, Passed, Skip
from unquilt.ingest.params import IngestParams
from unquilt.ingest.warc import Span, read_warc

DATA = Path(__file__).parent / "data"
A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
MIB = 1 << 20
HTML = b"<html><p>" + b"a page of some words " * 200 + b"</html>"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


made = _load("make_damaged")
member, record, response, page = made.gzip_member, made.record, made.response, made.page

Found = list[Capture | Skip | Passed]


def read(
    path: Path, begin: int = 0, end: int | None = None, *, exact: bool = False, **settings: object
) -> tuple[Found, Span]:
    params = IngestParams(**settings)  # type: ignore[arg-type]
    reading = read_warc(str(path), begin, end, params, name=path.name, exact=exact)
    found: Found = []
    while True:
        try:
            found.append(next(reading))
        except StopIteration as stop:
            return found, stop.value


def write(folder: Path, *records: bytes, name: str = "some.warc.gz") -> Path:
    path = folder / name
    path.write_bytes(b"".join(map(member, records)) if name.endswith(".gz") else b"".join(records))
    return path


def short(found: Found) -> list[str]:
    """URLs of captures, reasons of skips (with the URL if it is known), kinds of others."""
    words = []
    for one in found:
        if isinstance(one, Capture):
            words.append(one.url)
        elif isinstance(one, Skip):
            words.append(f"{one.reason} {one.url}".strip())
        else:
            words.append(one.kind)
    return words


def only(found: Found) -> Capture:
    (one,) = found
    assert isinstance(one, Capture), one
    return one


SOUND = (
    "sound.warc.gz",
    "sound.warc",
    "sound.warc.zst",
    "sound-dictionary.warc.zst",
    "sound-one-member.warc.gz",
)


@pytest.mark.parametrize("name", SOUND)
def test_every_page_of_a_sound_file_is_read(name: str) -> None:
    found, span = read(DATA / name)
    assert [one.body for one in found if isinstance(one, Capture)] == [page(url) for url in (A, B, C)]
    assert short(found) == [A, B, C]
    assert span == Span(0, (DATA / name).stat().st_size)


def test_a_capture_has_what_its_record_says(tmp_path: Path) -> None:
    head = 'Content-Type: Text/HTML; charset="ISO-8859-1"\r\n'
    block = response(b"<html>caf\xe9</html>", content_type=None, extra=head)
    one = only(read(write(tmp_path, record(block, " <http://a.example/x> ")))[0])
    assert one == Capture(
        url="http://a.example/x",
        body=b"<html>caf\xe9</html>",
        source="some.warc.gz",
        offset=0,
        media_type="text/html",
        charset="ISO-8859-1",
        ip="192.0.2.1",
        time=1_714_979_289_000_000,
        status=200,
    )


def test_records_that_are_no_pages_are_counted_by_what_they_are(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        record(b"software: x\r\n", None, kind="warcinfo", content_type="application/warc-fields"),
        record(b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        record(b"x: y", kind="metadata"),
        record(b"", kind="revisit"),
        record(b"some", kind="continuation"),
        record(b"20240101 1.2.3.4", "dns:a.example", content_type="text/dns"),
        record(b"<p>", "ftp://a.example/", kind="resource", content_type="text/html"),
        record(b"x", kind="of-the-future"),
        record(b"<html>no HTTP header"),
        record(b""),
    )
    assert short(read(path)[0]) == [
        *("warcinfo", "request", "metadata", f"revisit {A}", f"segment {A}", "not-http dns:a.example"),
        *("not-http ftp://a.example/", "of-the-future", f"bad-header {A}", f"empty {A}"),
    ]


def test_a_resource_is_a_page_if_it_is_text(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        record(HTML, A, kind="resource", content_type="text/html; charset=utf-8"),
        record(PNG, B, kind="resource", content_type="image/png"),
        record(HTML, C, content_type="text/html"),
    )
    found, _ = read(path)
    assert short(found) == [A, f"not-text {B}", C]
    one = only(found[:1])
    assert (one.status, one.media_type, one.charset, one.body) == (None, "text/html", "utf-8", HTML)
    assert short(read(path, status="404")[0])[0] == f"other-status {A}"


def test_wet_records_are_text_only(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        record(b"x", None, kind="warcinfo"),
        record("Grüße".encode(), A, kind="conversion", content_type="text/plain"),
        record(b"caf\xe9", B, kind="conversion", content_type="text/plain"),
        name="some.warc.wet.gz",
    )
    passed, first, second = read(path)[0]
    assert passed == Passed("warcinfo")
    assert isinstance(first, Capture)
    assert isinstance(second, Capture)
    assert (first.is_text_only, first.body.decode(), first.status) == (True, "Grüße", None)
    assert (second.url, second.is_text_only, second.body.decode()) == (B, True, "caf\ufffd")


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
@pytest.mark.parametrize("name", ["some.warc.gz", "some.warc"])
def test_all_versions_of_warc_are_read(tmp_path: Path, version: str, name: str) -> None:
    path = write(tmp_path, made.whole(A, version=version), made.whole(B, version=version), name=name)
    assert short(read(path)[0]) == [A, B]


def test_bare_line_ends_are_read(tmp_path: Path) -> None:
    block = b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n<p>one\r\n\r\ntwo"
    head = b"WARC/1.0\nWARC-Type: response\nWARC-Target-URI: http://a.example/\nContent-Length: %d\n\n"
    path = write(tmp_path, (head % len(block) + block + b"\n\n") * 2, name="some.warc")
    found, _ = read(path)
    assert [one.body for one in found if isinstance(one, Capture)] == [b"<p>one\r\n\r\ntwo"] * 2


def test_a_page_that_holds_the_text_of_a_warc_is_one_page(tmp_path: Path) -> None:
    body = b"<pre>" + made.whole(B) + made.whole(C)
    for name in ("some.warc", "some.warc.gz"):
        found, _ = read(write(tmp_path, record(response(body), A), made.whole(C), name=name))
        assert short(found) == [A, C]
        assert only(found[:1]).body == body


def _arc_record(url: str, block: bytes, length: int | None = None) -> bytes:
    line = f"{url} 192.0.2.1 20070304050607 text/html {len(block) if length is None else length}\n"
    return line.encode() + block + b"\n"


ARC_HEAD = _arc_record(
    "filedesc://some.arc", b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
)


@pytest.mark.parametrize("is_one_member", [False, True])
@pytest.mark.parametrize("name", ["some.arc.gz", "some.arc"])
def test_arc_files_are_read(tmp_path: Path, name: str, is_one_member: bool) -> None:
    records = (
        ARC_HEAD,
        _arc_record("dns:a.example", b"20070304050607\na.example. 1 IN A 192.0.2.1\n"),
        _arc_record(A, response(page(A))),
        _arc_record(B, response(page(B), status="404 Not Found")),
        _arc_record("http://c.example/with space", response(page(C))),
    )
    path = write(tmp_path, *([b"".join(records)] if is_one_member else records), name=name)
    found, span = read(path)
    expected = ["filedesc", "not-http dns:a.example", A, f"http-error {B}", "http://c.example/with space"]
    assert short(found) == expected
    one = only(found[2:3])
    assert (one.body, one.ip, one.time) == (page(A), "192.0.2.1", 1_172_984_767_000_000)
    assert span == Span(0, path.stat().st_size)


@pytest.mark.parametrize("name", ["some.arc.gz", "some.arc"])
@pytest.mark.parametrize(("wrong", "reason"), [(500, "truncated"), (-500, "bad-header")])
def test_a_wrong_length_in_an_arc_file_costs_that_record_only(
    tmp_path: Path, name: str, wrong: int, reason: str
) -> None:
    block = response(page(B))
    records = [ARC_HEAD, _arc_record(B, block, len(block) + wrong), _arc_record(C, response(page(C)))]
    assert short(read(write(tmp_path, *records, name=name))[0]) == ["filedesc", f"{reason} {B}", C]


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2024-05-06T07:08:09Z", 1_714_979_289_000_000),
        ("2024-05-06T07:08:09.25Z", 1_714_979_289_250_000),
        ("2024-05-06T07:08:09.123456789Z", 1_714_979_289_123_456),
        ("2024-05-06T09:08:09+02:00", 1_714_979_289_000_000),
        ("2024-05-06T07:08Z", 1_714_979_280_000_000),
        ("2024-05-06", 1_714_953_600_000_000),
        ("2024", 1_704_067_200_000_000),
        ("20240506070809", 1_714_979_289_000_000),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("2024-13-06T07:08:09Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        ("2024 or so", None),
    ],
)
def test_dates_become_microseconds_and_bad_ones_none(tmp_path: Path, date: str, expected: int | None) -> None:
    assert only(read(write(tmp_path, made.whole(A, date=date)))[0]).time == expected


@pytest.mark.parametrize("name", [name for name in SOUND if "dictionary" not in name])
def test_fastwarc_finds_as_many_records(name: str) -> None:
    with (DATA / name).open("rb") as file:
        assert sum(1 for _ in ArchiveIterator(file)) == len(read(DATA / name)[0])


def test_a_zstd_dictionary_may_be_compressed_and_a_frame_hold_many_records(tmp_path: Path) -> None:
    raw = zstandard.ZstdCompressionDict(made.whole(A) * 2, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    packed = zstandard.compress(raw.as_bytes())
    framed = zstandard.ZstdCompressor(dict_data=raw).compress(made.whole(A) + made.whole(B))
    path = tmp_path / "some.warc.zst"
    path.write_bytes(struct.pack("<II", 0x184D2A5D, len(packed)) + packed + framed)
    assert short(read(path)[0]) == [A, B]
