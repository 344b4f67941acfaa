"""Renamed trees: pages of equal text that stand at the same place below different folders of two hosts.

No mirror in the paper's sense, as no path is valid on both hosts, and hence a finding of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.mirrors.candidates import strings, wide
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.detectors.sites import PageArrays, text_buffers
from unquilt.detectors.streams import bucket_table, table_block
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.mirrors import hash_letters
from unquilt.kernels.radix import runs
from unquilt.kernels.trees import common_trees
from unquilt.kernels.urls import candidate_paths, slices
from unquilt.kernels.words import count_words_column
from unquilt.schema import MIRROR_TREES

_MIN_WORDS = 10
_BUCKETS = 64

TEXTS = pa.schema([("key", pa.uint64()), ("host", pa.string()), ("path", pa.string())])
_ENDS = ["host_a", "prefix_a", "host_b", "prefix_b"]
PARTS = pa.schema([(name, pa.string()) for name in _ENDS] + [("pages", pa.int64()), ("example", pa.string())])
COUNTS = pa.schema([("host", pa.string()), ("prefix", pa.string()), ("pages", pa.int64())])


def find_trees(corpus: Corpus, params: MirrorParams, engine: Engine, arrays: PageArrays) -> pa.Table:
    """Pairs of trees on two hosts with enough pages of equal text, the largest first (``MIRROR_TREES``)."""
    files = corpus.files()
    with engine.exchange(
        emit_texts, files, name="Hashing texts", buckets=_BUCKETS, label=lambda file: file.label
    ) as texts:
        step = partial(emit_trees, most=params.max_hosts)
        trees = engine.exchange(step, texts, name="Finding trees", buckets=_BUCKETS)
    with trees:
        count = partial(count_trees, least=params.tree_pages)
        found = engine.gather(engine.reduce(count, trees, name="Counting trees"), PARTS)
    return _with_sizes(found, files, engine)


def emit_texts(file: PartFile) -> Iterator[Block]:
    """The text of each page as a hash, with its host and path."""
    for table in file.batches(["url", "host", "text"]):
        texts = table["text"].fill_null("")
        kept = count_words_column(*text_buffers(texts)) >= _MIN_WORDS
        keys = hash_letters(*wide(texts))[kept]
        _, _, _, path_data, path_offsets = candidate_paths(*wide(table["url"]), 1)
        paths = strings(path_data, path_offsets).filter(pa.array(kept))
        pages = pa.table([keys, table["host"].filter(pa.array(kept)), paths], schema=TEXTS)
        yield table_block(pages, (keys >> np.uint64(58)).astype(np.int64), _BUCKETS)


def emit_trees(bucket: Bucket, *, most: int) -> Iterator[Block]:
    """For each two pages of one text on two hosts, the folders above what their paths end with alike."""
    table = bucket_table(bucket, TEXTS).sort_by([("key", "ascending"), ("host", "ascending"), ("path", "ascending")])
    hosts = table["host"].combine_chunks().dictionary_encode()
    codes = hosts.indices.to_numpy().astype(np.int64)
    data, offsets = wide(table["path"])
    keys = table["key"].to_numpy()
    left, right, common = common_trees(runs(keys), codes, data, offsets, most)
    begins, ends = offsets[:-1], offsets[1:]
    columns = [
        hosts.dictionary.take(hosts.indices.take(pa.array(left))),
        strings(*slices(data, begins[left], ends[left] - common)),
        hosts.dictionary.take(hosts.indices.take(pa.array(right))),
        strings(*slices(data, begins[right], ends[right] - common)),
        np.ones(len(left), np.int64),
        strings(*slices(data, ends[left] - common, ends[left])),
    ]
    trees = _added(pa.table(columns, schema=PARTS))
    names = pc.binary_join_element_wise(*(trees[name] for name in _ENDS), " ")
    keys = hash_letters(*wide(names))
    yield table_block(trees, (keys >> np.uint64(58)).astype(np.int64), _BUCKETS)


def _added(trees: pa.Table) -> pa.Table:
    added = trees.group_by(_ENDS).aggregate([("pages", "sum"), ("example", "min")])
    return added.rename_columns([*_ENDS, "pages", "example"]).cast(PARTS)


def count_trees(bucket: Bucket, *, least: int) -> pa.Table:
    """The pairs of trees of a bucket with enough pages."""
    trees = _added(bucket_table(bucket, PARTS))
    return trees.filter(pc.greater_equal(trees["pages"], least))


def _with_sizes(found: pa.Table, files: list[PartFile], engine: Engine) -> pa.Table:
    """The trees with how many pages stand below each prefix; there are few, as each has several pages in common."""
    wanted: dict[str, set[str]] = {}
    for host_a, prefix_a, host_b, prefix_b in zip(*(found[name].to_pylist() for name in _ENDS), strict=True):
        wanted.setdefault(host_a, set()).add(prefix_a)
        wanted.setdefault(host_b, set()).add(prefix_b)
    sizes: dict[tuple[str, str], int] = {}
    if wanted:
        step = partial(count_pages, wanted={host: sorted(prefixes) for host, prefixes in wanted.items()})
        for table in engine.map(step, files, name="Measuring trees", label=lambda file: file.label):
            for row in table.to_pylist():
                key = row["host"], row["prefix"]
                sizes[key] = sizes.get(key, 0) + row["pages"]
    rows = [
        row | {"pages_a": sizes[row["host_a"], row["prefix_a"]], "pages_b": sizes[row["host_b"], row["prefix_b"]]}
        for row in found.to_pylist()
    ]
    rows.sort(key=lambda row: (-row["pages"], *(row[name] for name in _ENDS)))
    return pa.Table.from_pylist(rows, schema=MIRROR_TREES)


def count_pages(file: PartFile, *, wanted: dict[str, list[str]]) -> pa.Table:
    """How many pages of a part stand below each of the wanted prefixes."""
    rows = []
    hosts = pa.array(sorted(wanted), pa.string())
    for table in file.batches(["url", "host"]):
        table = table.filter(pc.is_in(table["host"], hosts))
        _, _, _, data, offsets = candidate_paths(*wide(table["url"]), 1)
        paths = strings(data, offsets)
        encoded = table["host"].combine_chunks().dictionary_encode()
        for code, host in enumerate(encoded.dictionary.to_pylist()):
            mine = paths.filter(pc.equal(encoded.indices, code))
            for prefix in wanted[host]:
                rows.append((host, prefix, pc.sum(pc.starts_with(mine, prefix + "/"), min_count=0).as_py()))
    columns = list(zip(*rows, strict=True)) or [()] * 3
    return pa.table([pa.array(one, kind) for one, kind in zip(columns, COUNTS.types, strict=True)], schema=COUNTS)
