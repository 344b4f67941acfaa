"""Pages of tests from the crawl itself: what it holds, what it knows to have failed, and nothing else.

A path that the crawl never asked for is unknown, which is no evidence. Pages go to the tests that need them by an
exchange; pairs that have hosts in common are neighbors, so that a page is seldom sent twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.mirrors.candidates import Ints, Keys, host_keys, wide
from unquilt.detectors.mirrors.levels import FAILED, FINE, PAGE, SERVER_FAILED, Comparisons, Outcomes, judge_tests
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.detectors.sites import PageArray, PageArrays
from unquilt.detectors.streams import bucket_table, table_block
from unquilt.engines import Block, Bucket, Engine
from unquilt.ingest.sites import hosts_of
from unquilt.kernels.components import components
from unquilt.kernels.mirrors import page_keys
from unquilt.kernels.urls import candidate_paths

_SENT_BYTES = 32 << 20  # of text, for one bucket
_MOST_BUCKETS = 1024
_BYTES_PER_WORD = 6


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which pages go to which buckets, by key; in files, which workers map."""

    keys: PageArray
    buckets: PageArray

    def find(self, keys: Keys) -> tuple[Ints, Ints]:
        """Of the pages with these keys, the rows that are wanted and by which bucket, once for each."""
        known, buckets = self.keys.load().view(np.uint64), self.buckets.load()
        begins, ends = np.searchsorted(known, keys), np.searchsorted(known, keys, side="right")
        counts = ends - begins
        rows = np.repeat(np.arange(len(keys)), counts)
        at = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(len(rows))
        return rows, buckets[at].astype(np.int64)


def judge_archive(
    corpus: Corpus, tests: Comparisons, hosts: pa.Table, params: MirrorParams, engine: Engine, arrays: PageArrays
) -> Outcomes:
    """How the tests end by what the crawl holds."""
    order, cuts = _plan(corpus, tests, len(hosts))
    buckets = len(cuts) - 1
    own = np.repeat(np.arange(buckets), np.diff(cuts))
    sources, targets = tests.source_keys[order], tests.target_keys[order]
    keys, numbers = np.concatenate([sources, targets]), np.concatenate([own, own])
    by_key = np.lexsort((numbers, keys))
    keys, numbers = keys[by_key], numbers[by_key]
    new = np.ones(len(keys), bool)
    new[1:] = (keys[1:] != keys[:-1]) | (numbers[1:] != numbers[:-1])
    wanted = Wanted(
        arrays.save("wanted-keys", keys[new].view(np.uint32)),
        arrays.save("wanted-buckets", numbers[new].astype(np.uint32)),
    )
    failed = _known_failures(corpus, wanted, engine)
    step = partial(send_pages, wanted=wanted, buckets=buckets)
    judge = partial(
        judge_bucket, cuts=cuts, sources=arrays.save("sources", sources.view(np.uint32)),
        targets=arrays.save("targets", targets.view(np.uint32)), failed=failed, params=params,
    )  # fmt: skip
    files = corpus.files()
    with engine.exchange(step, files, name="Fetching pages", buckets=buckets, label=lambda file: file.label) as sent:
        found = list(engine.reduce(judge, sent, name="Comparing pages"))
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Outcomes(*(column[back] for column in columns))


def _plan(corpus: Corpus, tests: Comparisons, hosts: int) -> tuple[Ints, Ints]:
    """Tests in the order of their buckets, and where each bucket's begin; pairs of connected hosts stay together."""
    words = sum(part.words for part in corpus.parts)
    page_bytes = _BYTES_PER_WORD * words / max(corpus.rows, 1)
    buckets = int(min(max(2 * len(tests.pairs) * page_bytes // _SENT_BYTES, 1), _MOST_BUCKETS))
    group = components(hosts, tests.sources, tests.targets)[tests.sources]
    order = np.lexsort((tests.pairs, group))
    return order, np.arange(buckets + 1) * len(order) // buckets


def send_pages(file: PartFile, *, wanted: Wanted, buckets: int) -> Iterator[Block]:
    """The pages of a part that tests need."""
    for table in file.batches(["url", "host", "status", "file_sha1", "text"]):
        keys = keys_of(table["url"], table["host"].combine_chunks())
        rows, numbers = wanted.find(keys)
        held = pc.is_valid(table["text"]).to_numpy()[rows]
        rows, numbers = rows[held], numbers[held]
        some = table.take(pa.array(rows))
        status = some["status"].fill_null(200).to_numpy()
        states = np.where(status >= 500, SERVER_FAILED, np.where(status >= 400, FAILED, FINE)).astype(np.uint8)
        pages = pa.table([keys[rows], states, some["file_sha1"], some["text"]], schema=PAGE)
        yield table_block(pages, numbers, buckets)


def keys_of(urls: pa.ChunkedArray, hosts: pa.Array) -> Keys:
    """A key for the page of each URL."""
    encoded = hosts.dictionary_encode()
    _, _, hashes, _, _ = candidate_paths(*wide(urls), 1)
    keys: Keys = page_keys(host_keys(encoded.dictionary)[encoded.indices.to_numpy()], hashes)
    return keys


def judge_bucket(
    bucket: Bucket, *, cuts: Ints, sources: PageArray, targets: PageArray, failed: pa.Table, params: MirrorParams
) -> tuple[np.ndarray, ...]:
    """The outcomes of the tests of a bucket, as columns."""
    mine = slice(cuts[bucket.number], cuts[bucket.number + 1])
    pages = pa.concat_tables([bucket_table(bucket, PAGE), failed])
    found = judge_tests(pages, sources.load().view(np.uint64)[mine], targets.load().view(np.uint64)[mine], params)
    return found.codes, found.resemblance, found.source_states, found.target_states


def _known_failures(corpus: Corpus, wanted: Wanted, engine: Engine) -> pa.Table:
    """Pages of tests that the crawl asked for and did not get, for they were errors: some of a few thousand hosts'."""
    path = corpus.path / "skipped.parquet"
    if not path.exists():
        return PAGE.empty_table()
    groups = [(str(path), group) for group in range(pq.ParquetFile(path).num_row_groups)]
    return engine.gather(engine.map(partial(failed_pages, wanted=wanted), groups, name="Reading errors"), PAGE)


def failed_pages(group: tuple[str, int], *, wanted: Wanted) -> pa.Table:
    """The wanted pages among the skipped records of a row group that were HTTP errors."""
    with pq.ParquetFile(group[0]) as file:
        table = file.read_row_group(group[1], columns=["url", "reason", "detail"], use_threads=False)
    table = table.filter(pc.and_(pc.equal(table["reason"], "http-error"), pc.is_valid(table["url"])))
    if not len(table):
        return PAGE.empty_table()
    hosts = hosts_of(table["url"])
    keys = keys_of(table["url"], hosts)
    rows = np.unique(wanted.find(keys)[0])
    is_server = pc.starts_with(table["detail"].fill_null(""), "5").to_numpy()[rows]
    states = np.where(is_server, SERVER_FAILED, FAILED).astype(np.uint8)
    nothing = pa.nulls(len(rows))
    return pa.table([keys[rows], states, nothing.cast(PAGE.field("sha1").type), nothing.cast(pa.string())], schema=PAGE)
