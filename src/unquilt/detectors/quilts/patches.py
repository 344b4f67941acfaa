"""The patch map: where each patch of a quilt stands in the page and in its source.

The grams that several sites share say which gram of a quilt goes to which source. Then each page that has one is
read again, once, for the places, and these meet at the quilt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.detectors.sites import PageArray, PageArrays, SavedFiles, text_buffers
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.claims import NO_QUILT, claim_grams, place_claims, stitch
from unquilt.kernels.grams import hash_grams_column
from unquilt.kernels.radix import runs, sort_pairs
from unquilt.kernels.words import TABLE, hash_words_column, place_words_column
from unquilt.schema import PATCHES

_QUILTS_PER_BUCKET = 256


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which pages are quilts, which pages their sources are, and the files of all, for steps to load."""

    quilts: PageArray
    source_begins: PageArray
    sources: PageArray
    files: SavedFiles


def find_patches(
    corpus: Corpus, foreign: Blocks, quilted: pa.Table, quilts: pa.Table, params: QuiltParams, engine: Engine,
    arrays: PageArrays,
) -> tuple[pa.Table, npt.NDArray[np.int64]]:  # fmt: skip
    """The patches of quilts in order, and for each quilt the grams that only shared a fingerprint with a source.

    foreign: grams of more than one site, in its second half; quilted, quilts: the same pages, as QUILTED and as QUILTS.
    """
    files = corpus.files()
    wanted = _want(corpus, quilted, files, arrays)
    buckets = max(-(-len(quilted) // _QUILTS_PER_BUCKET), 1)
    firsts = np.array([file.first for file in files])
    claim = partial(emit_claims, wanted=wanted, firsts=firsts, first_bucket=foreign.buckets // 2)
    with engine.exchange(claim, foreign, name="Claiming grams", buckets=len(files)) as claims:
        place = partial(emit_places, wanted=wanted, k=params.k, exact=params.exact, buckets=buckets)
        placed = engine.exchange(place, claims, name="Placing grams", buckets=buckets)
    with placed:
        step = partial(stitch_bucket, k=params.k, exact=params.exact)
        found = list(engine.reduce(step, placed, name="Stitching patches"))
    patches = np.concatenate([np.empty((0, 7), np.int64), *(one[0] for one in found)])
    collisions = np.zeros(len(quilted), np.int64)
    for _, counted in found:
        collisions[counted[:, 0]] = counted[:, 1]
    return _named(patches, quilts), collisions


def _want(corpus: Corpus, quilted: pa.Table, files: list[PartFile], arrays: PageArrays) -> _Wanted:
    quilts = np.full(corpus.pages, NO_QUILT, np.uint32)
    quilts[quilted["number"].to_numpy()] = np.arange(len(quilted), dtype=np.uint32)
    sources = quilted["sources"].combine_chunks()
    return _Wanted(
        arrays.save("quilts", quilts),
        arrays.save("source_begins", (sources.offsets.to_numpy() - sources.offsets[0].as_py()).astype(np.uint32)),
        arrays.save("sources", sources.flatten().to_numpy()),
        arrays.save_files(files),
    )


def _named(patches: npt.NDArray[np.int64], quilts: pa.Table) -> pa.Table:
    """Patches with the addresses of their pages."""
    sources = quilts["sources"].combine_chunks()
    begins = sources.offsets.to_numpy() - sources.offsets[0].as_py()
    quilt, rank = patches[:, 0], patches[:, 1]
    source = sources.flatten().field("url").take(pa.array(begins[quilt] + rank))
    here = quilts["url"].combine_chunks().take(pa.array(quilt))
    return pa.table([here, *patches[:, 2:4].T, source, *patches[:, 4:].T], schema=PATCHES)


def emit_claims(
    bucket: Bucket, *, wanted: _Wanted, firsts: npt.NDArray[np.int64], first_bucket: int
) -> Iterator[Block]:
    """Which source each gram of each quilt goes to, for the files that have the two pages."""
    if bucket.number < first_bucket or not bucket.columns or not len(bucket.columns[0]):
        return
    keys, pages = bucket.columns
    pages, pairs, grams = claim_grams(
        keys, pages, runs(keys), wanted.quilts.load(), wanted.source_begins.load(), wanted.sources.load()
    )
    files = np.searchsorted(firsts, pages, side="right") - 1
    order = np.argsort(files, kind="stable")
    yield Block(np.searchsorted(files[order], np.arange(len(firsts) + 1)), (pages[order], pairs[order], grams[order]))


def emit_places(bucket: Bucket, *, wanted: _Wanted, k: int, exact: bool, buckets: int) -> Iterator[Block]:
    """Where claimed grams stand in the pages of a file, for the quilts."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    file = wanted.files.load()[bucket.number]
    order = np.argsort(bucket.columns[0], kind="stable")
    pages, pairs, grams = (column[order] for column in bucket.columns)
    for places, table in file.take(["text"], np.unique(pages).astype(np.int64) - file.first):
        claims = np.searchsorted(pages, np.append(places, places[-1] + 1) + file.first)
        rows = _find_places(table["text"], claims, pairs, grams, k, exact)
        quilts = (rows[:, 0] >> np.uint64(32)).astype(np.int64) // _QUILTS_PER_BUCKET
        order = np.argsort(quilts, kind="stable")
        yield Block(np.searchsorted(quilts[order], np.arange(buckets + 1)), tuple(rows[order].T))


def _find_places(
    texts: pa.ChunkedArray,
    claims: npt.NDArray[np.int64],
    pairs: npt.NDArray[np.uint64],
    wanted: npt.NDArray[np.uint64],
    k: int,
    exact: bool,
) -> npt.NDArray[np.uint64]:
    data, bounds = text_buffers(texts)
    hashes, words = hash_words_column(data, bounds)
    nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    rows: npt.NDArray[np.uint64] = place_claims(
        *hash_grams_column(hashes, words, k), words, *place_words_column(data, bounds, len(hashes)), claims, pairs,
        wanted, k, data, bounds, *(place_words_column(data, bounds, len(hashes), in_bytes=True) if exact else nothing),
        TABLE,
    )  # fmt: skip
    return rows


def stitch_bucket(bucket: Bucket, *, k: int, exact: bool) -> Any:
    """The patches of a range of quilts, and their collisions."""
    if not bucket.columns:
        return np.empty((0, 7), np.int64), np.empty((0, 2), np.int64)
    pairs, order = sort_pairs(bucket.columns[0], np.arange(len(bucket.columns[0]), dtype=np.uint32), 0)
    return stitch(pairs, bucket.columns[1][order], bucket.columns[2][order], k, exact)
