"""Reuse: files and chunks that are copied, the pages made of them, and the neighborhoods they gather in.

Discovery says what is copied, over the whole corpus at once; detection where it is, page by page (Ardi and
Heidemann).
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.reuse.describe import Facts, describe_files, describe_objects, describe_sites
from unquilt.detectors.reuse.detect import (
    CHUNKS,
    LABELS,
    STOPS,
    Labels,
    detect_pages,
    find_neighborhoods,
    judge_neighborhoods,
    mean_and_deviation,
    share_of,
)
from unquilt.detectors.reuse.digests import LABELLED, SHARED, STOP, Digests, check_chunks, column_words, words_of
from unquilt.detectors.reuse.discover import (
    COUNTS,
    NOBODY,
    Counting,
    count_duplicates,
    count_objects,
    propose_threshold,
    select_objects,
)
from unquilt.detectors.reuse.given import Given, load_given, own_pages
from unquilt.detectors.reuse.params import DERIVED, ReuseParams
from unquilt.detectors.reuse.stop_chunks import stop_digests
from unquilt.detectors.sites import PageArray, PageArrays, page_arrays, site_numbers, text_buffers
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.ingest.chunks import Cutter
from unquilt.kernels.prefixes import loops
from unquilt.result import Result
from unquilt.schema import REUSE_DISTRIBUTION, REUSE_NEIGHBORHOODS, REUSE_SET_ASIDE

LOOPS = pa.schema([("page", pa.uint32()), *REUSE_SET_ASIDE])
_CANDIDATE_SHARE, _LEAST_DOMAINS = 0.01, 5
_SHOWN_LOOPS = 1000


def find_reuse(corpus: Corpus, params: ReuseParams = ReuseParams(), *, engine: Engine | None = None) -> Result:
    """Files and chunks that are copied, pages made of them, and bad neighborhoods."""
    check_chunks(corpus)
    cutter = Cutter.of_setting(corpus.settings.get("chunks", "p"))
    stops = words_of(b"".join(stop_digests(params.stop_chunks, cutter)))
    facts = Facts()
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "reuse")
        arrays = stack.enter_context(page_arrays(corpus))
        given = (
            load_given(params.labelled, cutter, engine, min_bytes=params.min_labelled_bytes)
            if params.labelled
            else None
        )
        looped = set_aside(corpus, engine, params)
        numbers, sites = _sites(corpus, looped, given, params, arrays, facts)
        objects, counts = _discover(corpus, engine, given, stops, sites, params, arrays, facts)
        packed = {
            kind: arrays.save(f"{kind}-labels", _labels(table, stops).packed()) for kind, table in objects.items()
        }
        labels = Labels(packed["chunk"], packed["file"], sites, params.min_chunk_bytes)
        pages = detect_pages(corpus, engine, labels)
        has_chunks = pages[:, CHUNKS] > 0
        contains = share_of(pages[:, LABELS], pages[:, CHUNKS])
        is_target = contains > _threshold(
            "contains", params.contains_threshold, contains[has_chunks], params.deviations, facts
        )
        neighborhoods = _neighborhoods(corpus, engine, arrays.save("counts", pages.reshape(-1)), sites, params, facts)
        files = describe_files(corpus, engine, pages, is_target)
        tables = {
            "objects": describe_objects(corpus, engine, objects, stops, params, facts.value("candidate domains")),
            "files": files,
            "neighborhoods": neighborhoods,
            "sites": describe_sites(files, numbers, pages, is_target),
            "distribution": counts,
            "set_aside": looped.drop_columns(["page"]).slice(0, _SHOWN_LOOPS),
        }
    facts.add("pages with chunks", int(has_chunks.sum()))
    facts.add("chunks", int(pages[:, CHUNKS].sum()))
    facts.add("stop chunks removed", int(pages[:, STOPS].sum()))
    facts.add("labelled chunks found", int(pages[:, LABELS].sum()))
    facts.add("targets", int(is_target.sum()))
    return Result("reuse", tables | {"summary": facts.table()}, params.as_dict(), corpus.digest)


def set_aside(corpus: Corpus, engine: Engine, params: ReuseParams) -> pa.Table:
    """Pages whose URLs come from a crawler that went round in circles."""
    step = partial(find_loops, max_components=params.max_components, max_repeats=params.max_repeats)
    return engine.gather(
        engine.map(step, corpus.files(), name="Looking for crawler loops", label=lambda file: file.label), LOOPS
    )


def find_loops(file: PartFile, *, max_components: int, max_repeats: int) -> pa.Table:
    first = file.first
    found = [LOOPS.empty_table()]
    for table in file.batches(["url"]):
        components, repeats = loops(*text_buffers(table["url"]), max_components)
        rows = np.flatnonzero((components > max_components) | (repeats > max_repeats))
        urls = table["url"].take(pa.array(rows)).combine_chunks()
        pages = (rows + first).astype(np.uint32)
        found.append(
            pa.table([pages, urls, components[rows].astype(np.int64), repeats[rows].astype(np.int64)], schema=LOOPS)
        )
        first += len(table)
    return pa.concat_tables(found)


def _sites(
    corpus: Corpus, looped: pa.Table, given: Given | None, params: ReuseParams, arrays: PageArrays, facts: Facts
) -> tuple[npt.NDArray[np.uint32], PageArray]:
    """The domain of each page as a number; NOBODY for those set aside, and for those that may have what is labelled."""
    numbers = site_numbers(corpus, "domain")
    domains = int(numbers.max()) + 1 if len(numbers) else 0
    numbers[looped["page"].to_numpy()] = NOBODY
    facts.add("pages set aside as crawler loops", len(looped))
    facts.add("domains", domains)
    if given is not None:
        own = params.own.split(",") if params.own else given.domains
        is_own = own_pages(corpus, own)
        numbers[is_own] = NOBODY
        facts.add("own pages", int(is_own.sum()))
    wide = params.candidate_domains or max(int(domains * _CANDIDATE_SHARE), _LEAST_DOMAINS)
    facts.add("candidate domains", wide)
    return numbers, arrays.save("sites", numbers)


def _discover(
    corpus: Corpus, engine: Engine, given: Given | None, stops: npt.NDArray[np.uint32], sites: PageArray,
    params: ReuseParams, arrays: PageArrays, facts: Facts,
) -> tuple[dict[str, pa.Table], pa.Table]:  # fmt: skip
    """By kind the objects that are labelled or looked at; and the distribution of all."""
    found, counts = {}, []
    for kind in ("file", "chunk"):
        threshold = params.file_threshold if kind == "file" else params.chunk_threshold
        what = Counting(kind, sites, params.min_chunk_bytes)
        if given is not None:
            sought = given.files if kind == "file" else given.chunks
            facts.add(f"{kind}s given", len(sought))
            what = Counting(kind, sites, params.min_chunk_bytes, arrays.save(f"{kind}-given", sought.packed()), 1)
        with count_objects(corpus, engine, what) as objects:
            counted = count_duplicates(objects, engine, kind, least=what.least)
            if given is not None:
                threshold, why = 0, "every one that was given"
            elif threshold:
                why = "given"
            else:
                threshold, why = propose_threshold(counted, kind)
            facts.add(f"{kind} threshold", threshold, why)
            found[kind] = select_objects(
                objects, engine, kind, threshold=threshold, min_domains=params.min_domains,
                candidate_domains=int(facts.value("candidate domains")) if kind == "chunk" and given is None else 0,
            )  # fmt: skip
        counts.append(counted.add_column(0, "kind", pa.repeat(pa.scalar(kind), len(counted))))
        facts.add(f"different {kind}s", int(counted["objects"].to_numpy().sum()))
    assert COUNTS.names == REUSE_DISTRIBUTION.names[1:]
    return found, pa.concat_tables(counts).cast(REUSE_DISTRIBUTION)


def _labels(objects: pa.Table, stops: npt.NDArray[np.uint32]) -> Digests:
    """What detection looks for: labelled objects, and stop chunks, which count as nothing else."""
    labelled = objects.filter(objects["often"])
    flags = LABELLED + SHARED * (labelled["domains"].to_numpy() > 1)
    words = np.concatenate([column_words(labelled["sha1"]), stops])
    every = np.concatenate([flags, np.full(len(stops) // 5, STOP)]).astype(np.uint32)
    return Digests.make(words, every)


def _threshold(name: str, given: float, shares: npt.NDArray[np.float64], deviations: float, facts: Facts) -> float:
    mean, deviation = (float(shares.mean()), float(shares.std())) if len(shares) else (0.0, 0.0)
    return _derived(name, given, mean, deviation, deviations, facts)


def _derived(name: str, given: float, mean: float, deviation: float, deviations: float, facts: Facts) -> float:
    facts.add(f"{name} mean", mean)
    facts.add(f"{name} deviation", deviation)
    threshold = mean + deviations * deviation if given == DERIVED else given
    why = "given" if given != DERIVED else f"mean {mean:.3f} + {deviations:g} × deviation {deviation:.3f}"
    facts.add(f"{name} threshold", threshold, why)
    return threshold


def _neighborhoods(
    corpus: Corpus, engine: Engine, counts: PageArray, sites: PageArray, params: ReuseParams, facts: Facts
) -> pa.Table:
    tree, spread = find_neighborhoods(corpus, engine, counts, sites)
    mean, deviation = mean_and_deviation(spread)
    facts.add("neighborhoods", int(spread["neighborhoods"].to_numpy().sum()))
    threshold = _derived("badness", params.badness_threshold, mean, deviation, params.deviations, facts)
    judged: dict[str, Any] = judge_neighborhoods(
        tree, threshold, min_files=params.min_files, min_chunks=params.min_chunks
    )
    facts.add("bad neighborhoods", int(judged["bad"].sum()))
    columns = {name: judged[name] if name in judged else tree[name] for name in REUSE_NEIGHBORHOODS.names}
    return pa.table(columns).cast(REUSE_NEIGHBORHOODS)
