"""What pages that are new or changed take from the old crawl, and how much changed pages still resemble themselves.

The grams of those pages and of all old ones meet in an exchange. What an old version of a page already had counts for
its resemblance; the rest, where old pages have it, is taken from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.against.pages import CHANGED, NEW, PAGES_PER_BUCKET, Crawls, Fates
from unquilt.detectors.against.params import AgainstParams
from unquilt.detectors.quilts.find import bucket_bits, cut_grams, merged
from unquilt.detectors.sites import PageArray, PageArrays, number_sites
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.against import NO_KIN, taken_pages, taken_sets
from unquilt.kernels.postings import LOW, U32
from unquilt.kernels.radix import partition, runs, sort_pairs

TAKEN = pa.schema(
    [
        ("number", pa.uint32()),
        ("grams", pa.int64()),
        ("resemblance", pa.float64()),
        ("common", pa.int64()),
        ("own_site", pa.int64()),
        ("foreign", pa.int64()),
        ("sources", pa.list_(pa.uint32())),
        ("added", pa.list_(pa.int64())),
    ]
)
"""New and changed pages by number, as the last exchange gives them; sources only where enough is taken.

resemblance is to the page's own old version, 0 for a new page.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """The pages of a file that are to be compared, by their places in it."""

    file: PartFile
    places: npt.NDArray[np.int64]


def find_taken(
    corpora: tuple[Corpus, Corpus], crawls: Crawls, fates: Fates, params: AgainstParams, engine: Engine,
    arrays: PageArrays,
) -> pa.Table:  # fmt: skip
    """TAKEN for every page that is new or changed and has grams."""
    is_wanted = (fates.states == NEW) | (fates.states == CHANGED)
    if not is_wanted.any():
        return TAKEN.empty_table()
    is_wanted[crawls.first_old :] = fates.states[crawls.first_old :] != 0
    requests = [Request(file, places) for file, places in places_in(crawls.files, is_wanted)]
    kin = arrays.save("kin", np.where(fates.states == CHANGED, fates.kin, NO_KIN))
    sites = arrays.save("sites", _sites(crawls, params.foreign))
    bits = bucket_bits(sum(part.words for corpus in corpora for part in corpus.parts))
    pages = sum(file.pages for file in crawls.new)
    with engine.exchange(
        partial(emit_grams, k=params.k, bits=bits), requests, name="Cutting grams",
        buckets=1 << bits, label=lambda request: request.file.label,
    ) as grams:  # fmt: skip
        step = partial(emit_taken, m=params.m, bits=bits, first_old=crawls.first_old, kin=kin)
        sets = engine.exchange(step, grams, name="Finding what is taken", buckets=1 << bits)
    with sets:
        buckets = max(crawls.first_old // PAGES_PER_BUCKET, 1)
        send = partial(emit_ranges, bits=bits, buckets=buckets)
        ranges = engine.exchange(send, sets, name="Collecting pages", buckets=buckets)
    with ranges:
        cover = partial(cover_range, pages=pages, first_old=crawls.first_old, params=params, sites=sites)
        return engine.gather(engine.reduce(cover, ranges, name="Covering pages"), TAKEN)


def places_in(
    files: list[PartFile], is_wanted: npt.NDArray[np.bool_]
) -> Iterator[tuple[PartFile, npt.NDArray[np.int64]]]:
    """The files that have pages that are wanted, by their number, and where in the file those are."""
    for file in files:
        places = np.flatnonzero(is_wanted[file.first : file.first + file.pages])
        if len(places):
            yield file, places


def _sites(crawls: Crawls, level: str) -> npt.NDArray[np.uint32]:
    found = number_sites(crawls.files, level)
    sites = np.zeros(crawls.total, np.uint32)
    old = crawls.total - crawls.first_old
    sites[: len(found) - old], sites[crawls.first_old :] = found[: len(found) - old], found[len(found) - old :]
    return sites


def emit_grams(request: Request, *, k: int, bits: int) -> Iterator[Block]:
    """The distinct grams of the pages asked for, with the page."""
    for places, table in request.file.take(["text"], request.places):
        keys, rows = cut_grams(table["text"], k, 0)
        keys, owners, cuts = partition(keys, (places + request.file.first).astype(np.uint32)[rows], bits)
        yield Block(cuts, (keys, owners))


def emit_taken(bucket: Bucket, *, m: int, bits: int, first_old: int, kin: PageArray) -> Iterator[Block]:
    """For each gram that old and new pages have, those pages as sets."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    keys, pages = sort_pairs(*bucket.columns, bits)
    keys, values = taken_sets(keys, pages, runs(keys), m, first_old, PAGES_PER_BUCKET, kin.load())
    keys, values, cuts = partition(*merged(keys, values), bits)
    yield Block(cuts, (keys, values))


def emit_ranges(bucket: Bucket, *, bits: int, buckets: int) -> Iterator[Block]:
    """Each set once, for the range of its new pages."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    keys, values = merged(bucket.columns[0], bucket.columns[1], bits)
    heads = np.flatnonzero(values & LOW)
    ranges = (values[heads] >> U32).astype(np.int64) // PAGES_PER_BUCKET
    ranges = np.repeat(ranges, np.diff(np.append(heads, len(values))))
    order = np.argsort(ranges, kind="stable")
    yield Block(np.searchsorted(ranges[order], np.arange(buckets + 1)), (keys[order], values[order]))


def cover_range(bucket: Bucket, *, pages: int, first_old: int, params: AgainstParams, sites: PageArray) -> pa.Table:
    """The new and changed pages of a range, with what they take."""
    if not bucket.columns or not len(bucket.columns[0]):
        return TAKEN.empty_table()
    first = bucket.number * PAGES_PER_BUCKET
    count = min(PAGES_PER_BUCKET, pages - first)
    counts, grams, begins, sources, added = taken_pages(
        *bucket.columns, first, count, first_old, params.share, params.min_grams, sites.load()
    )
    found = np.flatnonzero(counts[0] + counts[1])
    whole, own, common = counts[:, found]
    resemblance = common / (whole + own - common)
    offsets = pa.array(np.append(begins[found], begins[-1]).astype(np.int32))
    lists = [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in (sources, added)]
    numbers = (found + first).astype(np.uint32)
    return pa.table([numbers, whole, resemblance, *grams[:, found], *lists], schema=TAKEN)
