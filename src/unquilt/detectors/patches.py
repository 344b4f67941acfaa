"""The patch map: where each patch of a quilt stands in the page and in its source.

The texts of quilts and of their sources are brought together by an exchange: a page that is a source of quilts in
three buckets is sent three times, whatever the number of quilts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import text_buffers
from unquilt.engines import Block, Bucket, Engine
from unquilt.ingest.sites import domain_of, host_of
from unquilt.kernels.grams import hash_grams
from unquilt.kernels.patches import claim_grams, claim_words, count_characters, drop_collisions, patch_runs
from unquilt.kernels.words import TABLE, word_spans
from unquilt.schema import PATCHES, QUILTS

_SENT_BYTES = 32 << 20  # of text, for one bucket
_MOST_BUCKETS = 1024
_COLUMNS = ["url", "domain", "time", "links", "text"]


@dataclass(frozen=True, slots=True)
class Request:
    """Pages of a part and the buckets that need them; and the quilts among its pages."""

    file: PartFile
    pages: npt.NDArray[np.uint32]
    buckets: npt.NDArray[np.int64]
    quilts: pa.Table


def describe_quilts(corpus: Corpus, quilted: pa.Table, params: Any, engine: Engine) -> dict[str, pa.Table]:
    """The result tables: quilted pages with their sources, and patches."""
    requests, buckets = make_requests(corpus, quilted)
    with engine.exchange(
        partial(send_pages, buckets=buckets), requests, name="Fetching texts", buckets=buckets,
        label=lambda request: request.file.label,
    ) as sent:  # fmt: skip
        step = partial(stitch, k=params.k, exact=params.exact, patches=params.patches)
        found = list(engine.reduce(step, sent, name="Finding patches"))
    return {
        "quilts": engine.gather((tables[0] for tables in found), QUILTS),
        "patches": engine.gather((tables[1] for tables in found), PATCHES),
    }


def make_requests(corpus: Corpus, quilted: pa.Table) -> tuple[list[Request], int]:
    """Which pages go to which of how many buckets: quilts to one each, in order, and their sources after them."""
    numbers = quilted["number"].to_numpy()
    sources = quilted["sources"].combine_chunks()
    lengths = np.diff(sources.offsets.to_numpy())
    text_bytes = 6 * sum(part.words for part in corpus.parts) / max(corpus.rows, 1)
    buckets = int(min(max((len(numbers) + lengths.sum()) * text_bytes // _SENT_BYTES, 1), _MOST_BUCKETS))
    own = np.arange(len(numbers)) * buckets // max(len(numbers), 1)
    pages = np.concatenate([numbers, sources.values.to_numpy()[: lengths.sum()]]).astype(np.int64)
    wanted = np.unique(np.concatenate([own, np.repeat(own, lengths)]) + pages * buckets)
    pages, wanted = wanted // buckets, wanted % buckets
    requests = []
    for file in corpus.files():
        begin, end = np.searchsorted(pages, [file.first, file.first + file.pages])
        if begin < end:
            first, last = np.searchsorted(numbers, [file.first, file.first + file.pages])
            quilts = quilted.slice(first, last - first).append_column("bucket", pa.array(own[first:last]))
            requests.append(Request(file, pages[begin:end].astype(np.uint32), wanted[begin:end], quilts))
    return requests, buckets


def send_pages(request: Request, *, buckets: int) -> Iterator[Block]:
    """The pages asked for, as Arrow streams: one for each bucket and row group."""
    first = request.file.first
    for table in request.file.batches(_COLUMNS):
        begin, end = np.searchsorted(request.pages, [first, first + len(table)])
        order = np.argsort(request.buckets[begin:end], kind="stable") + begin
        sent = _with_quilts(table, first, request, order)
        cuts = np.searchsorted(request.buckets[order], np.arange(buckets + 1))
        streams = [_stream(sent.slice(a, b - a)) for a, b in pairwise(cuts.tolist())]
        offsets = np.cumsum([0, *(len(stream) for stream in streams)])
        yield Block(offsets, (np.frombuffer(b"".join(streams), np.uint8),))
        first += len(table)


def _with_quilts(table: pa.Table, first: int, request: Request, order: npt.NDArray[np.int64]) -> pa.Table:
    """The rows asked for, with what is known of those that are quilts; only they need their links."""
    pages, buckets = request.pages[order], request.buckets[order]
    rows = pa.array(pages - np.uint32(first))
    numbers = request.quilts["number"].to_numpy()
    at = np.searchsorted(numbers, pages)
    is_quilt = (at < len(numbers)) & (numbers[np.minimum(at, len(numbers) - 1)] == pages) if len(numbers) else at < 0
    own = request.quilts["bucket"].to_numpy()
    is_quilt &= own[np.minimum(at, max(len(own) - 1, 0))] == buckets if len(own) else False
    sent = table.select(["url", "domain", "time", "text"]).take(rows)
    sent = sent.append_column("links", table["links"].take(pc.if_else(pa.array(is_quilt), rows, None)))
    sent = sent.append_column("page", pa.array(pages))
    which = pc.if_else(pa.array(is_quilt), pa.array(at), None)
    for name in ("grams", "patch_grams", "foreign_grams", "sources", "added"):
        sent = sent.append_column(name, request.quilts[name].take(which))
    return sent


def _stream(table: pa.Table) -> bytes:
    if not len(table):
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read_streams(data: npt.NDArray[np.uint8]) -> pa.Table | None:
    source = pa.BufferReader(pa.py_buffer(data))
    tables = []
    while source.tell() < len(data):
        tables.append(pa.ipc.open_stream(source).read_all())
    return pa.concat_tables(tables).combine_chunks() if tables else None


def stitch(bucket: Bucket, *, k: int, exact: bool, patches: bool) -> tuple[pa.Table, pa.Table]:
    """The quilts of a bucket with their sources, and their patches."""
    table = _read_streams(bucket.columns[0]) if bucket.columns else None
    if table is None:
        return QUILTS.empty_table(), PATCHES.empty_table()
    data, bounds = text_buffers(table["text"])
    urls = table["url"].combine_chunks()
    rows = table.drop_columns(["text"]).to_pylist()
    sent = {row["page"]: _Page(i, row, data[bounds[i] : bounds[i + 1]], k) for i, row in enumerate(rows)}
    quilts, found = [], [PATCHES.empty_table()]
    for row in sorted((row for row in rows if row["sources"] is not None), key=lambda row: row["page"]):
        page, sources = sent[row["page"]], [sent[number] for number in row["sources"]]
        claims = _Claims(page, sources, exact=exact) if patches or exact else None
        quilts.append(_describe(row, sources, claims))
        if claims and patches:
            found.append(claims.patches(urls))
    return pa.Table.from_pylist(quilts, schema=QUILTS), pa.concat_tables(found)


class _Page:
    """A page that was sent, with its words and grams once they are asked for."""

    def __init__(self, index: int, row: dict[str, Any], text: npt.NDArray[np.uint8], k: int) -> None:
        self.index = index
        self.row = row
        self.text = text
        self.k = k

    @cached_property
    def words(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The hash of each word, and the bytes where it begins and ends."""
        return word_spans(self.text)

    @cached_property
    def grams(self) -> npt.NDArray[np.uint64]:
        grams: npt.NDArray[np.uint64] = hash_grams(self.words[0], self.k)
        return grams

    @cached_property
    def characters(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The characters where each word begins and ends."""
        return count_characters(self.text, self.words[1]), count_characters(self.text, self.words[2])


class _Claims:
    """Which grams of a page are whose."""

    def __init__(self, page: _Page, sources: list[_Page], *, exact: bool) -> None:
        self._page, self._sources = page, sources
        offsets = np.cumsum([0, *(len(source.grams) for source in sources)])
        grams = np.concatenate([np.empty(0, np.uint64), *(source.grams for source in sources)])
        self.ranks = np.full(len(page.grams), -1, np.int64)
        self.places = np.full(len(page.grams), -1, np.int64)
        claim_grams(page.grams, grams, offsets, self.ranks, self.places)
        self.collisions = self._drop_collisions() if exact else None

    def _drop_collisions(self) -> int:
        """Take back grams whose words differ from those in the source; how many there were."""
        dropped = 0
        for rank, source in enumerate(self._sources):
            dropped += drop_collisions(
                self._page.text, *self._page.words[1:], source.text, *source.words[1:], rank, self._page.k,
                self.ranks, self.places, TABLE,
            )  # fmt: skip
        return dropped

    def patches(self, urls: pa.Array) -> pa.Table:
        """The patches of the page, in order. ``urls`` are those of all pages that were sent."""
        begins, ends, ranks, shifts = patch_runs(*claim_words(self.ranks, self.places, self._page.k))
        here_begins, here_ends = self._page.characters
        firsts = np.cumsum([0, *(len(source.words[0]) for source in self._sources)])[ranks] + shifts
        there_begins, there_ends = (np.concatenate([source.characters[i] for source in self._sources]) for i in (0, 1))
        sources = np.array([source.index for source in self._sources], np.int64)[ranks]
        return pa.table(
            [
                urls.take(pa.array(np.full(len(begins), self._page.index))),
                here_begins[begins],
                here_ends[ends - 1],
                urls.take(pa.array(sources)),
                there_begins[firsts + begins],
                there_ends[firsts + ends - 1],
                ends - begins,
            ],
            schema=PATCHES,
        )


def _describe(row: dict[str, Any], sources: list[_Page], claims: _Claims | None) -> dict[str, Any]:
    links = set(map(plain_url, row["links"] or []))
    domains = {domain_of(host_of(link)) for link in row["links"] or []}
    return {
        "url": row["url"],
        "grams": row["grams"],
        "patch_grams": row["patch_grams"],
        "patch_fraction": row["patch_grams"] / row["grams"],
        "foreign_fraction": row["foreign_grams"] / row["grams"],
        "time": row["time"],
        "collisions": claims.collisions if claims else None,
        "sources": [
            {
                "url": source.row["url"],
                "grams": added,
                "foreign": source.row["domain"] != row["domain"],
                "attributed": plain_url(source.row["url"]) in links
                or (source.row["domain"] != row["domain"] and source.row["domain"] in domains),
                "time": source.row["time"],
            }
            for source, added in zip(sources, row["added"], strict=True)
        ],
    }


def plain_url(url: str) -> str:
    """A URL as links to it are compared: without scheme, fragment and last slash."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.netloc.lower()}{parts.path.removesuffix('/')}?{parts.query}"
