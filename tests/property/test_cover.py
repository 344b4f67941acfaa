"""The greedy cover, against counting again for every page it takes; and against the least cover there is."""

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_quilts import greedy_cover, minimum_cover
from unquilt.kernels import cover

some = settings(deadline=None, max_examples=200)
Shares = dict[int, set[int]]
shares = st.dictionaries(st.integers(0, 2**32 - 1), st.sets(st.integers(0, 7), min_size=1), max_size=8)
weights = st.lists(st.integers(1, 5), min_size=8, max_size=8)


def to_pairs(shares: Shares) -> npt.NDArray[np.uint64]:
    """Pages with the sets they are in, as the kernel takes them."""
    return np.array(sorted(page << 32 | one for page, sets in shares.items() for one in sets), np.uint64)


def to_grams(shares: Shares, weights: list[int]) -> dict[int, set[tuple[str, ...]]]:
    """The same with each set written out as the grams it stands for."""
    return {
        page: {(str(one), str(copy)) for one in sets for copy in range(weights[one])} for page, sets in shares.items()
    }


def run(shares: Shares, weights: list[int], least: float) -> list[tuple[int, int]]:
    taken, added = cover.greedy_cover(to_pairs(shares), np.array(weights, np.int64), least)
    return list(zip(taken.tolist(), added.tolist(), strict=True))


@some
@given(shares, weights)
def test_takes_again_and_again_the_page_that_covers_most_and_of_equals_the_first(
    shares: Shares, weights: list[int]
) -> None:
    assert run(shares, weights, 1.0) == greedy_cover(to_grams(shares, weights))


@some
@given(shares, weights, st.one_of(st.integers(1, 12), st.floats(1, 12)))
def test_takes_no_page_that_adds_too_little(shares: Shares, weights: list[int], least: float) -> None:
    slow = [(page, gain) for page, gain in greedy_cover(to_grams(shares, weights)) if gain >= least]
    assert run(shares, weights, float(least)) == slow


@some
@given(shares, weights)
def test_covers_everything_with_no_fewer_pages_than_the_least_cover(shares: Shares, weights: list[int]) -> None:
    grams = to_grams(shares, weights)
    taken = run(shares, weights, 1.0)
    everything = set().union(*grams.values())
    assert set().union(*(grams[page] for page, _ in taken)) == everything
    assert sum(gain for _, gain in taken) == len(everything)
    assert len(taken) >= minimum_cover(grams.values())


def test_greed_can_take_more_pages_than_the_least_cover() -> None:
    rows = {0: {0, 1, 2, 3}, 1: {0, 1, 4}, 2: {2, 3, 5}}
    assert run(rows, [1] * 6, 1.0) == [(0, 4), (1, 1), (2, 1)]
    assert minimum_cover(to_grams(rows, [1] * 6).values()) == 2


def test_equal_pages_are_taken_in_order_even_when_their_gain_falls_to_the_same() -> None:
    rows = {9: {0, 1, 2}, 8: {2, 3}, 7: {1, 4}, 3: {5}, 5: {5}}
    assert run(rows, [1] * 6, 1.0) == [(9, 3), (3, 1), (7, 1), (8, 1)]


def test_nothing_to_cover_takes_no_page() -> None:
    assert run({}, [], 1.0) == []
    assert run({}, [3, 4], 1.0) == []
    assert minimum_cover([]) == 0


@some
@given(shares)
def test_sets_and_pages_name_each_other(shares: Shares) -> None:
    pages, page_begins, sets, set_begins, members = cover.sources_of_sets(to_pairs(shares), 8)
    assert pages.tolist() == sorted(shares)
    for at, page in enumerate(pages.tolist()):
        assert sets[page_begins[at] : page_begins[at + 1]].tolist() == sorted(shares[page])
    for one in range(8):
        inside = members[set_begins[one] : set_begins[one + 1]].tolist()
        assert [sorted(shares)[at] for at in inside] == sorted(page for page in shares if one in shares[page])
