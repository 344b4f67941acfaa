from __future__ import annotations

import gzip
import importlib.util
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.errors import BadInput, BadParameter
from unquilt.ingest.capture import Capture, Passed, Skip
from unquilt.ingest.http import decode_body, parse_status
from unquilt.ingest.params import IngestParams
from unquilt.ingest.warc import Span, is_splittable, read_warc

DATA = Path(__file__).parent / "data"
A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
MIB = 1 << 20


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


DAMAGED = {
    "truncated-last-member.warc.gz": [A, B, f"truncated {C}"],
    "truncated-trailer.warc.gz": [A, B, f"truncated {C}"],
    "truncated-member.warc.gz": [A, "truncated", C],
    "truncated-one-member.warc.gz": [A, B, f"truncated {C}"],
    "truncated.warc": [A, B, f"truncated {C}"],
    "truncated-in-header.warc": [A, B, "truncated"],
    "truncated-frame.warc.zst": [A, B, "truncated"],
    "corrupt-member.warc.gz": [A, "truncated", C],
    "corrupt-frame.warc.zst": [A, "garbage", C],
    "wrong-checksum.warc.gz": [A, "truncated", C],
    "garbage-between-members.warc.gz": [A, "garbage", B, C],
    "garbage-first.warc.gz": ["garbage", A, B, C],
    "garbage-like-a-member.warc.gz": [A, "truncated", B, C],
    "garbage-inside-a-member.warc.gz": [A, "garbage", B, C],
    "zeros-at-the-end.warc.gz": [A, B, C, "garbage"],
    "empty-member.warc.gz": [A, B, C],
    "no-warc-in-a-member.warc.gz": [A, "garbage", B, C],
    "content-length-too-long.warc.gz": [A, f"truncated {B}", C],
    "content-length-too-long.warc": [A, f"truncated {B}", C],
    "content-length-huge.warc": [A, f"truncated {B}", C],
    "content-length-huge-one-member.warc.gz": [A, f"truncated {B}", C],
    "content-length-too-short.warc.gz": [A, f"bad-header {B}", C],
    "content-length-too-short.warc": [A, f"bad-header {B}", C],
    "content-length-missing.warc.gz": [A, f"bad-header {B}", C],
    "content-length-missing.warc": [A, f"bad-header {B}", C],
    "content-length-not-a-number.warc.gz": [A, f"bad-header {B}", C],
    "target-uri-missing.warc.gz": [A, "bad-header", C],
    "nul-in-header.warc.gz": [A, f"bad-header {B}", C],
    "no-end-of-header.warc.gz": [A, "bad-header", C],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_costs_the_damaged_record_only(name: str) -> None:
    found, span = read(DATA / name)
    assert short(found) == DAMAGED[name]
    assert span.stop == (DATA / name).stat().st_size
    assert all(one.body == page(one.url) for one in found if isinstance(one, Capture))
    assert all(one.detail for one in found if isinstance(one, Skip))


def test_every_damaged_file_is_tested_and_is_what_the_script_makes() -> None:
    files = {path.name: path.read_bytes() for path in DATA.glob("*.warc*")}
    assert files.keys() == made.archives().keys() == {*SOUND, *DAMAGED}
    plain_or_gzip = [name for name in files if not name.endswith(".zst")]  # zstd's bytes differ by version
    assert all(files[name] == made.archives()[name] for name in plain_or_gzip)


def test_a_member_is_skipped_at_its_own_offset() -> None:
    found, _ = read(DATA / "wrong-checksum.warc.gz")
    first = len(member(made.whole(A)))
    assert [one.offset for one in found if not isinstance(one, Passed)] == [
        0,
        first,
        first + len(member(made.whole(B))),
    ]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_damage_is_survived_and_costs_at_most_the_records_it_touches(data: st.DataObject) -> None:
    urls = [f"http://{number}.example/" for number in range(6)]
    members = [member(made.whole(url)) for url in urls]
    whole = bytearray(b"".join(members))
    begin = data.draw(st.integers(0, len(whole) - 1))
    end = min(len(whole), begin + data.draw(st.integers(1, 2000)))
    if data.draw(st.booleans()):
        del whole[begin:end]
    else:
        whole[begin:end] = random.Random(begin).randbytes(end - begin)
    path = Path(_folder()) / "hurt.warc.gz"
    path.write_bytes(whole)
    starts = [sum(map(len, members[:number])) for number in range(7)]
    untouched = [
        url for url, low, high in zip(urls, starts, starts[1:], strict=False) if high <= begin or low >= end
    ]
    found, _ = read(path)
    assert [one.url for one in found if isinstance(one, Capture)] == untouched
    assert all(one.body == page(one.url) for one in found if isinstance(one, Capture))
    # Cutting out exactly whole members leaves no trace.
    is_clean = len(whole) < starts[-1] and begin in starts and end in starts
    assert is_clean or any(isinstance(one, Skip) for one in found)


@pytest.fixture(scope="module", autouse=True)
def _make_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    _FOLDER.append(tmp_path_factory.mktemp("warc"))


_FOLDER: list[Path] = []


def _folder() -> Path:
    return _FOLDER[-1]


def _with_a_warc_inside() -> bytes:
    """A file in which one page is itself a WARC of two records, stored: its members look like true ones."""
    inside = member(record(response(b"<p>inside"), "http://inside.example/1"))
    inside += member(record(response(b"<p>inside"), "http://inside.example/2"))
    inside += random.Random(1).randbytes(500)
    outer = record(response(inside, content_type="application/gzip"), "http://outer.example/")
    plain = [member(made.whole(url)) for url in (A, B, C)]
    passed = member(record(b"x: y\r\n", kind="request", content_type="application/http; msgtype=request"))
    return b"".join([plain[0], passed, made.gzip_member(outer, 0), plain[1], b"garbage", plain[2]])


def _read_in_ranges(path: Path, cuts: list[int]) -> tuple[Found, int]:
    """What a caller does who reads the ranges apart from each other; also how many it read again."""
    borders = [0, *cuts, path.stat().st_size]
    pairs = list(zip(borders, borders[1:], strict=False))
    pieces = [read(path, begin, end) for begin, end in pairs]
    again = 0
    found, stop = list(pieces[0][0]), pieces[0][1].stop
    for (_, end), (piece, span) in zip(pairs[1:], pieces[1:], strict=True):
        if span.first != stop:
            piece, span = read(path, stop, max(end, stop), exact=True)
            again += 1
        found += piece
        stop = span.stop
    return found, again


@settings(max_examples=120, deadline=None)
@given(st.lists(st.integers(1, len(_with_a_warc_inside()) - 1), unique=True, max_size=5).map(sorted))
def test_any_ranges_of_a_file_give_every_record_once(cuts: list[int]) -> None:
    path = Path(_folder()) / "inside.warc.gz"
    if not path.exists():
        path.write_bytes(_with_a_warc_inside())
    assert _read_in_ranges(path, cuts)[0] == read(path)[0]


def test_a_range_that_begins_in_a_warc_inside_a_page_does_not_meet_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "inside.warc.gz"
    path.write_bytes(_with_a_warc_inside())
    assert short(read(path)[0]) == [A, "request", "not-text http://outer.example/", B, "garbage", C]
    cut = path.read_bytes().index(b"http://outer.example/") + 200
    _, before = read(path, 0, cut)
    after_found, after = read(path, cut, None)
    assert before.stop != after.first
    assert "http://inside.example/1" in short(after_found)
    assert _read_in_ranges(path, [cut]) == (read(path)[0], 1)


def test_ranges_of_a_sound_file_meet_without_reading_again() -> None:
    path = DATA / "sound.warc.gz"
    for cut in range(1, path.stat().st_size, 37):
        assert _read_in_ranges(path, [cut]) == (read(path)[0], 0)


@pytest.mark.parametrize("name", ["sound.warc", "sound.warc.zst", "sound-dictionary.warc.zst"])
def test_other_files_can_be_read_in_ranges_too(name: str) -> None:
    whole, _ = read(DATA / name)
    for cut in range(1, (DATA / name).stat().st_size, 211):
        assert _read_in_ranges(DATA / name, [cut])[0] == whole


def test_only_gzip_is_splittable() -> None:
    assert [is_splittable((DATA / name).read_bytes()[:16]) for name in SOUND] == [
        True,
        False,
        False,
        False,
        True,
    ]


def test_a_range_behind_the_end_is_empty() -> None:
    size = (DATA / "sound.warc.gz").stat().st_size
    assert read(DATA / "sound.warc.gz", size + 10) == ([], Span(size, size))


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert read(write(tmp_path)) == ([], Span(0, 0))


@pytest.mark.parametrize("name", ["noise.warc", "noise.warc.gz", "noise.warc.zst"])
def test_noise_is_one_skip(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff" + random.Random(2).randbytes(10_000))
    assert short(read(tmp_path / name)[0]) == ["garbage"]


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gone\.warc cannot be opened: no such file") as caught:
        read(tmp_path / "gone.warc")
    assert caught.value.fix


def _repeated_member(head: bytes, unit: bytes, times: int, tail: bytes) -> bytes:
    """A gzip member of head, ``times`` units and tail, without deflating the units more than once."""
    crc = 0
    for part in (head, *[unit] * times, tail):
        crc = zlib.crc32(part, crc)

    def flushed(data: bytes, mode: int = zlib.Z_FULL_FLUSH) -> bytes:
        deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
        return deflater.compress(data) + deflater.flush(mode)

    deflated = flushed(head) + flushed(unit) * times + flushed(tail, zlib.Z_FINISH)
    size = len(head) + len(unit) * times + len(tail)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + deflated + struct.pack("<II", crc, size & 0xFFFFFFFF)


def _large_record(size: int, *, content_type: str = "text/html") -> tuple[bytes, bytes]:
    """What comes before and after a body of ``size`` bytes."""
    head = response(b"", content_type=content_type)
    return record(head, B, length=str(len(head) + size))[:-4], b"\r\n\r\n"


IN_LITTLE_MEMORY = """
import pathlib, resource, sys
from unquilt.ingest.params import IngestParams
from unquilt.ingest.warc import read_warc
now = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (64 << 20), now + (64 << 20)))
for one in read_warc(sys.argv[1], 0, None, IngestParams(max_page_bytes=1 << 20), name="bomb"):
    print(one.reason if hasattr(one, "reason") else one.url)
"""


def read_in_little_memory(path: Path) -> list[str]:
    """Read with pages of 1 MiB at most by a process that can get 64 MiB."""
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("size", ["true", "too large", "too small"])
def test_a_member_that_inflates_to_a_gibibyte_takes_little_memory(tmp_path: Path, size: str) -> None:
    said = {"true": 1024 * MIB, "too large": 1 << 50, "too small": 1000}[size]
    head, tail = _large_record(said)
    bomb = _repeated_member(head, bytes(MIB), 1024, tail)
    path = tmp_path / "bomb.warc.gz"
    path.write_bytes(member(made.whole(A)) + bomb + member(made.whole(C)))
    assert path.stat().st_size < 3 * MIB
    reason = {"true": "too-large", "too large": "truncated", "too small": "bad-header"}[size]
    assert read_in_little_memory(path) == [A, reason, C]


def _body_bombs() -> dict[str, bytes]:
    deflater = zstandard.ZstdCompressor().compressobj()
    zstd = b"".join(deflater.compress(bytes(MIB)) for _ in range(512)) + deflater.flush()
    return {
        "gzip": _repeated_member(b"", bytes(MIB), 512, b""),
        "zstd": zstd,
        "br": brotli.compress(bytes(256 * MIB), quality=1, lgwin=18),
        "deflate": zlib.compress(bytes(128 * MIB), 1),
        "gzip, gzip": gzip.compress(_repeated_member(b"", bytes(MIB), 512, b""), 1),
    }


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_bodies_that_inflate_to_hundreds_of_mebibytes_take_little_memory(tmp_path: Path) -> None:
    bombs = [
        record(response(body, extra=f"Content-Encoding: {encoding}\r\n"), B)
        for encoding, body in _body_bombs().items()
    ]
    path = write(tmp_path, made.whole(A), *bombs, made.whole(C))
    assert read_in_little_memory(path) == [A, *["too-large"] * len(bombs), C]


@pytest.mark.parametrize("name", ["large.warc.gz", "large.warc"])
def test_a_page_of_200_megabytes_is_skipped_and_the_next_one_read(tmp_path: Path, name: str) -> None:
    unit = (b"<p>so much to say, so many words" * 32768)[:MIB]
    head, tail = _large_record(200 * MIB)
    path = tmp_path / name
    if name.endswith(".gz"):
        large = _repeated_member(head, unit, 200, tail)
        path.write_bytes(member(made.whole(A)) + large + member(made.whole(C)))
    else:
        with path.open("wb") as file:
            file.write(made.whole(A) + head)
            for _ in range(200):
                file.write(unit)
            file.write(tail + made.whole(C))
    assert short(read(path)[0]) == [A, f"too-large {B}", C]


def test_a_large_record_that_would_not_be_a_page_anyway_is_skipped_for_that(tmp_path: Path) -> None:
    head, tail = _large_record(2 * MIB, content_type="video/mp4")
    path = write(tmp_path, head + bytes(2 * MIB) + tail, made.whole(C))
    assert short(read(path, max_page_bytes=MIB)[0]) == [f"not-text {B}", C]


def test_the_longest_page_allowed_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, record(response(b"x" * 5000), A), record(response(b"x" * 5001), B))
    assert short(read(path, max_page_bytes=5000)[0]) == [A, f"too-large {B}"]


HTML = b"<html><p>" + b"a page of some words " * 200 + b"</html>"


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
def test_a_body_stored_without_its_declared_encodings_is_taken_as_it_is(
    tmp_path: Path, encoding: str
) -> None:
    extra = f"Content-Encoding: {encoding}\r\nTransfer-Encoding: chunked\r\n"
    assert only(read(write(tmp_path, record(response(HTML, extra=extra), A)))[0]).body == HTML


@pytest.mark.parametrize("body", [b"12 monkeys", b"12\r\nmonkeys went to see what was not there", b"<p>no"])
def test_a_body_that_is_not_chunked_is_taken_as_it_is(body: bytes) -> None:
    assert decode_body(body, transfer=b"chunked", content=b"", most=MIB) == body


def test_of_a_chunked_body_that_breaks_off_the_beginning_is_kept() -> None:
    body = _chunked(HTML)
    assert decode_body(body[:1500], transfer=b"chunked", content=b"", most=MIB) == HTML[:1485]


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


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


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
def test_statuses_that_were_not_asked_for_are_skipped(
    tmp_path: Path, status: str, asked: str, expected: str
) -> None:
    assert short(read(write(tmp_path, record(response(HTML, status=status), A)), status=asked)[0]) == [
        expected
    ]


@pytest.mark.parametrize("text", ["", "ok", "200-", "299-200", "200,,203", "2xx", "20000"])
def test_a_status_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="neither a status nor a range"):
        parse_status(text)


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


@pytest.mark.parametrize("name", ["some.arc.gz", "some.arc"])
def test_arc_files_are_read(tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path,
        ARC_HEAD,
        _arc_record("dns:a.example", b"20070304050607\na.example. 1 IN A 192.0.2.1\n"),
        _arc_record(A, response(page(A))),
        _arc_record(B, response(page(B), status="404 Not Found")),
        _arc_record("http://c.example/with space", response(page(C))),
        name=name,
    )
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
