"""A second look at groups: those whose pages are alike on average are joined, each with the one nearest to it.

One pair of pages may be unlike by chance; the mean over many pairs is not. So a mean well below the threshold of a
pair still tells a template, and single pages find the cluster they belong to. A group is seen through at most
eight of its pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from unquilt.detectors.sites import PageArray, PageArrays
from unquilt.detectors.styles.find import REFERENCES, Groups, bucket_bits, page_ranges
from unquilt.detectors.styles.marks import Marks
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.radix import partition, runs, sort_pairs
from unquilt.kernels.second import nearest_units
from unquilt.kernels.styles import all_roots, join_edges, probe_keys

SEEN_PAGES = 8
_SMALL_GROUP = 64  # units of which all pairs are compared
_MOST_ROUNDS = 10

Nearest = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Units:
    """Groups and single pages as they are seen: some pages each, in files that workers map."""

    pages: PageArray  # those seen, unit by unit
    owners: PageArray  # the unit of each
    sizes: PageArray  # how many pages a unit has in all
    seen: int


def join_groups(marks: Marks, groups: Groups, second: float, arrays: PageArrays, engine: Engine) -> Groups:
    """int64[pages], for each page the first of its group, once groups of that mean similarity in cells are joined."""
    for turn in range(_MOST_ROUNDS):
        firsts, numbers = np.unique(groups, return_inverse=True)
        units = see_units(numbers, len(firsts), arrays, f"round-{turn}")
        partners = find_partners(marks, units, len(firsts), second, engine)
        mine = np.flatnonzero(partners >= 0)
        if not len(mine):
            break
        parent = np.arange(len(firsts))
        join_edges(parent, np.stack([mine, partners[mine]], axis=1).astype(np.uint32))
        groups = firsts[all_roots(parent)][numbers]
    return groups


def see_units(numbers: npt.NDArray[np.int64], count: int, arrays: PageArrays, name: str) -> Units:
    """At most eight pages of each unit, evenly over all it has."""
    sizes = np.bincount(numbers, minlength=count)
    order = np.argsort(numbers, kind="stable")
    seen = np.minimum(sizes, SEEN_PAGES)
    owners = np.repeat(np.arange(count), seen)
    step = np.arange(len(owners)) - np.repeat(np.cumsum(seen) - seen, seen)
    pages = order[(np.cumsum(sizes) - sizes)[owners] + step * sizes[owners] // seen[owners]]
    return Units(
        arrays.save(f"{name}-pages", pages.astype(np.uint32)),
        arrays.save(f"{name}-owners", owners.astype(np.uint32)),
        arrays.save(f"{name}-sizes", sizes.astype(np.uint32)),
        len(pages),
    )


def find_partners(marks: Marks, units: Units, count: int, second: float, engine: Engine) -> npt.NDArray[np.int64]:
    """int64[count], the nearest other unit of each, the first of equals; -1 if none is near enough."""
    partners, best = np.full(count, -1), np.zeros(count)
    bits = bucket_bits(units.seen * marks.m)
    step = partial(emit_cells, marks=marks, units=units, bits=bits)
    with engine.exchange(step, page_ranges(units.seen), name="Looking again", buckets=1 << bits) as blocks:
        compare = partial(compare_units, marks=marks, units=units, second=second, bits=bits)
        for mine, others, means in engine.reduce(compare, blocks, name="Comparing groups"):
            known, at_most = best[mine], partners[mine]
            is_better = (means > known) | ((means == known) & (others < at_most))
            best[mine[is_better]], partners[mine[is_better]] = means[is_better], others[is_better]
    return partners


def emit_cells(seen: range, *, marks: Marks, units: Units, bits: int) -> Iterator[Block]:
    """Each cell of each page seen, with its place among them."""
    cells = marks.load()[units.pages.load()[seen.start : seen.stop]]
    keys, places = probe_keys(cells, np.arange(marks.m).reshape(-1, 1), seen.start)
    keys, places, cuts = partition(keys, places, bits)
    yield Block(cuts, (keys, places))


def compare_units(bucket: Bucket, *, marks: Marks, units: Units, second: float, bits: int) -> Nearest:
    """For each unit of a bucket the nearest of those that share a cell with it there, if it is near enough."""
    if not bucket.columns or not len(bucket.columns[0]):
        return np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0)
    keys, places = sort_pairs(*bucket.columns, bits)
    mine, others, means = nearest_units(
        places, runs(keys), units.pages.load(), units.owners.load(), units.sizes.load(), marks.load(), second,
        _SMALL_GROUP, REFERENCES,
    )  # fmt: skip
    order = np.lexsort((others, -means, mine))
    mine, others, means = mine[order], others[order], means[order]
    is_first = np.diff(mine, prepend=mine[:1] - 1) != 0 if len(mine) else np.empty(0, bool)
    return mine[is_first], others[is_first], means[is_first]
