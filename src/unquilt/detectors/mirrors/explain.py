"""Why two hosts are candidates: the features they share, as words, with their weights."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import log

import numpy as np
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.detectors.mirrors.candidates import (
    SAMPLES,
    Ints,
    Keys,
    considered_hosts,
    sample_hosts,
    share_features,
    wide,
)
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.engines import Bucket, Engine
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadParameter
from unquilt.kernels.urls import bigram_key, hash_terms

_TERM = re.compile(r"[a-z\x80-\U0010ffff]+")


@dataclass(frozen=True, slots=True)
class SharedFeature:
    """A feature two hosts share: two words, at which depth of the path (null in a host name), and what it adds."""

    first: str
    second: str
    depth: int | None
    hosts: int
    weight: float  # 0 if it is on too many hosts to count


@dataclass(frozen=True, slots=True)
class PairStory:
    """What the URLs of two hosts have in common."""

    host_a: str
    host_b: str
    urls_a: int
    urls_b: int
    sampled_a: int
    sampled_b: int
    features: list[SharedFeature]
    score: float
    is_candidate: bool


def explain_mirrors(
    corpus: Corpus, host_a: str, host_b: str, params: MirrorParams = MirrorParams(), *, engine: Engine | None = None
) -> PairStory:
    """The features two hosts share, the weightiest first, and the score they make."""
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        samples = stack.enter_context(sample_hosts(corpus, params, engine))
        step = partial(hosts_named, names=(host_a, host_b), params=params)
        found = {
            row["host"]: row
            for row in engine.gather(engine.reduce(step, samples, name="Finding hosts"), SAMPLES).to_pylist()
        }
        for host in (host_a, host_b):
            if host not in found:
                raise BadParameter(
                    f"{host} has fewer than {params.min_urls} URLs in {corpus.path}, or none.",
                    fix="Check the name, or lower --min-urls.",
                )
        mine, theirs = (features_as_words(host, found[host]["paths"], params) for host in (host_a, host_b))
        shared = sorted(mine & theirs, key=lambda feature: (feature[2], feature[0], feature[1]))
        keys = np.array([_key(*feature) for feature in shared], np.uint64)
        blocks = stack.enter_context(share_features(samples, params, engine))
        counts = sum(
            engine.reduce(partial(count_hosts, wanted=keys), blocks, name="Counting hosts"), np.zeros(len(keys))
        )
    urls_a, urls_b = found[host_a]["urls"], found[host_b]["urls"]
    features = [_weighed(*feature, int(hosts), params) for feature, hosts in zip(shared, counts, strict=True)]
    features.sort(key=lambda one: (-one.weight, one.depth is not None, one.depth or 0, one.first, one.second))
    counting = [one for one in features if one.weight]
    return PairStory(
        host_a, host_b, urls_a, urls_b, len(found[host_a]["paths"]), len(found[host_b]["paths"]), features,
        sum(one.weight for one in features) / (1 + params.size_factor * (log(urls_a) + log(urls_b))),
        len(counting) >= params.min_features
        and sum(one.depth is not None for one in counting) >= params.min_path_features,
    )  # fmt: skip


def _weighed(first: str, second: str, depth: int, hosts: int, params: MirrorParams) -> SharedFeature:
    significance = params.host_significance if depth < 0 else params.path_significance
    weight = significance / hosts if hosts <= params.max_hosts else 0.0
    return SharedFeature(first, second, None if depth < 0 else depth, hosts, weight)


def hosts_named(bucket: Bucket, *, names: tuple[str, str], params: MirrorParams) -> pa.Table:
    """The hosts of a bucket that are asked for."""
    hosts = considered_hosts(bucket, params)
    return hosts.filter(pa.array([host in names for host in hosts["host"].to_pylist()], pa.bool_()))


def count_hosts(bucket: Bucket, *, wanted: Keys) -> Ints:
    """On how many hosts each of the wanted features is, in a bucket."""
    if not bucket.columns:
        return np.zeros(len(wanted), np.int64)
    keys = np.sort(bucket.columns[0])
    counts: Ints = np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted)
    return counts


def terms_of(text: str) -> list[str]:
    """Runs of letters in lower case; what is not ASCII counts as letters."""
    return _TERM.findall("".join(c.lower() if c.isascii() else c for c in text))


def features_as_words(host: str, paths: list[str], params: MirrorParams) -> set[tuple[str, str, int]]:
    """The features of a host as words and depths; -1 is that of the host name."""
    stops, generators = (
        {term.strip() for term in terms.split(",")} for terms in (params.stop_terms, params.generator_terms)
    )

    def bigrams(text: str) -> list[tuple[str, str, int]]:
        terms = [term for term in terms_of(text) if term not in stops]
        return [(a, b, depth) for depth, (a, b) in enumerate(itertools.pairwise(terms))]

    counts = Counter(feature for path in paths if not generators & set(terms_of(path)) for feature in bigrams(path))
    of_host = {(a, b, -1) for a, b, _ in bigrams(host)}
    return of_host | {feature for feature, count in counts.items() if count >= params.min_count}


def _key(first: str, second: str, depth: int) -> int:
    one, two = hash_terms(*wide(pa.array([first, second], pa.string())))
    return int(bigram_key(one, two, depth))
