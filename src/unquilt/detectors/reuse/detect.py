"""Detection: how much of each page, and of each neighborhood of pages, is labelled.

A page's numbers depend on that page and on what is labelled alone, a neighborhood's on its pages: everything here
can run on any part of a corpus by itself.
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
from unquilt.detectors.reuse.digests import LABELLED, SHARED, STOP, Digests, lists_of
from unquilt.detectors.reuse.discover import NOBODY, digests_of
from unquilt.detectors.sites import PageArray, text_buffers
from unquilt.detectors.streams import read_bucket, table_block
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.digests import count_flags
from unquilt.kernels.prefixes import add_up_tree, cut_names, folders, highest_above
from unquilt.kernels.strings import hash_strings

Counts = npt.NDArray[np.uint32]

CHUNKS, STOPS, LABELS, SHARES, IS_COPY = range(5)
COLUMNS = 5
"""What is known of each page: chunks, stop chunks, labelled ones, those on several domains, is it a labelled file."""

_SUMS = ("files", "chunks", "labelled", "cross_site", "labelled_squared", "labelled_chunks", "chunks_squared")
TREE = pa.schema([("prefix", pa.string()), *((name, pa.int64()) for name in _SUMS)])
"""Neighborhoods; the last three are sums over files of squares and products, for the spread among them."""
SPREAD = pa.schema([("neighborhoods", pa.int64()), ("badness", pa.float64()), ("badness_squared", pa.float64())])
_PAGES_PER_BUCKET = 20_000
_MOST_BUCKETS = 1024
_SEED = np.uint64(5)
_Z = 1.96  # of a 95 % interval


@dataclass(frozen=True, slots=True)
class Labels:
    """What is labelled, as packed digests in files that workers map."""

    chunks: PageArray
    files: PageArray
    sites: PageArray
    min_bytes: int


def detect_pages(corpus: Corpus, engine: Engine, labels: Labels) -> Counts:
    """For each page of a corpus the numbers named above: uint32[pages, 5]."""
    step = partial(detect_part, labels=labels)
    found = engine.map(step, corpus.files(), name="Looking for labelled chunks", label=lambda file: file.label)
    return np.concatenate([np.empty((0, COLUMNS), np.uint32), *found])


def detect_part(file: PartFile, *, labels: Labels) -> Counts:
    first = file.first
    chunks, files = Digests.unpacked(labels.chunks.load()), Digests.unpacked(labels.files.load())
    sites = labels.sites.load()
    found = []
    for table in file.batches(["chunk_sha1s", "file_sha1", *(["chunk_sizes"] if labels.min_bytes else [])]):
        words, offsets = digests_of(table, "chunk")
        flags = chunks.flags_of(words)
        if labels.min_bytes:
            flags, offsets = _without_short(table, flags, offsets, labels.min_bytes)
        by_flags = count_flags(flags, offsets).reshape(-1, 8)
        counts = np.zeros((len(table), COLUMNS), np.uint32)
        counts[:, CHUNKS] = by_flags.sum(axis=1)
        which = np.arange(8)
        counts[:, STOPS] = by_flags[:, which & STOP > 0].sum(axis=1)
        is_labelled = (which & LABELLED > 0) & (which & STOP == 0)
        counts[:, LABELS] = by_flags[:, is_labelled].sum(axis=1)
        counts[:, SHARES] = by_flags[:, is_labelled & (which & SHARED > 0)].sum(axis=1)
        words, offsets = digests_of(table, "file")
        counts[np.diff(offsets) > 0, IS_COPY] = files.flags_of(words) == LABELLED
        counts[sites[first : first + len(table)] == NOBODY] = 0
        found.append(counts)
        first += len(table)
    return np.concatenate(found)


def _without_short(
    table: pa.Table, flags: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], least: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    kept = lists_of(table["chunk_sizes"])[0].to_numpy() >= least
    before = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    return flags[kept], before[offsets]


def share_of(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """part / whole, 0 where there is nothing."""
    shares: npt.NDArray[np.float64] = part / np.maximum(whole, 1)
    return shares


def find_neighborhoods(
    corpus: Corpus, engine: Engine, counts: PageArray, sites: PageArray
) -> tuple[pa.Table, pa.Table]:
    """Every neighborhood with labelled chunks, by its prefix; and the spread of badness over all neighborhoods."""
    buckets = min(max(corpus.pages // _PAGES_PER_BUCKET, 1), _MOST_BUCKETS)
    step = partial(emit_folders, counts=counts, sites=sites, buckets=buckets)
    with engine.exchange(
        step, corpus.files(), name="Collecting folders", buckets=buckets, label=lambda file: file.label
    ) as rows:
        found = list(engine.reduce(add_up_bucket, rows, name="Adding up neighborhoods"))
    tree = engine.gather((tables[0] for tables in found), TREE)
    return tree.sort_by("prefix"), engine.gather((tables[1] for tables in found), SPREAD)


def emit_folders(file: PartFile, *, counts: PageArray, sites: PageArray, buckets: int) -> Iterator[Block]:
    """The folders of a part's pages with sums over the pages, as Arrow streams by host."""
    first = file.first
    every, where = counts.load().reshape(-1, COLUMNS), sites.load()
    for table in file.batches(["url", "host"]):
        rows = slice(first, first + len(table))
        first += len(table)
        table = _with_folders(table, every[rows].astype(np.int64))
        table = table.filter(pa.array((where[rows] != NOBODY) & (every[rows, CHUNKS] > 0)))
        hosts = hash_strings(*text_buffers(table["host"]), _SEED) % np.uint64(buckets)
        summed = table.append_column("bucket", pa.array(hosts.astype(np.int64))).group_by("prefix", use_threads=False)
        sums = summed.aggregate([("bucket", "min"), *((name, "sum") for name in _SUMS)])
        where_to = sums["bucket_min"].to_numpy()
        yield table_block(sums.drop_columns(["bucket_min"]).rename_columns(TREE.names), where_to, buckets)


def _with_folders(table: pa.Table, counts: npt.NDArray[np.int64]) -> pa.Table:
    """The folder of each page as text, and what it adds to the sums."""
    names, cuts = folders(*text_buffers(table["url"]), *text_buffers(table["host"]))
    chunks, labelled = counts[:, CHUNKS] - counts[:, STOPS], counts[:, LABELS]
    sums = (
        (chunks > 0).astype(np.int64), chunks, labelled, counts[:, SHARES], labelled**2, labelled * chunks, chunks**2,
    )  # fmt: skip
    columns = {"host": table["host"], "prefix": _strings(names, cuts)}
    return pa.table(columns | dict(zip(_SUMS, sums, strict=True)))


def _strings(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def add_up_bucket(bucket: Bucket) -> tuple[pa.Table, pa.Table]:
    """The neighborhoods of some hosts: those with labelled chunks, and the spread of all that have chunks."""
    table = read_bucket(bucket)
    if table is None:
        return TREE.empty_table(), SPREAD.empty_table()
    merged = table.group_by("prefix", use_threads=False).aggregate([(name, "sum") for name in _SUMS])
    merged = merged.rename_columns(TREE.names).sort_by("prefix")
    names, cuts = text_buffers(merged["prefix"])
    values = np.stack([merged[name].to_numpy() for name in _SUMS], axis=1)
    which, lengths, sums = add_up_tree(names, cuts.astype(np.int64), values)
    badness = share_of(sums[:, 2], sums[:, 1])[sums[:, 1] > 0]
    spread = pa.table([[len(badness)], [float(badness.sum())], [float((badness**2).sum())]], schema=SPREAD)
    kept = sums[:, 2] > 0
    prefixes = _strings(*cut_names(names, cuts.astype(np.int64), which[kept], lengths[kept]))
    return pa.table([prefixes, *sums[kept].T], schema=TREE), spread


def mean_and_deviation(spread: pa.Table) -> tuple[float, float]:
    """Over all neighborhoods."""
    n, total, squares = (float(column.to_numpy().sum()) for column in spread.columns)
    mean = total / n if n else 0.0
    return mean, max(squares / n - mean**2, 0.0) ** 0.5 if n else 0.0


def judge_neighborhoods(tree: pa.Table, threshold: float, *, min_files: int, min_chunks: int) -> dict[str, Any]:
    """Badness with a 95 % interval, which are bad, and the highest bad prefix that each of these lies under."""
    sums = {name: tree[name].to_numpy() for name in _SUMS}
    badness = share_of(sums["labelled"], sums["chunks"])
    is_bad = (badness > threshold) & (sums["files"] >= min_files) & (sums["chunks"] >= min_chunks)
    names, cuts = text_buffers(tree["prefix"])
    above = highest_above(names, cuts.astype(np.int64), is_bad)
    low, high = interval_of(sums)
    under = tree["prefix"].take(pa.array(above, mask=above < 0))
    return {"badness": badness, "low": low, "high": high, "bad": is_bad, "under": under}


def interval_of(sums: dict[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Wilson's 95 % interval of badness, for as many chunks as they are worth: those of one file resemble each other.

    What they are worth is told by how much badness differs among the files (a ratio estimate's variance); where
    nothing differs, each file counts as one.
    """
    chunks, labelled, files = (sums[name].astype(np.float64) for name in ("chunks", "labelled", "files"))
    badness = labelled / np.maximum(chunks, 1)
    among = sums["labelled_squared"] - 2 * badness * sums["labelled_chunks"] + badness**2 * sums["chunks_squared"]
    variance = np.maximum(among, 0) / np.maximum(chunks, 1) ** 2 * files / np.maximum(files - 1, 1)
    plain = badness * (1 - badness)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where((variance > 0) & (files > 1), plain / variance, files)
    n = np.clip(worth, np.minimum(1, chunks), np.maximum(chunks, 1))
    middle = (badness + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(badness * (1 - badness) / n + _Z**2 / (4 * n**2))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
