"""Covering sets: for pages full of popular phrases, the fewest other pages that greed finds to have them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus
from unquilt.detectors.phrases.classes import MEMBERS, read_members
from unquilt.detectors.phrases.params import PhraseParams
from unquilt.detectors.phrases.popular import bucket_bits, groups_of
from unquilt.detectors.phrases.shingles import pages_of
from unquilt.detectors.sites import PageArray, PageArrays, site_numbers
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.popular import count_keepers, cover_shingles
from unquilt.kernels.radix import runs
from unquilt.kernels.words import mix
from unquilt.schema import COVERS

Numbers = npt.NDArray[np.uint32]

SAMPLINGS = ("stratified", "uniform", "host")
_PAGES_PER_BUCKET = 128
_IS_POPULAR = np.uint32(1 << 31)

DRAWN = pa.schema([("page", pa.uint32()), ("shingle", pa.uint64())])
FOUND = pa.schema(
    [
        ("page", pa.uint32()),
        ("sources", pa.list_(pa.uint32())),
        ("added", pa.list_(pa.int64())),
        ("foreign", pa.list_(pa.bool_())),
    ]
)


def draw_pages(pages: pa.Table, host: str, params: PhraseParams) -> dict[str, npt.NDArray[np.int64]]:
    """The pages of each sampling, by number, ascending. Only representatives are drawn.

    Which pages are drawn depends on the seed and their numbers alone.
    """
    counts = pages["popular"].to_numpy()
    kept = np.flatnonzero(pages["representative"].to_numpy())
    order = kept[np.argsort(_dice(kept, params.seed), kind="stable")]
    rich = order[counts[order] >= params.min_popular]
    by_count = rich[np.argsort(counts[rich], kind="stable")]
    bounds = np.searchsorted(counts[by_count], np.arange(params.min_popular, params.shingles + 2))
    strata = [by_count[begin : min(begin + params.stratum, end)] for begin, end in pairwise(bounds)]
    is_there = pc.equal(pages["host"], host).to_numpy(zero_copy_only=False) if host else np.zeros(len(pages))
    there = order[(is_there[order] != 0) & (counts[order] > 0)]
    drawn = [np.concatenate([np.empty(0, np.int64), *strata]), rich[: params.uniform], there[: params.host_pages]]
    return {name: np.sort(some) for name, some in zip(SAMPLINGS, drawn, strict=True)}


def _dice(pages: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.uint64]:
    found: npt.NDArray[np.uint64] = mix(pages.astype(np.uint64) ^ mix(np.uint64(seed)))
    return found


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the covers need: for each drawn page its shingles, each known by its place among all that are wanted.

    Arrays are in files, as pages are in page arrays.
    """

    keys: PageArray  # uint64, mixed values, ascending in each position
    begins: tuple[int, ...]  # of each position in keys
    targets: PageArray  # uint32: the buckets that want each key, one key's after the other's
    target_begins: PageArray  # uint64
    places: PageArray  # uint32[pages * shingles], the key of each shingle of each drawn page
    pages: npt.NDArray[np.int64]
    buckets: int


def find_covers(
    corpus: Corpus,
    blocks: tuple[Blocks, Blocks],
    drawn: dict[str, npt.NDArray[np.int64]],
    described: pa.Table,
    keepers: PageArray,
    arrays: PageArrays,
    params: PhraseParams,
    engine: Engine,
) -> pa.Table:
    """The covering set of each drawn page. ``blocks``: shingles by page, and by value."""
    shingles, by_value = blocks
    pages = np.unique(np.concatenate(list(drawn.values())))
    if not len(pages):
        return COVERS.empty_table()
    wanted = _collect(pages, shingles, arrays, params, engine)
    bits = bucket_bits(corpus.pages)
    send = partial(emit_postings, wanted=wanted, bits=bits, keepers=keepers, params=params)
    domains, addresses = (site_numbers(corpus, level) for level in ("domain", "ip"))
    own = _addresses_of(pages, site_numbers(corpus, "host"), addresses)
    with engine.exchange(send, by_value, name="Finding donors", buckets=wanted.buckets) as postings:
        step = partial(
            cover_bucket, wanted=wanted, shingles=params.shingles, own=own,
            domains=arrays.save("domains", domains), addresses=arrays.save("addresses", addresses),
        )  # fmt: skip
        found = engine.gather(engine.reduce(step, postings, name="Covering pages"), FOUND)
    return _describe(corpus, found, drawn, described, engine)


def _collect(
    pages: npt.NDArray[np.int64], shingles: Blocks, arrays: PageArrays, params: PhraseParams, engine: Engine
) -> _Wanted:
    """The shingles of the drawn pages. They are few, whatever the corpus."""
    pick = partial(pick_pages, pages=pages.astype(np.uint32), shingles=params.shingles)
    picked = engine.gather(engine.reduce(pick, shingles, name="Drawing pages"), DRAWN)
    pages = picked["page"].to_numpy()[:: params.shingles].astype(np.int64)
    values = picked["shingle"].to_numpy().reshape(-1, params.shingles)
    keys, places, begins = [], np.empty(values.shape, np.int64), [0]
    for position in range(params.shingles):
        distinct, place = np.unique(mix(np.ascontiguousarray(values[:, position])), return_inverse=True)
        keys.append(distinct)
        places[:, position] = place + begins[-1]
        begins.append(begins[-1] + len(distinct))
    buckets = -(-len(pages) // _PAGES_PER_BUCKET)
    targets = np.repeat(np.arange(len(pages)) // _PAGES_PER_BUCKET, params.shingles)
    pairs = np.unique(places.ravel() * buckets + targets)
    target_begins = np.searchsorted(pairs // buckets, np.arange(begins[-1] + 1)).astype(np.uint64)
    return _Wanted(
        arrays.save("wanted", np.concatenate(keys).view(np.uint32)), tuple(begins),
        arrays.save("targets", (pairs % buckets).astype(np.uint32)),
        arrays.save("target_begins", target_begins.view(np.uint32)),
        arrays.save("places", places.ravel().astype(np.uint32)), pages, buckets,
    )  # fmt: skip


def pick_pages(bucket: Bucket, *, pages: Numbers, shingles: int) -> pa.Table:
    """The shingles of some pages, one after the other."""
    here, found = pages_of(bucket, shingles)
    is_wanted = np.isin(here, pages)
    return pa.table([np.repeat(here[is_wanted], shingles), found[is_wanted].ravel()], schema=DRAWN)


def emit_postings(
    bucket: Bucket, *, wanted: _Wanted, bits: int, keepers: PageArray, params: PhraseParams
) -> Iterator[Block]:
    """For each shingle that is wanted and shared, the representatives that have it."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    position = bucket.number >> bits
    begin, end = wanted.begins[position], wanted.begins[position + 1]
    known = wanted.keys.load().view(np.uint64)[begin:end]
    keys, begins, pages = groups_of(bucket, bits)
    places = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
    is_wanted = known[places] == keys if len(known) else np.zeros(len(keys), bool)
    counts = count_keepers(pages, begins, keepers.load())
    target_begins = wanted.target_begins.load().view(np.uint64).astype(np.int64)
    rows: list[tuple[int, np.uint32, Numbers]] = []
    for group in np.flatnonzero(is_wanted & (counts > 1)):
        place = begin + places[group]
        some = pages[begins[group] : begins[group + 1]]
        some = some[np.asarray(keepers.load())[some] == some][: params.pool]
        mark = np.uint32(place) | (_IS_POPULAR if counts[group] >= params.popular else np.uint32(0))
        for target in wanted.targets.load()[target_begins[place] : target_begins[place + 1]]:
            rows.append((int(target), mark, some))
    rows.sort(key=lambda row: row[0])
    lengths = np.array([len(some) for _, _, some in rows], np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    cuts = ends[np.searchsorted([target for target, _, _ in rows], np.arange(wanted.buckets + 1))]
    marks = np.repeat(np.array([mark for _, mark, _ in rows], np.uint32), lengths)
    yield Block(cuts, (marks, np.concatenate([np.empty(0, np.uint32), *(some for _, _, some in rows)])))


def cover_bucket(
    bucket: Bucket, *, wanted: _Wanted, shingles: int, own: list[Numbers], domains: PageArray, addresses: PageArray
) -> pa.Table:
    """The covers of some drawn pages."""
    first = bucket.number * _PAGES_PER_BUCKET
    drawn = wanted.pages[first : first + _PAGES_PER_BUCKET]
    marks, rows = bucket.columns if bucket.columns else (np.empty(0, np.uint32), np.empty(0, np.uint32))
    begins = runs(marks.astype(np.uint64))
    heads = marks[begins[:-1]]
    order = np.argsort(heads & ~_IS_POPULAR)
    known = (heads & ~_IS_POPULAR)[order]
    pages, places = np.unique(np.concatenate([drawn.astype(np.uint32), rows]), return_inverse=True)
    places = places[len(drawn) :].astype(np.uint32)
    sites = [np.ascontiguousarray(np.asarray(array.load())[pages]) for array in (domains, addresses)]
    mine = wanted.places.load().reshape(-1, shingles)[first : first + len(drawn)]
    free = np.full(len(pages), -1, np.int64)
    found: list[dict[str, Any]] = []
    for i, page in enumerate(drawn):
        at = np.minimum(np.searchsorted(known, mine[i]), max(len(known) - 1, 0))
        lists = order[at[known[at] == mine[i]]] if len(known) else np.empty(0, np.int64)
        is_popular = (heads[lists] & _IS_POPULAR) != 0
        taken, added, foreign = cover_shingles(
            int(np.searchsorted(pages, page)), lists, is_popular, begins, places, *sites, own[first + i], free
        )
        found.append({"page": page, "sources": pages[taken], "added": added, "foreign": foreign})
    return pa.Table.from_pylist(found, FOUND)


def _addresses_of(pages: npt.NDArray[np.int64], hosts: Numbers, addresses: Numbers) -> list[Numbers]:
    """For each page the addresses its host was seen at: any of them may have served it."""
    pairs = np.unique(hosts.astype(np.uint64) << np.uint64(32) | addresses)
    begins = np.searchsorted(pairs >> np.uint64(32), hosts[pages])
    ends = np.searchsorted(pairs >> np.uint64(32), hosts[pages], side="right")
    return [pairs[begin:end].astype(np.uint32) for begin, end in zip(begins, ends, strict=True)]


def _describe(
    corpus: Corpus,
    found: pa.Table,
    drawn: dict[str, npt.NDArray[np.int64]],
    described: pa.Table,
    engine: Engine,
) -> pa.Table:
    """The covers with URLs in place of numbers, in the order of the pages."""
    sources = np.unique(found["sources"].combine_chunks().values.to_numpy()).astype(np.int64)
    requests = []
    for file in corpus.files():
        begin, end = np.searchsorted(sources, [file.first, file.first + file.pages])
        if end > begin:
            requests.append((file, sources[begin:end] - file.first))
    named = engine.gather(
        engine.map(read_members, requests, name="Naming donors", label=lambda request: request[0].label), MEMBERS
    )
    urls = dict(zip(named["page"].to_pylist(), named["url"].to_pylist(), strict=True))
    samplings = {name: set(some.tolist()) for name, some in drawn.items()}
    facts = described.take(found["page"]).to_pylist()
    rows = []
    for row, page in zip(found.to_pylist(), facts, strict=True):
        cover = zip(row["sources"], row["added"], row["foreign"], strict=True)
        rows.append(
            {
                "url": page["url"],
                "host": page["host"],
                "popular": page["popular"],
                "samplings": [name for name in SAMPLINGS if row["page"] in samplings[name]],
                "size": len(row["sources"]),
                "foreign_contribution": sum(a for a, f in zip(row["added"], row["foreign"], strict=True) if f),
                "sources": [{"url": urls[s], "shingles": a, "foreign": f} for s, a, f in cover],
            }
        )
    return pa.Table.from_pylist(rows, COVERS)
