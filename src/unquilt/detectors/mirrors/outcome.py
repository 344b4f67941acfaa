"""What the pairs say together: groups, the ranking's worth, domains, misspellings, and the counts of Table 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from unquilt.detectors.mirrors.params import LEVELS, MirrorParams
from unquilt.ingest.sites import domain_of
from unquilt.kernels.components import join, root
from unquilt.schema import (
    MIRROR_DOMAINS,
    MIRROR_GROUPS,
    MIRROR_MISSPELLINGS,
    MIRROR_RANKING,
    MIRROR_SUMMARY,
)

_FAILURES = ("server-failure", "dns-failure")


def group_hosts(pairs: pa.Table, candidates: pa.Table, params: MirrorParams) -> pa.Table:
    """Hosts connected by pairs up to the level asked for, with the host of each group that stands for all."""
    urls: dict[str, int] = {}
    for side in ("a", "b"):
        urls.update(zip(candidates[f"host_{side}"].to_pylist(), candidates[f"urls_{side}"].to_pylist(), strict=True))
    edges = [
        (level, a, b)
        for level, a, b in zip(*(pairs[name].to_pylist() for name in ("level", "host_a", "host_b")), strict=True)
        if level in LEVELS and level <= params.group_level
    ]
    levels = _levels_to_canonical(sorted(edges), urls)
    groups: dict[str, list[str]] = {}
    for host, (canonical, _) in levels.items():
        groups.setdefault(canonical, []).append(host)
    rows = [
        (number, host, canonical, levels[host][1], urls[host])
        for number, canonical in enumerate(sorted(groups, key=lambda one: (-len(groups[one]), one)), 1)
        for host in sorted(groups[canonical], key=lambda one: (one != canonical, one))
    ]
    return _from_rows(rows, MIRROR_GROUPS)


def _levels_to_canonical(edges: list[tuple[str, str, str]], urls: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """For each host the canonical host of its group, and the weakest level on the best way there.

    Hosts are joined level by level: the level at which a host and the canonical one first are together is the answer.
    """
    hosts = sorted({host for _, a, b in edges for host in (a, b)})
    number = {host: i for i, host in enumerate(hosts)}
    parent = np.arange(len(hosts))
    for _, a, b in edges:
        join(parent, number[a], number[b])
    best: dict[int, str] = {}
    for host in hosts:
        group = root(parent, number[host])
        if group not in best or (-urls[host], host) < (-urls[best[group]], best[group]):
            best[group] = host
    canonical = {host: best[root(parent, number[host])] for host in hosts}
    found = {host: (host, "1") for host in best.values()}
    parent = np.arange(len(hosts))
    for level in LEVELS:
        for own, a, b in edges:
            if own == level:
                join(parent, number[a], number[b])
        for host in hosts:
            if host not in found and root(parent, number[host]) == root(parent, number[canonical[host]]):
                found[host] = canonical[host], level
    return found


def summary_table(urls: int, counts: Mapping[str, int], candidates: pa.Table, pairs: pa.Table) -> pa.Table:
    """Table 2 of the paper for this corpus."""
    levels = Counter(pairs["level"].to_pylist())
    mirrored = {
        host
        for level, a, b in zip(*(pairs[name].to_pylist() for name in ("level", "host_a", "host_b")), strict=True)
        if level in LEVELS
        for host in (a, b)
    }
    rows = [("URLs", urls), *counts.items(), ("candidate pairs", len(candidates)), ("pairs tested", len(pairs))]
    rows += [(f"level {level}", levels[level]) for level in LEVELS]
    rows += [(name, levels[name]) for name in ("mismatch", "undecided", *_FAILURES)]
    rows += [("mirrored pairs", sum(levels[level] for level in LEVELS)), ("mirrored hosts", len(mirrored))]
    return _from_rows(rows, MIRROR_SUMMARY)


def ranking_table(pairs: pa.Table) -> pa.Table:
    """For each prefix of the ranking, pairs that could not be tested left out, the share of mirrors in it."""
    levels = [level for level in pairs["level"].to_pylist() if level in LEVELS or level == "mismatch"]
    n = np.arange(1, len(levels) + 1)
    full = np.cumsum([level in LEVELS[:3] for level in levels]) / n
    partial = np.cumsum([level in LEVELS[:4] for level in levels]) / n
    return pa.table([n, np.asarray(full, float), np.asarray(partial, float)], schema=MIRROR_RANKING)


def domain_table(pairs: pa.Table) -> pa.Table:
    """Which top-level domains mirrors of different registered domains are in, as Table 3 of the paper."""
    counts: dict[str, Counter[str]] = {"1-3": Counter(), "4": Counter(), "5": Counter()}
    columns = (pairs[name].to_pylist() for name in ("level", "host_a", "host_b", "cross_domain"))
    for level, a, b, crosses in zip(*columns, strict=True):
        if level in LEVELS and crosses:
            counts["1-3" if level <= "3" else level]["-".join(sorted((_top(a), _top(b))))] += 1
    rows = []
    for levels, found in counts.items():
        for domains, count in sorted(found.items(), key=lambda pair: (-pair[1], pair[0])):
            rows.append((levels, domains, count, count / found.total()))
    return _from_rows(rows, MIRROR_DOMAINS)


def _top(host: str) -> str:
    last = host.rpartition(".")[2]
    return "ip" if last.isdecimal() or host.endswith("]") else last


def find_misspellings(candidates: pa.Table, pairs: pa.Table) -> pa.Table:
    """Candidates whose registered domains are a letter apart; the host with fewer URLs is the suspect."""
    levels = {(row["host_a"], row["host_b"]): row["level"] for row in pairs.select(_NAMES).to_pylist()}
    rows = []
    for row in candidates.select(["host_a", "host_b", "urls_a", "urls_b"]).to_pylist():
        a, b = row["host_a"], row["host_b"]
        if not is_misspelling(domain_of(a), domain_of(b)):
            continue
        level = levels.get((a, b))
        meant, host = (a, b) if (row["urls_a"], b) >= (row["urls_b"], a) else (b, a)
        few, many = sorted((row["urls_a"], row["urls_b"]))
        rows.append((host, meant, few, many, level))
    return _from_rows(rows, MIRROR_MISSPELLINGS)


_NAMES = ["host_a", "host_b", "level"]


def is_misspelling(a: str, b: str) -> bool:
    """Whether two names differ by one letter added, left out or changed, or by two neighbors swapped.

    Digits are no letters: www1 and www2 are not misspelt.
    """
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    begin = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    end = next((i for i, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), min(len(a), len(b)))
    end = min(end, min(len(a), len(b)) - begin)
    left, right = a[begin : len(a) - end], b[begin : len(b) - end]
    is_swap = len(left) == 2 and left == right[::-1]
    return (left + right).isalpha() and (is_swap or (len(left) <= 1 and len(right) <= 1))


def equivalents(groups: pa.Table) -> Iterator[tuple[str, str, str]]:
    """Host, canonical host and level, for each host that another stands for: what a crawler or a proxy loads."""
    for host, canonical, level in zip(
        *(groups[name].to_pylist() for name in ("host", "canonical", "level")), strict=True
    ):
        if host != canonical:
            yield host, canonical, level


def _from_rows(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)
