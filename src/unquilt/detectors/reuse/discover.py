"""Discovery: how often each file and chunk occurs, on how many domains, and which of them are labelled.

It needs the whole corpus at once: equal digests meet in one bucket. A part sends a digest once for each domain,
with a count, so that a chunk on every page of a large site is a few rows and not millions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import isqrt

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.reuse.digests import Digests, Words, column_words, lists_of
from unquilt.detectors.sites import PageArray
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.digests import combine, objects_of
from unquilt.kernels.radix import partition, sort_pairs
from unquilt.schema import sha1

NOBODY = np.uint32(0xFFFFFFFF)
"""The site of a page that does not take part."""

_BYTES_PER_BUCKET = 1 << 21
_MOST_BITS = 11
_CANDIDATES = 16  # stop chunks that one bucket may propose

OBJECTS = pa.schema(
    [("sha1", sha1), ("count", pa.int64()), ("domains", pa.int64()), ("page", pa.uint32()), ("often", pa.bool_())]
)
"""Files or chunks that are labelled or looked at: occurrences, domains, first page; whether above the threshold."""
COUNTS = pa.schema([("duplicates", pa.int64()), ("objects", pa.int64())])


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted."""

    kind: str  # file or chunk
    sites: PageArray
    min_bytes: int = 0  # shorter chunks are left out
    only: PageArray | None = None  # packed digests; no others count
    least: int = 2  # objects that occur less often are only counted


def count_objects(corpus: Corpus, engine: Engine, what: Counting) -> Blocks:
    """The files or chunks of a corpus, each once, with its occurrences, domains and first page."""
    size = sum(part.bytes for part in corpus.parts)
    bits = min(max((size // _BYTES_PER_BUCKET).bit_length(), 2), _MOST_BITS)
    emit = partial(emit_digests, what=what, bits=bits)
    with engine.exchange(
        emit, corpus.files(), name=f"Collecting {what.kind}s", buckets=1 << bits, label=lambda file: file.label
    ) as rows:
        step = partial(emit_objects, what=what, bits=bits)
        return engine.exchange(step, rows, name=f"Counting {what.kind}s", buckets=1 << bits)


def digests_of(table: pa.Table, kind: str) -> tuple[Words, npt.NDArray[np.int64]]:
    """The digests of each page's file or chunks, and where those of each page begin."""
    if kind == "chunk":
        values, offsets = lists_of(table["chunk_sha1s"])
        return column_words(values), offsets
    column = table["file_sha1"].combine_chunks()
    has_one = column.is_valid().to_numpy(zero_copy_only=False)
    return column_words(column.drop_null()), np.concatenate([[0], np.cumsum(has_one, dtype=np.int64)])


def columns_for(kind: str) -> list[str]:
    return ["chunk_sha1s", "chunk_sizes"] if kind == "chunk" else ["file_sha1"]


def emit_digests(file: PartFile, *, what: Counting, bits: int) -> Iterator[Block]:
    """The digests of a part, each once for every domain in a row group, with its count and first page."""
    first = file.first
    sites = what.sites.load()
    only = Digests.unpacked(what.only.load()) if what.only else None
    for table in file.batches(columns_for(what.kind)):
        words, offsets = digests_of(table, what.kind)
        numbers = np.arange(first, first + len(table), dtype=np.uint32)
        pages = np.repeat(numbers, np.diff(offsets))
        kept = sites[pages] != NOBODY
        if what.kind == "chunk" and what.min_bytes:
            kept &= lists_of(table["chunk_sizes"])[0].to_numpy() >= what.min_bytes
        if only is not None:
            kept &= only.find(words) >= 0
        if not kept.all():
            words, pages = words.reshape(-1, 5)[kept].reshape(-1), pages[kept]
        keys, *others = combine(words, pages, sites)
        keys, order, cuts = partition(keys, np.arange(len(keys), dtype=np.uint32), bits)
        yield Block(cuts, (keys, *(column[order] for column in others)))
        first += len(table)


def emit_objects(bucket: Bucket, *, what: Counting, bits: int) -> Iterator[Block]:
    """Each object of a bucket once. A last row, on no domain, has the number of those that occur too rarely."""
    if not bucket.columns:
        return
    keys, seconds, thirds, counts, pages = _sorted(bucket, bits)
    firsts, totals, domains = objects_of(keys, seconds, thirds, counts, pages, what.sites.load())
    kept = totals >= what.least
    rare = len(totals) - int(kept.sum())
    firsts = np.append(firsts[kept], 0)[: None if len(firsts) else 0]
    totals, domains = np.append(totals[kept], rare)[: len(firsts)], np.append(domains[kept], 0)[: len(firsts)]
    cuts = np.zeros((1 << bits) + 1, np.int64)
    cuts[bucket.number + 1 :] = len(firsts)
    yield Block(cuts, (keys[firsts], seconds[firsts], thirds[firsts], totals, domains, pages[firsts]))


def _sorted(bucket: Bucket, bits: int) -> tuple[npt.NDArray[np.generic], ...]:
    """The rows with equal digests together, in the order of their pages.

    Keys are 64 of 160 bits. Two digests that agree in these and not in the rest are made in years of work, not by
    chance; where it happens all bits are sorted.
    """
    keys, seconds, thirds = bucket.columns[:3]
    ordered, order = sort_pairs(keys, np.arange(len(keys), dtype=np.uint32), bits)
    same = ordered[1:] == ordered[:-1]
    if any((same & (part[order[1:]] != part[order[:-1]])).any() for part in (seconds, thirds)):
        order = np.lexsort((thirds, seconds, keys))
    return tuple(column[order] for column in bucket.columns)


def count_duplicates(objects: Blocks, engine: Engine, kind: str, *, least: int = 2) -> pa.Table:
    """The distribution: how many objects occur once, twice and so on."""
    step = partial(count_bucket, rare=least - 1)
    found = engine.gather(engine.reduce(step, objects, name=f"Distribution of {kind}s"), COUNTS)
    values, inverse = np.unique(found["duplicates"].to_numpy(), return_inverse=True)
    totals = np.zeros(len(values), np.int64)
    np.add.at(totals, inverse, found["objects"].to_numpy())
    return pa.table([values, totals], schema=COUNTS)


def count_bucket(bucket: Bucket, *, rare: int) -> pa.Table:
    if not bucket.columns or not len(bucket.columns[0]):
        return COUNTS.empty_table()
    totals, domains = bucket.columns[3], bucket.columns[4]
    values, counts = np.unique(totals[domains > 0], return_counts=True)
    single = int(totals[domains == 0].sum())
    if single:
        values, counts = np.append(values, rare), np.append(counts, single)
    return pa.table([values.astype(np.int64), counts.astype(np.int64)], schema=COUNTS)


def propose_threshold(distribution: pa.Table, kind: str) -> tuple[int, str]:
    """A threshold for a distribution, and why: the paper's labelled objects grow far slower than its corpora."""
    duplicates, objects = (column.to_numpy() for column in distribution.columns)
    total = int(objects.sum())
    if not total:
        return 1, f"there are no {kind}s"
    most = max(isqrt(total), 1)
    above = objects[::-1].cumsum()[::-1] - objects  # more often than each
    at = int(np.flatnonzero(above <= most)[0])
    threshold = max(int(duplicates[at]), 1)
    labelled = int(objects[duplicates > threshold].sum())
    why = f"{labelled:,} of {total:,} different {kind}s occur more often than {threshold:,} times"
    return threshold, f"{why}: at most the square root of their number, which a person can look through"


def select_objects(
    objects: Blocks, engine: Engine, kind: str, *, threshold: int, min_domains: int, candidate_domains: int
) -> pa.Table:
    """The objects above a threshold, and those on so many domains that they may be stop chunks."""
    step = partial(select_bucket, threshold=threshold, min_domains=min_domains, candidate_domains=candidate_domains)
    return engine.gather(engine.reduce(step, objects, name=f"Choosing {kind}s"), OBJECTS)


def select_bucket(bucket: Bucket, *, threshold: int, min_domains: int, candidate_domains: int) -> pa.Table:
    if not bucket.columns or not len(bucket.columns[0]):
        return OBJECTS.empty_table()
    keys, seconds, thirds, totals, domains, pages = bucket.columns
    often = (totals > threshold) & (domains >= max(min_domains, 1))
    wide = np.flatnonzero(domains >= max(candidate_domains, 2)) if candidate_domains else np.empty(0, np.int64)
    wide = wide[np.lexsort((seconds[wide], keys[wide], -domains[wide]))][:_CANDIDATES]
    kept = often.copy()
    kept[wide] = True
    words = np.empty((int(kept.sum()), 5), np.uint32)
    for at, part in ((0, keys), (2, seconds)):
        words[:, at], words[:, at + 1] = part[kept] & np.uint64(0xFFFFFFFF), part[kept] >> np.uint64(32)
    words[:, 4] = thirds[kept]
    digests = pa.Array.from_buffers(sha1, len(words), [None, pa.py_buffer(words)])
    return pa.table([digests, totals[kept], domains[kept], pages[kept], often[kept]], schema=OBJECTS)
