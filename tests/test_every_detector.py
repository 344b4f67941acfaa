"""Every detector on every engine: the same tables, whole, on a planted web and on the real sample.

A detector that is registered is tested with its defaults; a line in DETECTORS adds other settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from conftest import tree
from unquilt.corpus import Corpus
from unquilt.detectors import DETECTORS as _REGISTERED
from unquilt.detectors.quilts.find import find_quilts
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.detectors.quilts.sweep import sweep_quilts
from unquilt.detectors.quilts.sweep_params import SweepParams
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.engines.spark import SparkEngine
from unquilt.ingest.params import IngestParams
from unquilt.ingest.run import ingest_crawl
from unquilt.result import Result
from unquilt.sample import sample_files
from unquilt.synth import SynthParams, write_synth

Find = Callable[[Corpus, Engine], Result]


def _find(name: str, corpus: Corpus, engine: Engine) -> Result:
    return _REGISTERED[name].finder()(corpus, engine=engine)


DETECTORS: dict[str, Find] = {
    **{name: partial(_find, name) for name in _REGISTERED},
    "quilts, all options": lambda corpus, engine: find_quilts(
        corpus, QuiltParams(foreign="none", c=1, sigma=0.1, collapse=True, exact=True), engine=engine
    ),
    "sweep": lambda corpus, engine: sweep_quilts(corpus, SweepParams(k_values=(3,)), engine=engine),
}
CRAWLS = ("planted", "sample")
PARTITIONS = (1, 4)


@pytest.fixture(scope="module", params=CRAWLS)
def crawl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of a crawl."""
    if request.param == "sample":
        return [str(path) for path in sample_files()]
    folder = tmp_path_factory.mktemp("planted")
    write_synth(folder / "web", SynthParams(pages=600), workers=1)
    return sorted(str(path) for path in (folder / "web").glob("*.warc.gz"))


@pytest.fixture(scope="module")
def corpus(crawl: list[str], engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """In several parts."""
    params = IngestParams(split_bytes=1 << 18)
    return ingest_crawl(crawl, tmp_path_factory.mktemp("every") / "corpus", params, engine=engine).corpus


@pytest.fixture(scope="module", params=PARTITIONS)
def spark(request: pytest.FixtureRequest, spark_engine: SparkEngine) -> Iterator[SparkEngine]:
    with SparkEngine(spark_engine.session, partitions=request.param) as one:
        yield one


@pytest.fixture(scope="module")
def on_one_machine(corpus: Corpus, engine: LocalEngine) -> dict[str, Result]:
    return {name: find(corpus, engine) for name, find in DETECTORS.items()}


@pytest.mark.parametrize("detector", DETECTORS)
def test_spark_gives_the_tables_of_the_local_engine(
    detector: str, corpus: Corpus, spark: SparkEngine, on_one_machine: dict[str, Result]
) -> None:
    expected, found = on_one_machine[detector], DETECTORS[detector](corpus, spark)
    assert list(found.tables) == list(expected.tables)
    for name, table in expected.tables.items():
        assert found.tables[name].equals(table), name
    assert any(len(table) for table in expected.tables.values())
    assert (found.params, found.corpus_digest) == (expected.params, expected.corpus_digest)


def test_spark_ingests_the_corpus_of_the_local_engine(
    crawl: list[str], corpus: Corpus, spark: SparkEngine, tmp_path: Path
) -> None:
    made = ingest_crawl(crawl, tmp_path / "corpus", IngestParams(split_bytes=1 << 18), engine=spark).corpus
    assert made.digest == corpus.digest
    assert len(made.parts) > 1
    assert tree(made.path) == {name: data for name, data in tree(corpus.path).items() if "results" not in name}
