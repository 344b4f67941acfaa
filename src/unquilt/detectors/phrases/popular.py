"""Popular shingles: how often each is sampled, which pages have them, and the phrases they are, as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.phrases.params import PhraseParams
from unquilt.detectors.phrases.shingles import PAGES_PER_BUCKET, functions_of, pages_of
from unquilt.detectors.sites import PageArray, text_buffers
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.minhash import unmix
from unquilt.kernels.popular import count_keepers, count_pages, send_shingles
from unquilt.kernels.radix import runs, sort_pairs
from unquilt.kernels.words import place_words_column
from unquilt.schema import POPULAR

_ROWS_PER_BUCKET = 1 << 17
_MOST_BITS = 5
_LONGEST = 200  # characters of a phrase that are shown

COUNTED = pa.schema([("position", pa.int32()), ("value", pa.uint64()), ("pages", pa.int64()), ("page", pa.uint32())])
"""Popular shingles, with the first page that has each; a null value stands for how many have this number of pages."""
COUNTS = pa.schema([("popular", pa.int64())])


def bucket_bits(pages: int) -> int:
    """How many bits of a value tell the buckets of one position apart."""
    return min((pages // _ROWS_PER_BUCKET).bit_length(), _MOST_BITS)


@contextmanager
def exchange_shingles(pages: int, shingles: Blocks, params: PhraseParams, engine: Engine) -> Iterator[Blocks]:
    """All shingles by position and value, with their pages."""
    bits = bucket_bits(pages)
    step = partial(emit_by_value, shingles=params.shingles, bits=bits)
    with engine.exchange(step, shingles, name="Sorting shingles", buckets=params.shingles << bits) as by_value:
        yield by_value


def emit_by_value(bucket: Bucket, *, shingles: int, bits: int) -> Iterator[Block]:
    cuts, keys, owners = send_shingles(*pages_of(bucket, shingles), bits)
    yield Block(cuts, (keys, owners))


def groups_of(bucket: Bucket, bits: int) -> tuple[Any, Any, Any]:
    """The shingles of a bucket that more than one page has: keys, and where the pages of each begin in the pages."""
    keys, pages = sort_pairs(*bucket.columns, bits)
    begins = runs(keys)
    lengths = np.diff(begins)
    many = lengths > 1
    return keys[begins[:-1][many]], np.concatenate([[0], np.cumsum(lengths[many])]), pages[np.repeat(many, lengths)]


def count_popular(
    corpus: Corpus, by_value: Blocks, keepers: PageArray, params: PhraseParams, engine: Engine
) -> npt.NDArray[np.uint32]:
    """For each page, how many of its shingles are popular."""
    buckets = max(-(-corpus.pages // PAGES_PER_BUCKET), 1)
    step = partial(emit_popular, bits=bucket_bits(corpus.pages), keepers=keepers, least=params.popular, buckets=buckets)
    with engine.exchange(step, by_value, name="Finding popular shingles", buckets=buckets) as found:
        count = partial(count_bucket, pages=corpus.pages)
        counts = engine.gather(engine.reduce(count, found, name="Counting popular shingles"), COUNTS)
    return np.asarray(counts["popular"].to_numpy(), np.uint32)


def emit_popular(bucket: Bucket, *, bits: int, keepers: PageArray, least: int, buckets: int) -> Iterator[Block]:
    """A page for each popular shingle that it has."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    _, begins, pages = groups_of(bucket, bits)
    is_popular = count_keepers(pages, begins, keepers.load()) >= least
    pages = np.sort(pages[np.repeat(is_popular, np.diff(begins))])
    bounds = np.minimum(np.arange(1, buckets + 1) * PAGES_PER_BUCKET, 1 << 32)
    yield Block(np.concatenate([[0], np.searchsorted(pages, bounds)]).astype(np.int64), (pages,))


def count_bucket(bucket: Bucket, *, pages: int) -> pa.Table:
    first = bucket.number * PAGES_PER_BUCKET
    n = max(min(PAGES_PER_BUCKET, pages - first), 0)
    rows = bucket.columns[0] if bucket.columns else np.empty(0, np.uint32)
    return pa.table([count_pages(rows, first, n)], schema=COUNTS)


def list_popular(
    pages: int, by_value: Blocks, keepers: PageArray, params: PhraseParams, engine: Engine
) -> tuple[pa.Table, pa.Table]:
    """The most popular shingles (COUNTED), and how many shingles have each number of pages, as two tables."""
    step = partial(rank_bucket, bits=bucket_bits(pages), keepers=keepers, least=params.popular, listed=params.listed)
    found = engine.gather(engine.reduce(step, by_value, name="Counting shingles"), COUNTED)
    is_total = found["value"].is_null()
    totals = found.filter(is_total).group_by("pages").aggregate([("page", "sum")]).sort_by("pages")
    ranked = found.filter(pc.invert(is_total)).sort_by(
        [("pages", "descending"), ("position", "ascending"), ("value", "ascending")]
    )
    histogram = pa.table([totals["pages"], totals["page_sum"].cast(pa.int64())], names=["pages", "shingles"])
    return ranked.slice(0, params.listed), histogram


def rank_bucket(bucket: Bucket, *, bits: int, keepers: PageArray, least: int, listed: int) -> pa.Table:
    """The most popular shingles of a bucket; and, without a value, how many have each number of pages."""
    if not bucket.columns or not len(bucket.columns[0]):
        return COUNTED.empty_table()
    keys, begins, pages = groups_of(bucket, bits)
    counts = count_keepers(pages, begins, keepers.load())
    numbers, shingles = np.unique(counts[counts >= least], return_counts=True)
    first_kept = _first_kept(pages, begins, np.asarray(keepers.load()))
    values = unmix_all(keys)
    order = np.lexsort((values, -counts))[:listed]
    order = order[counts[order] >= least]
    position = np.full(len(order) + len(numbers), bucket.number >> bits, np.int32)
    nothing = pa.nulls(len(numbers), pa.uint64())
    return pa.table(
        [
            position,
            pa.concat_arrays([pa.array(values[order], pa.uint64()), nothing]),
            np.concatenate([counts[order], numbers]),
            np.concatenate([first_kept[order], shingles.astype(np.uint32)]),
        ],
        schema=COUNTED,
    )


def _first_kept(
    pages: npt.NDArray[np.uint32], begins: npt.NDArray[np.int64], keepers: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """Of each group, the least page that is a representative; any number if there is none."""
    kept = np.where(keepers[pages] == pages, pages, np.uint32(0xFFFFFFFF))
    return np.minimum.reduceat(kept, begins[:-1]) if len(begins) > 1 else np.empty(0, np.uint32)


def unmix_all(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    found: npt.NDArray[np.uint64] = unmix(keys)  # on an array it works element by element
    return found


def name_phrases(corpus: Corpus, ranked: pa.Table, params: PhraseParams, engine: Engine) -> pa.Table:
    """Popular shingles with the phrases they are, as the first page that has each writes them."""
    find_phrase = functions_of(params).phrase_of
    wanted: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, (position, value, page) in enumerate(
        zip(*(ranked[name].to_pylist() for name in ("position", "value", "page")), strict=True)
    ):
        wanted[page].append((row, find_phrase(position, value)))
    requests = []
    for file in corpus.files():
        here = {page - file.first: wanted[page] for page in wanted if file.first <= page < file.first + file.pages}
        if here:
            requests.append((file, here))
    texts = [""] * len(ranked)
    urls = [""] * len(ranked)
    step = partial(read_phrases, params=params)
    for found in engine.map(step, requests, name="Reading phrases", label=lambda request: request[0].label):
        for row, text, url in found:
            texts[row], urls[row] = text, url
    return pa.table(
        [
            pa.array(texts, pa.string()),
            ranked["position"],
            ranked["value"],
            ranked["pages"],
            pa.array(urls, pa.string()),
        ],
        schema=POPULAR,
    )


def read_phrases(
    request: tuple[PartFile, dict[int, list[tuple[int, int]]]], *, params: PhraseParams
) -> list[tuple[int, str, str]]:
    """Phrases of some pages of a part, by fingerprint: the row each is wanted for, its text and its page's URL."""
    file, wanted = request
    found = []
    first = 0
    for table in file.batches(["text", "url"]):
        rows = [row for row in sorted(wanted) if first <= row < first + len(table)]
        for row in rows:
            some = table.slice(row - first, 1)
            phrases, _ = functions_of(params).phrases(some["text"])
            places = {phrase: at for at, phrase in reversed(list(enumerate(phrases.tolist())))}
            spans = place_words_column(*text_buffers(some["text"]), len(phrases))
            text = some["text"][0].as_py()
            for number, phrase in wanted[row]:
                found.append((number, _text_at(text, spans, places[phrase], params.k), some["url"][0].as_py()))
        first += len(table)
    return found


def _text_at(text: str, spans: tuple[Any, Any], at: int, k: int) -> str:
    """k words of a text from one on, the first following the last."""
    begins, ends = spans
    places = [(at + i) % len(begins) for i in range(k)]
    phrase = " ".join(text[begins[place] : ends[place]] for place in places)
    return phrase if len(phrase) <= _LONGEST else phrase[: _LONGEST - 1] + "…"
