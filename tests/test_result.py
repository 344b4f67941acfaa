"""Results are kept with the parameters and the corpus they were made from."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from conftest import page, record, write_warc
from unquilt import Corpus, Result, ingest_crawl, load_result
from unquilt.errors import CorpusMismatch, NotACorpus


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    crawl = write_warc(tmp_path / "c.warc.gz", [record("http://a.example/", page(1))])
    return ingest_crawl([str(crawl)], tmp_path / "corpus").corpus


def test_a_saved_result_is_loaded_as_it_was(corpus: Corpus) -> None:
    table = pa.table({"url": ["http://a.example/"], "grams": [3]})
    Result("quilts", {"quilts": table}, {"k": 5}, corpus.digest).save(corpus)
    loaded = load_result(corpus, "quilts", params={"k": 5})
    assert loaded.tables["quilts"].equals(table)
    assert loaded.params == {"k": 5}


def test_a_result_of_other_pages_or_parameters_is_never_taken_for_this_one(corpus: Corpus, tmp_path: Path) -> None:
    Result("quilts", {}, {"k": 5}, corpus.digest).save(corpus)
    with pytest.raises(CorpusMismatch, match="other parameters"):
        load_result(corpus, "quilts", params={"k": 6})
    more = write_warc(tmp_path / "more.warc.gz", [record("http://b.example/", page(2))])
    changed = ingest_crawl([str(more)], corpus.path).corpus
    with pytest.raises(CorpusMismatch, match=r"before .* changed"):
        load_result(changed, "quilts")


def test_a_result_that_was_never_made_is_said_how_to_make(corpus: Corpus) -> None:
    with pytest.raises(NotACorpus) as missing:
        load_result(corpus, "quilts")
    assert missing.value.fix == f"Make it:  unquilt quilts {corpus.path}"
