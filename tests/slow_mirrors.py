"""Mirrors as the paper says them, one host and one pair at a time, without kernels, exchanges or hashes of words."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import log
from typing import Any

from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.ingest.sites import split_url

Feature = tuple[Any, ...]


def terms_of(text: str) -> list[str]:
    """Runs of letters, one character at a time."""
    terms = [""]
    for char in text:
        is_letter = char.isalpha() if char.isascii() else True
        terms[-1] += (char.lower() if char.isascii() else char) if is_letter else ""
        if not is_letter and terms[-1]:
            terms.append("")
    return [term for term in terms if term]


class SlowMirrors:
    """Stage I. ``hash_of`` gives the hash of a path, the one thing shared with what is tested."""

    def __init__(self, urls: list[str], params: MirrorParams, hash_of: dict[str, int]) -> None:
        self.params = params
        self.counts: Counter[str] = Counter()
        paths: dict[str, set[str]] = {}
        for url in urls:
            host, path = split_url(url)
            self.counts[host] += 1
            paths.setdefault(host, set()).add(path)
        self.samples = {host: self.sample(sorted(some, key=str.encode), hash_of) for host, some in paths.items()}
        considered = [host for host, count in self.counts.items() if count >= params.min_urls]
        self.features = {host: self.features_of(host) for host in considered}

    def sample(self, paths: list[str], hash_of: dict[str, int]) -> list[str]:
        kept: list[str] = []
        q, threshold = self.params.modulus, float(self.params.first_sample)
        for path in paths:
            if hash_of[path] % q == 0:
                kept.append(path)
                while len(kept) >= threshold:
                    q *= 2
                    threshold *= self.params.sample_growth
        return kept

    def features_of(self, host: str) -> set[Feature]:
        stops, generators = self.params.stop_terms.split(","), self.params.generator_terms.split(",")
        name = [term for term in terms_of(host) if term not in stops]
        features: set[Feature] = {("host", *name[i : i + 2]) for i in range(len(name) - 1)}
        counts: Counter[Feature] = Counter()
        for path in self.samples[host]:
            terms = terms_of(path)
            if any(term in generators for term in terms):
                continue
            terms = [term for term in terms if term not in stops]
            counts.update(("path", terms[i], terms[i + 1], i) for i in range(len(terms) - 1))
        return features | {feature for feature, count in counts.items() if count >= self.params.min_count}

    def candidates(self) -> list[tuple[str, str, float, int, int]]:
        """Host, host, normalized score, shared features, those of paths; the best first."""
        hosts_with = Counter(feature for features in self.features.values() for feature in features)
        found = []
        for a, b in combinations(sorted(self.features), 2):
            shared = [f for f in self.features[a] & self.features[b] if hosts_with[f] <= self.params.max_hosts]
            paths = sum(feature[0] == "path" for feature in shared)
            if len(shared) < self.params.min_features or paths < self.params.min_path_features:
                continue
            weight = {"host": self.params.host_significance, "path": self.params.path_significance}
            score = sum(weight[feature[0]] / hosts_with[feature] for feature in shared)
            size = log(self.counts[a]) + log(self.counts[b])
            found.append((a, b, score / (1 + self.params.size_factor * size), len(shared), paths))
        return sorted(found, key=lambda row: (-row[2], row[0], row[1]))


def words_of(text: str) -> list[str]:
    """Words of text in a script with spaces."""
    return "".join(char.casefold() if char.isalnum() else " " for char in text).split()


def outcome_of(source: Any, target: Any, params: MirrorParams) -> str:
    """How a test ends: each side is None if it is unknown, "failed", or the SHA-1 and the text of a page."""
    if source == "failed":
        return "SF"
    if source is None or target is None:
        return "unknown"
    if target == "failed":
        return "TF"
    (sha_a, text_a), (sha_b, text_b) = source, target
    if sha_a is not None and sha_a == sha_b:
        return "FM"
    words = [words_of(text) for text in (text_a, text_b)]
    if not words[0] and not words[1]:
        return "unknown"
    if "".join(text_a.split()) == "".join(text_b.split()):
        return "FS"
    a, b = (
        {tuple(some[i : i + params.k]) for i in range(max(len(some) - params.k + 1, min(len(some), 1)))}
        for some in words
    )
    likeness = len(a & b) / len(a | b)
    if likeness and likeness >= params.high_similarity:
        return "HS"
    return "TS" if likeness > params.trace_similarity else "NS"


def level_of(outcomes: list[str], params: MirrorParams) -> str:
    """The paper's table of levels, row by row."""
    told = [outcome for outcome in outcomes if outcome not in ("unknown", "SF")]
    if len(told) < params.min_tests:
        return "undecided"
    for level, some in (("1", {"FM"}), ("2", {"FM", "FS"}), ("3", {"FM", "FS", "HS"})):
        if set(told) <= some:
            return level
    if {"FM", "FS", "HS"} & set(told):
        return "4"
    if "TF" not in told and "TS" in told:
        return "5"
    return "mismatch"
