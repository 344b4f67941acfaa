import gzip
import io
import os
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from unquilt.ingest.capture import Capture, Skip
from unquilt.ingest.files import DamageError, Inflated, line_blocks, read_folder, read_wacz, url_of_file
from unquilt.ingest.inputs import Piece, plan
from unquilt.ingest.params import IngestParams
from unquilt.ingest.sites import host_of
from unquilt.ingest.warc import read_warc

PARAMS = IngestParams(max_page_bytes=1024)
HTML = b"<!doctype html><p>Hello"


def read(folder: Path, name: str, data: bytes | None, params: IngestParams = PARAMS) -> Capture | Skip:
    if data is not None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (found,) = read_folder(Piece("html", str(folder), "folder", files=(name,)), params)
    assert isinstance(found, Capture | Skip)
    return found


def test_a_page_is_named_for_its_first_folder_and_has_no_time(tmp_path: Path) -> None:
    assert read(tmp_path, "a.org/x/y.html", HTML) == Capture(
        url="http://a.org/x/y.html",
        body=HTML,
        source="folder/a.org/x/y.html",
        offset=0,
        media_type="text/html",
    )


@pytest.mark.parametrize(
    ("name", "prefix", "url"),
    [
        ("a.org/x.html", "", "http://a.org/x.html"),
        ("a.org:8080/x.html", "", "http://a.org:8080/x.html"),
        ("x.html", "", "http://site.org/x.html"),
        ("a.org/x y?z#1%.html", "", "http://a.org/x%20y%3Fz%231%25.html"),
        ("a.org/café.html", "", "http://a.org/caf%C3%A9.html"),
        ("a.org/caf\udce9.html", "", "http://a.org/caf%E9.html"),
        ("my site/x.html", "", "http://my-20site/x.html"),
        ("münchen.de/x.html", "", "http://xn--mnchen-3ya.de/x.html"),
        ("..hidden/x.html", "", "http://-2e-2ehidden/x.html"),
        ("x/y.html", "https://a.org/docs", "https://a.org/docs/x/y.html"),
        ("x/y.html", "https://a.org/docs/", "https://a.org/docs/x/y.html"),
    ],
)
def test_the_url_of_a_file(name: str, prefix: str, url: str) -> None:
    assert url_of_file("somewhere/site.org", name, prefix) == url


@given(st.binary(min_size=1).filter(lambda name: not {0, 47} & set(name) and name not in (b".", b"..")))
def test_every_folder_name_makes_a_url_with_a_host(name: bytes) -> None:
    url = url_of_file("f", os.fsdecode(name + b"/x.html"))
    assert url.isascii()
    assert host_of(url)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a/large.html", HTML + b"x" * 1024, "too-large"),
        ("a/bomb.html.gz", gzip.compress(HTML + bytes(10_000_000)), "too-large"),
        ("a/bomb.html.zst", zstandard.compress(HTML + b" " * 10_000_000), "too-large"),
        ("a/empty.html", b"", "empty"),
        ("a/blank.html", b" \n", "empty"),
        ("a/picture.html", b"\x89PNG\r\n\x1a\n" + bytes(9), "not-text"),
        ("a/cut.html.gz", gzip.compress(os.urandom(500))[:200], "truncated"),
        ("a/gone.html", None, "unreadable"),
    ],
)
def test_a_file_that_is_no_page_is_skipped(tmp_path: Path, name: str, data: bytes | None, reason: str) -> None:
    found = read(tmp_path, name, data)
    assert isinstance(found, Skip)
    assert (found.reason, found.source) == (reason, f"folder/{name}")


def test_a_folder_and_a_pipe_in_place_of_a_page_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "dir.html").mkdir()
    os.mkfifo(tmp_path / "pipe.html")
    for name in ("dir.html", "pipe.html"):
        found = read(tmp_path, name, None)
        assert isinstance(found, Skip)
        assert found.reason == "unreadable"


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a/x.htm.gz", gzip.compress(HTML), "text/html"),
        ("a/x.xhtml", HTML, "application/xhtml+xml"),
        ("a/x.html", "<p>Grüße".encode("utf-16"), "text/html"),
        ("a/x", HTML, "text/html"),
        ("a/x.html", b"no markup", "text/html"),
    ],
)
def test_pages_are_inflated_and_typed(tmp_path: Path, name: str, data: bytes, media_type: str) -> None:
    found = read(tmp_path, name, data)
    assert isinstance(found, Capture)
    assert found.media_type == media_type
    assert found.body == (HTML if name.endswith(".gz") else data)


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, zstandard.compress])
@given(parts=st.lists(st.binary(max_size=50).map(lambda part: b"+" + part * 100), min_size=1, max_size=4))
def test_members_one_after_another_are_inflated(pack: type[bytes], parts: list[bytes]) -> None:
    stream = Inflated(io.BytesIO(b"".join(pack(part) for part in parts)))
    assert b"".join(iter(lambda: stream.read(1000), b"")) == b"".join(parts)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_what_comes_before_the_damage_is_read(pack: type[bytes]) -> None:
    good, cut = b"good" * 1000, pack(os.urandom(1 << 18))[:-100]
    stream = Inflated(io.BytesIO(pack(good) + cut))
    assert stream.read(4000) == good
    with pytest.raises(DamageError):
        list(iter(lambda: stream.read(1 << 16), b""))


@given(
    st.lists(st.integers(0, 30)),
    st.booleans(),
    st.lists(st.integers(0, 500)),
    st.integers(1, 40),
    st.integers(0, 40),
)
def test_every_line_belongs_to_the_range_it_starts_in(
    tmp_path_factory: pytest.TempPathFactory,
    lengths: list[int],
    ends: bool,
    cuts: list[int],
    block: int,
    max_line: int,
) -> None:
    data = b"\n".join(bytes([65 + i % 26]) * length for i, length in enumerate(lengths)) + b"\n" * ends
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(data)
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), None]
    read = bytearray()
    dropped = 0
    for begin, end in pairwise(bounds):
        assert begin is not None
        for offset, lines in line_blocks(str(path), begin, end, max_line=max_line, block=block):
            assert offset >= begin
            assert end is None or offset < end
            if lines is None:
                dropped += 1
            else:
                assert data[offset : offset + len(lines)] == lines
                read += lines
    if dropped:
        assert len(read) < len(data)
        assert max(lengths) >= max_line
    else:
        assert read == data


def response(number: int) -> bytes:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>" + os.urandom(300).hex().encode()
    header = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.org/{number}\r\n"
        f"WARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:x:{number}>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(page)}\r\n\r\n"
    )
    return header.encode() + page + b"\r\n\r\n"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_the_pieces_of_a_wacz_give_what_its_warcs_hold(tmp_path: Path, method: int, pack: type[bytes]) -> None:
    params = IngestParams(split_bytes=65536)
    expected = []
    with zipfile.ZipFile(tmp_path / "c.wacz", "w", method) as archive:
        for name in ("a", "b"):
            warc = tmp_path / name
            warc.write_bytes(b"".join(pack(response(number)) for number in range(400)))
            archive.write(warc, f"archive/{name}.warc")
            expected += list(read_warc(str(warc), 0, None, params, name=f"c.wacz/archive/{name}.warc"))
    pieces = plan([str(tmp_path / "c.wacz")], params).pieces
    assert len(pieces) > 2 or pack is not gzip.compress or method != zipfile.ZIP_STORED
    found = [one for piece in pieces for one in read_wacz(piece, params)]
    for one in found:
        if isinstance(one, Capture | Skip):
            one.source = one.source.removeprefix(f"{tmp_path}/")
    assert len(found) == 800
    assert found == expected


def test_a_wacz_whose_warc_is_damaged_or_gone_is_skipped(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "c.wacz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/a.warc", response(1))
        archive.writestr("archive/b.warc", response(2))
    path = tmp_path / "c.wacz"
    pieces = plan([str(path)], PARAMS).pieces
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    found = [one for piece in pieces for one in read_wacz(piece, PARAMS)]
    assert [type(one) for one in found] == [Skip, Capture]
    path.unlink()
    (skip,) = read_wacz(pieces[0], PARAMS)
    assert isinstance(skip, Skip)
    assert skip.reason == "unreadable"
