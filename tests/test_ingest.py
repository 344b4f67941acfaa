"""A crawl becomes a corpus: what is in its rows, whoever wrote them and however often it was interrupted."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Unquilt, page, record, tree, write_warc
from unquilt import Corpus, Ingested, IngestParams, LocalEngine, ingest_crawl
from unquilt.errors import BadInput, CorpusBusy, CorpusMismatch
from unquilt.kernels.noise import cell_permutations, noise_fingerprint
from unquilt.schema import PAGES

SMALL = IngestParams(split_bytes=65536)


def rows(done: Ingested) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = done.corpus.read().to_pylist()
    return found


def ingest_records(
    folder: Path, records: Sequence[bytes], params: IngestParams = SMALL, engine: LocalEngine | None = None
) -> Ingested:
    crawl = write_warc(folder / "crawl.warc.gz", records)
    with LocalEngine(workers=1) as one:
        return ingest_crawl([str(crawl)], folder / "corpus", params, engine=engine or one)


def test_a_page_has_everything_its_bytes_tell(tmp_path: Path) -> None:
    html = (
        "<!doctype html><html><head><meta charset=utf-8><title>A &amp;  B</title>"
        "<link rel=canonical href='/c'><meta name=generator content='Maker 1'><script>no()</script></head>"
        "<body><div>cr<b>oss</b></div><div>words</div><p>Über <a href='x.html#top'>one</a><!-- no -->"
        "<p>two <a href='//b.example/'>three</a></body></html>"
    ).encode()
    (found,) = rows(ingest_records(tmp_path, [record("http://www.a.co.uk/d/p", html, date="2021-02-03T04:05:06Z")]))
    chunks = html.split(b"<p>")
    chunks[1:] = [b"<p>" + chunk for chunk in chunks[1:]]
    style = noise_fingerprint(np.frombuffer(html, np.uint8), 32, 128, *cell_permutations(0, 128))
    assert found | {"time": found["time"].isoformat(), "text": found["text"].split()} == {
        "page": 0,
        "url": "http://www.a.co.uk/d/p",
        "host": "www.a.co.uk",
        "domain": "a.co.uk",
        "ip": "192.0.2.7",
        "time": "2021-02-03T04:05:06+00:00",
        "status": 200,
        "media_type": "text/html",
        "charset": "utf-8",
        "title": "A & B",
        "text": ["cross", "words", "Über", "one", "two", "three"],
        "words": 6,
        "bytes": len(html),
        "file_sha1": hashlib.sha1(html).digest(),
        "chunk_sha1s": [hashlib.sha1(chunk).digest() for chunk in chunks],
        "chunk_sizes": [len(chunk) for chunk in chunks],
        "style": style.tobytes(),
        "links": ["http://www.a.co.uk/d/x.html", "http://b.example/"],
        "canonical": "http://www.a.co.uk/c",
        "generator": "Maker 1",
        "source": str(tmp_path / "crawl.warc.gz"),
        "offset": 0,
    }


def test_text_that_is_not_html_gets_what_makes_sense(tmp_path: Path) -> None:
    plain = b"first line\n\n  second <p>line"
    feed = (
        b"<?xml version='1.0'?><rss><item><title>News</title>"
        b"<description><![CDATA[Of <b>today</b>]]></description></item></rss>"
    )
    found = rows(
        ingest_records(
            tmp_path,
            [
                record("http://a.example/t", plain, head=b"Content-Type: text/plain"),
                record("http://a.example/r", feed, head=b"Content-Type: application/rss+xml"),
                record("http://a.example/i", b"\x89PNG\r\n", head=b"Content-Type: image/png"),
            ],
        )
    )
    assert [row["text"].split() for row in found] == [
        ["first", "line", "second", "<p>line"],
        ["News", "Of", "today"],
    ]
    assert [row["style"] for row in found] == [None, None]
    assert found[1]["title"] == "News"
    assert found[0]["chunk_sha1s"] == [hashlib.sha1(plain).digest()] == [found[0]["file_sha1"]]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_corpus_does_not_depend_on_the_number_of_workers(small_crawl: Path, tmp_path: Path, workers: int) -> None:
    with LocalEngine(workers=workers, memory=4 << 30) as engine:
        done = ingest_crawl([str(small_crawl)], tmp_path / "corpus", SMALL, engine=engine)
    assert len(done.corpus.parts) > 3
    with LocalEngine(workers=1) as engine:
        ingest_crawl([str(small_crawl)], tmp_path / "other", SMALL, engine=engine)
    assert tree(tmp_path / "corpus") == tree(tmp_path / "other")


def test_ids_are_part_and_row_and_every_page_is_there_once(
    small_crawl: Path, tmp_path: Path, engine: LocalEngine
) -> None:
    corpus = ingest_crawl([str(small_crawl)], tmp_path / "corpus", SMALL, engine=engine).corpus
    assert corpus.read(["url"])["url"].to_pylist() == [f"http://host{i % 30}.example/{i}" for i in range(1500)]
    expected = [(part.number << 32) + row for part in corpus.parts for row in range(part.pages)]
    assert corpus.read(["page"])["page"].to_pylist() == expected
    assert corpus.read().schema.equals(PAGES)


def test_the_same_input_again_adds_nothing(small_crawl: Path, tmp_path: Path, engine: LocalEngine) -> None:
    first = ingest_crawl([str(small_crawl)], tmp_path / "corpus", SMALL, engine=engine)
    before = tree(tmp_path / "corpus")
    moved = tmp_path / small_crawl.name
    moved.write_bytes(small_crawl.read_bytes())  # the same file elsewhere is still the same file
    second = ingest_crawl([str(moved)], tmp_path / "corpus", SMALL, engine=engine)
    assert (second.parts, second.known_parts) == (0, first.parts)
    assert tree(tmp_path / "corpus") == before


def test_a_second_crawl_is_appended(small_crawl: Path, tmp_path: Path, engine: LocalEngine) -> None:
    first = ingest_crawl([str(small_crawl)], tmp_path / "corpus", SMALL, engine=engine).corpus
    more = write_warc(tmp_path / "more.warc.gz", [record("http://new.example/", page(9)), record("dns:x", b"")])
    both = ingest_crawl([str(more)], tmp_path / "corpus", SMALL, engine=engine)
    assert both.corpus.pages == 1501
    assert both.corpus.read(["url"])["url"][-1].as_py() == "http://new.example/"
    assert both.corpus.count_skipped() == {"not-http": 1}
    assert both.corpus.read_skipped()["url"].to_pylist() == ["dns:x"]
    assert both.corpus.digest != first.digest
    third = write_warc(tmp_path / "third.warc.gz", [record("ftp://y/", b"")])
    assert ingest_crawl([str(third)], tmp_path / "corpus", SMALL).corpus.read_skipped()["url"].to_pylist() == [
        "dns:x",
        "ftp://y/",
    ]


KILLED = """
import os, sys
from unquilt import IngestParams, LocalEngine, ingest_crawl
import unquilt.corpus as corpus
left = int(sys.argv[3])
real = corpus.replace_synced
def replace_synced(temporary, target):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    real(temporary, target)
corpus.replace_synced = replace_synced
import unquilt.ingest.run as run
run._SECONDS_BETWEEN_SAVES = 0.0
with LocalEngine(workers=1) as engine:
    ingest_crawl([sys.argv[1]], sys.argv[2], IngestParams(split_bytes=65536), engine=engine)
"""


def test_a_run_killed_before_any_rename_goes_on_and_ends_the_same(small_crawl: Path, tmp_path: Path) -> None:
    """Killed before its 1st, 2nd, … atomic replacement, until it gets through."""
    with LocalEngine(workers=1) as engine:
        ingest_crawl([str(small_crawl)], tmp_path / "whole", SMALL, engine=engine)
    expected = tree(tmp_path / "whole")
    for kill_at in (1, 2, 4, 6, 7, 8):
        folder = tmp_path / f"killed{kill_at}"
        arguments = [sys.executable, "-c", KILLED, str(small_crawl), str(folder), str(kill_at)]
        assert subprocess.run(arguments).returncode == -signal.SIGKILL
        opened = Corpus(folder)
        assert not opened.is_complete
        assert opened.read(["url"]).num_rows == opened.rows
        with LocalEngine(workers=1) as engine:
            again = ingest_crawl([str(small_crawl)], folder, SMALL, engine=engine)
        assert again.known_parts == len(opened.parts)
        assert tree(folder) == expected


def test_killed_with_its_workers_at_any_moment_it_goes_on(small_crawl: Path, tmp_path: Path, unquilt: Unquilt) -> None:
    command = ["ingest", small_crawl, "-o", tmp_path / "corpus", "--split-bytes", "65536", "--workers", "2"]
    for seconds in (0.8, 1.4, 2.0):
        process = subprocess.Popen([sys.executable, "-m", "unquilt", *map(str, command)], stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.kill()
        process.wait()
    assert unquilt(*command).returncode == 0
    assert Corpus(tmp_path / "corpus").pages == 1500
    with LocalEngine(workers=1) as engine:
        ingest_crawl([str(small_crawl)], tmp_path / "whole", SMALL, engine=engine)
    assert tree(tmp_path / "corpus") == tree(tmp_path / "whole")


def captures(folder: Path, rule: str) -> list[tuple[str, str]]:
    records = [
        record("http://a.example/", b"<p>second", date="2020-02-02T00:00:00Z"),
        record("http://b.example/", b"<p>only"),
        record("http://a.example/", b"<p>third", date="2020-03-03T00:00:00Z"),
        record("http://a.example/", b"<p>first", date="2020-01-01T00:00:00Z"),
        record("http://a.example/", b"<p>undated", date="?"),
        record("http://a.example/", b"<p>third again", date="2020-03-03T00:00:00Z"),
    ]
    corpus = ingest_records(folder, records, IngestParams(captures=rule)).corpus
    assert corpus.rows == 6
    assert corpus.pages == len(corpus.read(["url"]))
    return [(row["url"], row["text"]) for row in corpus.read(["url", "text"]).to_pylist()]


def test_of_several_captures_the_latest_counts(tmp_path: Path) -> None:
    assert captures(tmp_path, "latest") == [
        ("http://b.example/", "only"),
        ("http://a.example/", "third again"),
    ]


def test_of_several_captures_the_first_counts_if_asked(tmp_path: Path) -> None:
    assert captures(tmp_path, "first") == [("http://b.example/", "only"), ("http://a.example/", "undated")]


def test_all_captures_count_if_asked(tmp_path: Path) -> None:
    assert len(captures(tmp_path, "all")) == 6


def test_a_later_crawl_supersedes_an_earlier_one(tmp_path: Path) -> None:
    ingest_records(tmp_path, [record("http://a.example/", b"<p>old"), record("http://a.example/1", b"<p>kept")])
    new = [record("http://a.example/", b"<p>new", date="2021-01-01T00:00:00Z")]
    corpus = ingest_crawl([str(write_warc(tmp_path / "new.warc.gz", new))], tmp_path / "corpus", SMALL).corpus
    assert corpus.read(["text"])["text"].to_pylist() == ["kept", "new"]


def test_other_settings_than_the_corpus_was_made_with_are_refused(tmp_path: Path) -> None:
    records = [record("http://a.example/", b"<p>x")]
    ingest_records(tmp_path, records)
    with pytest.raises(CorpusMismatch, match="made with status = 200; asked for is status = any"):
        ingest_records(tmp_path, records, IngestParams(split_bytes=65536, status="any"))


def test_a_corpus_that_is_being_written_is_busy(tmp_path: Path) -> None:
    from unquilt.corpus import CorpusWriter

    with (
        CorpusWriter(tmp_path / "corpus", {}),
        pytest.raises(CorpusBusy),
        CorpusWriter(tmp_path / "corpus", {}),
    ):
        raise AssertionError("two writers at once")


def test_a_folder_with_other_things_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "thesis.doc").touch()
    with pytest.raises(BadInput, match="not empty, and not a corpus"):
        ingest_records(tmp_path, [record("http://a.example/", b"<p>x")])


def test_urls_alone_make_a_corpus_without_text(tmp_path: Path, engine: LocalEngine) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("http://a.example/1\nhttp://b.example/2\nnonsense\nhttp://a.example/1\n")
    done = ingest_crawl([str(listed)], tmp_path / "corpus", engine=engine)
    found = done.corpus.read(["url", "domain", "text", "bytes", "offset"]).to_pylist()
    assert found == [
        {"url": "http://b.example/2", "domain": "b.example", "text": None, "bytes": None, "offset": 19},
        {"url": "http://a.example/1", "domain": "a.example", "text": None, "bytes": None, "offset": 47},
    ]
    assert done.skipped == {"bad-url": 1}


def test_inputs_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    crawl = write_warc(tmp_path / "crawl.warc.gz", [record("http://a.example/", b"<p>x")])
    (tmp_path / "empty.warc.gz").touch()
    inputs = [str(crawl), str(tmp_path / "empty.warc.gz")]
    done = ingest_crawl(inputs, tmp_path / "corpus")
    assert (done.corpus.pages, done.skipped) == (1, {"unreadable": 1})
    again = ingest_crawl(inputs, tmp_path / "corpus")
    assert again.parts == 0
    assert again.corpus.read_skipped()["detail"].to_pylist() == [f"{inputs[1]} is an empty file."]


def test_a_range_that_begins_inside_a_record_is_read_again_from_the_right_place(tmp_path: Path) -> None:
    """A page that holds a WARC: cutting the file inside it finds members that are none of the crawl's."""
    inner = write_warc(
        tmp_path / "inner.warc.gz", [record(f"http://inner.example/{i}", os.urandom(4000)) for i in range(60)]
    )
    html = b"<p>archive</p>" + inner.read_bytes()
    records = [
        record("http://a.example/1", page(1)),
        record("http://a.example/2", html),
        record("http://a.example/3", page(3)),
    ]
    outer = tmp_path / "outer.warc.gz"
    outer.write_bytes(b"".join(stored(one) for one in records))
    corpus = ingest_crawl([str(outer)], tmp_path / "corpus", SMALL).corpus
    assert len(corpus.parts) > 2
    assert corpus.read(["url"])["url"].to_pylist() == [f"http://a.example/{i}" for i in (1, 2, 3)]
    assert corpus.count_skipped() == {}


def stored(data: bytes) -> bytes:
    """A gzip member that is not compressed: what is in it can be seen from outside."""
    import gzip

    return gzip.compress(data, 0, mtime=0)
