"""Sorting and searching arrays, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unquilt.kernels.arrays import grown, grown_rows, place_of, sort

numbers = st.lists(st.integers(0, 50) | st.integers(0, 2**32 - 1), max_size=300)


@given(numbers)
def test_sort_agrees_with_numpy(values: list[int]) -> None:
    for kind in (np.uint32, np.uint64, np.int64):
        mine = np.array(values, kind)
        sort(mine)
        assert mine.tolist() == sorted(values)


@pytest.mark.parametrize("n", [0, 1, 16, 17, 5000])
def test_sort_takes_any_order(n: int) -> None:
    up = np.arange(n, dtype=np.uint64)
    for values in (up, up[::-1], up // np.uint64(7), up % np.uint64(7), np.r_[up, up[::-1]], up * np.uint64(0)):
        mine = values.copy()
        sort(mine)
        assert mine.tolist() == sorted(values.tolist())


@given(numbers, st.integers(0, 100))
def test_place_of_counts_what_is_less(values: list[int], sought: int) -> None:
    assert place_of(np.array(sorted(values), np.uint64), np.uint64(sought)) == sum(value < sought for value in values)


def test_what_has_grown_begins_with_what_was_there() -> None:
    values = np.arange(5, dtype=np.uint32)
    assert len(grown(values)) == 10
    assert grown(values)[:5].tolist() == values.tolist()
    rows = np.arange(6, dtype=np.int64).reshape(3, 2)
    assert grown_rows(rows).shape == (6, 2)
    assert grown_rows(rows)[:3].tolist() == rows.tolist()
