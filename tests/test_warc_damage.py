from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from test_warc import DATA, MIB, SOUND, A, B, C, made, member, page, read, record, response, short, write
from unquilt.errors import BadInput
from unquilt.ingest.capture import Capture, Passed, Skip
from unquilt.ingest.warc import Span

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
    "fields-missing.warc.gz": [A, "bad-header", C],
    "type-missing.warc.gz": [A, f"bad-header {B}", C],
    "http-header-missing.warc.gz": [A, f"bad-header {B}", C],
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
def test_any_damage_is_survived_and_costs_at_most_the_records_it_touches(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    urls = [f"http://{number}.example/" for number in range(6)]
    members = [member(made.whole(url)) for url in urls]
    whole = bytearray(b"".join(members))
    begin = data.draw(st.integers(0, len(whole) - 1))
    end = min(len(whole), begin + data.draw(st.integers(1, 2000)))
    if data.draw(st.booleans()):
        del whole[begin:end]
    else:
        whole[begin:end] = random.Random(begin).randbytes(end - begin)
    path = tmp_path_factory.getbasetemp() / "hurt.warc.gz"
    path.write_bytes(whole)
    starts = [sum(map(len, members[:number])) for number in range(7)]
    untouched = [url for url, low, high in zip(urls, starts, starts[1:], strict=False) if high <= begin or low >= end]
    found, _ = read(path)
    captured = [one.url for one in found if isinstance(one, Capture)]
    assert [url for url in captured if url in untouched] == untouched
    assert all(one.body == page(one.url) for one in found if isinstance(one, Capture))
    # Cutting out exactly whole members leaves no trace; the time in a gzip header does not matter.
    is_clean = captured == urls or (len(whole) < starts[-1] and begin in starts and end in starts)
    assert is_clean or any(isinstance(one, Skip) for one in found)


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
resource.setrlimit(resource.RLIMIT_AS, (now + (32 << 20), now + (32 << 20)))
for one in read_warc(sys.argv[1], 0, None, IngestParams(max_page_bytes=1 << 20), name="bomb"):
    print(one.reason if hasattr(one, "reason") else one.url)
"""


def read_in_little_memory(path: Path) -> list[str]:
    """Read with pages of 1 MiB at most by a process that can get 32 MiB more than it has."""
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("size", ["true", "too large", "too small"])
def test_a_member_that_inflates_to_128_mebibytes_takes_little_memory(tmp_path: Path, size: str) -> None:
    said = {"true": 128 * MIB, "too large": 1 << 50, "too small": 1000}[size]
    head, tail = _large_record(said)
    bomb = _repeated_member(head, bytes(MIB), 128, tail)
    path = tmp_path / "bomb.warc.gz"
    path.write_bytes(member(made.whole(A)) + bomb + member(made.whole(C)))
    assert path.stat().st_size < MIB
    reason = {"true": "too-large", "too large": "truncated", "too small": "bad-header"}[size]
    assert read_in_little_memory(path) == [A, reason, C]


def _body_bombs() -> dict[str, bytes]:
    deflater = zstandard.ZstdCompressor().compressobj()
    zstd = b"".join(deflater.compress(bytes(MIB)) for _ in range(128)) + deflater.flush()
    return {
        "gzip": _repeated_member(b"", bytes(MIB), 128, b""),
        "zstd": zstd,
        "br": brotli.compress(bytes(128 * MIB), quality=1, lgwin=18),
        "deflate": zlib.compress(bytes(128 * MIB), 1),
        "gzip, gzip": gzip.compress(_repeated_member(b"", bytes(MIB), 128, b""), 1),
    }


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_bodies_that_inflate_to_128_mebibytes_take_little_memory(tmp_path: Path) -> None:
    bombs = [
        record(response(body, extra=f"Content-Encoding: {encoding}\r\n"), B) for encoding, body in _body_bombs().items()
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


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SOUND), st.data())
def test_whatever_the_damage_the_file_is_read_to_its_end(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    whole = bytearray((DATA / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(whole)))
        end = begin + data.draw(st.integers(0, 400))
        whole[begin:end] = data.draw(st.binary(max_size=20) | st.just(b"WARC/1.0\r\n") | st.just(bytes(300)))
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(whole)
    found, span = read(path)
    assert span.stop == len(whole)
    assert found or not whole.strip()
