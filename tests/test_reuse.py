"""Reuse, chunk for chunk, against counting raw bytes by hand; labelled sets, matching, and what was planted."""

from __future__ import annotations

import gzip
import json
import random
import string
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha1
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import brotli
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Unquilt, record, write_warc
from slow_reuse import Page, SlowReuse, cut, is_loop, mean_plus_deviation, normalized, prefixes
from unquilt.corpus import Corpus
from unquilt.detectors.reuse.detect import interval_of
from unquilt.detectors.reuse.digests import Digests, words_of
from unquilt.detectors.reuse.discover import COUNTS, Counting, emit_objects, propose_threshold
from unquilt.detectors.reuse.examples import read_example
from unquilt.detectors.reuse.export import export_labelled
from unquilt.detectors.reuse.find import find_reuse
from unquilt.detectors.reuse.labelled import Bloom, Exact, Labelled, write_labelled
from unquilt.detectors.reuse.match import Matched, match_pages
from unquilt.detectors.reuse.params import ReuseParams
from unquilt.detectors.reuse.robustness import measure_robustness
from unquilt.detectors.reuse.robustness_params import RobustnessParams
from unquilt.detectors.reuse.stop_chunks import (
    add_stop_chunks,
    has_sentence,
    kind_of,
    read_stop_chunks,
    shipped_stop_chunks,
    stop_digests,
)
from unquilt.detectors.sites import PageArray
from unquilt.engines import Bucket
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter, CorpusMismatch, NotACorpus
from unquilt.ingest.chunks import Cutter
from unquilt.ingest.params import IngestParams
from unquilt.ingest.run import ingest_crawl
from unquilt.kernels.digests import combine
from unquilt.kernels.mutation import ADD, CHANGE, DELETE, mutate
from unquilt.result import Result
from unquilt.sample import sample_files
from unquilt.synth import SynthParams, write_synth

STOPS = stop_digests("", Cutter())
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture(scope="module")
def alone() -> Iterator[LocalEngine]:
    """Runs every step in this process, for crawls of a few pages."""
    with LocalEngine(workers=1, memory=1 << 30) as one:
        yield one


@pytest.fixture(scope="module")
def sample(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("reuse") / "sample.corpus"
    return ingest_crawl([str(path) for path in sample_files()], folder, engine=engine).corpus


def dechunked(body: bytes) -> bytes:
    size, _, rest = body.partition(b"\r\n")
    length = int(size.partition(b";")[0], 16)
    return rest[:length] + dechunked(rest[length + 2 :]) if length else b""


@pytest.fixture(scope="module")
def sample_pages(sample: Corpus) -> list[Page]:
    """The pages of the sample as another reader gives them."""
    bodies: dict[str, bytes] = {}
    for path in sample_files():
        with path.open("rb") as file:
            for one in ArchiveIterator(file, record_types=WarcRecordType.response):
                headers = {name.lower(): value for name, value in (one.http_headers or {}).items()}
                body = one.reader.read()
                if headers.get("transfer-encoding") == "chunked":
                    body = dechunked(body)
                unpack = {"gzip": gzip.decompress, "br": brotli.decompress, "deflate": zlib.decompress}
                encoding = headers.get("content-encoding", "")
                bodies[one.headers["WARC-Target-URI"]] = unpack[encoding](body) if encoding in unpack else body
    rows = sample.read(["url", "domain", "media_type"]).to_pylist()
    return [
        Page(row["url"], row["domain"], bodies[row["url"]], row["media_type"] in ("text/html", "application/xhtml+xml"))
        for row in rows
    ]


@pytest.fixture(scope="module")
def found(sample: Corpus, engine: LocalEngine) -> Result:
    return find_reuse(sample, ReuseParams(), engine=engine)


def facts_of(result: Result) -> dict[str, float]:
    return {row["name"]: row["value"] for row in result.tables["summary"].to_pylist()}


def check(result: Result, slow: SlowReuse, threshold: int) -> None:
    """Every number of a result, against counting."""
    labelled = slow.labelled(threshold)
    objects = [row for row in result.tables["objects"].to_pylist() if row["kind"] == "chunk"]
    told = {row["sha1"]: (row["count"], row["domains"]) for row in objects if row["label"] == "labelled"}
    assert told == {digest: (slow.counts[digest], len(slow.domains[digest])) for digest in labelled}
    contains = slow.contains(labelled)
    files = result.tables["files"].to_pylist()
    chunky = {row["url"]: (row["chunks"], row["stop"], row["labelled"]) for row in files if row["labelled"]}
    assert chunky == {url: counts for url, counts in contains.items() if counts[2]}
    shares = [hits / chunks for chunks, _, hits in contains.values() if chunks]
    facts = facts_of(result)
    if shares:
        assert facts["contains threshold"] == pytest.approx(mean_plus_deviation(shares))
    assert {row["url"] for row in files if row["target"]} == {
        url for url, (chunks, _, hits) in contains.items() if chunks and hits / chunks > facts["contains threshold"]
    }
    around = slow.neighborhoods(labelled)
    told_around = {
        row["prefix"]: (row["files"], row["chunks"], row["labelled"])
        for row in result.tables["neighborhoods"].to_pylist()
    }
    assert told_around == {prefix: counts for prefix, counts in around.items() if counts[2]}
    badness = [hits / chunks for _, chunks, hits in around.values() if chunks]
    assert facts["neighborhoods"] == len(badness)
    if badness:
        assert facts["badness threshold"] == pytest.approx(mean_plus_deviation(badness), abs=1e-9)


def test_the_sample_has_exactly_what_counting_finds(found: Result, sample_pages: list[Page]) -> None:
    slow = SlowReuse(sample_pages, STOPS)
    check(found, slow, int(facts_of(found)["chunk threshold"]))
    files = {sha1(page.body).digest() for page in sample_pages}
    assert facts_of(found)["different files"] == len(files)
    assert facts_of(found)["different chunks"] == len(slow.counts)


@pytest.mark.parametrize(("threshold", "least"), [(1, 0), (5, 0), (1, 60), (100_000, 0)])
def test_thresholds_and_lengths_as_given(
    sample: Corpus, sample_pages: list[Page], engine: LocalEngine, threshold: int, least: int
) -> None:
    result = find_reuse(sample, ReuseParams(chunk_threshold=threshold, min_chunk_bytes=least), engine=engine)
    check(result, SlowReuse(sample_pages, STOPS, min_bytes=least), threshold)


def test_workers_do_not_change_any_table(sample: Corpus, found: Result, alone: LocalEngine) -> None:
    again = find_reuse(sample, ReuseParams(), engine=alone)
    for name, table in found.tables.items():
        assert table.equals(again.tables[name]), name


pieces = st.sampled_from(
    [
        b"<p>",
        b"<P>",
        b"<p ",
        b"<p\n>",
        b"</p>",
        b"a",
        b"b",
        b"&nbsp;",
        b"<pre>",
        b"\n",
        b"<div>",
        b"<H1 x>",
        b"<td\t>",
        b"<",
    ]
)
bodies = st.lists(pieces, min_size=1, max_size=12).map(b"".join).filter(bytes.strip)
paths = st.sampled_from(["", "/", "/a", "/a/", "/a/b", "/a/b/?x=/c/d", "//", "/a//b", "/x#/y", "/a/b/c/d"])
crawls = st.lists(
    st.tuples(st.sampled_from(["one.example", "www.one.example", "two.example"]), paths, bodies), max_size=9
)


@contextmanager
def small_corpus(
    pages: list[tuple[str, bytes]], engine: LocalEngine, params: IngestParams = IngestParams()
) -> Iterator[Corpus]:
    with TemporaryDirectory(dir=MEMORY) as folder:
        path = write_warc(Path(folder) / "a.warc.gz", [record(url, body) for url, body in pages])
        yield ingest_crawl([str(path)], Path(folder) / "corpus", params, engine=engine).corpus


@settings(max_examples=40)
@given(crawls, st.integers(1, 3))
def test_any_crawl_has_exactly_what_counting_finds(
    alone: LocalEngine, crawl: list[tuple[str, str, bytes]], threshold: int
) -> None:
    pages = [
        (f"http://{host}{path}{'&' if '?' in path else '?'}n={i}", body) for i, (host, path, body) in enumerate(crawl)
    ]
    pages.append(("http://last.example/", b"<p>last"))
    with small_corpus(pages, alone) as corpus:
        rows = corpus.read(["url", "domain", "media_type"]).to_pylist()
        by_url = dict(pages)
        slow = SlowReuse(
            [Page(row["url"], row["domain"], by_url[row["url"]], row["media_type"] == "text/html") for row in rows],
            STOPS,
        )
        result = find_reuse(corpus, ReuseParams(chunk_threshold=threshold, file_threshold=10), engine=alone)
        check(result, slow, threshold)


@settings(max_examples=200)
@given(bodies, st.sampled_from(["p", "block", "line"]), st.booleans())
def test_cutters_agree_with_regular_expressions(body: bytes, name: str, normalize: bool) -> None:
    for is_html in (True, False):
        cutter = Cutter(name, normalize)
        chunks = cut(body, name, is_html=is_html)
        bounds = cutter.bounds(body, is_html=is_html)
        assert [body[a:b] for a, b in pairwise(bounds)] == chunks
        expected = [sha1(normalized(chunk) if normalize else chunk).digest() for chunk in chunks]
        assert cutter.digests(body, bounds) == expected


@pytest.mark.parametrize("name", ["p", "block", "line"])
def test_cutters_agree_on_real_pages(sample_pages: list[Page], name: str) -> None:
    for page in sample_pages[::7]:
        bounds = Cutter(name).bounds(page.body, is_html=True)
        assert [page.body[a:b] for a, b in pairwise(bounds)] == cut(page.body, name)


def test_every_object_resolves_to_its_bytes(sample: Corpus, found: Result) -> None:
    for row in found.tables["objects"].to_pylist():
        content = read_example(row, sample.settings, sample.path.parent, most=None)
        assert content is not None
        assert sha1(content).digest() == row["sha1"]
        assert row["content"] == content[:4096]


def test_normalized_and_block_chunks_resolve_too(alone: LocalEngine) -> None:
    body = b"<html><DIV>One  Two</DIV>\n<h1>x</h1>"
    params = IngestParams(cutter="block", normalize=True)
    with small_corpus(
        [("http://a.example/1", body), ("http://b.example/2", body.replace(b"One  Two", b"one two"))], alone, params
    ) as corpus:
        result = find_reuse(corpus, ReuseParams(chunk_threshold=1), engine=alone)
        rows = [row for row in result.tables["objects"].to_pylist() if row["kind"] == "chunk"]
        shown = {read_example(row, corpus.settings, corpus.path.parent, most=None): row["count"] for row in rows}
        assert shown == {b"<html>": 2, b"<DIV>One  Two</DIV>\n": 2, b"<h1>x</h1>": 2}


def test_a_crawl_that_is_gone_is_said_to_be_gone(alone: LocalEngine, tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", [record(f"http://{i}.example/", b"<p>x<p>y") for i in range(3)])
    corpus = ingest_crawl([str(path)], tmp_path / "corpus", engine=alone).corpus
    path.unlink()
    result = find_reuse(corpus, ReuseParams(chunk_threshold=1, file_threshold=1), engine=alone)
    rows = result.tables["objects"].to_pylist()
    assert {row["content"] for row in rows} == {None}
    assert {(row["kind"], row["count"]) for row in rows} == {("chunk", 3), ("file", 3)}


def test_digests_that_agree_in_their_first_bits_stay_apart(tmp_path: Path) -> None:
    """Made by hand: SHA-1s that share 64 bits take years to find."""
    words = np.array([[7, 9, 1, 1, 1], [7, 9, 1, 1, 2], [7, 9, 1, 1, 1], [7, 9, 2, 1, 1], [7, 9, 1, 1, 2]], np.uint32)
    sites = np.array([0, 1, 2, 2, 1], np.uint32)
    rows = combine(words.reshape(-1), np.arange(5, dtype=np.uint32), sites)
    np.save(tmp_path / "sites.npy", sites)
    what = Counting("chunk", PageArray(str(tmp_path / "sites.npy")))
    (block,) = emit_objects(Bucket(0, rows), what=what, bits=0)
    keys, _, thirds, totals, domains, pages = block.columns
    assert len(set(keys.tolist())) == 1
    told = list(zip(thirds.tolist(), totals.tolist(), domains.tolist(), pages.tolist(), strict=True))
    assert told[:2] == [(1, 2, 2, 0), (2, 2, 1, 1)]
    assert told[2][1:3] == (1, 0)  # one object occurs once


@settings(max_examples=100)
@given(
    st.lists(st.binary(min_size=20, max_size=20), max_size=30),
    st.lists(st.binary(min_size=20, max_size=20), max_size=30),
)
def test_digests_are_found_where_they_are(known: list[bytes], others: list[bytes]) -> None:
    digests = Digests.make(words_of(b"".join(known)))
    ordered = sorted(set(known))
    assert digests.words.tobytes() == b"".join(ordered)
    wanted = known + others
    expected = [ordered.index(one) if one in set(known) else -1 for one in wanted]
    assert digests.find(words_of(b"".join(wanted))).tolist() == expected
    again = Digests.unpacked(digests.packed())
    assert again.find(words_of(b"".join(wanted))).tolist() == expected


def test_detection_on_disjoint_parts_is_that_on_the_whole(sample: Corpus, engine: LocalEngine, tmp_path: Path) -> None:
    """Given what is labelled and the thresholds, a neighborhood does not care what else there is."""
    find_reuse(sample, ReuseParams(), engine=engine).save(sample)
    export_labelled(sample, tmp_path / "set", engine=engine)
    params = ReuseParams(labelled=str(tmp_path / "set"), badness_threshold=0.2, contains_threshold=0.1)
    whole = find_reuse(sample, params, engine=engine).tables
    hosts: dict[str, list[str]] = {}
    for path in sample_files():
        part = ingest_crawl([str(path)], tmp_path / path.name, engine=engine).corpus
        for row in part.read(["host"]).to_pylist():
            hosts.setdefault(row["host"], []).append(path.name)
    rows = [row for path in sample_files() for row in _alone(path, tmp_path, params, engine, hosts)]
    split = {host for host, names in hosts.items() if len(set(names)) > 1}
    kept = [row for row in whole["neighborhoods"].to_pylist() if row["prefix"].split("/")[0] not in split]
    assert len(kept) > 20
    strip = ("files", "chunks", "labelled", "badness", "low", "high", "bad", "under", "prefix")
    assert sorted([row[name] for name in strip] for row in rows) == sorted(
        [row[name] for name in strip] for row in kept
    )


def _alone(
    path: Path, folder: Path, params: ReuseParams, engine: LocalEngine, hosts: dict[str, list[str]]
) -> list[dict[str, Any]]:
    found = find_reuse(Corpus(folder / path.name), params, engine=engine).tables["neighborhoods"].to_pylist()
    return [row for row in found if len(set(hosts[row["prefix"].split("/")[0]])) == 1]


@settings(max_examples=150)
@given(st.lists(st.sampled_from("abc"), max_size=14), st.integers(1, 3))
def test_loops_agree_with_looking(parts: list[str], most: int) -> None:
    from unquilt.detectors.sites import text_buffers
    from unquilt.kernels.prefixes import loops

    url = "http://h.example/" + "/".join(parts)
    components, repeats = loops(*text_buffers(pa.array([url])), 10)
    assert (components[0] > 10 or repeats[0] > most) == is_loop(url, 10, most)


def test_97_components_are_set_aside_and_96_are_not(alone: LocalEngine) -> None:
    names = [str(i) for i in range(97)]
    long, short = "http://a.example/" + "/".join(names), "http://a.example/" + "/".join(names[:96])
    with small_corpus(
        [(long, b"<p>x"), (short, b"<p>x"), ("http://a.example/x/y/x/y/x/y/x/y", b"<p>x")], alone
    ) as corpus:
        result = find_reuse(corpus, ReuseParams(chunk_threshold=1), engine=alone)
    assert [(row["components"], row["repeats"]) for row in result.tables["set_aside"].to_pylist()] == [(97, 0), (8, 4)]
    assert facts_of(result)["pages with chunks"] == 1


def test_finds_what_was_planted(engine: LocalEngine, tmp_path: Path) -> None:
    write_synth(tmp_path / "web", SynthParams(pages=3000, seed=5), workers=1)
    crawl = [str(path) for path in sorted((tmp_path / "web").glob("*.warc.gz"))]
    corpus = ingest_crawl(crawl, tmp_path / "corpus", engine=engine).corpus
    result = find_reuse(corpus, ReuseParams(), engine=engine)
    truth = {
        name: pq.read_table(tmp_path / "web" / "truth" / f"{name}.parquet").to_pylist()
        for name in ("chunks", "neighborhoods", "traps")
    }
    labels = {row["sha1"].hex(): row["label"] for row in result.tables["objects"].to_pylist() if row["kind"] == "chunk"}
    copied = {row["sha1"] for row in truth["chunks"] if row["kind"] == "copied"}
    stops = {row["sha1"] for row in truth["chunks"] if row["kind"] == "stop"}
    assert len(copied) > 10
    assert {labels.get(digest) for digest in copied} == {"labelled"}
    assert {labels.get(digest) for digest in stops} == {"stop"}
    bad = {row["prefix"] for row in result.tables["neighborhoods"].to_pylist() if row["bad"]}
    assert {row["prefix"] for row in truth["neighborhoods"]} <= bad
    assert set(result.tables["set_aside"]["url"].to_pylist()) == {row["url"] for row in truth["traps"]}


def test_who_copies_my_site(alone: LocalEngine, tmp_path: Path) -> None:
    mine = [f"<p>{'my own words number ' + str(i) + ' '}{'x' * 100}" for i in range(8)]
    short = "<p>short"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text("<html>" + "".join(mine) + short)
    pages = [
        ("http://www.mine.example/page", "<html>" + "".join(mine) + short),
        ("http://thief.example/a/1", "<html>theirs" + "".join(mine[:6]) + short),
        ("http://thief.example/b/2", "<html>" + "<p>other" * 3 + short),
        ("http://small.example/", "<html>z" + mine[7] + "<p>more" * 9),
        ("http://fine.example/", "<html>fine<p>fine" + short),
    ]
    with small_corpus([(url, body.encode()) for url, body in pages], alone) as corpus:
        params = ReuseParams(labelled=str(tmp_path / "site"), own="mine.example")
        result = find_reuse(corpus, params, engine=alone)
        sites = [(row["domain"], row["labelled"], row["chunks"]) for row in result.tables["sites"].to_pylist()]
        assert sites == [("thief.example", 6, 13), ("small.example", 1, 11)]
        assert [row["url"] for row in result.tables["files"].to_pylist() if row["target"]] == [
            "http://thief.example/a/1"
        ]
        everyone = find_reuse(corpus, replace(params, own="nobody.example"), engine=alone)
        assert everyone.tables["sites"].to_pylist()[0]["domain"] == "mine.example"
        by_corpus = find_reuse(corpus, replace(params, labelled=str(corpus.path), own=""), engine=alone)
        assert by_corpus.tables["sites"].num_rows == 0  # all domains are the labelled corpus's own
        normal = ingest_crawl(
            [str(tmp_path / "site")], tmp_path / "normal", IngestParams(normalize=True), engine=alone
        ).corpus
        with pytest.raises(CorpusMismatch, match="cannot be compared"):
            find_reuse(corpus, replace(params, labelled=str(normal.path)), engine=alone)


def test_a_labelled_set_matches_what_the_corpus_found(
    sample: Corpus, found: Result, sample_pages: list[Page], tmp_path: Path
) -> None:
    found.save(sample)
    exact = export_labelled(sample, tmp_path / "exact")
    contains = {
        row["url"]: (row["chunks"], row["labelled"], row["contains"]) for row in found.tables["files"].to_pylist()
    }
    for page in sample_pages:
        match = exact.match(page.body, is_html=page.is_html)
        assert (match.chunks, match.labelled, match.contains) == contains.get(page.url, (match.chunks, 0, 0.0))
    told = {
        one.url: one.match.contains
        for one in match_pages(exact, [str(path) for path in sample_files()])
        if isinstance(one, Matched) and one.match.labelled
    }
    assert told == {url: share for url, (_, hits, share) in contains.items() if hits}


def random_digests(seed: int, count: int) -> Digests:
    return Digests.make(np.random.default_rng(seed).integers(0, 1 << 32, 5 * count, np.uint32))


@pytest.mark.parametrize("error", [0.1, 0.01, 0.001])
def test_a_bloom_filter_errs_as_often_as_it_says(error: float, tmp_path: Path) -> None:
    chunks, files = random_digests(1, 20_000), random_digests(2, 10)
    made = write_labelled(tmp_path / "bloom", chunks=chunks, files=files, cutter=Cutter(), kind="bloom", error=error)
    assert isinstance(made.chunks, Bloom)
    assert made.chunks.has(chunks.words).all()
    others = random_digests(3, 300_000).words
    share = made.chunks.has(others).mean()
    bits = 8 * len(made.chunks.bits) / 20_000
    assert bits == pytest.approx(1.4427 * np.log2(1 / error), rel=0.01)
    assert share == pytest.approx(error, abs=6 * (error / 300_000) ** 0.5 + 0.05 * error)


def test_a_damaged_labelled_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set"
    made = write_labelled(
        path,
        chunks=random_digests(1, 1000),
        files=random_digests(2, 3),
        cutter=Cutter("block", True),
        min_chunk_bytes=7,
    )
    assert isinstance(made.chunks, Exact)
    assert (made.cutter, made.min_chunk_bytes, len(made.chunks)) == (Cutter("block", True), 7, 1000)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:100], whole + b"x", whole.replace(b"unquilt", b"unguilt", 1)):
        path.write_bytes(damaged)
        with pytest.raises(BadInput, match="damaged"):
            Labelled.open(path)
    path.write_bytes(whole.replace(b'"version": 1', b'"version": 9', 1))
    with pytest.raises(BadInput, match="version 9"):
        Labelled.open(path)
    with pytest.raises(BadParameter, match="--error"):
        write_labelled(path, chunks=made.chunks.digests, files=made.chunks.digests, cutter=Cutter(), error=0.9)


def test_stop_chunks_are_accepted_into_a_file_and_then_left_out(alone: LocalEngine, tmp_path: Path) -> None:
    common, telling = b"<p class=spacer> - </p>", b"<p>these five words say something</p>"
    pages = [(f"http://d{i}.example/", b"<html>%d" % i + common + telling) for i in range(6)]
    with small_corpus(pages, alone) as corpus:
        first = find_reuse(corpus, ReuseParams(chunk_threshold=2), engine=alone)
        proposed = [row for row in first.tables["objects"].to_pylist() if row["why"]]
        assert [row["content"] for row in proposed] == [common]
        assert proposed[0]["why"] == "23 bytes on 6 domains, without a sentence"
        path = tmp_path / "stops.txt"
        assert add_stop_chunks(str(path), [(proposed[0]["sha1"], "a spacer")]) == 1
        assert add_stop_chunks(str(path), [(proposed[0]["sha1"], "again")]) == 0
        assert read_stop_chunks(str(path)) == [sha1(common).digest()]
        again = find_reuse(corpus, ReuseParams(chunk_threshold=2, stop_chunks=str(path)), engine=alone)
    assert {(row["content"], row["label"]) for row in again.tables["objects"].to_pylist()} == {
        (common, "stop"),
        (telling, "labelled"),
    }
    assert facts_of(again)["stop chunks removed"] == 6
    path.write_text("nonsense\n")
    with pytest.raises(BadInput, match="line 1"):
        read_stop_chunks(str(path))


def test_shipped_stop_chunks_are_those_of_the_paper_and_say_nothing() -> None:
    shipped = shipped_stop_chunks()
    assert {b"<p></p>", b"<p>&nbsp;</p>", b"", b"User-agent: *\nDisallow: /\n"} <= set(shipped)
    assert not [chunk for chunk in shipped if has_sentence(chunk)]


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        (b"<p>&nbsp;</p>", "empty markup"), (b"<p><script>var a = 1;</script>", "script"),
        (b"<p><a href=x>a</a> <a href=y>b</a>", "navigation"), (b"<p>Five words are a sentence.", "text"),
        (b"<p>Note", "short text"), (b"<form><input name=q>search", "form"), (b"User-agent: *\n", "robots.txt"),
    ],
)  # fmt: skip
def test_what_a_chunk_is(chunk: bytes, kind: str) -> None:
    assert kind_of(chunk) == kind


def test_proposed_thresholds_keep_the_list_short() -> None:
    table = pa.table([[1, 2, 3, 9, 500], [9000, 800, 150, 40, 10]], schema=COUNTS)
    threshold, why = propose_threshold(table, "chunk")
    assert threshold == 3
    assert why.startswith("50 of 10,000 different chunks occur more often than 3 times")
    assert propose_threshold(COUNTS.empty_table(), "chunk")[0] == 1


def test_intervals_hold_badness_and_narrow_with_more_files() -> None:
    names = ("chunks", "labelled", "files", "labelled_squared", "labelled_chunks", "chunks_squared")
    widths = []
    for files in (2, 20, 200):
        hits = np.tile([2, 6], files // 2)
        totals = [10 * files, hits.sum(), files, (hits**2).sum(), (hits * 10).sum(), 100 * files]
        low, high = interval_of({name: np.array([value]) for name, value in zip(names, totals, strict=True)})
        assert 0 <= low[0] < 0.4 < high[0] <= 1
        widths.append(high[0] - low[0])
    assert widths == sorted(widths, reverse=True)


def test_the_highest_bad_prefix_stands_for_what_is_inside(alone: LocalEngine) -> None:
    bad, good = b"<p>copied<p>copied", b"<p>one %d<p>two %d<p>three %d"
    pages = [(f"http://bad.example/a/{i}/x", bad) for i in range(3)]
    pages += [(f"http://good.example/{i}", good % (i, i, i)) for i in range(20)]
    with small_corpus(pages, alone) as corpus:
        rows = (
            find_reuse(corpus, ReuseParams(chunk_threshold=3, badness_threshold=0.5), engine=alone)
            .tables["neighborhoods"]
            .to_pylist()
        )
        none = find_reuse(
            corpus, ReuseParams(chunk_threshold=3, badness_threshold=0.5, min_files=4), engine=alone
        ).tables["neighborhoods"]
    assert {(row["prefix"], row["under"]) for row in rows if row["bad"]} == {
        (prefix, "bad.example/")
        for prefix in ["bad.example/", "bad.example/a/", *(f"bad.example/a/{i}/" for i in range(3))]
    }
    assert not any(none["bad"].to_pylist())


def test_mutations_follow_their_curves() -> None:
    """Adding dilutes exactly; a changed chunk is spared with (1 - 1/c)^n; deleting keeps the mean share."""
    pages, chunks = 4000, 20
    labelled = np.tile(np.arange(chunks) < 8, pages)
    offsets = np.arange(pages + 1) * chunks
    points = np.array([0, 1, 5, 15, 40])
    for change in (ADD, DELETE, CHANGE):
        hits, totals = mutate(labelled, offsets, change, points, 1)
        for p, n in enumerate(points):
            if change == ADD:
                assert (hits[p] == 8).all()
                assert (totals[p] == chunks + n).all()
            elif change == CHANGE:
                assert hits[p].mean() == pytest.approx(8 * (1 - 1 / chunks) ** n, abs=0.15)
                assert (totals[p] == chunks).all()
            else:
                assert (totals[p] == max(chunks - n, 0)).all()
                assert hits[p].mean() == pytest.approx(0.4 * max(chunks - n, 0), abs=0.1)


def test_robustness_of_a_site(sample: Corpus, engine: LocalEngine, alone: LocalEngine) -> None:
    params = RobustnessParams(host="en.httpd.example", blind=2, rounds=3)
    result = measure_robustness(sample, params, engine=engine)
    assert result.tables["robustness"].equals(measure_robustness(sample, params, engine=alone).tables["robustness"])
    rows = result.tables["robustness"].to_pylist()
    lost = {(row["change"], row["labelled"], row["what"]): row["multiple"] for row in result.tables["lost"].to_pylist()}
    # Adding n chunks to each page divides the site's badness by 1 + n / mean.
    assert lost["add", "expert", "neighborhood"] == pytest.approx(1 / 0.163 - 1, abs=0.05)
    expert = [row for row in rows if row["change"] == "delete" and row["labelled"] == "expert"]
    assert {row["page_badness"] for row in expert if row["chunks_left"]} == {1.0}
    with pytest.raises(BadInput, match="no pages of nowhere"):
        measure_robustness(sample, RobustnessParams(host="nowhere.example"), engine=alone)


def test_corpora_without_bytes_or_pages_say_so(alone: LocalEngine, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/\nhttp://b.example/\n")
    urls = ingest_crawl([str(tmp_path / "urls.txt")], tmp_path / "urls", engine=alone).corpus
    with pytest.raises(BadInput, match="no raw bytes"):
        find_reuse(urls, engine=alone)
    with small_corpus([("http://a.example/", b"%PDF-1")], alone) as empty:
        result = find_reuse(empty, engine=alone)
        assert len(result.tables["objects"]) == 0
        with pytest.raises(NotACorpus):
            export_labelled(empty, tmp_path / "set")
    with small_corpus([("http://a.example/\x1b[31m/<b>", b"<p>x\x00\xff")], alone) as one:
        find_reuse(one, ReuseParams(chunk_threshold=1), engine=alone)


def test_folders_agree_with_urllib() -> None:
    from unquilt.detectors.sites import text_buffers
    from unquilt.kernels.prefixes import folders

    letters = random.Random(4)
    urls = [
        f"http://h.example{''.join(letters.choices('/ab?#' + string.digits, k=letters.randrange(12)))}"
        for _ in range(500)
    ]
    urls = [url if url[16:17] in ("", "/", "?", "#") else url[:16] + "/" + url[16:] for url in urls]
    names, cuts = folders(*text_buffers(pa.array(urls)), *text_buffers(pa.array(["h.example"] * len(urls))))
    told = [names[a:b].tobytes().decode() for a, b in pairwise(cuts)]
    assert told == [prefixes(url)[-1] for url in urls]


def test_the_commands(sample: Corpus, unquilt: Unquilt, tmp_path: Path) -> None:
    done = unquilt("reuse", sample.path, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["objects"]["labelled chunks"] > 50
    shown = unquilt("reuse", sample.path, "--no-plots", "-q")
    assert "Sites by labelled chunks" in shown.stdout
    assert "Bad neighborhoods" in shown.stdout
    out = tmp_path / "set"
    exported = unquilt("export", sample.path, "reuse", "--filter", out, "--kind", "bloom", "--error", "0.01")
    assert exported.returncode == 0, exported.stderr
    matched = unquilt("match", out, str(sample_files()[0]), "--json")
    assert all(json.loads(line)["contains"] > 0 for line in matched.stdout.splitlines())
    assert len(matched.stdout.splitlines()) > 5
    page = unquilt("match", out, "-", "--all", "-q", input="<html><p>one<p>two")
    assert page.stdout.split()[:4] == ["0.0%", "0", "of", "3"]
    crawled = unquilt("robustness", sample.path, "--host", "en.httpd.example", "--rounds", "2", "-o", tmp_path / "out")
    assert crawled.returncode == 0, crawled.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "robustness.csv",
        "robustness.png",
        "robustness.svg",
        "lost.csv",
    }
    missing = unquilt("reuse", sample.path, "--chunk", "zz")
    assert missing.returncode == 1
    assert "begin with 'zz'" in missing.stderr
