"""Why a page looks as it does: what the command and the library tell of one page."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Unquilt, record, write_warc
from unquilt.corpus import Corpus
from unquilt.detectors import DETECTORS
from unquilt.detectors.why import NEAR_CHARACTERS, explain_page
from unquilt.engines.local import LocalEngine
from unquilt.ingest.run import ingest_crawl

URL = "http://quilt.example/"


def words(name: str, count: int) -> str:
    return " ".join(f"{name}{i}" for i in range(count))


@pytest.fixture(scope="module")
def corpus(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A page that takes from three: it links to one beside the patch, to one far from it, to one not at all."""
    folder = tmp_path_factory.mktemp("why")
    taken = {name: words(name, 20) for name in ("one", "two", "three")}
    html = (
        f"<p>See <a href='http://two.example/page'>2</a>. <p>{words('own', 100)} <p>{taken['one']} "
        f"(<a href='http://one.example/page#x'>1</a>) <p>{words('more', 100)} <p>{taken['two']} <p>{taken['three']}"
    )
    records = [record(f"http://{name}.example/page", f"<p>{text}".encode()) for name, text in taken.items()]
    crawl = write_warc(folder / "crawl.warc.gz", [*records, record(URL, html.encode())])
    return ingest_crawl([str(crawl)], folder / "corpus", engine=engine).corpus


def test_says_whether_a_link_stands_near_the_patch(corpus: Corpus, engine: LocalEngine) -> None:
    found = {source.url: source for source in explain_page(corpus, URL, engine=engine).sources}
    one, two, three = (found[f"http://{name}.example/page"] for name in ("one", "two", "three"))
    assert one.link_distance is not None
    assert two.link_distance is not None
    assert one.link_distance <= 3 < NEAR_CHARACTERS < two.link_distance
    assert (three.is_attributed, three.link_distance) == (False, None)


def test_the_command_says_where_the_link_stands(corpus: Corpus, unquilt: Unquilt) -> None:
    lines = unquilt("why", corpus.path, URL).stdout.splitlines()
    for name, said in (("one", "near the patch"), ("two", "elsewhere in it"), ("three", " no ")):
        assert any(said in line and f"{name}.example" in line for line in lines), lines


def test_a_crawl_that_is_gone_costs_only_where_the_link_stands(corpus: Corpus, engine: LocalEngine) -> None:
    crawl = corpus.path.parent / "crawl.warc.gz"
    away = crawl.rename(Path(f"{crawl}.away"))
    try:
        found = {source.url: source for source in explain_page(corpus, URL, engine=engine).sources}
    finally:
        away.rename(crawl)
    one = found["http://one.example/page"]
    assert (one.is_attributed, one.link_distance) == (True, None)


def test_joins_what_every_detector_found(engine: LocalEngine, tmp_path: Path, unquilt: Unquilt) -> None:
    text = words("same", 120)
    other = [record(f"http://alone{i}.example/", f"<p>{words(f'alone{i}x', 90)}".encode()) for i in range(3)]
    copies = [record(f"http://copy{i}.example/", f"<p>{text}".encode()) for i in range(3)]
    corpus = ingest_crawl(
        [str(write_warc(tmp_path / "c.warc.gz", other + copies))], tmp_path / "c", engine=engine
    ).corpus
    story = explain_page(corpus, "http://copy1.example/", engine=engine)
    assert story.context.not_run == ["phrases", "styles", "mirrors", "reuse"]
    for name, detector in DETECTORS.items():
        if name != "quilts":
            detector.finder()(corpus, engine=engine).save(corpus)
    context = explain_page(corpus, "http://copy1.example/", engine=engine).context
    assert context.not_run == []
    assert context.near_duplicates is not None
    assert (context.near_duplicates.pages, context.near_duplicates.resemblance) == (3, 1.0)
    assert context.near_duplicates.cross_site
    assert context.neighborhood is not None
    assert context.neighborhood.prefix == "copy1.example/"
    alone = explain_page(corpus, "http://alone1.example/", engine=engine)
    assert alone.context.near_duplicates is None
    assert alone.context.popular is not None
    assert alone.cause.startswith("Original")
    said = unquilt("why", corpus.path, "http://copy1.example/").stdout
    assert "one of 3 near-duplicates of several sites" in said
