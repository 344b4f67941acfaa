"""The patch map: where each patch of a quilt stands in the page and in its source.

The texts of quilts and of their sources are brought together by an exchange: a page that is a source of quilts in
three buckets is sent three times, whatever the number of quilts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import text_buffers
from unquilt.detectors.streams import read_bucket, sorted_block
from unquilt.engines import Block, Bucket, Engine
from unquilt.ingest.sites import domain_of, host_of
from unquilt.kernels.grams import hash_grams_column
from unquilt.kernels.patches import claim_grams, claim_words, drop_collisions, patch_runs
from unquilt.kernels.words import TABLE, hash_words_column, place_words_column
from unquilt.schema import PATCHES, QUILTS

_SENT_BYTES = 32 << 20  # of text, for one bucket
_MOST_BUCKETS = 1024
_COLUMNS = ["url", "domain", "time", "links"]


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
    with_text = params.patches or params.exact
    with engine.exchange(
        partial(send_pages, buckets=buckets, with_text=with_text), requests, name="Fetching texts", buckets=buckets,
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


def send_pages(request: Request, *, buckets: int, with_text: bool) -> Iterator[Block]:
    """The pages asked for, as Arrow streams: one for each bucket and row group."""
    first = request.file.first
    for table in request.file.batches([*_COLUMNS, "text"] if with_text else _COLUMNS):
        begin, end = np.searchsorted(request.pages, [first, first + len(table)])
        order = np.argsort(request.buckets[begin:end], kind="stable") + begin
        sent = _with_quilts(table, first, request, order)
        yield sorted_block(sent, request.buckets[order], buckets)
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
    sent = table.drop_columns(["links"]).take(rows)
    sent = sent.append_column("links", table["links"].take(pc.if_else(pa.array(is_quilt), rows, None)))
    sent = sent.append_column("page", pa.array(pages))
    which = pc.if_else(pa.array(is_quilt), pa.array(at), None)
    for name in ("grams", "patch_grams", "foreign_grams", "sources", "added"):
        sent = sent.append_column(name, request.quilts[name].take(which))
    return sent


def stitch(bucket: Bucket, *, k: int, exact: bool, patches: bool) -> tuple[pa.Table, pa.Table]:
    """The quilts of a bucket with their sources, and their patches."""
    table = read_bucket(bucket)
    if table is None:
        return QUILTS.empty_table(), PATCHES.empty_table()
    rows = table.select([name for name in table.column_names if name != "text"]).to_pylist()
    index = {row["page"]: i for i, row in enumerate(rows)}
    quilts = sorted((i for i, row in enumerate(rows) if row["sources"] is not None), key=lambda i: rows[i]["page"])
    sources = [[index[number] for number in rows[i]["sources"]] for i in quilts]
    cloth = _Cloth(table, quilts, sources, k) if patches or exact else None
    collisions = [cloth.drop_collisions(q) if cloth and exact else None for q in range(len(quilts))]
    described = [
        _describe(rows[i], [rows[s] for s in mine], dropped)
        for i, mine, dropped in zip(quilts, sources, collisions, strict=True)
    ]
    found = [PATCHES.empty_table()]
    if cloth and patches:
        found += [cloth.patches(q) for q in range(len(quilts))]
    return pa.Table.from_pylist(described, schema=QUILTS), pa.concat_tables(found)


class _Cloth:
    """Quilts and sources together: their words, and which gram of a quilt is whose."""

    def __init__(self, table: pa.Table, quilts: list[int], sources: list[list[int]], k: int) -> None:
        self._urls = table["url"].combine_chunks()
        self._data, self._bounds = text_buffers(table["text"])
        self._quilts, self._sources, self._k = quilts, sources, k
        hashes, self._words = hash_words_column(self._data, self._bounds)
        self._begins, self._ends = place_words_column(self._data, self._bounds, len(hashes))
        grams, offsets = hash_grams_column(hashes, self._words, k)
        source_offsets = np.cumsum([0, *map(len, sources)])
        flat = np.array([s for mine in sources for s in mine], np.int64)
        self._offsets, self._ranks, self._places = claim_grams(
            grams, offsets, np.array(quilts, np.int64), source_offsets, flat
        )

    def _claims(self, q: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        mine = slice(self._offsets[q], self._offsets[q + 1])
        return self._ranks[mine], self._places[mine]

    @cached_property
    def _bytes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        return place_words_column(self._data, self._bounds, len(self._begins), in_bytes=True)

    def _text(self, page: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """A page's text, and the bytes where its words begin and end."""
        words = slice(self._words[page], self._words[page + 1])
        return self._data[self._bounds[page] : self._bounds[page + 1]], self._bytes[0][words], self._bytes[1][words]

    def drop_collisions(self, q: int) -> int:
        """Take back the grams of a quilt whose words differ from those in the source; how many there were."""
        page = self._text(self._quilts[q])
        return sum(
            drop_collisions(*page, *self._text(source), rank, self._k, *self._claims(q), TABLE)
            for rank, source in enumerate(self._sources[q])
        )

    def patches(self, q: int) -> pa.Table:
        """The patches of a quilt, in order."""
        begins, ends, ranks, shifts = patch_runs(*claim_words(*self._claims(q), self._k))
        sources = np.array(self._sources[q], np.int64)[ranks]
        here, there = self._words[self._quilts[q]], self._words[sources] + shifts
        return pa.table(
            [
                pa.repeat(self._urls[self._quilts[q]], len(begins)),
                self._begins[here + begins],
                self._ends[here + ends - 1],
                self._urls.take(pa.array(sources)),
                self._begins[there + begins],
                self._ends[there + ends - 1],
                ends - begins,
            ],
            schema=PATCHES,
        )


def _describe(row: dict[str, Any], sources: list[dict[str, Any]], collisions: int | None) -> dict[str, Any]:
    links = set(map(plain_url, row["links"] or []))
    domains = {domain_of(host_of(link)) for link in row["links"] or []}
    return {
        "url": row["url"],
        "grams": row["grams"],
        "patch_grams": row["patch_grams"],
        "patch_fraction": row["patch_grams"] / row["grams"],
        "covered_fraction": sum(row["added"]) / row["grams"],
        "foreign_fraction": row["foreign_grams"] / row["grams"],
        "time": row["time"],
        "collisions": collisions,
        "sources": [
            {
                "url": source["url"],
                "grams": added,
                "foreign": source["domain"] != row["domain"],
                "attributed": plain_url(source["url"]) in links
                or (source["domain"] != row["domain"] and source["domain"] in domains),
                "time": source["time"],
            }
            for source, added in zip(sources, row["added"], strict=True)
        ],
    }


@lru_cache(maxsize=1 << 16)
def plain_url(url: str) -> str:
    """A URL as links to it are compared: without scheme, fragment and last slash."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.netloc.lower()}{parts.path.removesuffix('/')}?{parts.query}"
