"""Quilts: every page stitched together from patches of other pages, with all its sources (Najork, SIGIR 2012).

Pages that share a gram with 1 to m - 1 others need not be compared gram by gram: all grams on the same set of
pages are alike, so a set with the number of its grams stands for them. Sets are few where pages copy whole
passages, which makes the covers small.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.duplicates import fold_duplicates
from unquilt.detectors.quilts.describe import describe_quilts
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.detectors.quilts.patches import find_patches
from unquilt.detectors.sites import PageArray, PageArrays, page_arrays, site_numbers, text_buffers
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput
from unquilt.kernels.claims import foreign_rows
from unquilt.kernels.grams import hash_grams_column
from unquilt.kernels.postings import are_among, distinct_grams, merge_rows, page_sets, send_rows, tag_grams
from unquilt.kernels.quilts import quilted_pages
from unquilt.kernels.radix import partition, runs, sort_pairs
from unquilt.kernels.words import hash_words_column
from unquilt.result import Result
from unquilt.schema import PATCHES, QUILTS

PAGES_PER_BUCKET = 1024
_WORDS_PER_BUCKET = 1 << 14
_MOST_WORDS_PER_BUCKET = 1 << 22  # about 50 MB of grams
_MOST_BITS = 11  # while buckets are not too large with so few
ONE = np.uint64(1)

QUILTED = pa.schema(
    [
        ("number", pa.uint32()),
        ("grams", pa.int64()),
        ("patch_grams", pa.int64()),
        ("foreign_grams", pa.int64()),
        ("sources", pa.list_(pa.uint32())),
        ("added", pa.list_(pa.int64())),
    ]
)
"""Quilted pages by number, as the last exchange gives them."""


def find_quilts(
    corpus: Corpus,
    params: QuiltParams = QuiltParams(),
    *,
    engine: Engine | None = None,
) -> Result:
    """Every page stitched together from at least c other pages, and those pages."""
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "quilts")
        arrays = stack.enter_context(page_arrays(corpus))
        sites = arrays.save("sites", site_numbers(corpus, params.foreign))
        folded = arrays.save("folded", fold_duplicates(corpus, engine)) if params.collapse else None
        with share_grams(
            corpus, engine, k=params.k, m=params.m, sites=sites, folded=folded, foreign=params.patches or params.exact
        ) as shared:
            step = partial(find_quilted, params=params, pages=pages_with_text(corpus), sites=sites)
            quilted = engine.gather(engine.reduce(step, shared.ranges, name="Covering pages"), QUILTED)
            shared.ranges.close()
            tables = describe_all(corpus, quilted, shared.foreign, params, engine, arrays)
    return Result("quilts", tables, params.as_dict(), corpus.digest)


def describe_all(
    corpus: Corpus, quilted: pa.Table, foreign: Blocks, params: QuiltParams, engine: Engine, arrays: PageArrays
) -> dict[str, pa.Table]:
    """The result tables: quilted pages with their sources, and patches."""
    quilts, patches = describe_quilts(corpus, quilted, engine), PATCHES.empty_table()
    if (params.patches or params.exact) and len(quilts):
        found, collisions = find_patches(corpus, foreign, quilted, quilts, params, engine, arrays)
        patches = found if params.patches else patches
        if params.exact:
            at = quilts.column_names.index("collisions")
            quilts = quilts.set_column(at, QUILTS.field("collisions"), pa.array(collisions))
    return {"quilts": quilts, "patches": patches}


@dataclass(frozen=True, slots=True)
class Shared:
    """Grams that pages share.

    ranges: for each range of pages, the sets of at most m pages that share grams with one of them. foreign: in the
    second half of its buckets, the grams of more than one site with their pages, if they were asked for.
    """

    ranges: Blocks
    foreign: Blocks


@contextmanager
def share_grams(
    corpus: Corpus,
    engine: Engine,
    *,
    k: int,
    m: int,
    sites: PageArray,
    folded: PageArray | None = None,
    only: npt.NDArray[np.uint64] | None = None,
    foreign: bool = False,
) -> Iterator[Shared]:
    """The grams that pages share. With ``only``, as keys, no others count."""
    pages = pages_with_text(corpus)
    bits = bucket_bits(sum(part.words for part in corpus.parts))
    buckets = -(-pages // PAGES_PER_BUCKET)
    with ExitStack() as stack:
        grams = stack.enter_context(
            engine.exchange(
                partial(emit_grams, k=k, bits=bits, folded=folded, only=only), corpus.files(), name="Cutting grams",
                buckets=1 << bits, label=lambda file: file.label,
            )
        )  # fmt: skip
        step = partial(emit_sets, m=m, bits=bits, sites=sites, foreign=foreign)
        sets = stack.enter_context(engine.exchange(step, grams, name="Finding shared grams", buckets=2 << bits))
        grams.close()
        send = partial(emit_shared, bits=bits, buckets=buckets)
        ranges = stack.enter_context(engine.exchange(send, sets, name="Collecting pages", buckets=buckets))
        yield Shared(ranges, sets)


def pages_with_text(corpus: Corpus) -> int:
    """How many pages a corpus has; an error if it has no text to compare."""
    if not sum(part.words for part in corpus.parts):
        raise BadInput(
            f"{corpus.path} has no text: it was made from a list of URLs, or its pages are empty.",
            fix="Quilts are found in text. Ingest WARC, HTML, JSONL or Parquet files with the pages themselves.",
        )
    return corpus.pages


def bucket_bits(words: int) -> int:
    """How many bits of a gram say its bucket, where pages have so many words in all."""
    bits = min(max((words // _WORDS_PER_BUCKET).bit_length(), 4), _MOST_BITS)
    return max(bits, (words // _MOST_WORDS_PER_BUCKET).bit_length())


def emit_grams(
    file: PartFile, *, k: int, bits: int, folded: PageArray | None, only: npt.NDArray[np.uint64] | None
) -> Iterator[Block]:
    """The distinct grams of each page of a part, with the page."""
    first = file.first
    for table in file.batches(["text"]):
        keys, owners = cut_grams(table["text"], k, first)
        if folded is not None:
            kept = folded.load()[owners] == owners
            keys, owners = keys[kept], owners[kept]
        if only is not None:
            kept = are_among(keys, only) | (keys & ONE == 0)
            keys, owners = keys[kept], owners[kept]
        keys, owners, cuts = partition(keys, owners, bits)
        yield Block(cuts, (keys, owners))
        first += len(table)


def cut_grams(texts: pa.ChunkedArray, k: int, first: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """The rows of tag_grams of texts, whose pages are numbered from ``first``."""
    hashes, word_offsets = hash_words_column(*text_buffers(texts.fill_null("")))
    rows: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]
    rows = tag_grams(*distinct_grams(*hash_grams_column(hashes, word_offsets, k)), first)
    return rows


def emit_sets(bucket: Bucket, *, m: int, bits: int, sites: PageArray, foreign: bool) -> Iterator[Block]:
    """For each gram on 2 to m pages, the set of its pages; in buckets of their own, grams of more than one site."""
    if not bucket.columns:
        return
    keys, pages = sort_pairs(*bucket.columns, bits)
    begins = runs(keys)
    set_keys, values, cuts = partition(*merged(*page_sets(keys, pages, begins, m, sites.load())), bits)
    others = np.zeros(1 << bits, np.int64)
    if foreign:
        keys, owners = foreign_rows(keys, pages, begins, sites.load())
        set_keys, values = np.concatenate([set_keys, keys]), np.concatenate([values, owners])
        others[bucket.number :] = len(keys)
    yield Block(np.concatenate([cuts, cuts[-1] + others]), (set_keys, values))


def emit_shared(bucket: Bucket, *, bits: int, buckets: int) -> Iterator[Block]:
    """Each set once, for each range of pages that has one of its pages."""
    if bucket.number >= 1 << bits or not bucket.columns:
        return
    keys, values = bucket.columns
    keys, values = merged(keys, values, bits)
    cuts, pages, numbers = send_rows(keys, values, buckets, PAGES_PER_BUCKET)
    yield Block(cuts, (pages, numbers))


def merged(
    keys: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64], skip_bits: int = 0
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Rows of sets in the order of their keys, each set once."""
    keys, values = sort_pairs(keys, values, skip_bits)
    rows: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] = merge_rows(keys, values, runs(keys))
    return rows


def find_quilted(bucket: Bucket, *, params: QuiltParams, pages: int, sites: PageArray) -> pa.Table:
    """The quilted pages of a range, with their sources."""
    if not bucket.columns or not len(bucket.columns[0]):
        return QUILTED.empty_table()
    first = bucket.number * PAGES_PER_BUCKET
    count = min(PAGES_PER_BUCKET, pages - first)
    found, grams, patch_grams, foreign_grams, begins, sources, added = quilted_pages(
        *bucket.columns, first, count, params.m, params.c, params.sigma, params.min_contribution, sites.load()
    )
    offsets = pa.array(begins.astype(np.int32))
    lists = [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in (sources, added)]
    return pa.table([found, grams, patch_grams, foreign_grams, *lists], schema=QUILTED)
