import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from unquilt.errors import BadInput
from unquilt.ingest.capture import Capture, Passed, Skip
from unquilt.ingest.inputs import Piece, plan
from unquilt.ingest.params import IngestParams
from unquilt.ingest.tables import read_jsonl, read_parquet

PARAMS = IngestParams(max_page_bytes=4096, split_bytes=65536)
GOOD = b'{"url": "http://a.org/", "html": "<p>x"}\n'
Found = list[Capture | Skip | Passed]


def from_jsonl(path: Path, data: bytes, params: IngestParams = PARAMS) -> Found:
    path.write_bytes(data)
    return list(read_jsonl(Piece("jsonl", str(path), "t.jsonl"), params))


def from_parquet(path: Path, table: pa.Table, params: IngestParams = PARAMS) -> Found:
    pq.write_table(table, path)
    return list(read_parquet(Piece("parquet", str(path), "t.parquet"), params))


def summary(found: Found) -> list[str]:
    return [one.reason if isinstance(one, Skip) else type(one).__name__ for one in found]


def test_a_line_is_a_page(tmp_path: Path) -> None:
    row = {
        "url": "http://a.org/x",
        "html": "<p>é",
        "time": "2020-01-02T03:04:05Z",
        "ip": "192.0.2.1",
        "status": 200,
        "content_type": "text/html; charset=latin-1",
    }
    assert from_jsonl(tmp_path / "t", b"\n" + json.dumps(row).encode()) == [
        Capture(
            url="http://a.org/x",
            body="<p>é".encode(),
            source="t.jsonl",
            offset=1,
            media_type="text/html",
            charset="utf-8",
            ip="192.0.2.1",
            time=1577934245_000_000,
            status=200,
        )
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "bad-row"),
        (b'{"url": "http://a.org/", "html": "<p', "bad-row"),
        (b"[1, 2]", "bad-row"),
        (b"null", "bad-row"),
        (b'{"html": "<p>"}', "bad-row"),
        (b'{"url": null, "html": "<p>"}', "bad-row"),
        (b'{"url": NaN, "html": "<p>"}', "bad-row"),
        (b'{"url": ["http://a.org/"], "html": "<p>"}', "bad-row"),
        (b'{"url": "http://a.org/"}', "bad-row"),
        (b'{"url": "http://a.org/", "html": NaN}', "bad-row"),
        (b'{"url": "http://a.org/", "html": {"a": 1}}', "bad-row"),
        (b"[" * 100_000, "too-large"),
        (b"[" * 8000, "bad-row"),
        (b'{"url": "http://a.org/", "html": ""}', "empty"),
        (b'{"url": "nowhere", "html": "<p>"}', "bad-url"),
        (b'{"url": "http://a.org/", "html": "%s"}' % (b"x" * 5000), "too-large"),
        (b'{"url": "http://a.org/", "html": "<p>", "status": 404}', "http-error"),
        (b'{"url": "http://a.org/", "html": "<p>", "status": "301"}', "redirect"),
        (b'{"url": "http://a.org/", "html": "<p>", "media_type": "image/png"}', "not-text"),
    ],
)
def test_a_bad_line_is_skipped_and_the_others_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    found = from_jsonl(tmp_path / "t", GOOD + line + b"\n" + GOOD)
    assert summary(found) == ["Capture", reason, "Capture"]
    assert [one.offset for one in found if not isinstance(one, Passed)] == [
        0,
        len(GOOD),
        len(GOOD) + len(line) + 1,
    ]


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    endless = b'{"url": "' + b"x" * 5_000_000
    assert summary(from_jsonl(tmp_path / "t", GOOD + endless + b"\n" + GOOD)) == [
        "Capture",
        "too-large",
        "Capture",
    ]


def test_half_characters_survive_as_replacements(tmp_path: Path) -> None:
    (page,) = from_jsonl(tmp_path / "t", b'{"url": "http://a.org/\\ud800", "html": "a\\udc00b \\ud83d\\ude00"}')
    assert isinstance(page, Capture)
    assert page.url == "http://a.org/\ufffd"
    assert page.body.decode() == "a\ufffdb 😀"


def test_text_is_taken_where_there_is_no_html(tmp_path: Path) -> None:
    (page,) = from_jsonl(tmp_path / "t", b'{"url": "http://a.org/", "html": null, "text": "x"}')
    assert isinstance(page, Capture)
    assert (page.body, page.is_text_only, page.media_type) == (b"x", True, "text/plain")


@pytest.mark.parametrize("data", [b'{"uri": "http://a.org/", "html": "x"}\n', b'{"uri": "x", "html": "y"}\n' * 300])
def test_jsonl_without_the_columns_names_those_it_has(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadInput, match="its columns are: uri, html") as error:
        from_jsonl(tmp_path / "t", data)
    assert "--url-column" in error.value.fix
    with pytest.raises(BadInput, match="'html' or 'text'"):
        from_jsonl(tmp_path / "t", b'{"url": "http://a.org/", "body": "x"}')


def test_columns_can_be_named(tmp_path: Path) -> None:
    params = IngestParams(url_column="uri", html_column="raw")
    assert summary(from_jsonl(tmp_path / "t", b'{"uri": "http://a.org/", "raw": "x"}', params)) == ["Capture"]


@pytest.mark.parametrize(
    ("given", "time"),
    [
        ("2020-01-02", 1577923200_000_000),
        ("2020-01-02T03:04:05+01:00", 1577930645_000_000),
        ("20200102030405", 1577934245_000_000),
        (1577934245, 1577934245_000_000),
        (1577934245.5, 1577934245_500_000),
        (1577934245_000, 1577934245_000_000),
        ("1577934245", 1577934245_000_000),
        ("yesterday", None),
        (True, None),
        (1e300, None),
        (None, None),
    ],
)
def test_times_are_read_in_many_forms(tmp_path: Path, given: object, time: int | None) -> None:
    row = {"url": "http://a.org/", "html": "x", "date": given}
    (page,) = from_jsonl(tmp_path / "t", json.dumps(row).encode())
    assert isinstance(page, Capture)
    assert page.time == time


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_jsonl_cut_off_gives_its_pages_until_there(tmp_path: Path, pack: Any) -> None:
    lines = b"".join(
        b'{"url": "http://a.org/%d", "html": "%s"}\n' % (i, os.urandom(500).hex().encode()) for i in range(1000)
    )
    assert summary(from_jsonl(tmp_path / "t", pack(lines))) == ["Capture"] * 1000
    found = summary(from_jsonl(tmp_path / "t", pack(lines)[:-1000]))
    assert found[-1] == "truncated"
    assert set(found[:-1]) == {"Capture"}
    assert len(found) > 500


def test_the_pieces_of_a_file_give_every_line_once(tmp_path: Path) -> None:
    lines = [json.dumps({"url": f"http://a.org/{i}", "html": "é" * (i % 500 + 1)}) for i in range(1000)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    pieces = plan([str(tmp_path / "t.jsonl")], PARAMS).pieces
    assert len(pieces) > 2
    found = [one for piece in pieces for one in read_jsonl(piece, PARAMS)]
    assert [one.url for one in found if isinstance(one, Capture)] == [f"http://a.org/{i}" for i in range(1000)]


@given(st.binary(max_size=200), st.integers(0, len(GOOD)))
def test_no_damage_stops_the_reading(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    data = GOOD + GOOD[:at] + noise + b"\n" + GOOD
    found = from_jsonl(tmp_path_factory.getbasetemp() / "noise.jsonl", data)
    assert isinstance(found[0], Capture)
    assert isinstance(found[-1], Capture)


def test_rows_of_parquet_are_pages(tmp_path: Path) -> None:
    table = pa.table(
        {
            "url": pa.array(["http://a.org/1", None, "http://a.org/3"]).dictionary_encode(),
            "html": pa.array([b"<p>\xe9", b"<p>", None]),
            "text": ["no", "no", "yes"],
            "charset": ["latin-1", None, None],
            "timestamp": pa.array([1577934245, None, None], pa.timestamp("s")),
            "other": [[1], [2], [3]],
        }
    )
    first, second, third = from_parquet(tmp_path / "t", table)
    assert first == Capture(
        url="http://a.org/1",
        body=b"<p>\xe9",
        source="t.parquet",
        offset=0,
        media_type="text/html",
        charset="latin-1",
        time=1577934245_000_000,
    )
    assert isinstance(second, Skip)
    assert (second.reason, second.offset) == ("bad-row", 1)
    assert isinstance(third, Capture)
    assert (third.body, third.offset, third.is_text_only) == (b"yes", 2, True)


def test_strings_of_parquet_that_are_not_utf_8_are_read_as_bytes(tmp_path: Path) -> None:
    html = pa.array([b"<p>\xff"]).view(pa.string())
    (page,) = from_parquet(tmp_path / "t", pa.table({"url": ["http://a.org/"], "html": html}))
    assert isinstance(page, Capture)
    assert (page.body, page.charset) == (b"<p>\xff", "utf-8")


def test_row_groups_are_read_apart_with_their_row_numbers(tmp_path: Path) -> None:
    table = pa.table({"url": [f"http://a.org/{i}" for i in range(1000)], "html": ["<p>"] * 1000})
    pq.write_table(table, tmp_path / "t", row_group_size=300)
    found = list(read_parquet(Piece("parquet", str(tmp_path / "t"), "t", 1, 3), PARAMS))
    assert [one.offset for one in found if isinstance(one, Capture)] == list(range(300, 900))


def test_a_damaged_row_group_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    table = pa.table({"url": [f"http://a.org/{i}" for i in range(30)], "html": [os.urandom(900) for _ in range(30)]})
    pq.write_table(table, tmp_path / "t", row_group_size=10, compression="zstd", use_dictionary=False)
    column = pq.ParquetFile(tmp_path / "t").metadata.row_group(1).column(1)
    data = bytearray((tmp_path / "t").read_bytes())
    data[column.data_page_offset : column.data_page_offset + 40] = b"\xff" * 40
    (tmp_path / "t").write_bytes(data)
    found = list(read_parquet(Piece("parquet", str(tmp_path / "t"), "t"), PARAMS))
    assert summary(found) == ["Capture"] * 10 + ["truncated"] + ["Capture"] * 10


def test_a_parquet_file_that_is_gone_is_skipped(tmp_path: Path) -> None:
    assert summary(list(read_parquet(Piece("parquet", str(tmp_path / "t"), "t"), PARAMS))) == ["unreadable"]
