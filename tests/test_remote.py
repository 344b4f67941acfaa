"""Crawls that lie elsewhere: read over the S3 protocol and by file:// URLs, to the pages of the same local files."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Unquilt, page, record, write_warc
from s3_server import serve_s3
from unquilt.corpus import Corpus
from unquilt.errors import BadInput, NoInput
from unquilt.ingest.inputs import plan
from unquilt.ingest.params import IngestParams
from unquilt.ingest.remote import _filesystem, expand_remote, is_remote, open_input, size_of
from unquilt.ingest.run import ingest_crawl

PARAMS = IngestParams(split_bytes=1 << 16)


@pytest.fixture(scope="module")
def store(small_crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bucket with crawls of every kind that is read from elsewhere."""
    root = tmp_path_factory.mktemp("s3")
    bucket = root / "crawl"
    (bucket / "2026").mkdir(parents=True)
    shutil.copy(small_crawl, bucket / "2026" / "a.warc.gz")
    write_warc(bucket / "2026" / "b b+c.warc.gz", [record("http://b.example/", page(9001))])
    rows = [{"url": f"http://c.example/{i}", "html": page(8000 + i).decode()} for i in range(300)]
    (bucket / "d.jsonl").write_text("".join(f'{{"url": "{row["url"]}", "html": "{row["html"]}"}}\n' for row in rows))
    pq.write_table(
        pa.Table.from_pylist(rows), bucket / "c.parquet", row_group_size=150, compression="none", use_dictionary=False
    )
    (bucket / "page.html").write_bytes(page(1))
    return root


@pytest.fixture
def answers(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    with serve_s3(store) as (address, lengths):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        _filesystem.cache_clear()
        yield lengths
        _filesystem.cache_clear()


def pages_of(corpus: Corpus) -> pa.Table:
    return corpus.read(["url", "text", "words", "offset"])


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_names_and_patterns_are_expanded(answers: list[int], scheme: str) -> None:
    root = f"{scheme}://crawl"
    assert expand_remote(f"{root}/2026/*.warc.gz") == [f"{root}/2026/a.warc.gz", f"{root}/2026/b b+c.warc.gz"]
    assert expand_remote(f"{root}/2026/") == expand_remote(f"{root}/2026")
    assert expand_remote(f"{root}/d.jsonl") == [f"{root}/d.jsonl"]
    assert expand_remote(f"{root}/*") == [f"{root}/{name}" for name in ("c.parquet", "d.jsonl", "page.html")]


def test_any_range_of_a_file_is_read(answers: list[int], store: Path) -> None:
    data = (store / "crawl" / "2026" / "a.warc.gz").read_bytes()
    with open_input("s3a://crawl/2026/a.warc.gz") as file:
        assert size_of(file) == len(data)
        for begin in (0, 777, len(data) - 5):
            file.seek(begin)
            assert file.read(4) == data[begin : begin + 4]
    assert max(answers) == 4


@pytest.mark.parametrize("name", ["2026/*.warc.gz", "d.jsonl", "c.parquet"])
def test_a_crawl_in_s3_gives_the_pages_of_the_same_files_here(
    answers: list[int], store: Path, tmp_path: Path, unquilt: Unquilt, name: str
) -> None:
    """Pages, places and pieces; by worker processes, which open the files themselves."""
    here = ingest_crawl([str(store / "crawl" / name)], tmp_path / "here", PARAMS).corpus
    done = unquilt(
        "ingest", f"s3a://crawl/{name}", "-o", tmp_path / "there", "--split-bytes", "65536", "--workers", "2"
    )
    assert done.returncode == 0, done.stderr
    there = Corpus(tmp_path / "there")
    assert pages_of(there).equals(pages_of(here))
    assert [part.key for part in there.parts] == [part.key for part in here.parts]
    assert len(there.parts) > 1
    assert all(part.source.startswith("s3a://crawl/") for part in there.parts)


def test_spark_reads_s3(answers: list[int], store: Path, tmp_path: Path, unquilt: Unquilt) -> None:
    here = ingest_crawl([str(store / "crawl" / "2026")], tmp_path / "here", PARAMS).corpus
    done = unquilt(
        "ingest", "s3a://crawl/2026/", "-o", tmp_path / "there", "--split-bytes", "65536",
        "--engine", "spark", "--workers", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert pages_of(Corpus(tmp_path / "there")).equals(pages_of(here))


def test_a_file_url_is_a_path(small_crawl: Path) -> None:
    for url in (f"file://{small_crawl}", f"file:{small_crawl}", f"file://localhost{small_crawl}"):
        assert plan([url], PARAMS).pieces == plan([str(small_crawl)], PARAMS).pieces
    assert plan(["-"], PARAMS, stdin=io.StringIO(f"file://{small_crawl}\n")).pieces
    with pytest.raises(NoInput, match="none does not exist"):
        plan([f"file://{small_crawl}.none"], PARAMS)


def test_what_is_not_there_is_one_sentence(answers: list[int], unquilt: Unquilt, tmp_path: Path) -> None:
    with pytest.raises(NoInput, match=r"There are no files at s3a://crawl/none\.warc\.gz"):
        plan(["s3a://crawl/none.warc.gz"], PARAMS)
    with pytest.raises(BadInput, match="is a single page"):
        plan(["s3://crawl/page.html"], PARAMS)
    done = unquilt("ingest", "hdfs://127.0.0.1:9/crawl", "-o", tmp_path / "c")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "Error: hdfs://127.0.0.1:9/crawl cannot be read: " in done.stderr


def test_only_stores_are_remote() -> None:
    assert is_remote("S3A://bucket/key")
    assert not any(map(is_remote, ["https://a.org/x", "s3:/bucket", "bucket/key", "s3://"]))
