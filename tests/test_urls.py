import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unquilt.ingest.capture import Skip
from unquilt.ingest.files import compression_of
from unquilt.ingest.inputs import Piece
from unquilt.ingest.params import IngestParams
from unquilt.ingest.sites import host_of
from unquilt.ingest.urls import URL_TABLE, read_urls


def read(path: Path, data: bytes, begin: int = 0, end: int | None = None) -> tuple[list[dict[str, object]], list[Skip]]:
    path.write_bytes(data)
    found = list(read_urls(Piece("urls", str(path), "list", begin, end), IngestParams()))
    tables = [one for one in found if not isinstance(one, Skip)]
    assert all(table.schema == URL_TABLE for table in tables)
    rows = pa.concat_tables(tables).to_pylist() if tables else []
    return rows, [one for one in found if isinstance(one, Skip)]


def test_both_forms_are_read_with_their_offsets(tmp_path: Path) -> None:
    rows, skipped = read(tmp_path / "l", b"# list\nhttp://A.org/x\r\n\n b.org\t/y z\nc.org\tq\nhttps://d.org")
    assert [tuple(row.values()) for row in rows] == [
        ("http://A.org/x", "a.org", 7),
        ("http://b.org/y z", "b.org", 24),
        ("http://c.org/q", "c.org", 36),
        ("https://d.org", "d.org", 44),
    ]
    assert skipped == []


def test_bad_lines_are_skipped_with_their_reason(tmp_path: Path) -> None:
    long = b"http://a.org/" + b"x" * 70_000
    rows, skipped = read(tmp_path / "l", b"nonsense\nftp://a.org/\nhttp://b.org/\nhttp:///x\n" + long + b"\n")
    assert [row["url"] for row in rows] == ["http://b.org/"]
    assert [(skip.reason, skip.offset) for skip in skipped] == [
        ("bad-url", 0),
        ("not-http", 9),
        ("bad-url", 36),
        ("too-large", 46),
    ]


def test_bytes_that_are_not_utf_8_stay_as_percent_escapes(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "l", b"http://a.org/caf\xe9\nhttp://a.org/caf\xc3\xa9\nhttp://b.org/")
    assert [row["url"] for row in rows] == ["http://a.org/caf%E9", "http://a.org/café", "http://b.org/"]
    assert [row["offset"] for row in rows] == [0, 18, 37]


def test_a_compressed_list_cut_off_gives_its_urls_until_there(tmp_path: Path) -> None:
    data = b"".join(b"http://a%d.org/%d\n" % (i * 7919 % 10007, i) for i in range(100_000))
    assert len(read(tmp_path / "l", gzip.compress(data))[0]) == 100_000
    rows, skipped = read(tmp_path / "l", gzip.compress(data)[:-1000])
    assert len(rows) > 50_000
    assert [skip.reason for skip in skipped] == ["truncated"]


def test_a_list_that_is_gone_is_skipped(tmp_path: Path) -> None:
    (skip,) = read_urls(Piece("urls", str(tmp_path / "none"), "none"), IngestParams())
    assert isinstance(skip, Skip)
    assert skip.reason == "unreadable"


lines = st.lists(
    st.sampled_from([b"http://a.org/", b"HTTPS://B.org:80/x", b"c.org\t/y", b"", b"#", b"bad", b"http://\xff/", b"\t"])
    | st.binary(max_size=20)
)


@given(lines, st.integers(0, 100))
def test_reading_at_once_agrees_with_reading_line_by_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], cut: int
) -> None:
    data = b"\n".join(lines)
    assume(not compression_of(data[:4]))  # what begins like gzip is read as gzip, whatever follows
    path = tmp_path_factory.getbasetemp() / "urls"
    expected = []
    for raw in data.split(b"\n"):
        escaped = "".join(
            f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char
            for char in raw.decode("utf-8", "surrogateescape")
        )
        line = escaped.strip(" \t\r\n\v\f\ufeff")
        if line and not line.startswith("#"):
            host, tab, rest = line.partition("\t")
            url = f"http://{host}/{rest.removeprefix('/')}" if tab else line
            is_http = url.lower().startswith(("http:", "https:"))
            expected.append((url, host_of(url) if is_http else ""))
    rows, skipped = read(path, data)
    assert [(row["url"], row["host"]) for row in rows] == [one for one in expected if one[1]]
    assert sorted(skip.url for skip in skipped) == sorted(url for url, host in expected if not host)
    cut = min(cut, len(data))
    halves = read(path, data, 0, cut)[0] + read(path, data, cut, None)[0] if cut else rows
    assert halves == rows
