"""Grams on their way to the pages that share them, against dictionaries of sets."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels import postings, quilts
from unquilt.kernels.radix import runs, sort_pairs

MASK = 2**64 - 1
SET, TOTAL, COMMON = 1, 0, 2
some = settings(deadline=None, max_examples=150)
Row = tuple[int, tuple[int, ...], int]
"""Tag, pages, count."""

spread = st.sampled_from([2, 1 << 40, 1 << 60, 0x3C6EF372FE94F82A])
"""Makes hashes of small numbers: neighbors, or such that the slots of a table collide. Never odd."""
documents = st.lists(st.lists(st.integers(0, 12), max_size=14), max_size=8)


def u64(values: list[int]) -> npt.NDArray[np.uint64]:
    return np.array(values, np.uint64)


def column(documents: list[list[int]], factor: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    grams = [gram * factor & MASK for page in documents for gram in page]
    return u64(grams), np.cumsum([0, *map(len, documents)]).astype(np.int64)


def read_groups(keys: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]) -> list[Row]:
    """The rows between two exchanges as tag, pages and count: rows without a count go on with the pages before."""
    groups: list[Row] = []
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        page, count = value >> 32, value & 0xFFFFFFFF
        if count:
            groups.append((key & 3, (page,), count))
        else:
            tag, pages, known = groups.pop()
            assert tag == key & 3 == SET
            groups.append((tag, (*pages, page), known))
    return groups


def make_groups(
    documents: list[list[int]], first: int, m: int, sites: list[int]
) -> Counter[tuple[int, tuple[int, ...]]]:
    """What is true: the grams of each set of 2 to m pages, of each page, and those too common but foreign."""
    expected: Counter[tuple[int, tuple[int, ...]]] = Counter()
    pages_of = defaultdict(list)
    for number, grams in enumerate(documents, first):
        for gram in set(grams):
            pages_of[gram].append(number)
        if grams:
            expected[TOTAL, (number,)] = len(set(grams))
    for pages in pages_of.values():
        if 2 <= len(pages) <= m:
            expected[SET, tuple(pages)] += 1
        elif len(pages) > m and len({sites[page] for page in pages}) > 1:
            expected.update((COMMON, (page,)) for page in pages)
    return expected


def shared_rows(
    documents: list[list[int]], factor: int, first: int, m: int, sites: list[int]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    grams, offsets = postings.distinct_grams(*column(documents, factor))
    keys, pages = sort_pairs(*postings.tag_grams(grams, offsets, first))
    rows: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]
    rows = postings.page_sets(keys, pages, runs(keys), m, np.array(sites, np.uint32))
    return rows


def merged(
    keys: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    keys, values = sort_pairs(keys, values)
    rows: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] = postings.merge_rows(keys, values, runs(keys))
    return rows


@some
@given(documents, spread)
def test_distinct_grams_are_those_of_a_dictionary_in_its_order(documents: list[list[int]], factor: int) -> None:
    grams, offsets = postings.distinct_grams(*column(documents, factor))
    expected = [[gram * factor & MASK for gram in dict.fromkeys(page)] for page in documents]
    assert [grams[a:b].tolist() for a, b in pairwise(offsets)] == expected
    assert len(grams) == offsets[-1]


@some
@given(documents, spread, st.integers(0, 2**32 - 100))
def test_tagged_rows_are_each_gram_and_each_count_with_its_page(
    documents: list[list[int]], factor: int, first: int
) -> None:
    documents = [list(dict.fromkeys(page)) for page in documents]
    keys, owners = postings.tag_grams(*column(documents, factor), first)
    rows = list(zip(keys.tolist(), owners.tolist(), strict=True))
    grams = [(key - 1, page) for key, page in rows if key & 1]
    counts = {page: (key & 0xFFFFFFFF) >> 1 for key, page in rows if not key & 1}
    assert grams == [(gram * factor & MASK, first + i) for i, page in enumerate(documents) for gram in page]
    assert counts == {first + i: len(page) for i, page in enumerate(documents) if page}


@some
@given(documents, spread, st.integers(0, 1000), st.integers(2, 5), st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_sets_of_pages_are_those_of_a_dictionary(
    documents: list[list[int]], factor: int, first: int, m: int, some_sites: list[int]
) -> None:
    sites = [0] * first + some_sites
    groups = read_groups(*shared_rows(documents, factor, first, m, sites))
    expected = make_groups(documents, first, m, sites)
    counted: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for tag, pages, count in groups:
        assert count == 1 or tag == TOTAL
        counted[tag, pages] += count
    assert counted == expected


@some
@given(documents, st.integers(2, 5), st.lists(st.integers(0, 2), min_size=8, max_size=8), st.integers(1, 4))
def test_merging_leaves_one_row_for_each_set_and_page_wherever_it_is_done(
    documents: list[list[int]], m: int, sites: list[int], pieces: int
) -> None:
    keys, values = shared_rows(documents, 0x3C6EF372FE94F82A, 0, m, sites)
    expected = [(tag, pages, count) for (tag, pages), count in make_groups(documents, 0, m, sites).items()]
    once = merged(keys, values)
    assert sorted(read_groups(*once)) == sorted(expected)
    counts = values & np.uint64(0xFFFFFFFF)
    cuts = np.flatnonzero(counts)[:: max(len(values) // pieces, 1)]  # only where a set begins
    parts = [merged(a, b) for a, b in zip(np.split(keys, cuts), np.split(values, cuts), strict=True)]
    again = merged(np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts]))
    assert sorted(read_groups(*again)) == sorted(expected)


def test_different_sets_of_one_key_stay_apart() -> None:
    key = 4 * 77 | SET
    rows = [(1, 1), (2, 0), (1, 1), (3, 0), (1, 2), (2, 0), (1, 1), (2, 0), (3, 0), (2, 1), (3, 0), (1, 4), (3, 0)]
    keys, values = u64([key] * len(rows)), u64([page << 32 | count for page, count in rows])
    assert read_groups(*postings.merge_rows(keys, values, runs(keys))) == [
        (SET, (1, 2), 3),
        (SET, (1, 3), 5),
        (SET, (1, 2, 3), 1),
        (SET, (2, 3), 1),
    ]


def test_pages_whose_counts_have_one_key_stay_apart() -> None:
    keys = u64([0b1010, 0b1010])  # five grams each, in the same place
    rows = postings.page_sets(keys, np.array([3, 8], np.uint32), runs(keys), 50, np.zeros(9, np.uint32))
    assert read_groups(*rows) == [(TOTAL, (3,), 5), (TOTAL, (8,), 5)]
    key = u64([4 * 9 | TOTAL] * 2)
    assert read_groups(*postings.merge_rows(key, rows[1], runs(key))) == [(TOTAL, (3,), 5), (TOTAL, (8,), 5)]


@some
@given(documents, st.integers(2, 6), st.integers(1, 5), st.lists(st.integers(0, 1), min_size=8, max_size=8))
def test_each_range_of_pages_gets_the_sets_of_its_pages_whole_and_once(
    documents: list[list[int]], m: int, pages_per_bucket: int, sites: list[int]
) -> None:
    keys, values = merged(*shared_rows(documents, 2, 0, m, sites))
    buckets = -(-8 // pages_per_bucket)
    offsets, pages, numbers = postings.send_rows(keys, values, buckets, pages_per_bucket)
    truth = make_groups(documents, 0, m, sites)
    assert len(offsets) == buckets + 1
    for bucket in range(buckets):
        first, rows = bucket * pages_per_bucket, slice(offsets[bucket], offsets[bucket + 1])
        mine = set(range(first, first + pages_per_bucket))
        totals, common, bounds, weights = quilts.read_rows(pages[rows], numbers[rows], first, pages_per_bucket)
        assert totals.tolist() == [truth[TOTAL, (page,)] for page in sorted(mine)]
        assert common.tolist() == [truth[COMMON, (page,)] for page in sorted(mine)]
        sets = [pages[rows][a:b].tolist() for a, b in bounds.reshape(-1, 2)]
        found = sorted((tuple(one), weight) for one, weight in zip(sets, weights.tolist(), strict=True))
        assert found == sorted((p, n) for (tag, p), n in truth.items() if tag == SET and mine & set(p))
        begins, inside = quilts.sets_of_pages(pages[rows], bounds, first, pages_per_bucket)
        for at, page in enumerate(sorted(mine)):
            has = inside[begins[at] : begins[at + 1]].tolist()
            assert has == [s for s, one in enumerate(sets) if page in one]


@some
@given(st.lists(st.integers(0, MASK), max_size=20), st.lists(st.integers(0, MASK), max_size=20), st.data())
def test_keys_are_among_those_wanted_as_in_a_set(keys: list[int], wanted: list[int], data: st.DataObject) -> None:
    keys += data.draw(st.lists(st.sampled_from(wanted), max_size=5)) if wanted else []
    assert postings.are_among(u64(keys), u64(wanted)).tolist() == [key in set(wanted) for key in keys]


def test_no_pages_give_no_rows() -> None:
    grams, offsets = postings.distinct_grams(u64([]), np.zeros(1, np.int64))
    assert (grams.tolist(), offsets.tolist()) == ([], [0])
    keys, values = shared_rows([], 2, 0, 5, [])
    assert keys.tolist() == values.tolist() == []
    cuts, pages, numbers = postings.send_rows(*merged(keys, values), 3, 4)
    assert (cuts.tolist(), pages.tolist(), numbers.tolist()) == ([0, 0, 0, 0], [], [])
