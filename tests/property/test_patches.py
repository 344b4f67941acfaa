"""Where patches stand, against a search that looks at one gram and one word at a time."""

from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_quilts import spans_of
from unquilt.kernels import patches, words

some = settings(deadline=None, max_examples=200)
LETTERS = "aAbBßİéE\u0301\u0345中文ñน้𝒳𐐀𐐨𠀀🙂 -"
texts = st.text(st.sampled_from(LETTERS + "      "), max_size=30)
claims = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 20)), max_size=12)
Numbers = npt.NDArray[np.int64]


def numbers(values: list[int]) -> Numbers:
    return np.array(values, np.int64)


def as_column(column: list[str]) -> tuple[npt.NDArray[np.uint8], Numbers]:
    encoded = [text.encode() for text in column]
    return np.frombuffer(b"".join(encoded), np.uint8), numbers([0, *map(len, encoded)]).cumsum()


@some
@given(claims, st.integers(1, 5))
def test_a_word_goes_to_the_first_source_and_then_to_the_first_gram(claims: list[tuple[int, int]], k: int) -> None:
    ranks, shifts = patches.claim_words(
        numbers([rank for rank, _ in claims]), numbers([place for _, place in claims]), k
    )
    assert len(ranks) == (len(claims) + k - 1 if claims else 0)
    for word in range(len(ranks)):
        covering = [(rank, at, place) for at, (rank, place) in enumerate(claims) if at <= word < at + k and rank >= 0]
        rank, at, place = min(covering, default=(-1, 0, 0))
        assert ranks[word] == rank
        assert rank < 0 or shifts[word] == place - at


@some
@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 1)), max_size=20))
def test_patches_are_maximal_runs_of_words(claims: list[tuple[int, int]]) -> None:
    claims = [claim if claim[0] >= 0 else (-1, 0) for claim in claims]
    found = patches.patch_runs(numbers([rank for rank, _ in claims]), numbers([shift for _, shift in claims]))
    expected, at = [], 0
    for (rank, shift), run in groupby(claims):
        end = at + len(list(run))
        if rank >= 0:
            expected.append((at, end, rank, shift))
        at = end
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@some
@given(st.lists(texts, max_size=4), st.booleans(), st.text(max_size=2))
def test_words_stand_where_the_characters_of_the_text_say(column: list[str], large: bool, before: str) -> None:
    data, offsets = as_column([before, *column])
    offsets = offsets[1:]
    count = sum(len(spans_of(text)) for text in column)
    given_offsets = offsets if large else offsets.astype(np.int32)
    begins, ends = words.place_words_column(data, given_offsets, count)
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == [s for text in column for s in spans_of(text)]
    byte_begins, byte_ends = words.place_words_column(data, given_offsets, count, in_bytes=True)
    spans = [words.word_spans(data[a:b]) for a, b in pairwise(offsets)]
    assert byte_begins.tolist() == [begin for _, begins, _ in spans for begin in begins.tolist()]
    assert byte_ends.tolist() == [end for _, _, ends in spans for end in ends.tolist()]


def test_no_grams_give_no_patches() -> None:
    ranks, shifts = patches.claim_words(numbers([]), numbers([]), 5)
    assert ranks.tolist() == shifts.tolist() == []
    assert [column.tolist() for column in patches.patch_runs(ranks, shifts)] == [[], [], [], []]
