"""Mirrors: hosts that replicate hosts (Bharat and Broder, WWW 1999).

Stage I ranks pairs of hosts by what their URLs share. Stage II takes 10 paths of each host and compares what the two
hosts of a pair have there: 19 comparisons give a level from 1, the same bytes, to 5, the same structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.mirrors.archive import judge_archive
from unquilt.detectors.mirrors.candidates import (
    HOSTS,
    PAIRS,
    describe_hosts,
    host_keys,
    match_hosts,
    rank_pairs,
    sample_hosts,
)
from unquilt.detectors.mirrors.levels import Comparisons, Outcomes, comparison_lists, decide_levels, make_tests
from unquilt.detectors.mirrors.outcome import domain_table, find_misspellings, group_hosts, ranking_table, summary_table
from unquilt.detectors.mirrors.params import MirrorParams, ProbeParams
from unquilt.detectors.mirrors.trees import find_trees
from unquilt.detectors.sites import PageArray, PageArrays, page_arrays
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadParameter
from unquilt.ingest.sites import domain_of
from unquilt.result import Result
from unquilt.schema import MIRROR_CANDIDATES, MIRROR_PAIRS, MIRROR_TREES

ADDRESSES = pa.schema([("key", pa.uint64()), ("ip", pa.string())])


def find_mirrors(
    corpus: Corpus,
    params: MirrorParams = MirrorParams(),
    *,
    probe: ProbeParams = ProbeParams(),
    named: Sequence[tuple[str, str]] = (),
    engine: Engine | None = None,
) -> Result:
    """Pairs of hosts whose URLs look alike, and to what degree one mirrors the other.

    With ``named``, these pairs of hosts are tested, whatever their URLs share.
    """
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "mirrors")
        arrays = stack.enter_context(page_arrays(corpus))
        ranked, hosts, counts = find_candidates(corpus, params, engine, arrays, named)
        candidates = _candidates(ranked, hosts)
        tested = ranked.slice(0, params.max_pairs if params.pages != "none" else 0)
        has_text = any(part.words for part in corpus.parts)
        if params.pages == "archive" and not has_text:
            tested = tested.slice(0, 0)  # a list of URLs says nothing about pages
        tests = make_tests(tested["a"].to_numpy(), tested["b"].to_numpy(), hosts)
        outcomes = _judge(corpus, tests, hosts, params, probe, engine, arrays)
        pairs = _pairs(tested, hosts, tests, outcomes, params, _shared_ips(corpus, tested, hosts, engine, arrays))
        trees = find_trees(corpus, params, engine, arrays) if params.trees and has_text else MIRROR_TREES.empty_table()
    tables = {
        "candidates": candidates,
        "pairs": pairs,
        "groups": group_hosts(pairs, candidates, params),
        "summary": summary_table(corpus.pages, counts, candidates, pairs),
        "ranking": ranking_table(pairs),
        "domains": domain_table(pairs),
        "misspellings": find_misspellings(candidates, pairs),
        "trees": trees,
    }
    settings = params.as_dict() | ({"probe": probe.as_dict()} if params.pages == "live" else {})
    return Result("mirrors", tables, settings, corpus.digest)


def find_candidates(
    corpus: Corpus, params: MirrorParams, engine: Engine, arrays: PageArrays, named: Sequence[tuple[str, str]] = ()
) -> tuple[pa.Table, pa.Table, dict[str, int]]:
    """Stage I: ranked pairs as rows of the hosts, the hosts (``HOSTS``), and what was counted on the way."""
    with sample_hosts(corpus, params, engine) as samples:
        pairs, features = match_hosts(samples, params, engine)
        if named:
            pairs = _named_pairs(pairs, named)
        keys = np.unique(np.concatenate([pairs["a"].to_numpy(), pairs["b"].to_numpy()]))
        wanted = arrays.save("hosts", keys.view(np.uint32))
        step = partial(describe_hosts, params=params, wanted=wanted)
        found = list(engine.reduce(step, samples, name="Describing hosts"))
    hosts = engine.gather((table for table, _, _ in found), HOSTS).combine_chunks()
    if missing := {host for pair in named for host in pair} - set(hosts["host"].to_pylist()):
        raise BadParameter(
            f"{min(missing)} has fewer than {params.min_urls} URLs in {corpus.path}, or none.",
            fix="Check the name, or lower --min-urls.",
        )
    counts = {
        "hosts considered": sum(count for _, count, _ in found),
        "paths sampled": sum(paths for _, _, paths in found),
        "features of hosts": features,
    }
    return rank_pairs(pairs, hosts, params), hosts, counts


def _named_pairs(pairs: pa.Table, named: Sequence[tuple[str, str]]) -> pa.Table:
    """The pairs that were asked for, with their scores if they are candidates."""
    ends = [host_keys(pa.array([pair[side] for pair in named], pa.string())) for side in (0, 1)]
    wanted = sorted({(min(a, b), max(a, b)) for a, b in zip(*(end.tolist() for end in ends), strict=True)})
    known = {(row["a"], row["b"]): row for row in pairs.to_pylist()}
    nothing = {"score": 0.0, "features": 0, "paths": 0}
    rows = [known.get((a, b), {"a": a, "b": b} | nothing) for a, b in wanted if a != b]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def _judge(
    corpus: Corpus, tests: Comparisons, hosts: pa.Table, params: MirrorParams, probe: ProbeParams, engine: Engine,
    arrays: PageArrays,
) -> Outcomes:  # fmt: skip
    if not len(tests.pairs):
        nothing = np.empty(0, np.uint8)
        return Outcomes(nothing, np.empty(0), nothing, nothing)
    if params.pages == "live":
        from unquilt.detectors.mirrors.live import judge_live  # a network client, which the crawl does not need

        return judge_live(corpus, tests, hosts, params, probe, getattr(engine, "progress", None))
    return judge_archive(corpus, tests, hosts, params, engine, arrays)


def _candidates(ranked: pa.Table, hosts: pa.Table) -> pa.Table:
    columns = [
        np.arange(1, len(ranked) + 1),
        hosts["host"].take(ranked["a"]),
        hosts["host"].take(ranked["b"]),
        *(ranked[name] for name in ("score", "features", "paths")),
        hosts["urls"].take(ranked["a"]),
        hosts["urls"].take(ranked["b"]),
    ]
    return pa.table(columns, schema=MIRROR_CANDIDATES).combine_chunks()


def _pairs(
    tested: pa.Table,
    hosts: pa.Table,
    tests: Comparisons,
    outcomes: Outcomes,
    params: MirrorParams,
    shared_ips: pa.Array,
) -> pa.Table:
    levels, known = decide_levels(tests, outcomes, len(tested), params)
    host_a, host_b = (hosts["host"].take(tested[name]) for name in ("a", "b"))
    domains = [domain_of(host) for host in hosts["host"].to_pylist()]
    crossing = [domains[a] != domains[b] for a, b in zip(tested["a"].to_pylist(), tested["b"].to_pylist(), strict=True)]
    columns = [
        host_a, host_b, pa.array(levels, pa.string()), np.arange(1, len(tested) + 1), tested["score"], known,
        pa.array(crossing, pa.bool_()), shared_ips, comparison_lists(tests, outcomes, hosts, len(tested)),
    ]  # fmt: skip
    return pa.table(columns, schema=MIRROR_PAIRS).combine_chunks()


def _shared_ips(corpus: Corpus, tested: pa.Table, hosts: pa.Table, engine: Engine, arrays: PageArrays) -> pa.Array:
    """For each pair the addresses that served both hosts: no proof, as one machine may serve many, but support."""
    known: dict[int, set[str]] = {}
    if len(tested):
        wanted = arrays.save("addresses", np.unique(hosts["key"].to_numpy()).view(np.uint32))
        step = partial(host_addresses, wanted=wanted)
        files = corpus.files()
        found = engine.map(step, files, name="Reading addresses", label=lambda file: file.label)
        for row in engine.gather(found, ADDRESSES).to_pylist():
            known.setdefault(row["key"], set()).add(row["ip"])
    keys = hosts["key"].to_pylist()
    ends = zip(tested["a"].to_pylist(), tested["b"].to_pylist(), strict=True)
    shared = [sorted(known.get(keys[a], set()) & known.get(keys[b], set())) for a, b in ends]
    return pa.array(shared, pa.list_(pa.string()))


def host_addresses(file: PartFile, *, wanted: PageArray) -> pa.Table:
    """The addresses that served the wanted hosts in a part."""
    found = [ADDRESSES.empty_table()]
    for table in file.batches(["host", "ip"]):
        table = table.filter(pc.is_valid(table["ip"])).group_by(["host", "ip"]).aggregate([])
        keys: npt.NDArray[np.uint64] = host_keys(table["host"].combine_chunks())
        kept = np.isin(keys, wanted.load().view(np.uint64))
        found.append(pa.table([keys[kept], table["ip"].filter(pa.array(kept))], schema=ADDRESSES))
    return pa.concat_tables(found).group_by(["key", "ip"]).aggregate([])
