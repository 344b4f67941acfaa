"""Styles: pages made by the same template or script, whatever their words (Urvoy, Lavergne and Filoche, AIRWeb 2006).

Each probe groups the pages that agree in some cells of their fingerprints; similar pages of a group get an edge;
clusters are what edges connect. Only edges that connect something new leave a step, and one number a page is all
that is ever held of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import numpy as np
import numpy.typing as npt

from unquilt.corpus import Corpus
from unquilt.detectors.sites import page_arrays
from unquilt.detectors.styles.marks import Marks, write_marks
from unquilt.detectors.styles.params import StyleParams
from unquilt.engines import Block, Bucket, Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.kernels.radix import partition, runs, sort_pairs
from unquilt.kernels.styles import all_roots, join_edges, link_groups, probe_keys
from unquilt.result import Result

SMALL_GROUP = 256
"""Pages of a group of which all pairs are compared; in a larger one each is compared with references."""
REFERENCES = 64
"""Pages of a large group that each other page is compared with, at most: the first ones like none before them."""

PAGES_PER_ITEM = 1 << 16
_ROWS_PER_BUCKET = 1 << 16
_MOST_BITS = 11

Groups = npt.NDArray[np.int64]


def find_styles(corpus: Corpus, params: StyleParams = StyleParams(), *, engine: Engine | None = None) -> Result:
    """Every cluster of pages made by one template, with its kind, its prototype and its members."""
    from unquilt.detectors.styles.clusters import describe_clusters
    from unquilt.detectors.styles.second import join_groups

    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "styles")
        arrays = stack.enter_context(page_arrays(corpus))
        marks = write_marks(corpus, params, engine, arrays.path("marks"))
        groups = link_pages(marks, params, engine)
        if params.second:
            groups = join_groups(marks, groups, params.second, arrays, engine)
        tables = describe_clusters(corpus, marks, groups, params.min_pages, arrays, engine)
    return Result("styles", tables, params.as_dict(), corpus.digest)


def link_pages(marks: Marks, params: StyleParams, engine: Engine) -> Groups:
    """int64[pages], for each page the first page of its group: those that edges of similarity connect."""
    probes = np.array(params.probes(), np.int64)
    bits = bucket_bits(marks.pages * len(probes))
    groups = np.arange(marks.pages)
    with engine.exchange(
        partial(emit_probes, marks=marks, probes=probes, bits=bits), page_ranges(marks.pages), name="Probing",
        buckets=1 << bits,
    ) as blocks:  # fmt: skip
        step = partial(link_bucket, marks=marks, t=params.t, bits=bits)
        for edges in engine.reduce(step, blocks, name="Comparing pages"):
            join_edges(groups, edges)
    firsts: Groups = all_roots(groups)
    return firsts


def page_ranges(pages: int) -> list[range]:
    """All pages in ranges, each the item of a step."""
    return [range(first, min(first + PAGES_PER_ITEM, pages)) for first in range(0, pages, PAGES_PER_ITEM)]


def bucket_bits(rows: int) -> int:
    return min(max((rows // _ROWS_PER_BUCKET).bit_length(), 1), _MOST_BITS)


def emit_probes(pages: range, *, marks: Marks, probes: npt.NDArray[np.int64], bits: int) -> Iterator[Block]:
    """For each probe of each page a key that pages with the same cells share."""
    keys, owners = probe_keys(marks.load()[pages.start : pages.stop], probes, pages.start)
    keys, owners, cuts = partition(keys, owners, bits)
    yield Block(cuts, (keys, owners))


def link_bucket(bucket: Bucket, *, marks: Marks, t: int, bits: int) -> npt.NDArray[np.uint32]:
    """Edges that connect the similar pages of each group of a bucket."""
    if not bucket.columns:
        return np.empty((0, 2), np.uint32)
    keys, pages = sort_pairs(*bucket.columns, bits)
    edges: npt.NDArray[np.uint32] = link_groups(pages, runs(keys), marks.load(), t, SMALL_GROUP, REFERENCES)
    return edges
