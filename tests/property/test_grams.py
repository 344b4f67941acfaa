"""Gram fingerprints, against each gram hashed on its own."""

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from test_words import MASK, slow_mix

from unquilt.kernels import grams

some = settings(deadline=None, max_examples=150)
hashes = st.lists(st.one_of(st.integers(0, MASK), st.integers(0, 2)), max_size=30)
lengths = st.integers(1, 9)


def array(values: list[int]) -> npt.NDArray[np.uint64]:
    return np.array(values, np.uint64)


def slow_gram(words: list[int]) -> int:
    h = 0
    for word in words:
        h = (h * 0xA0761D6478BD642F + word) & MASK
    return slow_mix(h)


@some
@given(hashes, lengths)
def test_grams_are_those_of_each_k_consecutive_words(words: list[int], k: int) -> None:
    expected = [slow_gram(words[i : i + k]) for i in range(len(words) - k + 1)]
    assert grams.hash_grams(array(words), k).tolist() == expected


@some
@given(hashes, lengths)
def test_on_a_circle_every_word_begins_a_gram(words: list[int], k: int) -> None:
    around = words * (k + 1)
    expected = [slow_gram(around[i : i + k]) for i in range(len(words))]
    assert grams.hash_grams_circular(array(words), k).tolist() == expected


@some
@given(st.lists(hashes, max_size=6), lengths)
def test_a_column_gives_the_grams_of_each_page_alone(pages: list[list[int]], k: int) -> None:
    offsets = np.cumsum([0] + [len(page) for page in pages])
    found, gram_offsets = grams.hash_grams_column(array([word for page in pages for word in page]), offsets, k)
    assert len(gram_offsets) == len(pages) + 1
    assert gram_offsets[-1] == len(found)
    for i, page in enumerate(pages):
        begin, end = gram_offsets[i], gram_offsets[i + 1]
        assert found[begin:end].tolist() == grams.hash_grams(array(page), k).tolist()


def test_the_order_of_words_matters() -> None:
    assert grams.hash_grams(array([1, 2]), 2)[0] != grams.hash_grams(array([2, 1]), 2)[0]


def test_the_top_bits_of_grams_are_spread_evenly() -> None:
    found = grams.hash_grams(np.arange(64_000, dtype=np.uint64), 5)
    buckets = np.bincount((found >> np.uint64(58)).astype(np.int64), minlength=64)
    assert buckets.min() > 800
    assert buckets.max() < 1200
