import gzip
import io
import os
import zipfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from unquilt.errors import BadInput, NoInput
from unquilt.ingest.inputs import Piece, _ranges, plan
from unquilt.ingest.params import IngestParams

PARAMS = IngestParams(split_bytes=65536)
WARC = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
HTML = b"<!doctype html><title>t</title><p>Hello"
JSONL = b'{"url": "http://a.org/", "html": "<p>x"}\n'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def kinds(*inputs: Path | str, params: IngestParams = PARAMS) -> list[str]:
    return [piece.kind for piece in plan([str(one) for one in inputs], params).pieces]


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def put_wacz(path: Path, method: int = zipfile.ZIP_STORED, warc: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("datapackage.json", "{}")
        archive.writestr("archive/b.warc.gz", warc or gzip.compress(WARC))
        archive.writestr("archive/a.warc", WARC)
    return path


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (WARC, "warc"),
        (gzip.compress(WARC), "warc"),
        (zstandard.compress(WARC), "warc"),
        (b"\x5d\x2a\x4d\x18\x04\0\0\0dict" + zstandard.compress(WARC), "warc"),
        (b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain 0\n1 0 x\n\n", "warc"),
        (JSONL, "jsonl"),
        (b"\xef\xbb\xbf\n" + JSONL, "jsonl"),
        (b"not json\n" + JSONL * 3, "jsonl"),
        (gzip.compress(JSONL), "jsonl"),
        (zstandard.compress(JSONL), "jsonl"),
        (b'{"html": "' + b"<p>long" * 10000 + b'", "url": "http://a.org/"}\n', "jsonl"),
        (b"http://a.org/\nhttps://b.org/x\n", "urls"),
        (b"# comment\n\na.org\t/x\nb.org\t/y", "urls"),
        (gzip.compress(b"a.org\t/x\n"), "urls"),
        (HTML, "html"),
        (gzip.compress(HTML), "html"),
        (b"\n<!-- saved from -->\n<HTML><p>x http://a.org/", "html"),
        (HTML.decode().encode("utf-16"), "html"),
    ],
)
def test_the_kind_of_a_file_is_told_by_its_content(tmp_path: Path, data: bytes, kind: str) -> None:
    assert kinds(put(tmp_path / "anything.dat", data)) == [kind]


@pytest.mark.parametrize(
    "data",
    [
        PNG,
        bytes(range(256)) * 10,
        b"just some text\n",
        b'{\n  "pretty": [\n    1\n  ]\n}\n',
        b"a,b\n1,2\n",
        gzip.compress(b"just some text"),
        b"PK\x03\x04nonsense",
        gzip.compress(WARC)[:5],
    ],
)
def test_what_is_no_crawl_is_refused_with_the_kinds_understood(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadInput, match="is not a crawl") as error:
        kinds(put(tmp_path / "file", data))
    assert "WARC" in error.value.fix


def test_a_damaged_warc_is_still_one_by_its_name(tmp_path: Path) -> None:
    assert kinds(put(tmp_path / "a.warc.gz", gzip.compress(WARC)[:5])) == ["warc"]
    assert kinds(put(tmp_path / "b.warc", b"oops\r\n" + WARC)) == ["warc"]


def test_a_large_gzip_warc_is_cut_and_others_are_not(tmp_path: Path) -> None:
    big = gzip.compress(WARC + os.urandom(200_000))
    pieces = plan([str(put(tmp_path / "a.warc.gz", big))], PARAMS).pieces
    assert len(pieces) == round(len(big) / 65536)
    assert [piece.begin for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    assert (pieces[0].begin, pieces[-1].end) == (0, None)
    assert sum(piece.size for piece in pieces) == len(big)
    assert kinds(put(tmp_path / "a.warc", WARC + bytes(200_000))) == ["warc"]
    assert kinds(put(tmp_path / "a.warc.zst", zstandard.compress(WARC + os.urandom(200_000)))) == ["warc"]


@given(st.integers(0, 10**9), st.integers(10**6, 10**9))
def test_ranges_are_about_as_large_as_asked_for(size: int, target: int) -> None:
    ranges = _ranges(size, target)
    target = min(target, max(size // 16, 4 << 20))  # medium files are cut smaller
    bounds = [begin for begin, _ in ranges] + [size]
    lengths = [end - begin for begin, end in pairwise(bounds)]
    assert sum(lengths) == size
    assert max(lengths) <= 1.5 * target + 1
    assert len(ranges) == 1 or min(lengths) >= 0.6 * target


def test_a_wacz_gives_its_warcs_in_order_of_name(tmp_path: Path) -> None:
    pieces = plan([str(put_wacz(tmp_path / "c.wacz"))], PARAMS).pieces
    assert [(piece.kind, piece.files) for piece in pieces] == [
        ("wacz", ("archive/a.warc",)),
        ("wacz", ("archive/b.warc.gz",)),
    ]
    assert pieces[0].name.endswith("c.wacz/archive/a.warc")


def test_a_large_warc_is_cut_only_if_the_wacz_stores_it_as_it_is(tmp_path: Path) -> None:
    warc = gzip.compress(WARC + os.urandom(200_000))
    assert len(kinds(put_wacz(tmp_path / "stored.wacz", zipfile.ZIP_STORED, warc))) == 4
    assert len(kinds(put_wacz(tmp_path / "deflated.wacz", zipfile.ZIP_DEFLATED, warc))) == 2


def test_a_wacz_cut_off_is_named_as_damaged(tmp_path: Path) -> None:
    whole = put_wacz(tmp_path / "c.wacz").read_bytes()
    with pytest.raises(BadInput, match="damaged WACZ"):
        kinds(put(tmp_path / "d.wacz", whole[:-30]))


def test_parquet_is_cut_by_row_groups(tmp_path: Path) -> None:
    rows = 400
    table = pa.table({"url": ["http://a.org/"] * rows, "html": [os.urandom(512) for _ in range(rows)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=40)
    pieces = plan([str(tmp_path / "t.parquet")], PARAMS).pieces
    assert len(pieces) > 1
    assert (pieces[0].begin, pieces[-1].end) == (0, 10)
    assert [piece.begin for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]


def test_parquet_without_the_columns_names_those_it_has(tmp_path: Path) -> None:
    pq.write_table(pa.table({"uri": ["x"], "html": ["y"]}), tmp_path / "t.parquet")
    with pytest.raises(BadInput, match="its columns are: uri, html") as error:
        kinds(tmp_path / "t.parquet")
    assert "--url-column" in error.value.fix


def test_parquet_cut_off_is_named_as_damaged(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": ["x"], "html": ["y"]}), tmp_path / "t.parquet")
    cut = put(tmp_path / "cut.parquet", (tmp_path / "t.parquet").read_bytes()[:-20])
    with pytest.raises(BadInput, match="damaged Parquet"):
        kinds(cut)


def test_plain_jsonl_is_cut_and_compressed_is_not(tmp_path: Path) -> None:
    lines = b"".join(b'{"url": "http://a.org/%s", "html": "x"}\n' % os.urandom(40).hex().encode() for _ in range(2000))
    assert len(kinds(put(tmp_path / "a.jsonl", lines))) > 1
    assert len(kinds(put(tmp_path / "a.jsonl.gz", gzip.compress(lines)))) == 1


def test_a_folder_gives_crawl_files_in_order_then_its_pages(tmp_path: Path) -> None:
    put(tmp_path / "f/z/b.warc", WARC)
    put(tmp_path / "f/a.jsonl", JSONL)
    put(tmp_path / "f/site.org/index.html", HTML)
    put(tmp_path / "f/site.org/about", HTML)
    put(tmp_path / "f/site.org/logo.png", PNG)
    put(tmp_path / "f/urls.txt", b"http://a.org/\n")
    put(tmp_path / "f/stats.json", b'{"pages": 3}\n')
    found = plan([str(tmp_path / "f")], PARAMS)
    assert [piece.kind for piece in found.pieces] == ["jsonl", "warc", "html"]
    assert found.pieces[-1].files == ("site.org/about", "site.org/index.html")
    assert sorted(Path(skip.source).name for skip in found.skipped) == ["logo.png", "stats.json", "urls.txt"]


def test_a_folder_is_planned_the_same_whatever_order_its_files_were_made_in(tmp_path: Path) -> None:
    names = [f"{host}/{page}.html" for host in "cab" for page in range(5)]
    for name in names:
        put(tmp_path / "one" / name, HTML)
    for name in reversed(names):
        put(tmp_path / "two" / name, HTML)
    one, two = (plan([str(tmp_path / name)], PARAMS).pieces for name in ("one", "two"))
    assert [piece.files for piece in one] == [piece.files for piece in two] == [tuple(sorted(names))]


def test_many_pages_are_grouped_by_number_and_size(tmp_path: Path) -> None:
    for number in range(2005):
        put(tmp_path / f"few/{number:04}.html", b"<p>x")
    for number in range(5):
        put(tmp_path / f"long/{number}.html", HTML + b"x" * 30_000)
    assert [len(piece.files) for piece in plan([str(tmp_path / "few")], PARAMS).pieces] == [2000, 5]
    assert [len(piece.files) for piece in plan([str(tmp_path / "long")], PARAMS).pieces] == [2, 2, 1]


def test_links_in_a_circle_end_and_every_page_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "outside/c.html", HTML)
    put(tmp_path / "f/real/a.html", HTML)
    (tmp_path / "f/real/loop").symlink_to(tmp_path / "f")
    (tmp_path / "f/real/up").symlink_to(tmp_path)
    (tmp_path / "f/alias").symlink_to(tmp_path / "f/real")
    (tmp_path / "f/more").symlink_to(tmp_path / "outside")
    (tmp_path / "f/self").symlink_to(tmp_path / "f/self")
    found = plan([str(tmp_path / "f")], PARAMS)
    assert [piece.files for piece in found.pieces] == [("more/c.html", "real/a.html")]
    assert [Path(skip.source).name for skip in found.skipped] == ["self"]


def test_pages_named_one_by_one_are_read_like_their_folder(tmp_path: Path) -> None:
    pages = [put(tmp_path / name, HTML) for name in ("f/b.org/2.html", "f/a.org/1.html")]
    assert plan([str(page) for page in pages], PARAMS).pieces == [
        Piece(
            kind="html",
            path=str(tmp_path / "f"),
            name=str(tmp_path / "f"),
            files=("a.org/1.html", "b.org/2.html"),
            size=2 * len(HTML),
        )
    ]


def test_one_page_alone_is_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a.html", HTML)
    monkeypatch.chdir(tmp_path)
    (piece,) = plan(["a.html"], PARAMS).pieces
    assert (piece.path, piece.files) == (".", ("a.html",))


def test_globs_are_expanded_in_order(tmp_path: Path) -> None:
    for name in ("b.warc", "a.warc", "d/c.warc", "x[1].warc"):
        put(tmp_path / name, WARC)
    named = [Path(piece.path).name for piece in plan([str(tmp_path / "**/[a-c].warc")], PARAMS).pieces]
    assert named == ["a.warc", "b.warc", "c.warc"]
    assert kinds(tmp_path / "x[1].warc") == ["warc"]


def test_a_file_given_twice_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "a.warc", WARC)
    (tmp_path / "link").symlink_to(tmp_path / "a.warc")
    assert kinds(tmp_path / "a.warc", tmp_path, tmp_path / "link") == ["warc"]


def test_paths_come_from_stdin(tmp_path: Path) -> None:
    put(tmp_path / "a.warc", WARC)
    put(tmp_path / "b.jsonl", JSONL)
    listed = io.StringIO(f"{tmp_path / 'b.jsonl'}\n\n{tmp_path / 'a.warc'}\r\n")
    assert [piece.kind for piece in plan(["-"], PARAMS, stdin=listed).pieces] == ["jsonl", "warc"]
    with pytest.raises(NoInput, match="stdin"):
        plan(["-"], PARAMS, stdin=io.StringIO("\n"))


def test_nothing_given_is_an_error() -> None:
    with pytest.raises(NoInput, match="No input was given"):
        plan([], PARAMS)


def test_a_wrong_name_is_met_with_the_right_one(tmp_path: Path) -> None:
    put(tmp_path / "crawl.warc.gz", gzip.compress(WARC))
    with pytest.raises(NoInput, match="does not exist") as error:
        kinds(tmp_path / "crawl.wrac.gz")
    assert "crawl.warc.gz" in error.value.fix
    with pytest.raises(NoInput, match="there is no folder"):
        kinds(tmp_path / "nowhere/crawl.warc.gz")


def test_a_glob_without_a_match_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="No file matches"):
        kinds(tmp_path / "*.warc")


def test_an_empty_file_alone_is_an_error_and_among_others_is_skipped(tmp_path: Path) -> None:
    empty, good = put(tmp_path / "empty.warc.gz", b""), put(tmp_path / "a.warc", WARC)
    with pytest.raises(NoInput, match="empty file"):
        kinds(empty)
    found = plan([str(empty), str(good)], PARAMS)
    assert [piece.path for piece in found.pieces] == [str(good)]
    assert [(skip.source, skip.reason) for skip in found.skipped] == [(str(empty), "unreadable")]
    assert "empty file" in found.skipped[0].detail


def test_a_picture_among_crawls_is_skipped(tmp_path: Path) -> None:
    found = plan([str(put(tmp_path / "a.png", PNG)), str(put(tmp_path / "a.warc", WARC))], PARAMS)
    assert (len(found.pieces), len(found.skipped)) == (1, 1)


def test_several_bad_inputs_say_so(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="None of the 2 inputs"):
        kinds(put(tmp_path / "a.png", PNG), put(tmp_path / "b.png", PNG))


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "looks.warc.gz").mkdir()
    with pytest.raises(NoInput, match="it is empty"):
        kinds(tmp_path / "looks.warc.gz")
    put(tmp_path / "f/a.png", PNG)
    with pytest.raises(NoInput, match="none of its 1 files"):
        kinds(tmp_path / "f")


def test_a_broken_link_is_an_error_alone_and_skipped_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.warc").symlink_to("gone")
    with pytest.raises(BadInput, match="a link to gone, which does not exist"):
        kinds(tmp_path / "a.warc")
    put(tmp_path / "b.warc", WARC)
    found = plan([str(tmp_path)], PARAMS)
    assert (len(found.pieces), [skip.reason for skip in found.skipped]) == (1, ["unreadable"])


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not a regular file"):
        kinds(tmp_path / "pipe")


def test_a_corpus_is_not_a_crawl(tmp_path: Path) -> None:
    put(tmp_path / "c/corpus.json", b"{}")
    put(tmp_path / "a.warc", WARC)
    with pytest.raises(BadInput, match="is already a corpus"):
        kinds(tmp_path / "a.warc", tmp_path / "c")
    assert kinds(tmp_path) == ["warc"]


@pytest.mark.parametrize("given", ["ftp://a.org/a.warc.gz", "https://a.org/a.warc.gz", "https://a.org/*.gz"])
def test_what_is_elsewhere_must_be_downloaded_first(given: str) -> None:
    with pytest.raises(BadInput, match="not on this machine") as error:
        kinds(given)
    assert "Download it first" in error.value.fix


def test_names_that_are_not_utf_8_are_shown_escaped(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.warc")
    put(Path(path), WARC)
    (piece,) = plan([path], PARAMS).pieces
    assert piece.path == path
    assert piece.name.endswith("/caf\\xe9.warc")
