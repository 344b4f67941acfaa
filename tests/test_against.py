"""A crawl against an earlier one: agreement with a brute force, planted changes, both engines, the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Unquilt, record, write_warc
from slow_against import Copied, SlowAgainst, State, match_groups
from slow_quilts import Page
from unquilt.corpus import Corpus
from unquilt.detectors.against.find import compare_crawls, open_old
from unquilt.detectors.against.identities import GROUPS
from unquilt.detectors.against.identities import match_groups as match_quickly
from unquilt.detectors.against.params import AgainstParams
from unquilt.engines.local import LocalEngine
from unquilt.engines.spark import SparkEngine
from unquilt.errors import BadInput, BadParameter, CorpusMismatch
from unquilt.ingest.params import IngestParams
from unquilt.ingest.run import ingest_crawl
from unquilt.report.against import against_facts
from unquilt.report.page import render_report
from unquilt.result import Result, load_result
from unquilt.run import run_crawl
from unquilt.sample import sample_files
from unquilt.schema import AGAINST_PAGES

Row = dict[str, str]
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing to disk takes longer than everything else
WORDS = ["a", "A", "b", "c", "d", "é", "ß", "中", "文", "𝒳x"]
SITES = ["one.example", "www.one.example", "two.example", "a.b.co.uk", "c.b.co.uk"]


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalEngine]:
    """Runs every step in this process, for crawls of a few pages."""
    with LocalEngine(workers=1, memory=1 << 30) as one:
        yield one


# Small crawls and the brute force


def crawl_pair(seed: int) -> tuple[list[Row], list[Row]]:
    """Two crawls of pages made from a pool of phrases; of the second many are what they were."""
    rng = Random(seed)
    pool = [rng.choices(WORDS, k=rng.randint(2, 7)) for _ in range(rng.randint(3, 12))]

    def body() -> str:
        phrases = rng.sample(pool, rng.randint(0, min(6, len(pool))))
        return " ".join(word for phrase in phrases for word in phrase) or "..."

    def url() -> str:
        return f"http://{rng.choice(SITES)}/{rng.randint(0, 9)}"

    old = [{"url": url(), "html": f"<p>{body()}"} for _ in range(rng.randint(1, 14))]
    new = []
    for row in old:
        fate = rng.random()
        if fate < 0.2:
            row = row | {"url": url()}
        elif fate < 0.3:
            row = row | {"html": row["html"].replace("<p>", "<div> ")}
        elif fate < 0.6:
            row = row | {"html": f"{row['html']} {body()}"}
        if fate < 0.85:
            new.append(row)
    new += [{"url": url(), "html": f"<p>{body()}"} for _ in range(rng.randint(1, 5))]
    rng.shuffle(new)
    first = {"url": "http://always.example/", "html": "a word 中 b"}
    return [first, *new], [first, *old]


@contextmanager
def corpora_of(rows: tuple[list[Row], list[Row]], engine: LocalEngine) -> Iterator[tuple[Corpus, Corpus]]:
    """A corpus of two parts for each crawl. All pieces of work are small, so that a few pages fill many."""
    with TemporaryDirectory(dir=MEMORY) as name, pytest.MonkeyPatch.context() as patch:
        for module in ("pages", "copied"):
            patch.setattr(f"unquilt.detectors.against.{module}.PAGES_PER_BUCKET", 3)
        patch.setattr("unquilt.detectors.against.pages._URLS_PER_BUCKET", 2)
        patch.setattr("unquilt.ingest.page._FULL_ROWS", 3)
        made = []
        for side, some in zip(("new", "old"), rows, strict=True):
            folder = Path(name) / side
            folder.mkdir()
            paths = [folder / f"{part}.jsonl" for part in range(min(len(some), 2))]
            for part, path in enumerate(paths):
                path.write_text("".join(json.dumps(row) + "\n" for row in some[part::2]))
            made.append(ingest_crawl(list(map(str, paths)), folder / "corpus", engine=engine).corpus)
        yield made[0], made[1]


def slowly(new: Corpus, old: Corpus, k: int) -> SlowAgainst:
    pages, digests = [], []
    for corpus in (new, old):
        rows = corpus.read(["url", "host", "domain", "ip", "text", "file_sha1"]).to_pylist()
        digests.append({row["url"]: row.pop("file_sha1") for row in rows})
        pages.append([Page(**row) for row in rows])
    return SlowAgainst(pages[0], pages[1], (digests[0], digests[1]), k)


def states_of(result: Result) -> dict[str, State]:
    rows = result.tables["pages"].to_pylist()
    found = {row["url"]: (row["state"], row["old_url"], row["resemblance"]) for row in rows}
    assert len(found) == len(rows)
    return found


def copied_of(result: Result) -> dict[str, Copied]:
    return {
        row["url"]: Copied(
            row["grams"], row["common"], row["taken"], row["foreign"],
            [(source["url"], source["grams"], source["foreign"]) for source in row["sources"]],
        )
        for row in result.tables["copied"].to_pylist()
    }  # fmt: skip


settings_of_against = st.builds(
    AgainstParams,
    k=st.integers(1, 4),
    m=st.sampled_from([1, 2, 3, 50]),
    share=st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]),
    min_grams=st.sampled_from([1, 1, 2, 5]),
    foreign=st.sampled_from(["host", "domain", "ip"]),
)


def check_all(seed: int, params: AgainstParams, engine: LocalEngine) -> set[str]:
    """The states that occur; states and copied pages are those of the brute force to the last gram."""
    with corpora_of(crawl_pair(seed), engine) as (new, old):
        result = compare_crawls(new, old, params, engine=engine)
        slow = slowly(new, old, params.k)
        limits = {"m": params.m, "share": params.share, "min_grams": params.min_grams, "foreign": params.foreign}
        states = slow.states()
        assert states_of(result) == states
        copied = slow.copied(**limits)  # type: ignore[arg-type]
        assert copied_of(result) == copied
        for row in result.tables["copied"].to_pylist():
            assert row["share"] == row["taken"] / (row["grams"] - row["common"])
            assert row["foreign"] == sum(source["grams"] for source in row["sources"] if source["foreign"])
            assert row["state"] == states[row["url"]][0]
    return {state for state, _, _ in states.values()} | ({"copied"} if copied else set())


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), params=settings_of_against)
def test_small_crawls_give_what_the_brute_force_gives(alone: LocalEngine, seed: int, params: AgainstParams) -> None:
    check_all(seed, params, alone)


def test_the_small_crawls_have_every_state(alone: LocalEngine) -> None:
    found = set().union(*(check_all(seed, AgainstParams(k=2, min_grams=1), alone) for seed in range(25)))
    assert found == {"new", "gone", "same", "same-text", "changed", "moved", "copied"}


# Identities


groups_of_pages = st.lists(st.integers(0, 4), min_size=12, max_size=12)


@settings(deadline=None, max_examples=60)
@given(new=groups_of_pages, old=groups_of_pages, detector=st.sampled_from(sorted(GROUPS)))
def test_groups_are_matched_as_the_brute_force_does(new: list[int], old: list[int], detector: str) -> None:
    with TemporaryDirectory(dir=MEMORY) as name:
        sides = []
        groups: list[dict[int, set[str]]] = []
        for side, numbers in (("new", new), ("old", old)):
            path = Path(name) / side
            sides.append(_corpus_with_groups(path, numbers, detector))
            groups.append({n: {f"u{i}" for i, m in enumerate(numbers) if m == n} for n in set(numbers) - {0}})
        table = match_quickly(sides[0], sides[1], AGAINST_PAGES.empty_table(), Path(name) / "scratch")
    rows = table.to_pylist()
    assert {(row["new"], row["old"], row["state"], row["shared"]) for row in rows} == match_groups(*groups)
    assert len(rows) == len({(row["new"], row["old"], row["state"]) for row in rows})


def _corpus_with_groups(path: Path, numbers: list[int], detector: str = "styles") -> Corpus:
    """A corpus without pages, with a result whose groups are given; 0 is none."""
    (path / "pages").mkdir(parents=True)
    known = {"format": 1, "complete": True, "settings": {}, "superseded": "", "parts": []}
    (path / "corpus.json").write_text(json.dumps(known))
    corpus = Corpus(path)
    table, number, member = GROUPS[detector]
    members = [(one, f"u{i}") for i, one in enumerate(numbers) if one]
    schema = pa.schema([(number, pa.int64()), (member, pa.string())])
    rows = pa.table([[one for one, _ in members], [name for _, name in members]], schema=schema)
    Result(detector, {table: rows}, {}, corpus.digest).save(corpus)
    return corpus


def test_a_cluster_whose_pages_moved_keeps_its_identity(tmp_path: Path) -> None:
    new, old = (_corpus_with_groups(tmp_path / side, [1, 1, 2]) for side in ("new", "old"))
    members = pa.table({"cluster": [7, 7, 9], "url": ["v0", "v1", "u2"]})
    Result("styles", {"members": members}, {}, new.digest).save(new)
    rows = [{"url": f"v{i}", "host": "", "state": "moved", "old_url": f"u{i}", "resemblance": None} for i in range(2)]
    table = match_quickly(new, old, pa.Table.from_pylist(rows, schema=AGAINST_PAGES), tmp_path / "scratch")
    assert table.select(["new", "old", "state", "overlap", "example"]).to_pylist() == [
        {"new": 7, "old": 1, "state": "kept", "overlap": 1.0, "example": "v0"},
        {"new": 9, "old": 2, "state": "kept", "overlap": 1.0, "example": "u2"},
    ]


# Planted changes, on real pages


def text_of(number: int, words: int = 60) -> str:
    return " ".join(f"w{number}x{i}" for i in range(words))


def page_of(*texts: str, head: str = "") -> bytes:
    return f"<html>{head}<body>{''.join(f'<p>{text}' for text in texts)}</body></html>".encode()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two small crawls as files: the old and the new one."""
    folder = tmp_path_factory.mktemp("planted")
    shared = "every page of this site ends with these very words and no others"
    old = {f"http://h{i}.example/{i}": page_of(text_of(i), shared) for i in range(60)}
    new = dict(old)
    new["http://h0.example/0"] = page_of(text_of(0), shared, head="<title></title>")
    new["http://moved.example/1"] = new.pop("http://h1.example/1")
    del new["http://h2.example/2"]
    new["http://h3.example/3"] = page_of(text_of(3), text_of(4), shared)  # from another site
    new["http://h5.example/5"] = page_of(text_of(5), text_of(500), shared)  # of its own
    new["http://h6.example/6b"] = page_of(text_of(6, 40), text_of(501, 40), shared)  # from its own site
    new["http://scraper.test/"] = page_of(text_of(7, 30), text_of(8, 30), text_of(502, 20), shared)
    for name, pages in (("old", old), ("new", new)):
        write_warc(folder / f"{name}.warc.gz", [record(url, body) for url, body in pages.items()])
    return folder / "old.warc.gz", folder / "new.warc.gz"


@pytest.fixture(scope="module")
def ran(planted: tuple[Path, Path], unquilt: Unquilt) -> tuple[Corpus, Corpus, str]:
    """The corpora, as a user makes them, and what the second run said."""
    old, new = planted
    folder = old.parent
    assert unquilt("run", old, "-o", folder / "old.corpus").returncode == 0
    done = unquilt("run", new, "-o", folder / "new.corpus", "--against", folder / "old.corpus")
    assert done.returncode == 0, done.stderr
    return Corpus(folder / "new.corpus"), Corpus(folder / "old.corpus"), done.stdout


def test_planted_changes_are_found(ran: tuple[Corpus, Corpus, str]) -> None:
    new, _, said = ran
    result = load_result(new, "against")
    states = states_of(result)
    assert {url: state for url, state in states.items() if state != ("same", None, None)} == {
        "http://h0.example/0": ("same-text", None, None),
        "http://moved.example/1": ("moved", "http://h1.example/1", None),
        "http://h2.example/2": ("gone", None, None),
        "http://h3.example/3": ("changed", None, 65 / (69 + 129 - 65)),
        "http://h5.example/5": ("changed", None, 65 / (69 + 129 - 65)),
        "http://h6.example/6b": ("new", None, None),
        "http://scraper.test/": ("new", None, None),
    }
    copied = copied_of(result)
    assert list(copied) == ["http://h3.example/3", "http://h6.example/6b", "http://scraper.test/"]
    assert copied["http://h3.example/3"].sources == [("http://h4.example/4", 60, True)]
    assert copied["http://h6.example/6b"].sources == [("http://h6.example/6", 36, False)]
    assert copied["http://scraper.test/"].sources == [
        ("http://h7.example/7", 26, True), ("http://h8.example/8", 26, True),
    ]  # fmt: skip
    assert "2 pages are new, 1 gone, 1 moved, 2 changed, 1 changed in markup only, 55 the same." in said
    assert "of its text from 2 old pages of other sites, above all http://h7.example/7" in said
    assert "against" in said.partition("ingest ")[2]


def test_the_report_shows_a_comparison_that_is_there_and_is_silent_otherwise(
    ran: tuple[Corpus, Corpus, str],
) -> None:
    new, old, _ = ran
    assert 'id="against"' in (new.path / "report.html").read_text()
    assert "http://scraper.test/" in render_report(new).partition('id="against"')[2]
    assert "against" not in (old.path / "report.html").read_text()
    assert against_facts(old) is None


def test_a_comparison_is_made_again_only_if_something_it_is_made_from_changed(
    ran: tuple[Corpus, Corpus, str], planted: tuple[Path, Path], engine: LocalEngine, tmp_path: Path
) -> None:
    new, old = (Corpus(shutil.copytree(corpus.path, tmp_path / corpus.path.name)) for corpus in ran[:2])

    def is_made(**given: Any) -> bool:
        settings = {"against": AgainstParams(**given)}
        done = run_crawl(
            [str(planted[1])], new.path, detectors=[], settings=settings, against=Corpus(old.path), engine=engine
        )
        return done.stages[-1].is_new

    assert is_made()  # the old crawl lies elsewhere now
    assert not is_made()
    assert is_made(share=0.99)
    assert against_facts(new)["copied"]["pages"] == 0  # type: ignore[index]
    assert not is_made(share=0.99)
    shutil.rmtree(old.results / "phrases")
    assert is_made()
    assert "phrases" not in against_facts(new)["groups"]  # type: ignore[index]
    more = write_warc(tmp_path / "more.warc.gz", [record("http://h2.example/2b", page_of(text_of(900)))])
    ingest_crawl([str(more)], old.path, engine=engine)
    assert is_made()
    assert against_facts(new)["pages"]["gone"] == 2  # type: ignore[index]


def test_run_takes_the_settings_of_a_file_and_tells_json(
    ran: tuple[Corpus, Corpus, str], planted: tuple[Path, Path], unquilt: Unquilt, tmp_path: Path
) -> None:
    new, old, _ = ran
    shutil.copytree(new.path, tmp_path / "new.corpus")
    (tmp_path / "my.toml").write_text("[against]\nshare = 0.99\n")
    options = ["--against", str(old.path), "--config", str(tmp_path / "my.toml"), "--json"]
    done = unquilt("run", planted[1], "-o", tmp_path / "new.corpus", *options)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["against"]["pages"] == {"same": 55, "same-text": 1, "changed": 2, "moved": 1, "new": 2, "gone": 1}
    assert said["against"]["copied"] == {"pages": 0, "half": 0, "foreign_half": 0}
    assert "against" in said["seconds"]


def test_against_gives_what_run_gives(ran: tuple[Corpus, Corpus, str], unquilt: Unquilt, tmp_path: Path) -> None:
    new, old, _ = ran
    shutil.copytree(new.path, tmp_path / "new.corpus")
    shutil.rmtree(tmp_path / "new.corpus" / "results" / "against")
    done = unquilt("against", tmp_path / "new.corpus", old.path)
    assert done.returncode == 0, done.stderr
    assert "3 pages that take most" in done.stdout
    for name, table in load_result(new, "against").tables.items():
        assert table.equals(pq.read_table(tmp_path / "new.corpus" / "results" / "against" / f"{name}.parquet")), name


# Both engines


@pytest.fixture(scope="module")
def real_pair(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Corpus]:
    """The sample as two crawls: three of its files in each, in many parts."""
    folder = tmp_path_factory.mktemp("real")
    files = [str(path) for path in sample_files()]
    params = IngestParams(split_bytes=1 << 18)
    new, old = (
        ingest_crawl(some, folder / name, params, engine=engine).corpus
        for name, some in (("new", files[1:]), ("old", files[:-1]))
    )
    return new, old


def test_spark_and_any_number_of_workers_give_the_same_tables(
    real_pair: tuple[Corpus, Corpus], engine: LocalEngine, alone: LocalEngine, spark_engine: SparkEngine
) -> None:
    expected = compare_crawls(*real_pair, engine=alone)
    assert len(expected.tables["copied"]) > 10
    assert {"new", "gone", "same"} <= set(expected.tables["pages"]["state"].to_pylist())
    for other in (engine, spark_engine):
        found = compare_crawls(*real_pair, engine=other)
        assert found.params == expected.params
        for name, table in expected.tables.items():
            assert found.tables[name].equals(table), name


def test_a_crawl_against_a_copy_of_itself_is_the_same(
    real_pair: tuple[Corpus, Corpus], engine: LocalEngine, tmp_path: Path
) -> None:
    shutil.copytree(real_pair[0].path, tmp_path / "copy")
    tables = compare_crawls(real_pair[0], Corpus(tmp_path / "copy"), engine=engine).tables
    assert set(tables["pages"]["state"].to_pylist()) == {"same"}
    assert not len(tables["copied"])
    assert not np.any(tables["pages"]["resemblance"].is_valid().to_numpy())


def test_the_last_of_several_captures_stands_for_a_page(engine: LocalEngine, tmp_path: Path) -> None:
    body, other = page_of(text_of(1)), page_of(text_of(2))
    crawls = {"old": [("/1", other), ("/1", body)], "new": [("/1", body), ("/2", page_of(text_of(2), text_of(3)))]}
    made = {}
    for name, pages in crawls.items():
        records = [record(f"http://a.example{path}", one) for path, one in pages]
        path = write_warc(tmp_path / f"{name}.warc.gz", records)
        made[name] = ingest_crawl([str(path)], tmp_path / name, IngestParams(captures="all"), engine=engine).corpus
    assert made["old"].pages == 2
    result = compare_crawls(made["new"], made["old"], engine=engine)
    assert [state for state, _, _ in states_of(result).values()] == ["same", "new"]
    assert not copied_of(result)  # from a capture that does not stand for its page


# What cannot be compared


def test_what_cannot_be_compared_is_one_sentence(real_pair: tuple[Corpus, Corpus], tmp_path: Path) -> None:
    new, old = real_pair
    with pytest.raises(BadParameter, match="cannot be compared with itself"):
        open_old(new.path, new.path / "pages" / "..")
    with pytest.raises(BadInput, match="does not exist"):
        open_old(tmp_path / "nothing", new.path)
    for change, kind, match in (
        ({"settings": {"words": "runs of letters"}}, CorpusMismatch, "takes words to be runs of letters"),
        ({"complete": False}, BadInput, "was interrupted"),
        ({"parts": []}, BadInput, "has no text"),
    ):
        shutil.copytree(old.path, tmp_path / "other", dirs_exist_ok=True)
        known = json.loads((old.path / "corpus.json").read_text())
        (tmp_path / "other" / "corpus.json").write_text(json.dumps(known | change))
        with pytest.raises(kind, match=match) as refused:
            open_old(tmp_path / "other", new.path)
        assert refused.value.fix


def test_a_wrong_old_crawl_is_told_before_anything_is_read(
    unquilt: Unquilt, planted: tuple[Path, Path], tmp_path: Path
) -> None:
    done = unquilt("run", planted[1], "-o", tmp_path / "new.corpus", "--against", tmp_path / "nothing")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "does not exist" in done.stderr
    assert not (tmp_path / "new.corpus").exists()


def test_a_list_of_urls_has_no_comparison_and_that_is_no_fault(
    unquilt: Unquilt, ran: tuple[Corpus, Corpus, str], tmp_path: Path
) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/1\nhttp://b.example/1\n")
    options = ["--only", "quilts", "--against", str(ran[1].path)]
    done = unquilt("run", tmp_path / "urls.txt", "-o", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert "No comparison:" in done.stderr
