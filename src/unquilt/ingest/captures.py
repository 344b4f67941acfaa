"""Which capture of a URL counts, where the crawl has more than one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.engines import Block, Bucket, Engine
from unquilt.schema import SUPERSEDED

_BUCKET_BITS = 8
_SEEDS = (np.uint64(1), np.uint64(2))
_NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class PartUrls:
    """A part, as far as its URLs are wanted."""

    path: str
    label: str


def find_superseded(parts: list[PartUrls], captures: str, engine: Engine) -> pa.Table:
    """The pages that do not count, and those that count in their place, by page.

    Of captures with the same URL the ``latest`` counts, or the ``first``. One without a time comes before all
    others; of those of one time, the one that comes later in the input is the later one. URLs are compared by
    two independent 64-bit hashes.
    """
    if captures == "all":
        return SUPERSEDED.empty_table()
    with engine.exchange(
        emit_urls, parts, name="Comparing URLs", buckets=1 << _BUCKET_BITS, label=lambda part: part.label
    ) as blocks:
        step = partial(superseded_of_bucket, keep_latest=captures == "latest")
        found = engine.gather(engine.reduce(step, blocks, name="Choosing captures"), SUPERSEDED)
    return found.sort_by("page")


def emit_urls(part: PartUrls) -> Iterable[Block]:
    """The URLs of a part as two hashes, with page and time."""
    from unquilt.kernels.radix import partition
    from unquilt.kernels.strings import hash_strings

    file = pq.ParquetFile(part.path)
    for batch in file.iter_batches(1 << 20, columns=["page", "url", "time"], use_threads=False):
        _, offsets, data = batch["url"].buffers()
        begin = batch["url"].offset
        bounds = np.frombuffer(offsets, np.int32)[begin : begin + len(batch) + 1]
        text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        first, second = (hash_strings(text, bounds, seed) for seed in _SEEDS)
        times = batch["time"].cast(pa.int64()).fill_null(_NO_TIME).to_numpy()
        keys, order, cuts = partition(first, np.arange(len(first), dtype=np.uint32), _BUCKET_BITS)
        yield Block(cuts, (keys, second[order], batch["page"].to_numpy()[order], times[order]))


def superseded_of_bucket(bucket: Bucket, *, keep_latest: bool) -> pa.Table:
    if not bucket.columns or not len(bucket.columns[0]):
        return SUPERSEDED.empty_table()
    from unquilt.kernels.radix import runs, sort_pairs

    keys, second, pages, times = bucket.columns
    keys, order = sort_pairs(keys, np.arange(len(keys), dtype=np.uint32), _BUCKET_BITS)
    lengths = np.diff(runs(keys))
    order = order[np.repeat(lengths > 1, lengths)]
    first, second, pages, times = bucket.columns[0][order], second[order], pages[order], times[order]
    order = np.lexsort((pages, times, second, first))
    first, second, pages = first[order], second[order], pages[order]
    starts = np.flatnonzero(np.r_[True, (first[1:] != first[:-1]) | (second[1:] != second[:-1])][: len(first)])
    ends = np.r_[starts[1:], len(first)][: len(starts)]
    kept = np.repeat(pages[ends - 1 if keep_latest else starts], ends - starts)
    is_dropped = pages != kept
    return pa.table([pages[is_dropped], kept[is_dropped]], schema=SUPERSEDED)
