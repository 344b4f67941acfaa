"""The steps of the exchange benchmark: worker processes import them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.engines import BUCKET_BITS, Block, Bucket
from unquilt.kernels.noise import mix_all
from unquilt.kernels.radix import document_frequencies, partition, sort_pairs

MIN_PAGES, MAX_PAGES = 2, 50
PAGE_GRAMS = 1_000


@dataclass(frozen=True, slots=True)
class RecordFile:
    """One file of (page, gram) records to write, out of ``total`` records in all."""

    path: str
    number: int
    records: int
    total: int


def write_records(file: RecordFile) -> int:
    """Write a file of records, in the order of the pages; how many."""
    first_page = file.number * file.records // PAGE_GRAMS
    pages = first_page + np.arange(file.records, dtype=np.uint32) // PAGE_GRAMS
    table = pa.table({"page": pa.array(pages.astype(np.uint32)), "gram": pa.array(make_grams(file))})
    pq.write_table(table, file.path, compression="none", use_dictionary=False, row_group_size=1 << 20)
    return file.records


def make_grams(file: RecordFile) -> npt.NDArray[np.uint64]:
    """Grams with repeats like those of a crawl, which has all three kinds in every page.

    Half is text found once or twice, four tenths is copied text on a handful of pages with a tail of often
    copied, one tenth is boilerplate on hundreds to many thousands. One record in 32 repeats within its page.
    """
    rng = np.random.default_rng(file.number)
    kind, draw = rng.random(file.records, np.float32), rng.random(file.records)
    own = (draw * (2 * file.total)).astype(np.uint64)
    copied = (draw**2 * (file.total // 8)).astype(np.uint64)
    boilerplate = (draw**2 * (file.total // 2_000 + 1)).astype(np.uint64)
    ids = np.where(kind < 0.5, own * np.uint64(4), copied * np.uint64(4) + np.uint64(1))
    ids = np.where(kind < 0.9, ids, boilerplate * np.uint64(4) + np.uint64(2))
    ids[7::32] = ids[: len(ids[7::32]) * 32 : 32]
    grams: npt.NDArray[np.uint64] = mix_all(ids)
    return grams


def emit(path: str) -> Iterator[Block]:
    """The records of a file, by bucket."""
    table = pq.read_table(path, use_threads=False, memory_map=True)
    grams, pages, offsets = partition(table["gram"].to_numpy(), table["page"].to_numpy(), BUCKET_BITS)
    yield Block(offsets, (grams, pages))


def count(bucket: Bucket) -> tuple[int, int]:
    """How many grams are on MIN_PAGES to MAX_PAGES pages, and on how many pages in all."""
    grams, pages = sort_pairs(bucket.columns[0], bucket.columns[1], BUCKET_BITS)
    frequencies = document_frequencies(grams, pages)[1]
    found = frequencies[(frequencies >= MIN_PAGES) & (frequencies <= MAX_PAGES)]
    return len(found), int(found.sum())
