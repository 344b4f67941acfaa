"""Mirrors against a slow and independent answer, planted ones, and what only looks like one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
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
from slow_mirrors import SlowMirrors, level_of, outcome_of, terms_of
from unquilt.corpus import Corpus
from unquilt.detectors.mirrors.candidates import merge_samples, sample_table, wide
from unquilt.detectors.mirrors.explain import explain_mirrors
from unquilt.detectors.mirrors.find import find_mirrors
from unquilt.detectors.mirrors.levels import NOT_KNOWN, OUTCOMES, Comparisons, Outcomes, decide_levels
from unquilt.detectors.mirrors.outcome import is_misspelling
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadParameter
from unquilt.ingest.run import ingest_crawl
from unquilt.ingest.sites import split_url
from unquilt.kernels.urls import bigram_key, candidate_paths, hash_paths, hash_terms
from unquilt.report.figures import figures_of
from unquilt.result import Result, load_result
from unquilt.sample import sample_files
from unquilt.synth import SynthParams, write_synth

Row = dict[str, Any]
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalEngine]:
    with LocalEngine(workers=1, memory=1 << 30) as one:
        yield one


@pytest.fixture(scope="module")
def planted(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, list[Row]]:
    folder = tmp_path_factory.mktemp("planted")
    write_synth(folder / "web", SynthParams(pages=10_000, seed=3), workers=2)
    corpus = ingest_crawl([str(folder / "web" / "*.warc.gz")], folder / "web.corpus", engine=engine).corpus
    return corpus, pq.read_table(folder / "web" / "truth" / "mirrors.parquet").to_pylist()


@pytest.fixture(scope="module")
def planted_result(planted: tuple[Corpus, list[Row]], engine: LocalEngine) -> Result:
    return find_mirrors(planted[0], MirrorParams(min_urls=50), engine=engine)


@contextmanager
def url_corpus(urls: list[str], engine: LocalEngine, **options: Any) -> Iterator[Corpus]:
    with TemporaryDirectory(dir=MEMORY) as folder:
        (Path(folder) / "urls.txt").write_text("".join(f"{url}\n" for url in urls))
        yield ingest_crawl([f"{folder}/urls.txt"], Path(folder) / "urls.corpus", engine=engine, **options).corpus


def hashes_of(urls: list[str]) -> dict[str, int]:
    paths = sorted({split_url(url)[1] for url in urls})
    return dict(zip(paths, hash_paths(*wide(pa.array(paths, pa.string()))).tolist(), strict=True))


def candidates_of(result: Result) -> list[tuple[Any, ...]]:
    names = ("host_a", "host_b", "score", "features", "path_features")
    return [tuple(row[name] for name in names) for row in result.tables["candidates"].to_pylist()]


def expect_candidates(result: Result, slow: SlowMirrors) -> None:
    found, wanted = candidates_of(result), slow.candidates()
    by_pair = {row[:2]: row for row in wanted}
    assert {row[:2] for row in found} == set(by_pair)
    for row in found:
        assert row == pytest.approx(by_pair[row[:2]])
    scores = [row[2] for row in found]
    assert scores == sorted(scores, reverse=True)


def outcomes_by_path(pair: Row) -> list[tuple[str, str, str]]:
    return [(test["source"], test["path"], test["outcome"]) for test in pair["tests"]]


# Stage I


def test_the_example_of_the_paper() -> None:
    slow = SlowMirrors([], MirrorParams(min_count=1, stop_terms=""), {})
    slow.samples["www7.infoseek.com"] = ["/cellblock16/inmates/dilbert/personal/foo.htm"]
    assert slow.features_of("www7.infoseek.com") == {
        ("host", "www", "infoseek"), ("host", "infoseek", "com"), ("path", "cellblock", "inmates", 0),
        ("path", "inmates", "dilbert", 1), ("path", "dilbert", "personal", 2), ("path", "personal", "foo", 3),
        ("path", "foo", "htm", 4),
    }  # fmt: skip
    assert terms_of("www7.infoseek.com") == terms_of("www6.infoseek.com")


words = st.sampled_from(["docs", "cgi", "Guide", "index", "nph", "a", "b", "été", "x1y", "q=2", "news", "HTML"])
paths = st.lists(words, max_size=4).map(lambda some: "/" + "/".join(some))
host_names = st.sampled_from(["www.one.com", "www2.one.com", "mirror.one.org", "two.net", "10.0.0.1", "home.main.de"])
url_lists = st.lists(
    st.tuples(host_names, paths).map(lambda pair: f"http://{pair[0]}{pair[1]}"), min_size=1, max_size=120
)


@settings(max_examples=40)
@given(
    url_lists, st.integers(1, 3), st.integers(1, 6), st.sampled_from([1.1, 1.5, 2.0, 3.0]), st.integers(1, 3),
    st.integers(2, 4), st.integers(1, 3),
)  # fmt: skip
def test_candidates_of_made_up_urls(
    alone: LocalEngine, urls: list[str], modulus: int, first: int, growth: float, min_count: int, max_hosts: int,
    min_features: int,
) -> None:  # fmt: skip
    params = MirrorParams(
        min_urls=2, modulus=modulus, first_sample=first, sample_growth=growth, min_count=min_count, max_hosts=max_hosts,
        min_features=min_features, min_path_features=0,
    )  # fmt: skip
    urls = sorted(set(urls))
    with url_corpus(urls, alone) as corpus:
        expect_candidates(find_mirrors(corpus, params, engine=alone), SlowMirrors(urls, params, hashes_of(urls)))


def test_candidates_of_the_bundled_crawl(engine: LocalEngine, tmp_path: Path) -> None:
    files = [str(path) for path in sample_files()]
    corpus = ingest_crawl(files, tmp_path / "sample.corpus", engine=engine).corpus
    urls = corpus.read(["url"])["url"].to_pylist()
    for params in (MirrorParams(min_urls=2, modulus=1), MirrorParams(min_urls=10, modulus=2, first_sample=5)):
        result = find_mirrors(corpus, params, engine=engine)
        slow = SlowMirrors(urls, params, hashes_of(urls))
        expect_candidates(result, slow)
        assert slow.candidates()
        pages = {
            split_url(row["url"]): (row["file_sha1"], row["text"] or "")
            for row in corpus.read(["url", "file_sha1", "text"]).to_pylist()
        }
        for pair in result.tables["pairs"].to_pylist():
            outcomes = []
            for source, path, outcome in outcomes_by_path(pair):
                target = pair["host_b"] if source == pair["host_a"] else pair["host_a"]
                sides = pages.get((source, path)), pages.get((target, path))
                if all(side is None or side[1].isascii() for side in sides):
                    assert outcome == outcome_of(*sides, params)
                outcomes.append(outcome)
            assert pair["level"] == level_of(outcomes, params)


@given(
    st.lists(st.tuples(st.integers(0, 2), paths), max_size=80), st.integers(1, 3), st.integers(1, 5),
    st.sampled_from([1.1, 2.0]), st.integers(1, 5), st.randoms(use_true_random=False),
)  # fmt: skip
def test_a_sample_of_samples_is_the_sample(
    rows: list[tuple[int, str]], modulus: int, first: int, growth: float, pieces: int, random: Random
) -> None:
    params = MirrorParams(modulus=modulus, first_sample=first, sample_growth=growth)
    urls = [f"http://h{host}.org{path}" for host, path in rows]
    random.shuffle(urls)
    tables = []
    for piece in range(pieces):
        mine = urls[piece::pieces]
        hosts = pa.array([split_url(url)[0] for url in mine], pa.string())
        tables.append(sample_table(pa.table({"url": pa.array(mine, pa.string()), "host": hosts}), params))
    merged = merge_samples(pa.concat_tables(tables), params)
    slow = SlowMirrors(urls, params, hashes_of(urls))
    assert {row["host"]: row["paths"] for row in merged.to_pylist()} == slow.samples
    assert {row["host"]: row["urls"] for row in merged.to_pylist()} == slow.counts


@given(st.lists(st.text("ab/?#\\\t é%:.", max_size=12), min_size=1, max_size=20))
def test_paths_are_those_of_split_url(tails: list[str]) -> None:
    urls = [f"http://a.org{tail}" for tail in tails if split_url(f"http://a.org{tail}")[0] == "a.org"]
    rows, _, hashes, data, offsets = candidate_paths(*wide(pa.array(urls, pa.string())), 1)
    found = [bytes(data[a:b]).decode() for a, b in pairwise(offsets)]
    assert rows.tolist() == list(range(len(urls)))
    assert found == [split_url(url)[1] for url in urls]
    assert hashes.tolist() == hash_paths(data, offsets).tolist()


def test_the_sample_grows_slower_than_the_host() -> None:
    sizes = (100, 1_000, 10_000, 100_000)
    kept = []
    for size in sizes:
        urls = pa.table({"url": [f"http://a.org/x/{i}" for i in range(size)], "host": ["a.org"] * size})
        kept.append(len(sample_table(urls, MirrorParams())["paths"][0]))
    assert 10 <= kept[0] <= 30
    for fewer, more in pairwise(kept):
        assert 2 < more / fewer < 5  # ten times the URLs, about the square root of ten times the sample


def test_workers_and_the_order_of_urls_do_not_matter(engine: LocalEngine, alone: LocalEngine) -> None:
    random = Random(5)
    urls = [
        f"http://h{i % 40}.org/f{random.randrange(9)}/x{'ab'[i % 2]}/{random.choice('abcdefgh')}{i}.html"
        for i in range(6000)
    ]
    params = MirrorParams(min_urls=20)
    with url_corpus(sorted(urls), alone) as ordered, url_corpus(urls, engine) as mixed:
        one = find_mirrors(ordered, params, engine=alone)
        other = find_mirrors(mixed, params, engine=engine)
    assert len(one.tables["candidates"])
    for name, table in one.tables.items():
        assert table.equals(other.tables[name]), name


def test_explain_adds_up_to_the_score(
    planted: tuple[Corpus, list[Row]], planted_result: Result, engine: LocalEngine
) -> None:
    for row in planted_result.tables["candidates"].slice(0, 3).to_pylist():
        story = explain_mirrors(planted[0], row["host_a"], row["host_b"], MirrorParams(min_urls=50), engine=engine)
        assert story.score == pytest.approx(row["score"])
        assert sum(one.weight > 0 for one in story.features) == row["features"]
        assert story.is_candidate
    with pytest.raises(BadParameter, match=r"nowhere\.example"):
        explain_mirrors(planted[0], "nowhere.example", row["host_b"], engine=engine)


def test_features_of_hosts_and_of_paths_never_meet() -> None:
    terms = hash_terms(*wide(pa.array(["www", "infoseek"], pa.string())))
    keys = {int(bigram_key(*terms, depth)) for depth in range(-1, 50)}
    assert len(keys) == 51
    assert int(bigram_key(*terms, -1)) % 2 == 1


# Stage II


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=19), st.integers(1, 6))
def test_levels_follow_the_table(names: list[str], min_tests: int) -> None:
    n = len(names)
    zeros, keys = np.zeros(n, np.int64), np.zeros(n, np.uint64)
    tests = Comparisons(zeros, zeros, zeros + 1, zeros, keys, keys, pa.array(["/"]))
    codes = np.array([OUTCOMES.index(name) for name in names], np.uint8)
    outcomes = Outcomes(codes, np.full(n, np.nan), np.full(n, NOT_KNOWN, np.uint8), np.full(n, NOT_KNOWN, np.uint8))
    params = MirrorParams(min_tests=min_tests)
    levels, known = decide_levels(tests, outcomes, 1, params)
    assert levels == [level_of(names, params)]
    assert known.tolist() == [sum(name not in ("unknown", "SF") for name in names)]


def test_finds_what_was_planted(planted: tuple[Corpus, list[Row]], planted_result: Result) -> None:
    levels = {(row["host_a"], row["host_b"]): row["level"] for row in planted_result.tables["pairs"].to_pylist()}
    trees = {frozenset((row["host_a"], row["host_b"])) for row in planted_result.tables["trees"].to_pylist()}
    truth = {tuple(sorted((row["host_a"], row["host_b"]))): row for row in planted[1]}
    for pair, row in truth.items():
        if row["level"] != "mismatch":
            assert levels[pair] == row["level"], row
        else:
            assert levels.get(pair, "mismatch") in ("mismatch", "undecided"), row
        assert (frozenset(pair) in trees) == ((row["trap"] or "").startswith("the same content")), row
    assert {pair for pair, level in levels.items() if level.isdigit()} <= set(truth)


def test_every_pair_is_compared_with_19_tests_of_ten_paths(planted_result: Result) -> None:
    drawn: dict[str, set[tuple[str, ...]]] = {}
    for row in planted_result.tables["pairs"].to_pylist():
        tests = outcomes_by_path(row)
        assert len(tests) == len(set(tests)) == 19
        assert [path for _, path, _ in tests].count("/") == 1
        for host in (row["host_a"], row["host_b"]):
            mine = tuple(path for source, path, _ in tests if source == host and path != "/")
            assert len(mine) == 9
            drawn.setdefault(host, set()).add(mine)
    assert all(len(draws) == 1 for draws in drawn.values())  # once for each host, whatever the pair


def page_of(seed: object, words: int = 40) -> bytes:
    random = Random(str(seed))
    return ("<p>" + " ".join(f"w{random.randrange(10_000)}" for _ in range(words))).encode()


def crawl(folder: Path, engine: LocalEngine, pages: dict[str, bytes], extra: list[bytes] | None = None) -> Corpus:
    records = [record(url, body) for url, body in pages.items()]
    path = write_warc(folder / "made.warc.gz", [*records, *(extra or [])])
    return ingest_crawl([str(path)], folder / "made.corpus", engine=engine).corpus


SMALL = MirrorParams(min_urls=5, modulus=1)
TREE = ["/", *(f"/manual/part{'abcd'[i % 4]}/chapter{i}.html" for i in range(24))]


def level_between(result: Result, a: str, b: str) -> str | None:
    for row in result.tables["pairs"].to_pylist():
        if {row["host_a"], row["host_b"]} == {a, b}:
            return str(row["level"])
    return None


def test_a_path_that_the_crawl_does_not_hold_is_no_evidence(tmp_path: Path, engine: LocalEngine) -> None:
    pages = {f"http://a.org{path}": page_of(path) for path in TREE}
    pages |= {f"http://b.org{path}": page_of(path) for path in TREE if len(path) % 2}
    result = find_mirrors(crawl(tmp_path, engine, pages), SMALL, engine=engine)
    (row,) = result.tables["pairs"].to_pylist()
    assert {outcome for _, _, outcome in outcomes_by_path(row)} == {"FM", "unknown"}
    assert row["level"] == "1"
    assert row["shared_ips"] == ["192.0.2.7"]


def test_too_few_known_tests_are_undecided(tmp_path: Path, engine: LocalEngine) -> None:
    pages = {f"http://a.org{path}": page_of(path) for path in TREE}
    pages |= {f"http://b.org/manual/part{'abcd'[i % 4]}/other{i}.html": page_of(i) for i in range(24)}
    result = find_mirrors(crawl(tmp_path, engine, pages | {"http://b.org/": page_of("/")}), SMALL, engine=engine)
    (row,) = result.tables["pairs"].to_pylist()
    assert (row["level"], row["known"]) == ("undecided", 1)


def test_errors_that_the_crawl_met_are_failures(tmp_path: Path, engine: LocalEngine) -> None:
    pages = {f"http://a.org{path}": page_of(path) for path in TREE}
    pages |= {f"http://b.org{path}": page_of(path) for path in TREE[:16]}
    gone = [
        record(f"http://b.org{path}", b"gone").replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 404 NF") for path in TREE[16:]
    ]
    result = find_mirrors(crawl(tmp_path, engine, pages, gone), SMALL, engine=engine)
    (row,) = result.tables["pairs"].to_pylist()
    assert {outcome for _, _, outcome in outcomes_by_path(row)} == {"FM", "TF"}
    assert row["level"] == "4"


def test_traps_are_no_mirrors(tmp_path: Path, engine: LocalEngine) -> None:
    numbered = ["/", *(f"/files/set/a{i:05}.html" for i in range(24))]
    pages: dict[str, bytes] = {}
    for host in ("machine-a.org", "machine-b.com"):  # machine-made names, unrelated text
        pages |= {f"http://{host}{path}": page_of(host + path) for path in numbered}
    for host in ("cms-a.org", "cms-b.com", "cms-c.net"):  # one content management system, its menu on all pages
        menu = b"<p>home news contact imprint search login here "
        pages |= {f"http://{host}/cms{path}": menu + page_of(host + path) for path in TREE}
    pages |= {f"http://every.org{path}": page_of("sorry") for path in TREE}  # answers every path with its own page
    pages |= {f"http://real.org{path}": page_of(path) for path in TREE}
    pages |= {f"http://moved.net/old/place{path}": page_of(path) for path in TREE[1:]}
    pages |= {"http://moved.net/": page_of("another root")}
    made = crawl(tmp_path, engine, pages)
    result = find_mirrors(made, SMALL, engine=engine)
    assert level_between(result, "machine-a.org", "machine-b.com") == "mismatch"
    assert level_between(result, "every.org", "real.org") == "mismatch"
    assert level_between(result, "moved.net", "real.org") in (None, "mismatch", "undecided")
    # The menu of the one system is trace similarity everywhere: the same structure, which is what level 5 says.
    assert level_between(result, "cms-a.org", "cms-b.com") == "5"
    strict = find_mirrors(made, replace(SMALL, trace_similarity=0.1), engine=engine)
    assert level_between(strict, "cms-a.org", "cms-b.com") == "mismatch"
    names = ("host_a", "prefix_a", "host_b", "prefix_b", "pages")
    trees = [tuple(row[name] for name in names) for row in result.tables["trees"].to_pylist()]
    assert trees == [("moved.net", "/old/place", "real.org", "", len(TREE) - 1)]


def test_named_pairs_are_tested_whatever_they_share(planted: tuple[Corpus, list[Row]], engine: LocalEngine) -> None:
    named = [(row["host_a"], row["host_b"]) for row in planted[1]]
    result = find_mirrors(planted[0], MirrorParams(min_urls=5), named=named, engine=engine)
    assert len(result.tables["pairs"]) == len(named)
    wanted = Counter(row["level"] for row in planted[1])
    found = Counter(level.replace("undecided", "mismatch") for level in result.tables["pairs"]["level"].to_pylist())
    assert found == wanted


# What comes out


def test_groups_levels_and_counts_agree(planted_result: Result) -> None:
    tables = planted_result.tables
    pairs = tables["pairs"].to_pylist()
    counts = {row["what"]: row["count"] for row in tables["summary"].to_pylist()}
    full = [row for row in pairs if row["level"] in ("1", "2", "3")]
    assert counts["mirrored hosts"] == len(
        {row[end] for row in pairs if row["level"].isdigit() for end in ("host_a", "host_b")}
    )
    hosts = tables["groups"].to_pylist()
    group_of = {row["host"]: row["group"] for row in hosts}
    for row in full:
        assert group_of[row["host_a"]] == group_of[row["host_b"]]
    for row in hosts:
        others = [other for other in hosts if other["group"] == row["group"]]
        assert row["urls"] <= max(other["urls"] for other in others if other["host"] == row["canonical"])
    tested = [row["level"] for row in pairs if row["level"].isdigit() or row["level"] == "mismatch"]
    last = tables["ranking"].to_pylist()[-1]
    assert last["pairs"] == len(tested)
    assert last["levels_1_3"] == pytest.approx(sum(level in "123" for level in tested) / len(tested))


@pytest.mark.parametrize(
    ("a", "b", "is_one"),
    [
        ("geocites.com", "geocities.com", True), ("geocitise.com", "geocities.com", True),
        ("gxocities.com", "geocities.com", True),
        ("w1.com", "w2.com", False), ("a.com", "a.com", False), ("ab.com", "ab.org", False),
        ("abc.com", "xyz.com", False),
        ("aab.com", "ab.com", True), ("a-b.com", "ab.com", False),
    ],
)  # fmt: skip
def test_misspellings(a: str, b: str, is_one: bool) -> None:
    assert is_misspelling(a, b) == is_misspelling(b, a) == is_one


@given(st.text("ab1", max_size=5), st.text("ab1", max_size=5))
def test_misspellings_are_one_edit_of_letters_away(a: str, b: str) -> None:
    def edits(text: str) -> set[str]:
        made = set()
        for i in range(len(text) + 1):
            made |= {text[:i] + letter + text[i:] for letter in "ab"}
            if i < len(text) and text[i].isalpha():
                made |= {text[:i] + text[i + 1 :]} | {text[:i] + letter + text[i + 1 :] for letter in "ab"}
            if i + 1 < len(text) and text[i : i + 2].isalpha():
                made.add(text[:i] + text[i + 1] + text[i] + text[i + 2 :])
        return made - {text}

    assert is_misspelling(a, b) == (b in edits(a))


def test_a_misspelt_host_is_suspected(engine: LocalEngine) -> None:
    urls = [f"http://www.geocities.com/town/street{i % 3}/house{i}.html" for i in range(60)]
    urls += [f"http://www.geocites.com/town/street{i % 3}/house{i}.html" for i in range(25)]
    with url_corpus(urls, engine) as corpus:
        result = find_mirrors(corpus, MirrorParams(min_urls=5, modulus=1), engine=engine)
    (row,) = result.tables["misspellings"].to_pylist()
    assert (row["host"], row["meant"]) == ("www.geocites.com", "www.geocities.com")


@pytest.mark.parametrize(
    "urls", [["http://a.org/"], ["http://a.org/x", "http://[::1]/%00", "http://b.org/\u202e?é=\\"]]
)
def test_small_and_strange_corpora(urls: list[str], engine: LocalEngine) -> None:
    with url_corpus([*urls, "# nothing else"], engine) as corpus:
        result = find_mirrors(corpus, MirrorParams(min_urls=1, modulus=1), engine=engine)
        assert len(result.tables["pairs"]) == 0
        assert result.save(corpus).is_dir()
        assert figures_of(result, corpus) == []
        assert load_result(corpus, "mirrors").tables["candidates"].num_rows == len(result.tables["candidates"])


def test_a_corpus_without_pages(tmp_path: Path, engine: LocalEngine) -> None:
    failed = record("http://a.org/", b"no").replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 404 NF")
    result = find_mirrors(crawl(tmp_path, engine, {}, [failed]), engine=engine)
    assert all(len(table) == 0 for name, table in result.tables.items() if name != "summary")


def test_a_feature_on_very_many_hosts_costs_no_pairs(engine: LocalEngine) -> None:
    urls = [f"http://h{i}x.org/common/folder/p{j}.html" for i in range(3000) for j in range(3)]
    urls += [f"http://{host}.net/rare/tree{host}/p{j}.html" for host in ("one", "two") for j in range(9)]
    urls += [f"http://{host}.net/rare/tree/p{j}.html" for host in ("one", "two") for j in range(9)]
    with url_corpus(urls, engine) as corpus:
        result = find_mirrors(corpus, MirrorParams(min_urls=3, modulus=1, min_features=1), engine=engine)
    assert [row[:2] for row in candidates_of(result)] == [("one.net", "two.net")]


# The command


def test_the_command(unquilt: Unquilt, planted: tuple[Corpus, list[Row]], tmp_path: Path) -> None:
    corpus, truth = planted
    export = tmp_path / "mirrors.tsv"
    done = unquilt("mirrors", corpus.path, "--min-urls", 50, "--json", "--export", export, "--plots")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["levels"]["1"] == sum(row["level"] == "1" for row in truth)
    rows = [line.split("\t") for line in export.read_text().splitlines()]
    interchangeable = [row for row in truth if row["level"] in ("1", "2", "3")]
    assert {frozenset(row[:2]) for row in rows} == {
        frozenset((row["host_a"], row["host_b"])) for row in interchangeable
    }
    assert {level for _, _, level in rows} == {"1", "2", "3"}
    for name in ("ranking.svg", "ranking.png", "groups.svg", "groups.png", "domains.csv"):
        assert (corpus.results / "mirrors" / name).stat().st_size
    shown = unquilt("mirrors", corpus.path, "--min-urls", 50, "--quiet")
    assert "candidate pairs" in shown.stdout
    assert "19 FM" in shown.stdout
    pair = next(row for row in truth if row["level"] == "1")
    told = unquilt("mirrors", corpus.path, "--min-urls", 50, "--explain", pair["host_a"], pair["host_b"])
    assert "a candidate" in told.stdout
    wrong = unquilt("mirrors", corpus.path, "--explain", "nowhere.example", pair["host_b"])
    assert wrong.returncode == 1
    assert "nowhere.example" in wrong.stderr
