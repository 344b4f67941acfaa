"""A clean crawl against a slow and simple answer, and back to what it was."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slow_clean
from conftest import Unquilt, tree
from slow_quilts import spans_of, words_of
from unquilt.clean.files import read_tables
from unquilt.clean.params import FORMATS, CleanParams
from unquilt.clean.restore import restore_pages
from unquilt.clean.run import Cleaned, clean_corpus
from unquilt.clean.write import FOLDERS
from unquilt.corpus import Corpus
from unquilt.detectors.phrases.find import find_duplicates
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.engines.spark import SparkEngine
from unquilt.errors import BadInput
from unquilt.ingest.params import IngestParams
from unquilt.ingest.run import ingest_crawl
from unquilt.sample import sample_files
from unquilt.schema import CLEAN_PAGES
from unquilt.synth import SynthParams, write_synth

Row = dict[str, Any]
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing to disk takes longer than everything else


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalEngine]:
    """Runs every step in this process, for crawls of a few pages."""
    with LocalEngine(workers=1, memory=1 << 30) as one:
        yield one


@pytest.fixture(scope="module")
def sample(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("clean") / "sample.corpus"
    return ingest_crawl([str(path) for path in sample_files()], folder, engine=engine).corpus


@pytest.fixture(scope="module")
def planted(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A made-up crawl in many parts."""
    folder = tmp_path_factory.mktemp("clean-planted")
    write_synth(folder / "web", SynthParams(pages=600), workers=1)
    crawl = sorted(map(str, (folder / "web").glob("*.warc.gz")))
    return ingest_crawl(crawl, folder / "corpus", IngestParams(split_bytes=1 << 18), engine=engine).corpus


def read(out: Path, folder: str) -> pa.Table:
    """All rows of a folder of a clean crawl."""
    files = sorted((out / folder).iterdir())
    tables = (table for path in files for table in read_tables(path, FOLDERS[folder]))
    return pa.concat_tables([FOLDERS[folder].empty_table(), *tables])


def check(corpus: Corpus, out: Path, params: CleanParams, engine: Engine) -> Cleaned:
    """Clean a corpus; everything that is written is what the slow way gives."""
    done = clean_corpus(corpus, out, params, engine=engine)
    before = corpus.read(CLEAN_PAGES.names)
    pages, removed, dropped = (read(out, folder).to_pylist() for folder in FOLDERS)
    check_drops(corpus, before.to_pylist(), pages, dropped, params, engine)
    kept = [row for row in before.to_pylist() if row["page"] in {page["page"] for page in pages}]
    check_texts(kept, pages, removed, params)
    assert pa.concat_tables(restore_pages(out)).equals(before.cast(CLEAN_PAGES))
    assert done.counts["words"] == sum(words or 0 for words in before["words"].to_pylist())
    assert done.counts["clean_words"] == sum(len(words_of(page["text"] or "")) for page in pages)
    return done


def check_drops(
    corpus: Corpus, before: list[Row], pages: list[Row], dropped: list[Row], params: CleanParams, engine: Engine
) -> None:
    assert sorted(row["page"] for row in pages + dropped) == [row["page"] for row in before]
    if not params.pages:
        assert not dropped
        return
    expected = find_duplicates(corpus, engine=engine).tables["pages"].to_pylist()
    expected = [row | {"page": page["page"]} for row, page in zip(expected, before, strict=True)]
    urls = {row["page"]: row["url"] for row in pages}
    assert all(urls[row["kept_page"]] == row["kept_url"] for row in dropped)
    assert [(row["page"], row["url"], row["kept_url"], row["resemblance"]) for row in dropped] == [
        (row["page"], row["url"], row["kept"], row["resemblance"]) for row in expected if not row["keep"]
    ]
    assert [row["text"] for row in dropped] == [row["text"] for row in before if row["page"] not in urls]


def check_texts(kept: list[Row], pages: list[Row], removed: list[Row], params: CleanParams) -> None:
    texts = [row["text"] or "" for row in kept]
    found = slow_clean.find_passages(texts, params.k, params.min_words, params.boilerplate, params.min_boilerplate)
    rows = []
    for row, text, page, passages in zip(kept, texts, pages, found, strict=True):
        spans = [slow_clean.span_of(text, passage, passages) for passage in passages]
        after = text if params.mark else slow_clean.cut(text, spans)
        assert page == row | ({} if row["text"] is None else {"text": after, "words": len(words_of(after))})
        for passage, (begin, end) in zip(passages, spans, strict=True):
            source: tuple[Any, ...] = (None, None, None)
            if passage.source:
                number, word = passage.source
                words = spans_of(texts[number])[word : word + passage.end - passage.begin]
                source = (kept[number]["url"], words[0][0], words[-1][1])
            rows.append((row["page"], row["url"], begin, end, passage.end - passage.begin, passage.kind, passage.pages,
                         *source, text[begin:end]))  # fmt: skip
    assert [tuple(row.values()) for row in removed] == rows


@pytest.mark.parametrize(
    "params",
    [
        CleanParams(),
        CleanParams(k=5, min_words=30, boilerplate=15, min_boilerplate=8, format="parquet"),
        CleanParams(pages=False, k=8, min_words=20, boilerplate=20, min_boilerplate=10, format="jsonl.gz"),
    ],
    ids=lambda params: f"k={params.k},{params.format}",
)
def test_the_real_sample_is_cleaned_as_the_slow_way_does(
    sample: Corpus, engine: LocalEngine, tmp_path: Path, params: CleanParams
) -> None:
    done = check(sample, tmp_path / "out", params, engine)
    assert done.counts["copy_passages"] > 500
    assert done.counts["boilerplate_passages"] > 100 or params.boilerplate == 100


WORDS = ["a", "A", "b", "c", "é", "e\u0301", "ß", "İ", "中", "文", "𝒳x", "𠀀", "น้ำ"]
GAPS = [" ", " ", ", ", ".\n", "🙂", "\n", "", "\u0301 ", " \u0301", "\u3000", "\x85", "\u2028", "\x0b"]


@st.composite
def small_crawls(draw: st.DrawFn) -> list[Row]:
    """A few pages of a few phrases; some are empty, of white space, equal, or captured twice."""
    texts = draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=4))
    rows: list[Row] = [{"url": "http://always.example/", "text": "a word 中 b"}]
    for number in range(draw(st.integers(1, 7))):
        words = [word for phrase in draw(st.lists(st.sampled_from(texts), max_size=4)) for word in phrase]
        text = "".join(word + draw(st.sampled_from(GAPS)) for word in words)
        text = draw(st.sampled_from(["", "", "  ", "\u0301", "(", "\n"])) + text
        rows.append({"url": f"http://{draw(st.sampled_from('xy'))}.example/{number}", "text": text})
    return rows


small_settings = st.builds(
    CleanParams,
    pages=st.booleans(),
    k=st.integers(1, 4),
    min_words=st.integers(0, 6),
    boilerplate=st.integers(0, 4),
    min_boilerplate=st.integers(1, 6),
    mark=st.sampled_from([False, False, True]),
    format=st.sampled_from(FORMATS),
)


@contextmanager
def corpus_of(rows: list[Row], engine: LocalEngine) -> Iterator[Corpus]:
    """A corpus of two parts of small row groups."""
    with TemporaryDirectory(dir=MEMORY) as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("unquilt.ingest.page._FULL_ROWS", 3)
        folder = Path(name)
        for part, some in enumerate((rows[: len(rows) // 2], rows[len(rows) // 2 :])):
            (folder / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
        paths = [str(folder / f"{part}.jsonl") for part in range(2)]
        yield ingest_crawl(paths, folder / "corpus", engine=engine).corpus


@settings(max_examples=60)
@given(rows=small_crawls(), params=small_settings)
def test_small_crawls_are_cleaned_as_the_slow_way_does_and_come_back(
    rows: list[Row], params: CleanParams, alone: LocalEngine
) -> None:
    with corpus_of(rows, alone) as corpus:
        check(corpus, corpus.path.parent / "out", params, alone)


def test_what_was_planted_is_taken_out_and_nothing_else(alone: LocalEngine) -> None:
    chance = Random(3)
    own = [" ".join(f"w{chance.randrange(10**9)}" for _ in range(150)) for _ in range(6)]
    copied, short = (" ".join(f"{name}{i}" for i in range(size)) for name, size in (("c", 50), ("s", 49)))
    footer = "About us · Contact · Terms of service · Privacy · Made by nobody in particular"
    first = f"{own[0]}\n{copied}.\n{short}\n{footer}"
    texts = [
        first,
        f"{short} {own[1]}\n{footer}",
        f"{own[2]} {copied} {own[3]}\n{footer}",
        first,
        f"{copied}: {own[4]}\n{footer}",
    ]
    texts += [f"{own[5]}\n({copied})", f"{footer}\nthe only words of their own", copied, footer]
    rows = [{"url": f"http://{i}.example/", "text": text} for i, text in enumerate(texts)]
    with corpus_of(rows, alone) as corpus:
        out = corpus.path.parent / "out"
        check(corpus, out, CleanParams(boilerplate=5, min_words=50), alone)
        found = {row["url"][7]: row["text"] for row in read(out, "pages").to_pylist()}
        (dropped,) = read(out, "dropped").to_pylist()
    assert (dropped["url"], dropped["kept_url"], dropped["text"]) == ("http://3.example/", "http://0.example/", first)
    assert found == {
        "0": f"{own[0]}\n{copied}.\n{short}",
        "1": f"{short} {own[1]}",
        "2": f"{own[2]}\n{own[3]}",
        "4": own[4],
        "5": f"{own[5]}\n(",
        "6": "the only words of their own",
        "7": "",
        "8": "",
    }


@pytest.mark.parametrize("kind", FORMATS)
def test_files_are_the_same_with_any_number_of_workers_and_little_memory(
    planted: Corpus, engine: LocalEngine, alone: LocalEngine, tmp_path: Path, kind: str
) -> None:
    params = CleanParams(k=6, min_words=12, boilerplate=20, format=kind)
    two, one = (clean_corpus(planted, tmp_path / name, params, engine=some) for name, some in
                (("two", engine), ("one", alone)))  # fmt: skip
    with LocalEngine(workers=3, memory=512 << 20) as third:
        three = clean_corpus(planted, tmp_path / "three", params, engine=third)
    assert len(planted.parts) > 3
    assert tree(one.path) == tree(two.path) == tree(three.path)
    assert one.examples == two.examples == three.examples
    assert two.counts["copy_words"] > 1000 < two.counts["boilerplate_words"]
    assert two.counts["kept_pages"] < two.counts["pages"]
    restored = pa.concat_tables(restore_pages(two.path))
    assert restored.equals(planted.read(CLEAN_PAGES.names).cast(CLEAN_PAGES))


def test_spark_writes_the_files_of_the_local_engine(
    planted: Corpus, engine: LocalEngine, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    params = CleanParams(k=6, min_words=12, boilerplate=20)
    clean_corpus(planted, tmp_path / "local", params, engine=engine)
    with SparkEngine(spark_engine.session, partitions=3) as spark:
        clean_corpus(planted, tmp_path / "spark", params, engine=spark)
    assert tree(tmp_path / "spark") == tree(tmp_path / "local")


def test_a_page_without_text_stays_as_it_is(alone: LocalEngine, tmp_path: Path) -> None:
    text = " ".join(f"w{i}" for i in range(60))
    rows = [{"url": f"http://{i}.example/", "text": f"own{i} " * i + text} for i in range(3)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "urls.txt").write_text("http://one.example/\nhttp://two.example/\n")
    inputs = [str(tmp_path / name) for name in ("urls.txt", "pages.jsonl")]
    corpus = ingest_crawl(inputs, tmp_path / "corpus", engine=alone).corpus
    check(corpus, tmp_path / "out", CleanParams(pages=False), alone)
    assert read(tmp_path / "out", "pages")["text"].null_count == 2


def test_writing_again_leaves_nothing_of_what_was_there(sample: Corpus, engine: LocalEngine, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    clean_corpus(sample, out, CleanParams(format="parquet"), engine=engine)
    params = CleanParams(format="jsonl.gz", mark=True)
    for folder in (out, other):
        clean_corpus(sample, folder, params, engine=engine)
    assert tree(out) == tree(other)
    with gzip.open(min((out / "pages").iterdir())) as lines:
        assert json.loads(next(lines))["url"].startswith("http")


def test_what_is_not_a_clean_crawl_is_refused_and_left_alone(
    sample: Corpus, planted: Corpus, alone: LocalEngine, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file; a clean crawl is a folder"):
        clean_corpus(sample, tmp_path / "file", engine=alone)
    before = tree(planted.path)
    with pytest.raises(BadInput, match="is not empty, and not a clean crawl") as raised:
        clean_corpus(sample, planted.path, engine=alone)
    assert "Choose a new folder with -o" in raised.value.fix
    assert tree(planted.path) == before
    with pytest.raises(BadInput, match="is not a clean crawl"):
        next(restore_pages(planted.path))
    with pytest.raises(BadInput, match="is not a clean crawl"):
        next(restore_pages(tmp_path / "nowhere"))


def test_a_crawl_that_was_not_written_to_its_end_is_not_restored(
    sample: Corpus, engine: LocalEngine, alone: LocalEngine, tmp_path: Path
) -> None:
    class Stopped(LocalEngine):
        def reduce(self, step: Any, blocks: Any, *, name: str) -> Iterator[Any]:
            if name == "Writing pages":
                raise KeyboardInterrupt
            return super().reduce(step, blocks, name=name)

    with Stopped(workers=1, memory=1 << 30) as stopped, pytest.raises(KeyboardInterrupt):
        clean_corpus(sample, tmp_path / "out", engine=stopped)
    with pytest.raises(BadInput, match="is not complete") as raised:
        next(restore_pages(tmp_path / "out"))
    assert "Run the same command again" in raised.value.fix
    assert not list(sample.path.glob(".work-*"))
    check(sample, tmp_path / "out", CleanParams(), engine)


def test_a_file_that_is_missing_is_named(sample: Corpus, engine: LocalEngine, tmp_path: Path) -> None:
    done = clean_corpus(sample, tmp_path / "out", engine=engine)
    gone = max((done.path / "dropped").iterdir())
    gone.unlink()
    with pytest.raises(BadInput, match=f"{gone.name} is not there"):
        list(restore_pages(done.path))


def test_a_list_of_urls_has_nothing_to_clean(alone: LocalEngine, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://one.example/\nhttp://two.example/\n")
    corpus = ingest_crawl([str(tmp_path / "urls.txt")], tmp_path / "corpus", engine=alone).corpus
    with pytest.raises(BadInput, match="has no text: it was made from a list of URLs"):
        clean_corpus(corpus, tmp_path / "out", engine=alone)
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_it_did(sample: Corpus, unquilt: Unquilt, tmp_path: Path) -> None:
    done = unquilt("clean", sample.path, "-o", tmp_path / "out", "--boilerplate", 20)
    assert done.returncode == 0, done.stderr
    assert "1,060 pages: 847 kept, 213 near-duplicates dropped." in done.stdout
    assert "words of http://licences.example/GFDL-1.3\n    stand in http://licences.example/GFDL-1.2" in done.stdout
    said = unquilt("clean", sample.path, "-o", tmp_path / "out", "--boilerplate", 20, "--mark", "--json")
    facts = json.loads(said.stdout)
    assert facts["clean_words"] == facts["kept_words"] == 594_617
    assert facts["params"] == replace(CleanParams(), boilerplate=20, mark=True).as_dict()
    assert len(facts["longest"]) == 3
    refused = unquilt("clean", sample.path, "-o", sample.path)
    assert refused.returncode == 1
    assert refused.stderr.endswith(
        "is not empty, and not a clean crawl.\nChoose a new folder with -o, or empty this one.\n"
    )
