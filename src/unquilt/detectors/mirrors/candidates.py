"""Stage I: pairs of hosts whose URLs look alike, from the URLs alone.

A host's URLs are sampled where they are read, so that a host of ten million URLs sends some thousand paths. What is
compared then grows with the number of hosts, and with the square root of their size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.detectors.sites import PageArray, text_buffers
from unquilt.detectors.streams import bucket_table, table_block
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.mirrors import pair_keys, score_pairs, shared_pairs
from unquilt.kernels.radix import partition, runs, sort_pairs
from unquilt.kernels.strings import hash_strings
from unquilt.kernels.urls import (
    candidate_paths,
    hash_paths,
    hash_terms,
    host_features,
    sample_paths,
    shortest_of_each,
    slices,
)
from unquilt.kernels.words import mix

Keys = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_HOST_SEED = np.uint64(21)
_URLS_PER_BUCKET = 200_000
_MOST_BITS = 7
_MATCH_BITS = 8
_MERGE_ROWS = 1 << 18

SAMPLES = pa.schema(
    [("host", pa.string()), ("urls", pa.int64()), ("origin", pa.string()), ("paths", pa.list_(pa.string()))]
)
"""Hosts with the number of their URLs, a scheme and authority to reach them, and sampled paths in order."""

PAIRS = pa.schema(
    [("a", pa.uint64()), ("b", pa.uint64()), ("score", pa.float64()), ("features", pa.int64()), ("paths", pa.int64())]
)
"""Pairs of hosts by key, with their score before it is normalized."""

HOSTS = pa.schema(
    [
        ("key", pa.uint64()),
        ("host", pa.string()),
        ("urls", pa.int64()),
        ("sampled", pa.int64()),
        ("origin", pa.string()),
        ("paths", pa.list_(pa.string())),
    ]
)
"""Hosts of candidate pairs, with the paths they are tested with."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Stop and generator terms as the kernels compare them."""

    stops: Keys
    generators: Keys

    @staticmethod
    def of(params: MirrorParams) -> Terms:
        return Terms(_hashes_of(params.stop_terms), _hashes_of(params.generator_terms))


def _hashes_of(terms: str) -> Keys:
    names = pa.array([term.strip() for term in terms.split(",") if term.strip()], pa.string())
    hashes: Keys = hash_terms(*wide(names))
    return hashes


def wide(strings: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """A column of strings as bytes and 64-bit offsets."""
    data, offsets = text_buffers(strings)
    return data, offsets.astype(np.int64)


def host_keys(hosts: pa.Array) -> Keys:
    """A 64-bit key for each host."""
    keys: Keys = hash_strings(*text_buffers(hosts), _HOST_SEED)
    return keys


def sample_hosts(corpus: Corpus, params: MirrorParams, engine: Engine) -> Blocks:
    """Each host's URLs, counted and sampled, by host."""
    buckets = 1 << min(max((corpus.pages // _URLS_PER_BUCKET).bit_length(), 2), _MOST_BITS)
    step = partial(sample_part, params=params, buckets=buckets)
    return engine.exchange(step, corpus.files(), name="Sampling URLs", buckets=buckets, label=lambda file: file.label)


def match_hosts(samples: Blocks, params: MirrorParams, engine: Engine) -> tuple[pa.Table, int]:
    """Pairs of hosts that share enough features (``PAIRS``), and how many features hosts have together."""
    with share_features(samples, params, engine) as features:
        count = features.rows
        pairs = engine.exchange(
            partial(emit_pairs, most=params.max_hosts), features, name="Matching hosts", buckets=1 << _MATCH_BITS
        )
    with pairs:
        found = engine.gather(engine.reduce(partial(weigh_pairs, params=params), pairs, name="Scoring pairs"), PAIRS)
    return found, count


def share_features(samples: Blocks, params: MirrorParams, engine: Engine) -> Blocks:
    """The features of hosts with enough URLs, by feature, with the key of the host."""
    step = partial(emit_features, params=params, terms=Terms.of(params))
    return engine.exchange(step, samples, name="Cutting features", buckets=1 << _MATCH_BITS)


def sample_part(file: PartFile, *, params: MirrorParams, buckets: int) -> Iterator[Block]:
    """The hosts of a part with their samples."""
    sampled = [SAMPLES.empty_table()]
    for table in file.batches(["url", "host"]):
        sampled.append(sample_table(table, params))
        if sum(map(len, sampled)) > _MERGE_ROWS:
            sampled = [merge_samples(pa.concat_tables(sampled), params)]
    merged = merge_samples(pa.concat_tables(sampled), params)
    keys = host_keys(merged["host"].combine_chunks())
    yield table_block(merged, (keys % np.uint64(buckets)).astype(np.int64), buckets)


def sample_table(table: pa.Table, params: MirrorParams) -> pa.Table:
    """The hosts of some URLs with their samples (``SAMPLES``)."""
    urls, url_offsets = wide(table["url"])
    hosts = table["host"].combine_chunks().dictionary_encode()
    codes = hosts.indices.to_numpy().astype(np.int64)
    rows, begins, hashes, data, offsets = candidate_paths(urls, url_offsets, params.modulus)
    counts = np.bincount(codes, minlength=len(hosts.dictionary))
    owners = codes[rows]
    origins = _shortest(owners, urls, url_offsets[rows], begins, len(counts))
    return _sampled(hosts.dictionary, counts, origins, owners, hashes, data, offsets, params)


def merge_samples(table: pa.Table, params: MirrorParams) -> pa.Table:
    """Samples of pieces of hosts as samples of whole hosts, in the order of their names."""
    table = table.combine_chunks()
    if not len(table):
        return table
    hosts = table["host"].combine_chunks().dictionary_encode()
    order = pc.sort_indices(hosts.dictionary)
    ranks = np.empty(len(order), np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    codes = ranks[hosts.indices.to_numpy()]
    counts = np.bincount(codes, weights=table["urls"].to_numpy(), minlength=len(order)).astype(np.int64)
    lists = table["paths"].combine_chunks()
    data, offsets = wide(lists.flatten())
    owners = np.repeat(codes, pc.list_value_length(lists).to_numpy())
    origin_data, bounds = wide(table["origin"])
    origins = _shortest(codes, origin_data, bounds[:-1], bounds[1:], len(order))
    hashes = hash_paths(data, offsets)
    return _sampled(hosts.dictionary.take(order), counts, origins, owners, hashes, data, offsets, params)


def _sampled(
    names: pa.Array, counts: Ints, origins: pa.Array, owners: Ints, hashes: Keys, data: Bytes, offsets: Ints,
    params: MirrorParams,
) -> pa.Table:  # fmt: skip
    kept, begins = sample_paths(
        owners, hashes, data, offsets, len(names), params.modulus, params.first_sample, params.sample_growth
    )
    paths = strings(*slices(data, offsets[kept], offsets[kept + 1]))
    return pa.table([names, counts, origins, pa.ListArray.from_arrays(begins.astype(np.int32), paths)], schema=SAMPLES)


def _shortest(owners: Ints, data: Bytes, begins: Ints, ends: Ints, hosts: int) -> pa.Array:
    """The shortest origin of each host, or an empty string."""
    found = shortest_of_each(owners, data, begins, ends, hosts)
    if not len(begins):
        return pa.repeat("", hosts)
    return strings(*slices(data, begins[found], np.where(found < 0, begins[found], ends[found])))


def strings(data: Bytes, offsets: Ints) -> pa.Array:
    """A column of strings from their bytes and where each begins."""
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))


def emit_features(bucket: Bucket, *, params: MirrorParams, terms: Terms) -> Iterator[Block]:
    """The features of the hosts of a bucket, with the host."""
    hosts = considered_hosts(bucket, params)
    features, begins = features_of(hosts, params, terms)
    keys = np.repeat(host_keys(hosts["host"]), np.diff(begins))
    features, keys, cuts = partition(features, keys, _MATCH_BITS)
    yield Block(cuts, (features, keys))


def considered_hosts(bucket: Bucket, params: MirrorParams) -> pa.Table:
    """The hosts of a bucket that have enough URLs."""
    table = merge_samples(bucket_table(bucket, SAMPLES), params)
    return table.filter(pc.greater_equal(table["urls"], params.min_urls)).combine_chunks()


def features_of(hosts: pa.Table, params: MirrorParams, terms: Terms) -> tuple[Keys, Ints]:
    """The distinct features of each host, and where each host's begin."""
    lists = hosts["paths"].combine_chunks()
    begins = np.zeros(len(hosts) + 1, np.int64)
    np.cumsum(pc.list_value_length(lists).to_numpy(), out=begins[1:])
    names, paths = wide(hosts["host"]), wide(lists.flatten())
    found: tuple[Keys, Ints] = host_features(*names, *paths, begins, terms.stops, terms.generators, params.min_count)
    return found


def emit_pairs(bucket: Bucket, *, most: int) -> Iterator[Block]:
    """Each pair of hosts that shares a feature, for each feature on at most so many hosts."""
    if not bucket.columns:
        return
    features, hosts = sort_pairs(*bucket.columns, _MATCH_BITS)
    first, second, codes = shared_pairs(features, hosts, runs(features), most)
    _, order, cuts = partition(pair_keys(first, second), np.arange(len(first), dtype=np.uint32), _MATCH_BITS)
    yield Block(cuts, (first[order], second[order], codes[order]))


def weigh_pairs(bucket: Bucket, *, params: MirrorParams) -> pa.Table:
    """The pairs of a bucket that share enough, with their score before it is normalized."""
    if not bucket.columns:
        return PAIRS.empty_table()
    first, second, codes = bucket.columns
    order = np.lexsort((codes, second, first))
    first, second, codes = first[order], second[order], codes[order]
    weights = params.host_significance, params.path_significance
    begins, scores, features, paths = score_pairs(first, second, codes, *weights)
    kept = (features >= params.min_features) & (paths >= params.min_path_features)
    columns = first[begins], second[begins], scores, features, paths
    return pa.table([column[kept] for column in columns], schema=PAIRS)


def describe_hosts(bucket: Bucket, *, params: MirrorParams, wanted: PageArray) -> tuple[pa.Table, int, int]:
    """The wanted hosts of a bucket (``HOSTS``); and how many hosts were considered, with how many sampled paths."""
    hosts = considered_hosts(bucket, params)
    keys = host_keys(hosts["host"])
    sampled = pc.list_value_length(hosts["paths"])
    total = pc.sum(sampled, min_count=0).as_py()
    kept = np.isin(keys, wanted.load().view(np.uint64))
    found = hosts.filter(pa.array(kept))
    drawn = [_draw(paths, key, params) for paths, key in zip(found["paths"].to_pylist(), keys[kept], strict=True)]
    columns = keys[kept], found["host"], found["urls"], sampled.filter(pa.array(kept)), found["origin"]
    return pa.table([*columns, pa.array(drawn, pa.list_(pa.string()))], schema=HOSTS), len(hosts), total


def _draw(paths: list[str], key: np.uint64, params: MirrorParams) -> list[str]:
    """The root and some of a host's sampled paths: the same for all pairs of the host, other ones for other hosts."""
    others = [path for path in paths if path != "/"]
    order = hash_paths(*wide(pa.array(others, pa.string()))) ^ np.uint64(mix(key + np.uint64(params.seed)))
    order = np.argsort(np.array([mix(one) for one in order], np.uint64), kind="stable")
    return ["/", *(others[i] for i in order[: params.paths - 1])]


def rank_pairs(pairs: pa.Table, hosts: pa.Table, params: MirrorParams) -> pa.Table:
    """Pairs by decreasing normalized score, then by name: rows of ``hosts`` for a and b, scores and counts."""
    keys = hosts["key"].to_numpy()
    by_key = np.argsort(keys)
    a, b = (by_key[np.searchsorted(keys[by_key], pairs[name].to_numpy())] for name in ("a", "b"))
    names = pc.rank(hosts["host"].combine_chunks()).to_numpy().astype(np.int64)
    a, b = np.where(names[a] <= names[b], a, b), np.where(names[a] <= names[b], b, a)
    urls = np.log(hosts["urls"].to_numpy())
    scores = pairs["score"].to_numpy() / (1 + params.size_factor * (urls[a] + urls[b]))
    order = np.lexsort((names[b], names[a], -scores))
    columns = {
        "a": a,
        "b": b,
        "score": scores,
        "features": pairs["features"].to_numpy(),
        "paths": pairs["paths"].to_numpy(),
    }
    return pa.table({name: column[order] for name, column in columns.items()})
