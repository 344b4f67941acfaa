"""Quilts as a person reads them: with the addresses and times of their sources, and whether they link to them.

Quilts and their sources are brought together by an exchange: a page that is a source of quilts in three buckets is
sent three times, whatever the number of quilts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.streams import read_bucket, sorted_block
from unquilt.engines import Block, Bucket, Engine
from unquilt.ingest.sites import domain_of, host_of
from unquilt.schema import QUILTS

_SENT_PAGES = 4096  # to one bucket, those that several quilts need counted several times
_MOST_BUCKETS = 1024
_COLUMNS = ["url", "domain", "time", "links"]


@dataclass(frozen=True, slots=True)
class Request:
    """Pages of a part and the buckets that need them; and the quilts among its pages."""

    file: PartFile
    pages: npt.NDArray[np.uint32]
    buckets: npt.NDArray[np.int64]
    quilts: pa.Table


def describe_quilts(corpus: Corpus, quilted: pa.Table, engine: Engine) -> pa.Table:
    """Quilted pages (QUILTED) with their sources, as the result has them."""
    requests, buckets = make_requests(corpus, quilted)
    with engine.exchange(
        partial(send_pages, buckets=buckets), requests, name="Fetching sources", buckets=buckets,
        label=lambda request: request.file.label,
    ) as sent:  # fmt: skip
        return engine.gather(engine.reduce(describe_bucket, sent, name="Describing quilts"), QUILTS)


def make_requests(corpus: Corpus, quilted: pa.Table) -> tuple[list[Request], int]:
    """Which pages go to which of how many buckets: quilts to one each, in order, and their sources after them."""
    numbers = quilted["number"].to_numpy()
    sources = quilted["sources"].combine_chunks()
    lengths = np.diff(sources.offsets.to_numpy())
    buckets = int(min(max((len(numbers) + lengths.sum()) // _SENT_PAGES, 1), _MOST_BUCKETS))
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


def describe_bucket(bucket: Bucket) -> pa.Table:
    """The quilts of a bucket with their sources."""
    table = read_bucket(bucket)
    if table is None:
        return QUILTS.empty_table()
    rows = table.to_pylist()
    index = {row["page"]: row for row in rows}
    quilts = sorted((row for row in rows if row["sources"] is not None), key=lambda row: row["page"])
    described = [_describe(row, [index[number] for number in row["sources"]]) for row in quilts]
    return pa.Table.from_pylist(described, schema=QUILTS)


def _describe(row: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
    links = set(map(plain_url, row["links"] or []))
    domains = set(map(_domain_of_url, row["links"] or []))
    return {
        "url": row["url"],
        "grams": row["grams"],
        "patch_grams": row["patch_grams"],
        "patch_fraction": row["patch_grams"] / row["grams"],
        "covered_fraction": sum(row["added"]) / row["grams"],
        "foreign_fraction": row["foreign_grams"] / row["grams"],
        "time": row["time"],
        "collisions": None,
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
def _domain_of_url(url: str) -> str:
    return domain_of(host_of(url))


@lru_cache(maxsize=1 << 16)
def plain_url(url: str) -> str:
    """A URL as links to it are compared: without scheme, fragment and last slash."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.netloc.lower()}{parts.path.removesuffix('/')}?{parts.query}"
