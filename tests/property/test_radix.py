"""Radix sort and its scans, against Python's sorted and sets."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels import radix

MASK = 2**64 - 1
some = settings(deadline=None, max_examples=100)
keys_of_all_kinds = st.lists(
    st.one_of(st.integers(0, MASK), st.integers(0, 3), st.integers(0, 3).map(lambda x: x << 62)), max_size=60
)


def array(values: list[int]) -> npt.NDArray[np.uint64]:
    return np.array(values, np.uint64)


@some
@given(keys_of_all_kinds, st.integers(0, 12))
def test_partition_groups_by_top_bits_and_keeps_the_order(keys: list[int], bits: int) -> None:
    values = np.arange(len(keys), dtype=np.uint32)
    out_keys, out_values, offsets = radix.partition(array(keys), values, bits)
    expected = sorted(range(len(keys)), key=lambda i: keys[i] >> (64 - bits))
    assert out_values.tolist() == expected
    assert out_keys.tolist() == [keys[i] for i in expected]
    assert len(offsets) == 2**bits + 1
    assert offsets[-1] == len(keys)
    for bucket in {key >> (64 - bits) for key in keys}:
        inside = out_keys[offsets[bucket] : offsets[bucket + 1]].tolist()
        assert inside == [key for key in keys if key >> (64 - bits) == bucket]


@some
@given(keys_of_all_kinds)
def test_sorted_pairs_are_in_key_order_and_then_in_their_old_order(keys: list[int]) -> None:
    given_keys = array(keys)
    out_keys, out_values = radix.sort_pairs(given_keys, np.arange(len(keys), dtype=np.uint32))
    expected = sorted(range(len(keys)), key=keys.__getitem__)
    assert out_values.tolist() == expected
    assert out_keys.tolist() == [keys[i] for i in expected]
    assert given_keys.tolist() == keys


@some
@given(keys_of_all_kinds, st.integers(0, 63), st.integers(0, MASK))
def test_sorting_may_skip_the_bits_all_keys_share(keys: list[int], shared: int, top: int) -> None:
    low = (1 << (64 - shared)) - 1
    keys = [top & ~low & MASK | key & low for key in keys]
    out_keys, _ = radix.sort_pairs(array(keys), np.arange(len(keys), dtype=np.uint32), shared)
    assert out_keys.tolist() == sorted(keys)


@pytest.mark.parametrize("value_type", [np.uint32, np.uint64, np.int64])
def test_values_keep_their_type(value_type: type[np.generic]) -> None:
    keys, values = array([3, 1, 2]), np.array([30, 10, 20]).astype(value_type)
    out_keys, out_values = radix.sort_pairs(keys, values)
    assert (out_keys.tolist(), out_values.tolist()) == ([1, 2, 3], [10, 20, 30])
    assert out_values.dtype == value_type
    assert radix.partition(keys, values, 4)[1].dtype == value_type


def test_many_pairs_sort_as_numpy_sorts_them() -> None:
    keys = np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64)
    out_keys, out_values = radix.sort_pairs(keys, np.arange(len(keys), dtype=np.uint32))
    assert np.array_equal(out_values, np.argsort(keys, kind="stable"))
    assert np.array_equal(out_keys, np.sort(keys))


@some
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=40))
def test_document_frequencies_count_each_page_once(records: list[tuple[int, int]]) -> None:
    records = sorted(records)
    keys = array([key for key, _ in records])
    pages = np.array([page for _, page in records], np.int64)
    unique, frequencies = radix.document_frequencies(keys, pages)
    expected = {key: len({page for k, page in records if k == key}) for key, _ in records}
    assert dict(zip(unique.tolist(), frequencies.tolist(), strict=True)) == expected
    assert unique.tolist() == sorted(expected)


@some
@given(st.lists(st.integers(0, 6), max_size=40))
def test_runs_begin_where_the_key_changes(keys: list[int]) -> None:
    keys = sorted(keys)
    begins = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    assert radix.runs(array(keys)).tolist() == [*begins, len(keys)]


@given(st.lists(st.lists(st.integers(0, 7), max_size=20), min_size=1, max_size=5))
def test_blocks_joined_are_the_rows_by_bucket_and_then_by_block(blocks: list[list[int]]) -> None:
    rows = [sorted(block) for block in blocks]  # a block is sorted by bucket; here a row is its own bucket
    starts = np.cumsum([0, *map(len, rows)])[:-1]
    cuts = np.array([np.searchsorted(row, range(9)) + start for row, start in zip(rows, starts, strict=True)])
    marked = np.array([bucket * 100 + b for b, row in enumerate(rows) for bucket in row], np.int64)
    assert radix.regroup(marked, cuts).tolist() == sorted(marked.tolist())
