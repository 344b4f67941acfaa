"""Near-duplicate classes: pages that agree in enough runs of shingles, and pages that those agree with, and so on.

For each way to choose the runs that must agree, a page has one key; pages with the same key are joined with the
first of them. So the work is linear however large a class is, and no pair of pages is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.phrases.shingles import functions_of, pages_of
from unquilt.detectors.sites import PageArray
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.near import (
    NEAR,
    agreement_keys,
    flatten,
    group_edges,
    join_all,
    resemblances,
    run_hashes,
    verified_roots,
)
from unquilt.kernels.postings import distinct_grams
from unquilt.kernels.radix import partition, runs, sort_pairs

Numbers = npt.NDArray[np.uint32]

_KEYS_PER_BUCKET = 1 << 16
_MOST_BITS = 11
_SENT_BYTES = 32 << 20  # of phrases, for one bucket
_MOST_BUCKETS = 1024
_ROW_BYTES = 12

EDGES = pa.schema([("one", pa.uint32()), ("other", pa.uint32())])
MEMBERS = pa.schema(
    [
        ("page", pa.uint32()),
        ("url", pa.string()),
        ("domain", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
    ]
)
"""Pages that are in a class with others."""
MEASURED = pa.schema([("page", pa.uint32()), ("resemblance", pa.float64())])


@dataclass(frozen=True, slots=True)
class Classes:
    """Who is a near-duplicate of whom."""

    keepers: Numbers  # for each page the representative of its class; the page itself if it is alone
    members: pa.Table  # MEMBERS with the representative as `keeper`, by class and page


def find_classes(corpus: Corpus, shingles: Blocks, params: ClassParams, engine: Engine) -> Classes:
    """The classes of at least two pages. The representative is the earliest page, then the least URL."""
    roots = join_pages(corpus.pages, shingles, params, engine)
    if params.verify:
        roots = verify_classes(roots, shingles, params, engine)
    is_member = in_company(roots)
    requests = [(file, np.flatnonzero(is_member[file.first : file.first + file.pages])) for file in corpus.files()]
    found = engine.map(read_members, [one for one in requests if len(one[1])], name="Reading classes", label=_label)
    members = engine.gather(found, MEMBERS)
    members = members.append_column("root", pa.array(roots[members["page"].to_numpy()]))
    ranked = members.sort_by([("root", "ascending"), ("time", "ascending"), ("url", "ascending")])  # null times last
    keepers = np.arange(corpus.pages, dtype=np.uint32)
    if len(ranked):
        first = np.flatnonzero(np.diff(ranked["root"].to_numpy(), prepend=-1))
        keeper_of = np.zeros(corpus.pages, np.uint32)
        keeper_of[ranked["root"].to_numpy()[first]] = ranked["page"].to_numpy()[first]
        keepers[is_member] = keeper_of[roots[is_member]]
    members = members.sort_by([("root", "ascending"), ("page", "ascending")]).drop_columns(["root"])
    return Classes(keepers, members.append_column("keeper", pa.array(keepers[members["page"].to_numpy()])))


def in_company(roots: Numbers) -> npt.NDArray[np.bool_]:
    """Which pages are in a class with others."""
    is_member: npt.NDArray[np.bool_] = roots != np.arange(len(roots), dtype=np.uint32)
    is_member[roots[is_member]] = True
    return is_member


def _label(request: tuple[PartFile, object]) -> str:
    return request[0].label


def join_pages(pages: int, shingles: Blocks, params: ClassParams, engine: Engine) -> Numbers:
    """For each page the least page of its class."""
    ways = np.array(list(combinations(range(params.runs), params.agree)), np.int64)
    bits = min(max((pages * len(ways) // _KEYS_PER_BUCKET).bit_length(), 2), _MOST_BITS)
    step = partial(emit_keys, params=params, ways=ways, bits=bits)
    parent = np.arange(pages, dtype=np.uint32)  # small: 4 bytes a page
    with engine.exchange(step, shingles, name="Comparing pages", buckets=1 << bits) as keys:
        for edges in engine.reduce(partial(find_edges, bits=bits), keys, name="Joining near-duplicates"):
            join_all(parent, edges["one"].to_numpy(), edges["other"].to_numpy())
    flatten(parent)
    return parent


def emit_keys(bucket: Bucket, *, params: ClassParams, ways: npt.NDArray[np.int64], bits: int) -> Iterator[Block]:
    """For each page and each way to choose runs, the key of the chosen runs."""
    pages, shingles = pages_of(bucket, params.shingles)
    keys = agreement_keys(shingles, params.runs, params.run_length, ways)
    keys, owners, cuts = partition(keys, np.repeat(pages, len(ways)), bits)
    yield Block(cuts, (keys, owners))


def find_edges(bucket: Bucket, *, bits: int) -> pa.Table:
    """Pairs of pages that connect all pages of equal keys, as few as there can be."""
    if not bucket.columns or not len(bucket.columns[0]):
        return EDGES.empty_table()
    keys, pages = sort_pairs(*bucket.columns, bits)
    lengths = np.diff(runs(keys))
    pages = pages[np.repeat(lengths > 1, lengths)]
    known, places = np.unique(pages, return_inverse=True)
    begins = np.concatenate([[0], np.cumsum(lengths[lengths > 1])])
    one, other = group_edges(places.astype(np.uint32), begins, np.arange(len(known)))
    return pa.table([known[one], known[other]], schema=EDGES)


def verify_classes(roots: Numbers, shingles: Blocks, params: ClassParams, engine: Engine) -> Numbers:
    """The least page of each page's class, if only pages with enough equal shingles are joined."""
    is_member = in_company(roots)
    members = np.flatnonzero(is_member).astype(np.uint32)
    wanted = roots[members]
    buckets = int(min(max(len(members) * params.shingles * 8 // _SENT_BYTES, 1), _MOST_BUCKETS))
    send = partial(emit_members, members=members, roots=wanted, shingles=params.shingles, buckets=buckets)
    with engine.exchange(send, shingles, name="Fetching classes", buckets=buckets) as sent:
        step = partial(verify_bucket, params=params)
        edges = engine.gather(engine.reduce(step, sent, name="Verifying classes"), EDGES)
    verified = np.arange(len(roots), dtype=np.uint32)
    verified[edges["one"].to_numpy()] = edges["other"].to_numpy()
    return verified


def emit_members(bucket: Bucket, *, members: Numbers, roots: Numbers, shingles: int, buckets: int) -> Iterator[Block]:
    """Each page that is in a class: the class, the page, and its shingles, a class in one bucket."""
    pages, found = pages_of(bucket, shingles)
    places = np.searchsorted(members, pages)
    is_here = np.zeros(len(pages), bool)
    inside = places < len(members)
    is_here[inside] = members[places[inside]] == pages[inside]
    own = roots[places[is_here]].astype(np.uint64)
    targets = (own * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)).astype(np.int64) % buckets
    order = np.argsort(targets, kind="stable")
    rows = np.column_stack([own, pages[is_here].astype(np.uint64), found[is_here]])[order]
    cuts = np.searchsorted(targets[order], np.arange(buckets + 1)) * (shingles + 2)
    yield Block(cuts, (np.ascontiguousarray(rows).ravel(),))


def verify_bucket(bucket: Bucket, *, params: ClassParams) -> pa.Table:
    """Each page of the classes of a bucket with the least page it is really joined with."""
    if not bucket.columns or not len(bucket.columns[0]):
        return EDGES.empty_table()
    rows = bucket.columns[0].reshape(-1, params.shingles + 2)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    bounds = np.flatnonzero(np.diff(rows[:, 0], prepend=~rows[0, 0], append=~rows[-1, 0]))
    least_equal = int(np.ceil(params.verify * params.shingles - 1e-9))
    found = [np.empty((0, 2), np.uint32)]
    for begin, end in pairwise(bounds):
        pages, shingles = rows[begin:end, 1].astype(np.uint32), rows[begin:end, 2:]
        # Pages with the same shingles have the same edges.
        distinct, first, places = np.unique(shingles, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        distinct = np.ascontiguousarray(distinct[order])
        hashes = run_hashes(distinct, params.runs, params.run_length)
        roots = verified_roots(distinct, hashes, params.agree, least_equal, NEAR)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        found.append(np.column_stack([pages, pages[first[order[roots[rank[places.ravel()]]]]]]))
    edges = np.concatenate(found)
    return pa.table([edges[:, 0], edges[:, 1]], schema=EDGES)


def read_members(request: tuple[PartFile, npt.NDArray[np.int64]]) -> pa.Table:
    """Some pages of a part, by their place in it."""
    file, places = request
    table = pa.concat_tables(file.batches(["url", "domain", "time"])).take(places)
    pages = pa.array((places + file.first).astype(np.uint32))
    return pa.table([pages, table["url"], table["domain"], table["time"]], schema=MEMBERS)


def measure_classes(
    corpus: Corpus, classes: Classes, keepers: PageArray, params: ClassParams, engine: Engine
) -> npt.NDArray[np.float64]:
    """For each member, how much its phrases and those of its representative are the same: their Jaccard, exactly."""
    pages = classes.members["page"].to_numpy()
    own = classes.members["keeper"].to_numpy()
    row_bytes = _ROW_BYTES * sum(part.words for part in corpus.parts) / max(corpus.rows, 1)
    buckets = int(min(max(len(pages) * row_bytes // _SENT_BYTES, 1), _MOST_BUCKETS))
    targets = np.arange(len(pages)) * buckets // max(len(pages), 1)  # a large class takes several buckets
    wanted = np.unique(np.concatenate([pages, own]).astype(np.int64) * buckets + np.concatenate([targets, targets]))
    sent_pages, sent_to = wanted // buckets, wanted % buckets
    requests = []
    for file in corpus.files():
        begin, end = np.searchsorted(sent_pages, [file.first, file.first + file.pages])
        if end > begin:
            requests.append((file, sent_pages[begin:end] - file.first, sent_to[begin:end]))
    send = partial(send_phrases, params=params, buckets=buckets)
    with engine.exchange(send, requests, name="Fetching phrases", buckets=buckets, label=_label) as sent:
        found = engine.gather(
            engine.reduce(partial(measure_bucket, keepers=keepers), sent, name="Measuring resemblance"), MEASURED
        )
    measured = np.ones(corpus.pages)
    measured[found["page"].to_numpy()] = found["resemblance"].to_numpy()
    return np.asarray(measured[pages])


def send_phrases(
    request: tuple[PartFile, npt.NDArray[np.int64], npt.NDArray[np.int64]], *, params: ClassParams, buckets: int
) -> Iterator[Block]:
    """The distinct phrases of the pages that are wanted, with the page, to each bucket that wants it."""
    file, places, targets = request
    first = 0
    for table in file.batches(["text"]):
        begin, end = np.searchsorted(places, [first, first + len(table)])
        rows, copies = np.unique(places[begin:end], return_inverse=True)
        if len(rows):
            phrases, offsets = functions_of(params).phrases(table["text"].take(rows - first))
            phrases, offsets = distinct_grams(phrases, offsets)
            yield _addressed(phrases, offsets, copies, targets[begin:end], rows + file.first, buckets)
        first += len(table)


def _addressed(
    phrases: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.int64],
    copies: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int64],
    pages: npt.NDArray[np.int64],
    buckets: int,
) -> Block:
    """A block of the phrases of pages, copy i those of page copies[i] for bucket targets[i]."""
    order = np.argsort(targets, kind="stable")
    copies, targets = copies[order], targets[order]
    lengths = np.diff(offsets)[copies]
    ends = np.cumsum(lengths)
    rows = np.arange(ends[-1]) + np.repeat(offsets[copies] - (ends - lengths), lengths)
    owners = np.repeat(pages[copies].astype(np.uint32), lengths)
    cuts = np.concatenate([[0], ends])[np.searchsorted(targets, np.arange(buckets + 1))]
    return Block(cuts, (phrases[rows], owners))


def measure_bucket(bucket: Bucket, *, keepers: PageArray) -> pa.Table:
    """Each page of a bucket that is not a representative: how much it resembles its own."""
    if not bucket.columns or not len(bucket.columns[0]):
        return MEASURED.empty_table()
    phrases, owners = bucket.columns
    begins = runs(owners.astype(np.uint64))
    pages = owners[begins[:-1]]
    own = np.asarray(keepers.load())[pages]
    member = np.flatnonzero(own != pages)
    other = np.searchsorted(pages, own[member])
    order = np.argsort(other, kind="stable")
    member, other = member[order], other[order]
    return pa.table([pages[member], resemblances(phrases, begins, member, other)], schema=MEASURED)
