"""Damaged and hostile crawls, through the whole of ingest: a bad record costs that record only."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import psutil
import pytest

from conftest import Unquilt, page, record, write_warc
from unquilt import Corpus, IngestParams, LocalEngine, ingest_crawl
from unquilt.ingest.page import PageRows

DATA = Path(__file__).parent / "data"


def ingest(path: Path, out: Path, **params: Any) -> Corpus:
    with LocalEngine(workers=1) as engine:
        return ingest_crawl([str(path)], out, IngestParams(**params), engine=engine).corpus


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("truncated-member.warc.gz", "truncated"),
        ("truncated-last-member.warc.gz", "truncated"),
        ("corrupt-member.warc.gz", "truncated"),
        ("garbage-between-members.warc.gz", "garbage"),
        ("garbage-first.warc.gz", "garbage"),
        ("content-length-too-long.warc.gz", "truncated"),
        ("content-length-too-short.warc.gz", "bad-header"),
        ("content-length-missing.warc.gz", "bad-header"),
        ("content-length-huge.warc", "truncated"),
        ("target-uri-missing.warc.gz", "bad-header"),
        ("nul-in-header.warc.gz", "bad-header"),
        ("truncated.warc", "truncated"),
        ("truncated-frame.warc.zst", "truncated"),
    ],
)
def test_a_damaged_record_costs_that_record_only(name: str, reason: str, tmp_path: Path) -> None:
    sound = ingest(DATA / "sound.warc.gz", tmp_path / "sound")
    damaged = ingest(DATA / name, tmp_path / "damaged")
    lost = sound.pages - damaged.pages
    assert lost <= 1
    assert set(damaged.read(["url"])["url"].to_pylist()) <= set(sound.read(["url"])["url"].to_pylist())
    assert damaged.count_skipped().get(reason, 0) - sound.count_skipped().get(reason, 0) == 1
    assert damaged.read_skipped()["source"][0].as_py().endswith(name)


PEAK_OF_INGEST = """
import sys
from pathlib import Path
from unquilt.cli import run
status = run(["ingest", sys.argv[1], "-o", sys.argv[2], "--workers", "1", "-q"])
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
sys.exit(status)
"""


def test_a_page_of_200_mb_is_counted_in_little_memory(tmp_path: Path) -> None:
    crawl = tmp_path / "huge.warc.gz"
    body = b"<p>hello " + b"x" * (200 << 20)
    records = [
        record("http://a.example/1", page(1)),
        record("http://a.example/huge", body),
        record("http://a.example/3", page(3)),
    ]
    crawl.write_bytes(b"".join(gzip.compress(one, 1) for one in records))
    del body, records
    done = subprocess.run(
        [sys.executable, "-c", PEAK_OF_INGEST, str(crawl), str(tmp_path / "c")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 450_000  # kB; the libraries alone take 250,000
    corpus = Corpus(tmp_path / "c")
    assert corpus.read(["url"])["url"].to_pylist() == ["http://a.example/1", "http://a.example/3"]
    assert corpus.read_skipped().select(["url", "reason"]).to_pylist() == [
        {"url": "http://a.example/huge", "reason": "too-large"}
    ]


def test_a_bomb_in_the_content_encoding_is_counted_in_little_memory(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(squeeze.compress(bytes(1 << 20)) for _ in range(256)) + squeeze.flush()
    head = b"Content-Type: text/html\r\nContent-Encoding: gzip"
    records = [record("http://a.example/bomb", bomb, head=head), record("http://a.example/2", page(2))]
    write_warc(tmp_path / "bomb.warc.gz", records)
    before = psutil.Process().memory_info().rss
    corpus = ingest(tmp_path / "bomb.warc.gz", tmp_path / "corpus", max_page_bytes=4 << 20)
    assert psutil.Process().memory_info().rss - before < 120 << 20
    assert (corpus.pages, corpus.count_skipped()) == (1, {"too-large": 1})


@pytest.mark.parametrize(
    ("name", "html", "words"),
    [
        (
            "100,000 nested tags",
            b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000 + b"after",
            ["deep", "after"],
        ),
        ("NUL bytes", b"<p>be\x00fore</p>\x00<p>after", None),
        ("lone surrogates", b"<p>x\xed\xa0\x80y &#xD800; z", None),
        (
            "a script that ends in the title",
            b"<title>a</script><script>alert(1)</script></title><p>text",
            ["text"],
        ),
        ("an endless comment", b"<p>seen<!-- " + b"-" * 1_000_000, ["seen"]),
        ("an endless tag", b"<p>seen<a href='" + b"x" * 1_000_000, ["seen"]),
        ("nothing but markup", b"<" * 1_000_000, None),
    ],
)
def test_hostile_markup_is_survived(name: str, html: bytes, words: list[str] | None) -> None:
    from unquilt.ingest.capture import Capture

    rows = PageRows(seed=0)
    assert rows.add(Capture(url="http://a.example/", body=html, source=name, offset=0, media_type="text/html")) is None
    (found,) = rows.take(0).to_pylist()
    if words is not None:
        assert found["text"].split() == words
    else:
        assert found["bytes"] == len(html)


@pytest.mark.parametrize("url", ["http:///nohost", "http://[::1", "http://a b/", "http://\udcff/", "https://"])
def test_a_url_without_a_host_is_counted(url: str, tmp_path: Path) -> None:
    listed = tmp_path / "rows.jsonl"
    lines = [
        json.dumps({"url": url, "text": "some text"}),
        json.dumps({"url": "http://b.example/", "text": "more"}),
    ]
    listed.write_text("\n".join(lines) + "\n")
    corpus = ingest(listed, tmp_path / "corpus")
    assert corpus.read(["url"])["url"].to_pylist()[-1] == "http://b.example/"
    assert corpus.pages + sum(corpus.count_skipped().values()) == 2


def test_text_with_lone_surrogates_from_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        '{"url": "http://a.example/\\ud800", "text": "one \\udfff two", "html": null}\n'
    )
    corpus = ingest(tmp_path / "rows.jsonl", tmp_path / "corpus")
    assert corpus.read(["text"])["text"].to_pylist() == ["one \ufffd two"]


@pytest.mark.parametrize(
    ("make", "sentence", "advice"),
    [
        (lambda p: None, "does not exist", "Check the path."),
        (
            lambda p: p.write_bytes(b""),
            "is an empty file",
            "Check that the crawl or the download has finished.",
        ),
        (lambda p: p.mkdir(), "There are no pages in", "Understood are WARC"),
        (lambda p: p.write_bytes(bytes(range(256)) * 40), "is not a crawl", "Understood are WARC"),
    ],
)
def test_a_bad_argument_is_a_sentence_and_what_to_do(
    make: Any, sentence: str, advice: str, tmp_path: Path, unquilt: Unquilt
) -> None:
    make(tmp_path / "input")
    done = unquilt("ingest", tmp_path / "input", "-o", tmp_path / "corpus")
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert sentence in first
    assert second.startswith(advice)
    assert not (tmp_path / "corpus").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
def test_a_file_that_may_not_be_read_is_said_to_be(tmp_path: Path, unquilt: Unquilt) -> None:
    crawl = write_warc(tmp_path / "crawl.warc.gz", [record("http://a.example/", b"<p>x")])
    crawl.chmod(0)
    done = unquilt("ingest", crawl, "-o", tmp_path / "corpus")
    assert (done.returncode, "permission denied" in done.stderr) == (1, True)


def test_a_file_that_cannot_be_read_beside_one_that_can_is_counted(tmp_path: Path) -> None:
    """A link that leads to itself cannot be opened by anyone, not even by root."""
    write_warc(tmp_path / "crawl.warc.gz", [record("http://a.example/", b"<p>x")])
    (tmp_path / "loop.warc.gz").symlink_to(tmp_path / "loop.warc.gz")
    inputs = [str(tmp_path / "crawl.warc.gz"), str(tmp_path / "loop.warc.gz")]
    corpus = ingest_crawl(inputs, tmp_path / "corpus").corpus
    assert (corpus.pages, corpus.count_skipped()) == (1, {"unreadable": 1})


def test_a_disk_that_fills_up_is_said_to_be_full_and_the_run_can_go_on(
    small_crawl: Path, tmp_path: Path, unquilt: Unquilt
) -> None:
    """The limit on the size of a file stops the writing of a part in its midst, as a full disk does."""
    command = [
        "ingest",
        small_crawl,
        "-o",
        tmp_path / "corpus",
        "--split-bytes",
        "65536",
        "--workers",
        "2",
        "-q",
    ]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    full = unquilt(*command, preexec_fn=limit)
    assert full.returncode == 1
    assert "the disk is full" in full.stderr
    assert "it goes on where it stopped" in full.stderr
    assert Corpus(tmp_path / "corpus").pages == 0
    assert unquilt(*command).returncode == 0
    assert Corpus(tmp_path / "corpus").pages == 1500
    assert not list((tmp_path / "corpus" / "pages").glob("*.tmp"))
