"""Quilts, page for page and source for source, against a brute force without hashes, sets of pages or exchanges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import record, write_warc
from slow_quilts import (
    Page,
    Patch,
    Quilt,
    SlowQuilts,
    find_patches,
    first_places,
    grams_of,
    spans_of,
    words_of,
)
from unquilt.corpus import Corpus
from unquilt.detectors.phrases.find import find_duplicates
from unquilt.detectors.quilts.find import find_quilts
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter
from unquilt.ingest.run import ingest_crawl
from unquilt.result import Result
from unquilt.sample import sample_files
from unquilt.synth import SynthParams, write_synth

LEVELS = ("none", "host", "domain", "ip")
Row = dict[str, Any]
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing to disk takes longer than everything else


@pytest.fixture(scope="module")
def sample(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("quilts") / "sample.corpus"
    return ingest_crawl([str(path) for path in sample_files()], folder, engine=engine).corpus


@pytest.fixture(scope="module")
def slow_sample(sample: Corpus) -> Callable[[int], SlowQuilts]:
    return cache(lambda k: SlowQuilts(pages_of(sample), k))


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalEngine]:
    """Runs every step in this process, for crawls of a few pages."""
    with LocalEngine(workers=1, memory=1 << 30) as one:
        yield one


def pages_of(corpus: Corpus) -> list[Page]:
    return [Page(**row) for row in corpus.read(["url", "host", "domain", "ip", "text"]).to_pylist()]


def fold_pages(corpus: Corpus, engine: LocalEngine) -> list[Page]:
    """The pages without near-duplicates of others; that these are right is proven where they are found."""
    kept = find_duplicates(corpus, engine=engine).tables["pages"]["keep"].to_pylist()
    return [page for page, is_kept in zip(pages_of(corpus), kept, strict=True) if is_kept]


def quilts_of(result: Result) -> list[Quilt]:
    rows = result.tables["quilts"].to_pylist()
    for row in rows:
        assert row["patch_fraction"] == row["patch_grams"] / row["grams"]
        assert row["covered_fraction"] == sum(source["grams"] for source in row["sources"]) / row["grams"]
    return [
        Quilt(
            row["url"], row["grams"], row["patch_grams"], row["foreign_fraction"],
            [(source["url"], source["grams"]) for source in row["sources"]],
        )
        for row in rows
    ]  # fmt: skip


def patches_of(result: Result) -> list[tuple[str, Patch]]:
    columns = ("begin", "end", "source_url", "source_begin", "source_end", "words")
    return [
        (row["url"], Patch(*(row[name] for name in columns))) for row in result.tables["patches"].to_pylist()
    ]  # fmt: skip


def find_slowly(slow: SlowQuilts, params: QuiltParams) -> list[Quilt]:
    return slow.find(
        m=params.m, c=params.c, sigma=params.sigma, foreign=params.foreign, min_contribution=params.min_contribution
    )


def check_patches(result: Result, pages: list[Page], k: int) -> None:
    """The patch map is the slow one, and is what a patch map must be whoever made it."""
    texts = {page.url: page.text for page in pages}
    found = patches_of(result)
    expected = []
    for quilt in quilts_of(result):
        sources = [(url, texts[url]) for url, _ in quilt.sources]
        expected += [(quilt.url, patch) for patch in find_patches(texts[quilt.url], sources, k)]
        mine = [patch for url, patch in found if url == quilt.url]
        check_patches_of_page(mine, texts[quilt.url], dict(sources), k)
    assert found == expected


def check_patches_of_page(patches: list[Patch], text: str, sources: dict[str, str], k: int) -> None:
    rank = {url: at for at, url in enumerate(sources)}
    starts = {begin: at for at, (begin, _) in enumerate(spans_of(text))}
    owners: dict[int, int] = {}
    for patch in patches:
        source = sources[patch.source]
        words = words_of(text[patch.begin : patch.end])
        assert words == words_of(source[patch.source_begin : patch.source_end])
        assert len(words) == patch.words > 0
        first = starts[patch.begin]
        assert spans_of(text)[first + patch.words - 1][1] == patch.end
        owners |= dict.fromkeys(range(first, first + patch.words), rank[patch.source])
    for one, other in pairwise(patches):
        assert one.end <= other.begin
        touch = starts[one.begin] + one.words == starts[other.begin] and one.source == other.source
        assert not (touch and goes_on(sources[one.source], one.source_end, other.source_begin))
    assert owners == earliest_sources(text, list(sources.values()), k)


def goes_on(text: str, end: int, begin: int) -> bool:
    """Whether no word stands between two places of a text, the second after the first."""
    return begin >= end and not spans_of(text[end:begin])


def earliest_sources(text: str, sources: list[str], k: int) -> dict[int, int]:
    """For each word in a gram that a source has, the first source of which that is true."""
    owners: dict[int, int] = {}
    for rank, source in reversed(list(enumerate(sources))):
        theirs = first_places(source, k)
        for at, gram in enumerate(grams_of(words_of(text), k)):
            if gram in theirs:
                owners |= dict.fromkeys(range(at, at + k), rank)
    return owners


@pytest.mark.parametrize(
    "params",
    [
        *(QuiltParams(foreign=foreign) for foreign in LEVELS),
        QuiltParams(m=2, c=1, sigma=0.9, foreign="none"),
        QuiltParams(m=1000, c=3, sigma=0.0, foreign="host"),
        QuiltParams(c=2, min_contribution=0.03, foreign="ip"),
        QuiltParams(k=3, m=10, c=7, sigma=0.4),
        QuiltParams(k=8, m=20, c=2, sigma=0.25, foreign="none", min_contribution=0.1),
    ],
    ids=lambda params: f"{params.foreign},k={params.k},m={params.m},c={params.c},sigma={params.sigma}",
)
def test_real_quilts_are_those_of_the_brute_force(
    sample: Corpus, slow_sample: Callable[[int], SlowQuilts], engine: LocalEngine, params: QuiltParams
) -> None:
    result = find_quilts(sample, params, engine=engine)
    expected = find_slowly(slow_sample(params.k), params)
    assert quilts_of(result) == expected
    assert len(expected) >= 5
    if len(expected) < 100:
        check_patches(result, list(slow_sample(params.k).pages), params.k)


def test_real_pages_have_no_collisions(sample: Corpus, engine: LocalEngine) -> None:
    plain, exact = (find_quilts(sample, QuiltParams(exact=exact), engine=engine) for exact in (False, True))
    assert set(exact.tables["quilts"]["collisions"].to_pylist()) == {0}
    assert set(plain.tables["quilts"]["collisions"].to_pylist()) == {None}
    assert exact.tables["patches"].equals(plain.tables["patches"])
    assert quilts_of(exact) == quilts_of(plain)


def test_real_duplicates_are_folded_before_anything_is_compared(sample: Corpus, engine: LocalEngine) -> None:
    params = QuiltParams(collapse=True, foreign="none", c=3, sigma=0.4)
    pages = pages_of(sample)
    folded = fold_pages(sample, engine)
    assert len(folded) < len(pages)
    result = find_quilts(sample, params, engine=engine)
    assert quilts_of(result) == find_slowly(SlowQuilts(folded, params.k), params)
    assert quilts_of(result) != quilts_of(find_quilts(sample, replace(params, collapse=False), engine=engine))


@pytest.mark.parametrize(("workers", "memory"), [(1, 2 << 30), (3, 2 << 30), (3, 512 << 20)])
def test_tables_are_the_same_with_any_number_of_workers_and_little_memory(
    sample: Corpus, engine: LocalEngine, workers: int, memory: int
) -> None:
    params = QuiltParams(collapse=True, exact=True, sigma=0.3)
    expected = find_quilts(sample, params, engine=engine)
    with LocalEngine(workers=workers, memory=memory) as other:
        found = find_quilts(sample, params, engine=other)
    assert len(found.tables["patches"]) > 500
    assert all(found.tables[name].equals(expected.tables[name]) for name in ("quilts", "patches"))


def test_quilts_may_come_in_many_pieces(
    sample: Corpus, alone: LocalEngine, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = QuiltParams(foreign="none", exact=True)
    expected = find_quilts(sample, params, engine=engine)
    monkeypatch.setattr("unquilt.detectors.quilts.describe._SENT_PAGES", 5)
    monkeypatch.setattr("unquilt.detectors.quilts.patches._QUILTS_PER_BUCKET", 3)
    found = find_quilts(sample, params, engine=alone)
    assert all(found.tables[name].equals(expected.tables[name]) for name in ("quilts", "patches"))


def test_without_patches_the_quilts_are_the_same(sample: Corpus, engine: LocalEngine) -> None:
    bare, full = (find_quilts(sample, QuiltParams(patches=patches), engine=engine) for patches in (False, True))
    assert bare.tables["quilts"].equals(full.tables["quilts"])
    assert bare.tables["patches"].equals(full.tables["patches"].slice(0, 0))


@pytest.fixture(scope="module")
def planted(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Corpus]:
    folder = tmp_path_factory.mktemp("planted")
    write_synth(folder / "web", SynthParams(pages=2000, seed=5), workers=1)
    crawl = sorted(map(str, (folder / "web").glob("*.warc.gz")))
    return folder / "web" / "truth", ingest_crawl(crawl, folder / "corpus", engine=engine).corpus


@pytest.mark.parametrize("foreign", LEVELS)
def test_finds_every_planted_quilt_and_nothing_that_was_not_stitched(
    planted: tuple[Path, Corpus], engine: LocalEngine, foreign: str
) -> None:
    truth, corpus = planted
    rows = pq.read_table(truth / "quilts.parquet").to_pylist()
    kinds = dict(
        zip(*pq.read_table(truth / "pages.parquet", columns=["url", "kind"]).to_pydict().values(), strict=True)
    )
    stitched = {row["url"] for row in rows if row["foreign"] or foreign == "none"}
    assert 25 < len(stitched) <= len(rows) - (5 if foreign != "none" else 0)
    found = {quilt.url: quilt for quilt in quilts_of(find_quilts(corpus, QuiltParams(foreign=foreign), engine=engine))}
    assert stitched <= set(found)
    assert {kinds[url] for url in found} <= {"quilt", "quilt-same-site", "spam"}
    named = [
        source["url"] in {url for url, _ in found[row["url"]].sources}
        for row in rows
        for source in row["sources"]
        if row["url"] in stitched
    ]
    assert sum(named) / len(named) > 0.9  # another page may have the same sentence


WORDS = ["a", "A", "b", "c", "d", "é", "e\u0301", "ß", "İ", "中", "文", "𝒳x", "𠀀", "น้ำ"]
SITES = ["one.example", "www.one.example", "two.example", "a.b.co.uk", "c.b.co.uk", "three.example"]


@st.composite
def small_crawls(draw: st.DrawFn) -> list[Row]:
    """A few pages of a few phrases; some are empty, equal or captured twice."""
    texts = draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=4))
    gaps = st.sampled_from([" ", " ", ", ", "🙂", "\n", ""])
    rows: list[Row] = [{"url": "http://always.example/", "text": "a word 中 b"}]
    for number in range(draw(st.integers(1, 6))):
        words = [word for phrase in draw(st.lists(st.sampled_from(texts), max_size=3)) for word in phrase]
        text = "".join(word + draw(gaps) for word in words) or "..."
        path = draw(st.sampled_from([number, number, 0]))
        rows.append({"url": f"http://{draw(st.sampled_from(SITES))}/{path}", "text": text})
    return rows


def stitched_crawl(seed: int) -> list[Row]:
    """Many pages stitched from a pool of phrases and words of their own, with copies and second captures."""
    rng = Random(seed)
    pool = [rng.choices(WORDS, k=rng.randint(2, 7)) for _ in range(rng.randint(3, 12))]
    rows: list[Row] = [{"url": "http://always.example/", "text": "a word 中 b"}]
    for number in range(rng.randint(4, 20)):
        phrases = rng.sample(pool, rng.randint(0, min(5, len(pool))))
        own = [[f"own{number}", rng.choice(WORDS)] for _ in range(rng.randint(0, 2))]
        text = "".join(word + rng.choice(["  ", " ", ", ", "🙂"]) for phrase in phrases + own for word in phrase)
        if rng.random() < 0.1:
            text = rng.choice(rows)["text"]
        path = number if rng.random() < 0.9 else 0
        row = {"url": f"http://{rng.choice(SITES)}/{path}", "text": text or "..."}
        rows.append(row if rng.random() < 0.3 else row | {"ip": f"192.0.2.{rng.randint(1, 3)}"})
    return rows


settings_of_quilts = st.builds(
    QuiltParams,
    k=st.integers(1, 4),
    m=st.sampled_from([2, 3, 4, 50]),
    c=st.integers(1, 3),
    sigma=st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 1.0]),
    foreign=st.sampled_from(LEVELS),
    min_contribution=st.sampled_from([0.0, 0.0, 0.1, 0.2, 1 / 3]),
    collapse=st.booleans(),
    exact=st.booleans(),
)


@contextmanager
def corpus_of(rows: list[Row], engine: LocalEngine) -> Iterator[Corpus]:
    """A corpus of two parts. All pieces of work are small, so that a few pages fill many."""
    with TemporaryDirectory(dir=MEMORY) as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("unquilt.detectors.quilts.find.PAGES_PER_BUCKET", 3)
        patch.setattr("unquilt.detectors.quilts.describe._SENT_PAGES", 3)
        patch.setattr("unquilt.detectors.quilts.patches._QUILTS_PER_BUCKET", 2)
        patch.setattr("unquilt.ingest.page._FULL_ROWS", 3)
        folder = Path(name)
        for part, some in enumerate((rows[::2], rows[1::2])):
            (folder / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
        paths = [str(folder / f"{part}.jsonl") for part in range(2 if len(rows) > 1 else 1)]
        yield ingest_crawl(paths, folder / "corpus", engine=engine).corpus


def check_all(rows: list[Row], params: QuiltParams, engine: LocalEngine) -> Result:
    """The result, which is that of the brute force to the last patch."""
    with corpus_of(rows, engine) as corpus:
        pages = pages_of(corpus)
        result = find_quilts(corpus, params, engine=engine)
        slow = SlowQuilts(fold_pages(corpus, engine) if params.collapse else pages, params.k)
    assert quilts_of(result) == find_slowly(slow, params)
    assert set(result.tables["quilts"]["collisions"].to_pylist()) <= {0 if params.exact else None}
    check_patches(result, pages, params.k)
    return result


@settings(deadline=None, max_examples=100)
@given(rows=small_crawls(), params=settings_of_quilts)
def test_quilts_of_small_crawls_are_those_of_the_brute_force(
    alone: LocalEngine, rows: list[Row], params: QuiltParams
) -> None:
    check_all(rows, params, alone)


def test_quilts_of_stitched_crawls_are_those_of_the_brute_force(alone: LocalEngine) -> None:
    many_sources = 0
    for seed in range(120):
        rng = Random(seed)
        params = QuiltParams(
            k=rng.randint(1, 4), m=rng.choice([2, 3, 5, 50]), c=rng.randint(1, 3),
            sigma=rng.choice([0.0, 0.2, 1 / 3, 0.5]), foreign=rng.choice(LEVELS),
            min_contribution=rng.choice([0.0, 0.0, 0.1, 0.2]), collapse=rng.random() < 0.3,
        )  # fmt: skip
        result = check_all(stitched_crawl(seed), params, alone)
        many_sources += any(len(quilt.sources) > 2 for quilt in quilts_of(result))
    assert many_sources > 20


def check_monotone(rows: list[Row], params: QuiltParams, engine: LocalEngine) -> None:
    """Whoever asks for more finds no other pages."""
    asked: list[list[Row]] = [
        [{"sigma": sigma} for sigma in (0.0, 0.3, 0.5, 0.8, 1.0)],
        [{"c": c} for c in (1, 2, 3, 4)],
        [{"min_contribution": share} for share in (0.0, 0.2, 0.5)],
    ]
    with corpus_of(rows, engine) as corpus:
        for one_by_one in asked:
            found = []
            for values in one_by_one:
                result = find_quilts(corpus, replace(params, patches=False, exact=False, **values), engine=engine)
                found.append({quilt.url for quilt in quilts_of(result)})
            assert all(more <= less for less, more in pairwise(found))


@settings(deadline=None, max_examples=20)
@given(rows=small_crawls(), params=settings_of_quilts)
def test_a_larger_sigma_or_c_finds_no_other_pages(alone: LocalEngine, rows: list[Row], params: QuiltParams) -> None:
    check_monotone(rows, params, alone)


@pytest.mark.parametrize("seed", range(10))
def test_a_larger_sigma_or_c_finds_no_other_pages_in_stitched_crawls(alone: LocalEngine, seed: int) -> None:
    params = QuiltParams(k=1 + seed % 3, c=1, sigma=0.1, foreign=LEVELS[seed % 4])
    check_monotone(stitched_crawl(seed), params, alone)


@settings(deadline=None, max_examples=100)
@given(
    rows=st.one_of(small_crawls(), st.integers(0, 2**32).map(stitched_crawl)),
    k=st.integers(1, 3),
    c=st.integers(1, 3),
    foreign=st.sampled_from(LEVELS),
)
def test_a_larger_m_loses_no_page_if_the_cover_is_the_least(rows: list[Row], k: int, c: int, foreign: str) -> None:
    pages = [Page(f"{i}", row["url"].split("/")[2], row["url"][-9:], None, row["text"]) for i, row in enumerate(rows)]
    slow = SlowQuilts(pages, k)
    found = [slow.find_with_minimum_cover(m=m, c=c, sigma=0.3, foreign=foreign) for m in (2, 3, 4, 50)]
    assert all(less <= more for less, more in pairwise(found))


def test_another_k_can_lose_and_win_pages(alone: LocalEngine) -> None:
    texts = ["a b c d", "a b", "b c", "c d"]
    rows = [{"url": f"http://{i}.example/", "text": text} for i, text in enumerate(texts)]
    with corpus_of(rows, alone) as corpus:
        found = {
            k: [
                quilt.url
                for quilt in quilts_of(find_quilts(corpus, QuiltParams(k=k, m=2, c=3, sigma=1.0), engine=alone))
            ]
            for k in (1, 2, 3)
        }
    assert found == {1: [], 2: ["http://0.example/"], 3: []}


def test_a_source_with_exactly_the_least_share_counts(alone: LocalEngine) -> None:
    words = [f"w{i}" for i in range(100)]  # 0.07 * 100 is more than 7 in binary fractions, 7 / 100 is 0.07
    texts = [" ".join(words), " ".join(words[:7]), " ".join(words[7:])]
    rows = [{"url": f"http://{i}.example/", "text": text} for i, text in enumerate(texts)]
    with corpus_of(rows, alone) as corpus:
        params = QuiltParams(k=1, c=2, min_contribution=0.07)
        (quilt,) = quilts_of(find_quilts(corpus, params, engine=alone))
        assert quilt.sources == [("http://2.example/", 93), ("http://1.example/", 7)]
        assert not quilts_of(find_quilts(corpus, replace(params, min_contribution=0.0701), engine=alone))


def test_grams_that_only_share_a_fingerprint_are_counted_and_are_no_patches(alone: LocalEngine) -> None:
    # A Thue-Morse sequence of two words and its opposite have one polynomial hash modulo 2**64 if the hashes of the
    # words agree in enough low bits, as those of these two do.
    two = ["w112268", "w24321"]
    order = [bin(i).count("1") % 2 for i in range(64)]
    texts = [" ".join(two[i] for i in order), " ".join(two[1 - i] for i in order)]
    rows = [{"url": f"http://{i}.example/", "text": text} for i, text in enumerate(texts)]
    with corpus_of(rows, alone) as corpus:
        params = QuiltParams(k=64, c=1)
        fooled = find_quilts(corpus, params, engine=alone)
        assert not SlowQuilts(pages_of(corpus), 64).find(c=1)
        exact = find_quilts(corpus, replace(params, exact=True), engine=alone)
    assert [quilt.url for quilt in quilts_of(fooled)] == ["http://0.example/", "http://1.example/"]
    assert len(fooled.tables["patches"]) == 2
    assert exact.tables["quilts"]["collisions"].to_pylist() == [1, 1]
    assert len(exact.tables["patches"]) == 0


def test_says_which_sources_are_foreign_and_linked_to(alone: LocalEngine, tmp_path: Path) -> None:
    texts = [" ".join(f"{name}{i}" for i in range(9)) for name in ("one", "two", "three", "four")]
    urls = [f"http://{host}/page" for host in ("one.example", "www.two.example", "three.example", "b.quilt.example")]
    links = "<a href='https://one.example/page/#top'>1</a><a href='http://two.example/'>2</a><a href='/other'>4</a>"
    quilt = f"<p>{'<p>'.join(texts)}<p>{links}".encode()
    records = [record(url, f"<p>{text}".encode()) for url, text in zip(urls, texts, strict=True)]
    crawl = write_warc(tmp_path / "crawl.warc.gz", [*records, record("http://a.quilt.example/", quilt)])
    corpus = ingest_crawl([str(crawl)], tmp_path / "corpus", engine=alone).corpus
    (row,) = find_quilts(corpus, QuiltParams(foreign="none"), engine=alone).tables["quilts"].to_pylist()
    assert row["url"] == "http://a.quilt.example/"
    assert [(source["url"], source["foreign"], source["attributed"]) for source in row["sources"]] == [
        (urls[0], True, True),
        (urls[1], True, True),
        (urls[2], True, False),
        (urls[3], False, False),
    ]
    assert all(source["time"] == row["time"] is not None for source in row["sources"])
    counts = {
        level: len(find_quilts(corpus, QuiltParams(foreign=level), engine=alone).tables["quilts"]) for level in LEVELS
    }
    assert counts == {"none": 1, "host": 1, "domain": 0, "ip": 0}  # one address served them all


def test_pages_shorter_than_a_gram_are_never_quilted(alone: LocalEngine) -> None:
    rows = [{"url": f"http://{i}.example/", "text": "one two three four"} for i in range(6)]
    with corpus_of(rows, alone) as corpus:
        result = find_quilts(corpus, QuiltParams(c=1, sigma=0.0), engine=alone)
        assert corpus.pages == 6
    assert [len(table) for table in result.tables.values()] == [0, 0]


def test_a_list_of_urls_has_no_text_to_compare(alone: LocalEngine, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://one.example/\nhttp://two.example/\n")
    corpus = ingest_crawl([str(tmp_path / "urls.txt")], tmp_path / "corpus", engine=alone).corpus
    with pytest.raises(BadInput, match="has no text: it was made from a list of URLs") as raised:
        find_quilts(corpus, engine=alone)
    assert "Ingest WARC, HTML, JSONL or Parquet" in raised.value.fix
    assert not list(corpus.path.glob(".work-*"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"k": 0}, "--k is 0; it must be from 1 to 64."),
        ({"k": 65}, "--k is 65; it must be from 1 to 64."),
        ({"m": 1}, "--m is 1; it must be from 2 to 1,000,000."),
        ({"c": 0}, "--c is 0; it must be at least 1."),
        ({"sigma": -0.1}, "--sigma is -0.1; it must be from 0 to 1."),
        ({"sigma": float("nan")}, "--sigma is nan; it must be from 0 to 1."),
        ({"min_contribution": 1.5}, "--min-contribution is 1.5; it must be from 0 to 1."),
        ({"foreign": "site"}, "--foreign is 'site'; it must be one of none, host, domain, ip."),
    ],
)
def test_settings_out_of_range_are_refused_with_the_range(values: Row, message: str) -> None:
    with pytest.raises(BadParameter) as raised:
        QuiltParams(**values)
    assert raised.value.message == message
