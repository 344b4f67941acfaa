"""Phrases against a slow implementation of its own, against the analytic curve, and against what was planted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import comb, sqrt
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import record, write_warc
from slow_phrases import (
    Site,
    Vector,
    classes_of,
    cover_of,
    mixed_vector,
    phrases_of,
    popular_shingles,
    rabin_phrases,
    rabin_vector,
    resemblance,
)
from slow_quilts import words_of
from unquilt.corpus import Corpus
from unquilt.detectors.duplicates import fold_duplicates
from unquilt.detectors.phrases.find import find_duplicates, find_phrases
from unquilt.detectors.phrases.params import ClassParams, PhraseParams
from unquilt.detectors.phrases.shingles import Rabin, functions, functions_of
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter
from unquilt.ingest.run import ingest_crawl
from unquilt.kernels.minhash import NONE, unmix
from unquilt.kernels.near import verified_roots
from unquilt.kernels.popular import cover_shingles
from unquilt.kernels.words import mix
from unquilt.progress import Meter, Quiet
from unquilt.report.figures import write_plots
from unquilt.report.figures.phrases import cover_discs, fitted_slope
from unquilt.result import Result
from unquilt.sample import sample_files
from unquilt.synth import SynthParams, write_synth

TABLES = ("classes", "popular", "popularity", "pages", "covers", "hosts")
HASHES = ("mix", "rabin")
TEXTS = st.text(alphabet="aAbB ß İ éx中文.\u0301𝒳𠀀น้", max_size=60)


@pytest.fixture(scope="module")
def sample(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("phrases") / "sample.corpus"
    return ingest_crawl([str(path) for path in sample_files()], folder, engine=engine).corpus


@pytest.fixture(scope="module")
def found(sample: Corpus, engine: LocalEngine) -> Result:
    return find_phrases(sample, PhraseParams(), engine=engine)


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalEngine]:
    with LocalEngine(workers=1, memory=1 << 30) as one:
        yield one


def crawl(folder: Path, texts: list[str], engine: LocalEngine, hosts: list[str] | None = None) -> Corpus:
    """A corpus of plain texts, one a page, captured one after the other."""
    records = [
        record(
            f"http://{hosts[i] if hosts else f'h{i}.example'}/{i}", text.encode(),
            date=f"2020-01-01T00:{i // 60 % 60:02}:{i % 60:02}Z", head=b"Content-Type: text/plain; charset=utf-8",
        )
        for i, text in enumerate(texts)
    ]  # fmt: skip
    path = write_warc(folder / "crawl.warc.gz", records)
    return ingest_crawl([str(path)], folder / "corpus", engine=engine).corpus


def vectors_of(corpus: Corpus, params: ClassParams) -> list[Vector | None]:
    """The shingles of each page, which are proven below against the slow ones."""
    rows = functions_of(params).sample(corpus.read(["text"])["text"])
    return [None if (row == NONE).all() else tuple(row.tolist()) for row in rows]


def found_classes(result: Result, corpus: Corpus) -> set[frozenset[int]]:
    numbers = {url: i for i, url in enumerate(corpus.read(["url"])["url"].to_pylist())}
    by_class: dict[int, set[int]] = {}
    for row in result.tables["classes"].to_pylist():
        by_class.setdefault(row["class"], set()).add(numbers[row["url"]])
    return {frozenset(some) for some in by_class.values()}


@given(text=TEXTS, k=st.integers(1, 7), seed=st.integers(0, 3))
@settings(max_examples=40)
def test_rabin_shingles_are_polynomial_remainders(text: str, k: int, seed: int) -> None:
    rabin = functions("rabin", k, 5, seed)
    assert isinstance(rabin, Rabin)
    column = pa.chunked_array([[text, None, ""]])
    phrases, offsets = rabin.phrases(column)
    assert phrases[: offsets[1]].tolist() == (rabin_phrases(text, k, rabin.polynomials) if words_of(text) else [])
    shingles = rabin.sample(column)
    assert (shingles[1:] == NONE).all()
    if words_of(text):
        assert tuple(shingles[0].tolist()) == rabin_vector(text, k, rabin.polynomials)
    else:
        assert (shingles == NONE).all()


@given(text=TEXTS, k=st.integers(1, 7), seed=st.integers(0, 3), shingles=st.integers(1, 9))
@settings(max_examples=60)
def test_mixed_shingles_are_least_products(text: str, k: int, seed: int, shingles: int) -> None:
    mixing = functions("mix", k, shingles, seed)
    phrases, offsets = mixing.phrases(pa.chunked_array([[text]]))
    assert len(phrases) == offsets[1] == len(words_of(text))  # a circle of n words has n phrases
    assert len(set(phrases.tolist())) == (len(phrases_of(text, k)) if len(phrases) else 0)
    if len(phrases):
        vector = tuple(mixing.sample(pa.chunked_array([[text]]))[0].tolist())
        assert vector == mixed_vector(phrases.tolist(), shingles, seed)


@pytest.mark.parametrize("hash_name", HASHES)
def test_a_shingle_tells_its_phrase(hash_name: str) -> None:
    text = pa.chunked_array([["one two three four five six seven eight nine ten"]])
    known = functions(hash_name, 3, 20, 7)
    phrases = set(known.phrases(text)[0].tolist())
    for position, value in enumerate(known.sample(text)[0].tolist()):
        assert known.phrase_of(position, value) in phrases


@given(st.integers(0, 2**64 - 1))
def test_unmix_undoes_mix(value: int) -> None:
    assert int(unmix(np.uint64(mix(np.uint64(value))))) == value


def detection_rate(s: float) -> float:
    """The chance that 2 of 6 runs of 14 agree at resemblance s."""
    p = s**14
    return 1 - (1 - p) ** 6 - 6 * p * (1 - p) ** 5


def test_the_curve_is_the_one_of_the_paper() -> None:
    assert detection_rate(0.965) == pytest.approx(0.95, abs=0.015)
    assert detection_rate(0.82) == pytest.approx(0.05, abs=0.01)
    assert detection_rate(0.77) == pytest.approx(0.01, abs=0.005)


def pair_of_resemblance(random: Random, words: int, s: float) -> tuple[str, str, float]:
    """Two texts whose phrases, of one word each here, have a Jaccard close to s."""
    shared = round(2 * words * s / (1 + s))
    common = [f"c{random.getrandbits(60)}" for _ in range(shared)]
    one, other = ([f"{name}{random.getrandbits(60)}" for _ in range(words - shared)] for name in "ab")
    return " ".join(common + one), " ".join(common + other), shared / (2 * words - shared)


@pytest.mark.parametrize("s", [0.70, 0.77, 0.82, 0.88, 0.92, 0.95, 0.965, 0.98, 1.0])
@pytest.mark.parametrize("hash_name", HASHES)
def test_pairs_are_found_as_often_as_the_curve_says(hash_name: str, s: float) -> None:
    pairs = 1500 if hash_name == "mix" else 600
    random = Random(f"{s}")
    made = [pair_of_resemblance(random, 200, s) for _ in range(pairs)]
    known = functions(hash_name, 1, 84, 0)
    one, other = (known.sample(pa.chunked_array([[pair[i] for pair in made]])).reshape(-1, 6, 14) for i in (0, 1))
    agreeing = (one[:, :6] == other[:, :6]).all(axis=2).sum(axis=1)
    rate = detection_rate(made[0][2])
    assert abs((agreeing >= 2).mean() - rate) <= 4 * sqrt(rate * (1 - rate) / pairs) + 1e-9
    equal = (one == other).mean()
    assert abs(equal - made[0][2]) <= 4 * sqrt(made[0][2] * (1 - made[0][2]) / pairs / 84) * 2 + 1e-9


@pytest.mark.parametrize(
    "params",
    [
        ClassParams(),
        ClassParams(verify=0.9),
        ClassParams(hash="rabin"),
        ClassParams(k=3, shingles=40, runs=5, run_length=7, agree=1, seed=4),
        ClassParams(k=8, shingles=60, runs=6, run_length=10, agree=3, verify=0.95),
    ],
    ids=str,
)
def test_real_classes_are_those_of_comparing_every_pair(
    sample: Corpus, engine: LocalEngine, params: ClassParams
) -> None:
    table = find_duplicates(sample, params, engine=engine).tables["pages"]
    rows = table.to_pylist()
    numbers = {row["url"]: i for i, row in enumerate(rows)}
    by_keeper: dict[str, set[int]] = {}
    for row in rows:
        by_keeper.setdefault(row["kept"], set()).add(numbers[row["url"]])
    slow = classes_of(vectors_of(sample, params), params.runs, params.run_length, params.agree, params.verify)
    assert {frozenset(some) for some in by_keeper.values() if len(some) > 1} == slow
    assert len(slow) > 10
    pages = sample.read(["url", "time", "text"]).to_pylist()
    for some in slow:
        keeper = min(some, key=lambda page: (pages[page]["time"], pages[page]["url"].encode()))
        assert {rows[page]["kept"] for page in some} == {pages[keeper]["url"]}
        for page in some:
            exact = resemblance(pages[page]["text"], pages[keeper]["text"], params.k)
            assert rows[page]["resemblance"] == pytest.approx(exact, abs=1e-12)
            assert rows[page]["keep"] == (page == keeper)


def test_both_families_find_the_same_classes_but_for_pairs_near_the_threshold(
    sample: Corpus, engine: LocalEngine
) -> None:
    pairs = []
    for name in HASHES:
        rows = find_duplicates(sample, ClassParams(hash=name), engine=engine).tables["pages"].to_pylist()
        pairs.append({(row["url"], row["kept"]): row["resemblance"] for row in rows if not row["keep"]})
    mixed, rabin = pairs
    differing = {
        **{p: s for p, s in mixed.items() if p not in rabin},
        **{p: s for p, s in rabin.items() if p not in mixed},
    }
    assert len(differing) < 0.25 * len(mixed)
    assert all(s < 0.97 for s in differing.values())
    assert all(s > 0.6 for s in differing.values())


def test_the_tables_agree_with_slow_counting(sample: Corpus, found: Result) -> None:
    vectors = vectors_of(sample, PhraseParams())
    pages = found.tables["pages"].to_pylist()
    kept = [row["representative"] for row in pages]
    popular = popular_shingles(vectors, kept, 5)
    assert len(popular) > 100
    for row, vector in zip(pages, vectors, strict=True):
        count = sum(shingle in popular for shingle in enumerate(vector or ()))
        assert row["popular"] == count
        assert row["originality"] == (None if vector is None else pytest.approx(1 - count / 84))
    listed = found.tables["popular"].to_pylist()
    ranked = sorted(((-count, *shingle) for shingle, count in popular.items()))[:1000]
    assert [(-row["pages"], row["position"], row["value"]) for row in listed] == ranked
    histogram = found.tables["popularity"].to_pydict()
    counts = sorted(set(popular.values()))
    assert histogram["pages"] == counts
    assert histogram["shingles"] == [list(popular.values()).count(count) for count in counts]


def test_popular_phrases_are_in_the_pages_they_are_shown_from(sample: Corpus, found: Result) -> None:
    texts = dict(zip(*sample.read(["url", "text"]).to_pydict().values(), strict=True))
    for row in found.tables["popular"].slice(0, 200).to_pylist():
        assert tuple(words_of(row["phrase"])) in phrases_of(texts[row["url"]], 5)


def test_covers_are_those_of_slow_greed(sample: Corpus, found: Result) -> None:
    vectors = vectors_of(sample, PhraseParams())
    pages = sample.read(["url", "host", "domain", "ip"]).to_pylist()
    sites = [Site(page["host"], page["domain"], page["ip"]) for page in pages]
    kept = found.tables["pages"]["representative"].to_pylist()
    popular = popular_shingles(vectors, kept, 5)
    numbers = {page["url"]: i for i, page in enumerate(pages)}
    covers = found.tables["covers"].to_pylist()
    assert len(covers) > 50
    sizes = set()
    for row in covers[:: max(len(covers) // 60, 1)]:
        expected = cover_of(numbers[row["url"]], vectors, kept, sites, popular)
        assert [(numbers[s["url"]], s["shingles"], s["foreign"]) for s in row["sources"]] == expected
        assert row["foreign_contribution"] == sum(adds for _, adds, is_foreign in expected if is_foreign)
        assert row["size"] == len(expected)
        assert sum(adds for _, adds, _ in expected) == row["popular"]
        sizes.add(len(expected))
    assert len(sizes) > 2


@given(st.data())
@settings(max_examples=80)
def test_small_covers_are_those_of_slow_greed(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 9))
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 6), min_size=n, max_size=n))
    places = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=n, max_size=n))
    sites = [Site(f"h{a}", f"d{a // 2}", f"i{b}") for a, b in places]
    least = data.draw(st.integers(2, 4))
    page = data.draw(st.integers(0, n - 1))
    lists = [[other for other in range(n) if rows[other][i] == rows[page][i]] for i in range(6)]
    shared = [some for some in lists if len(some) > 1]
    found = cover_shingles(
        page, np.arange(len(shared)), np.array([len(some) >= least for some in shared], bool),
        np.cumsum([0, *map(len, shared)]), np.array([other for some in shared for other in some], np.uint32),
        np.array([a // 2 for a, _ in places], np.uint32), np.array([b for _, b in places], np.uint32),
        np.array([b for a, b in places if a == places[page][0]], np.uint32), np.full(n, -1, np.int64),
    )  # fmt: skip
    expected = cover_of(page, rows, [True] * n, sites, popular_shingles(rows, [True] * n, least))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_samplings_draw_what_they_should(found: Result) -> None:
    covers, pages = found.tables["covers"].to_pylist(), found.tables["pages"].to_pylist()
    rich = [row for row in pages if row["representative"] and row["popular"] >= 30]
    by_count: dict[int, int] = {}
    for row in rich:
        by_count[row["popular"]] = by_count.get(row["popular"], 0) + 1
    drawn: dict[int, int] = {}
    for row in covers:
        if "stratified" in row["samplings"]:
            drawn[row["popular"]] = drawn.get(row["popular"], 0) + 1
    assert drawn == {count: min(pages, 50) for count, pages in by_count.items()}
    assert sum("uniform" in row["samplings"] for row in covers) == min(len(rich), 1000)


@pytest.mark.parametrize(("workers", "memory"), [(1, 2 << 30), (3, 512 << 20)])
@pytest.mark.parametrize("verify", [0.0, 0.85])
def test_tables_are_the_same_with_any_number_of_workers_and_little_memory(
    sample: Corpus, found: Result, engine: LocalEngine, workers: int, memory: int, verify: float
) -> None:
    params = PhraseParams(verify=verify)
    expected = found if not verify else find_phrases(sample, params, engine=engine)
    with LocalEngine(workers=workers, memory=memory) as other:
        again = find_phrases(sample, params, engine=other)
    assert all(again.tables[name].equals(expected.tables[name]) for name in TABLES)


def test_a_chain_of_pages_is_one_class_that_verifying_parts(tmp_path: Path, alone: LocalEngine) -> None:
    """Each page is 90 % like the next; the ends share nothing."""
    random = Random(3)
    words = [f"w{random.getrandbits(60)}" for _ in range(1200)]
    texts = [" ".join(words[21 * i : 21 * i + 400]) for i in range(30)]
    params = PhraseParams(k=1, shingles=84, runs=42, run_length=2, agree=2)  # sure to join what is 90 % alike
    assert resemblance(texts[0], texts[1], 1) == pytest.approx(0.9, abs=0.01)
    assert resemblance(texts[0], texts[-1], 1) == 0
    corpus = crawl(tmp_path, texts, alone)
    chained = find_phrases(corpus, params, engine=alone).tables["classes"].to_pylist()
    assert {row["pages"] for row in chained} == {30}
    assert {row["weakest"] for row in chained} == {0.0}
    assert 0 < chained[0]["cohesion"] < 0.5
    verified = find_phrases(corpus, replace(params, verify=0.97), engine=alone).tables["classes"].to_pylist()
    assert all(row["weakest"] > 0.8 for row in verified)
    assert max((row["pages"] for row in verified), default=0) < 6


def test_the_summary_warns_of_a_chain(tmp_path: Path, alone: LocalEngine, unquilt: Callable[..., Any]) -> None:
    random = Random(3)
    words = [f"w{random.getrandbits(60)}" for _ in range(1200)]
    corpus = crawl(tmp_path, [" ".join(words[21 * i : 21 * i + 400]) for i in range(30)], alone)
    options = ["--k", "1", "--runs", "42", "--run-length", "2", "-q"]
    done = unquilt("phrases", corpus.path, *options)
    assert done.returncode == 0, done.stderr
    assert "Warning: 1 classes have a page that resembles its representative less than 0.5" in done.stdout
    assert "Warning" not in unquilt("phrases", corpus.path, *options, "--verify", "0.97").stdout


def test_classes_of_one_site_and_of_several_are_told_apart(tmp_path: Path, alone: LocalEngine) -> None:
    texts = [" ".join(f"{name}{i}" for i in range(50)) for name in "aabbbc"]
    hosts = ["x.one.example", "y.one.example", "one.example", "two.example", "two.example", "two.example"]
    rows = find_phrases(crawl(tmp_path, texts, alone, hosts), engine=alone).tables["classes"].to_pylist()
    assert [(row["class"], row["representative"], row["cross_site"], row["pages"]) for row in rows] == [
        (0, True, False, 2), (0, False, False, 2),
        (1, True, True, 3), (1, False, True, 3), (1, False, True, 3),
    ]  # fmt: skip
    assert {row["resemblance"] for row in rows} == {1.0}


@given(st.data())
@settings(max_examples=60)
def test_verified_classes_are_those_of_comparing_every_pair(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    rows = data.draw(st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=n, max_size=n))
    verify = data.draw(st.integers(0, 6))
    vectors = np.array(rows, np.uint64)
    runs = vectors.reshape(n, 3, 2)[:, :, 0] * np.uint64(3) + vectors.reshape(n, 3, 2)[:, :, 1]
    roots = verified_roots(vectors, np.ascontiguousarray(runs), 2, verify, n)
    found: dict[int, set[int]] = {}
    for page, root in enumerate(roots.tolist()):
        found.setdefault(root, set()).add(page)
    slow = classes_of([tuple(row) for row in rows], runs=3, length=2, agree=2, verify=verify / 6 - 1e-12)
    assert {frozenset(some) for some in found.values() if len(some) > 1} == slow
    assert all(min(some) == root for root, some in found.items())
    # Comparing less can only part classes.
    fewer = verified_roots(vectors, np.ascontiguousarray(runs), 2, verify, data.draw(st.integers(1, 3)))
    assert all(roots[page] == roots[root] for page, root in enumerate(fewer.tolist()))


@pytest.fixture(scope="module")
def planted(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Corpus, Result]:
    folder = tmp_path_factory.mktemp("planted")
    write_synth(folder / "web", SynthParams(pages=4000, seed=5), workers=1)
    corpus = ingest_crawl(sorted(map(str, (folder / "web").glob("*.warc.gz"))), folder / "corpus", engine=engine).corpus
    return folder / "web" / "truth", corpus, find_phrases(corpus, engine=engine)


def test_the_planted_spam_host_stands_out_as_in_the_paper(planted: tuple[Path, Corpus, Result]) -> None:
    truth, _, result = planted
    spam = pq.read_table(truth / "spam_hosts.parquet")["host"].to_pylist()
    hosts = result.tables["hosts"].to_pylist()
    assert spam
    suspects = [row["host"] for row in hosts if row["suspect"]]
    assert set(suspects[: len(spam)]) == set(spam)
    mine = [row for row in hosts if row["host"] in spam]
    assert all(row["mean"] > 45 and row["deviation"] < 12 for row in mine)
    others = [row for row in hosts if row["host"] not in spam and row["pages"] >= 10]
    assert len(others) > 30
    assert all(row["mean"] < 30 or row["deviation"] > 20 for row in others)
    covers = [row for row in result.tables["covers"].to_pylist() if "host" in row["samplings"]]
    assert len(covers) == next(row["pages"] for row in hosts if row["host"] == suspects[0])
    assert np.mean([row["size"] for row in covers]) > 15
    assert np.mean([row["foreign_contribution"] / row["popular"] for row in covers]) > 0.75


def test_planted_near_duplicates_are_found_as_often_as_the_curve_says(planted: tuple[Path, Corpus, Result]) -> None:
    truth, _, result = planted
    rows = pq.read_table(truth / "near_duplicates.parquet").to_pylist()
    number = {row["url"]: row["class"] for row in result.tables["classes"].to_pylist()}
    originals = {row["class"]: row["url"] for row in rows if row["resemblance"] == 1}
    copies = [row for row in rows if row["url"] != originals[row["class"]]]
    hits = [number.get(row["url"], -1) == number.get(originals[row["class"]], -2) for row in copies]
    expected = [detection_rate(row["resemblance"]) for row in copies]
    surely = [hit for hit, rate in zip(hits, expected, strict=True) if rate > 0.999]
    assert len(surely) > 20
    assert all(surely)
    # Pages may also be joined through others, so more can be found than by pairs alone.
    assert sum(hits) > sum(expected) - 4 * sqrt(sum(p * (1 - p) for p in expected))


def test_classes_hold_only_copies(planted: tuple[Path, Corpus, Result]) -> None:
    truth, _, result = planted
    kinds = dict(
        zip(*pq.read_table(truth / "pages.parquet", columns=["url", "kind"]).to_pydict().values(), strict=True)
    )
    rows = result.tables["classes"].to_pylist()
    assert len(rows) > 200
    assert {kinds[row["url"]] for row in rows} <= {
        "near-duplicate", "original", "ordinary", "mirror", "mirror-copy", "wiki", "wiki-copy", "robots", "trap",
        "farm", "family",
    }  # fmt: skip
    assert all(row["weakest"] > 0.5 for row in rows)


def test_figures_are_drawn_and_say_what_the_tables_say(planted: tuple[Path, Corpus, Result], tmp_path: Path) -> None:
    _, corpus, result = planted
    files = write_plots(result, corpus, tmp_path)
    names = ["popularity", "popular-per-page", "covers-stratified", "covers-uniform", "covers-host", "hosts"]
    assert {file.name for file in files} == {f"{name}.{kind}" for name in names for kind in ("csv", "png", "svg")}
    assert all(file.stat().st_size > 100 for file in files)
    discs = cover_discs(result.tables["covers"], "host")
    assert sum(discs["pages"].to_pylist()) == sum(
        "host" in row for row in result.tables["covers"]["samplings"].to_pylist()
    )


def test_the_slope_of_a_power_law_is_found() -> None:
    pages = np.arange(5, 2000)
    table = pa.table({"pages": pages, "shingles": np.round(1e9 * pages**-2.5).astype(np.int64)})
    assert fitted_slope(table)[0] == pytest.approx(-2.5, abs=0.1)


@pytest.mark.parametrize("texts", [[""], ["one"], ["word word word"], ["a", "", "a"], ["\u0301 ! ...", "x y"]])
def test_tiny_corpora_work(tmp_path: Path, alone: LocalEngine, texts: list[str]) -> None:
    if not any(words_of(text) for text in texts):
        corpus = crawl(tmp_path, ["a", *texts], alone)
    else:
        corpus = crawl(tmp_path, texts, alone)
    result = find_phrases(corpus, engine=alone)
    pages = corpus.read(["text"])["text"].to_pylist()
    assert len(result.tables["pages"]) == len(pages)
    slow = classes_of(vectors_of(corpus, PhraseParams()))
    assert found_classes(result, corpus) == slow
    assert result.tables["covers"].num_rows == 0


def test_classes_that_are_known_are_not_looked_for_again(
    sample: Corpus, found: Result, alone: LocalEngine, tmp_path: Path
) -> None:
    corpus = Corpus(shutil.copytree(sample.path, tmp_path / "corpus"))
    shutil.rmtree(corpus.results, ignore_errors=True)
    seed_1 = ClassParams(seed=1)
    expected = [(find_duplicates(corpus, params, engine=alone), params) for params in (ClassParams(), seed_1)]
    folded = fold_duplicates(corpus, alone)
    assert len(np.unique(folded)) < corpus.pages
    found.save(corpus)
    for result, params in expected:
        with LocalEngine(workers=1, memory=1 << 30, progress=Names()) as engine:
            assert find_duplicates(corpus, params, engine=engine).tables["pages"].equals(result.tables["pages"])
            assert np.array_equal(fold_duplicates(corpus, engine), folded)
            assert ("Sampling phrases" in engine.progress.seen) == (params == seed_1)  # type: ignore[attr-defined]


class Names(Quiet):
    """The names of the jobs that were run."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def start(self, name: str, total: int, unit: str) -> Meter:
        self.seen.add(name)
        return super().start(name, total, unit)


def test_a_list_of_urls_has_no_phrases(tmp_path: Path, alone: LocalEngine) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/\nhttp://b.example/\n")
    corpus = ingest_crawl([str(tmp_path / "urls.txt")], tmp_path / "corpus", engine=alone).corpus
    for find in (find_phrases, find_duplicates):
        with pytest.raises(BadInput, match="has no text"):
            find(corpus, engine=alone)


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"runs": 7}, {"agree": 7}, {"runs": 20, "run_length": 4, "agree": 10}, {"hash": "md5"}, {"verify": 1.5}],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        ClassParams(**wrong)
    assert comb(6, 2) == 15


def test_the_commands_show_and_write_what_python_finds(
    sample: Corpus, found: Result, tmp_path: Path, unquilt: Callable[..., Any]
) -> None:
    done = unquilt("phrases", sample.path, "--json", "--top", "3")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["popular"] == found.tables["popular"].slice(0, 3).to_pylist()
    assert facts["near_duplicates"] == sum(not kept for kept in found.tables["classes"]["representative"].to_pylist())
    out = tmp_path / "list.jsonl"
    done = unquilt("dedup", sample.path, "--json", "-o", out)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert json.loads(done.stdout)["dropped"] == sum(not row["keep"] for row in rows) == facts["near_duplicates"]
    assert rows == pq.read_table(sample.path / "results" / "dedup" / "pages.parquet").to_pylist()
    assert unquilt("dedup", sample.path, "-o", "list.txt").returncode == 2
    text = unquilt("phrases", sample.path, "--top", "50", "-q").stdout
    assert all(row["phrase"] in text for row in found.tables["popular"].slice(0, 50).to_pylist())
