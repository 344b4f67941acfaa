from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_warc import DATA, SOUND, A, B, C, Found, made, member, read, record, response, short
from unquilt.ingest.warc import Span, is_splittable

INSIDE = ("http://inside.example/1", "http://inside.example/2")


def _with_a_warc_inside() -> bytes:
    """A file in which one page is itself a WARC of two records, stored: its members look like true ones."""
    inside = b"".join(member(record(response(b"<p>inside"), url)) for url in INSIDE)
    inside += random.Random(1).randbytes(500)
    outer = record(response(inside, content_type="application/gzip"), "http://outer.example/")
    plain = [member(made.whole(url)) for url in (A, B, C)]
    passed = member(record(b"x: y\r\n", kind="request", content_type="application/http; msgtype=request"))
    return b"".join([plain[0], passed, made.gzip_member(outer, 0), plain[1], b"garbage", plain[2]])


def _read_in_ranges(path: Path, cuts: list[int]) -> tuple[Found, int]:
    """What a caller does who reads the ranges apart from each other; also how many it read again."""
    borders = [0, *cuts, path.stat().st_size]
    pairs = list(pairwise(borders))
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
def test_any_ranges_of_a_file_give_every_record_once(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    path = tmp_path_factory.getbasetemp() / "inside.warc.gz"
    if not path.exists():
        path.write_bytes(_with_a_warc_inside())
    assert _read_in_ranges(path, cuts)[0] == read(path)[0]


def test_a_range_that_begins_in_a_warc_inside_a_page_does_not_meet_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "inside.warc.gz"
    path.write_bytes(_with_a_warc_inside())
    assert short(read(path)[0]) == [A, "request", "not-text http://outer.example/", B, "garbage", C]
    cut = path.read_bytes().index(member(record(response(b"<p>inside"), INSIDE[0])))
    _, before = read(path, 0, cut)
    after_found, after = read(path, cut, None)
    assert before.stop != after.first
    assert short(after_found)[:2] == list(INSIDE)
    assert _read_in_ranges(path, [cut]) == (read(path)[0], 1)


@pytest.mark.parametrize("name", ["sound.warc.gz", "sound-one-member.warc.gz"])
def test_ranges_of_a_sound_file_meet_without_reading_again(name: str) -> None:
    path = DATA / name
    for cut in range(1, path.stat().st_size, 37):
        assert _read_in_ranges(path, [cut]) == (read(path)[0], 0)


@pytest.mark.parametrize("name", ["sound.warc", "sound.warc.zst", "sound-dictionary.warc.zst"])
def test_other_files_can_be_read_in_ranges_too(name: str) -> None:
    whole, _ = read(DATA / name)
    for cut in range(1, (DATA / name).stat().st_size, 211):
        assert _read_in_ranges(DATA / name, [cut])[0] == whole


def test_only_gzip_with_a_member_for_a_record_is_splittable() -> None:
    heads = {name: (DATA / name).read_bytes() for name in SOUND}
    assert [name for name in SOUND if is_splittable(heads[name])] == ["sound.warc.gz"]
    # Of a few bytes it cannot be told: then it is read in ranges, most of which turn out empty.
    assert [name for name in SOUND if is_splittable(heads[name][:16])] == [
        "sound.warc.gz",
        "sound-one-member.warc.gz",
    ]


def test_a_range_behind_the_end_is_empty() -> None:
    size = (DATA / "sound.warc.gz").stat().st_size
    assert read(DATA / "sound.warc.gz", size + 10) == ([], Span(size, size))
