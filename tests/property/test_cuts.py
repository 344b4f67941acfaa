"""Texts without their passages, and with them again, character by character."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_clean import Passage, cut, span_of
from slow_quilts import spans_of, words_of
from unquilt.clean.restore import restore_text
from unquilt.kernels import cuts, passages, words

some = settings(deadline=None, max_examples=300)
letters = st.sampled_from("aAßİé\u0301\u0345中文ñน้𝒳𠀀🙂.,(-» \n\t\x0b\x85\u2028\u3000\0")
texts = st.lists(st.text(letters, max_size=24), max_size=5)


def as_column(column: list[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    encoded = [text.encode() for text in column]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]).astype(np.int32)


def strings(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32]) -> list[str]:
    return [data[a:b].tobytes().decode() for a, b in pairwise(offsets)]


@some
@given(texts, st.data())
def test_what_is_cut_out_of_a_text_can_be_put_back(column: list[str], data: st.DataObject) -> None:
    drawn = [data.draw(st.lists(st.booleans(), min_size=len(spans_of(t)), max_size=len(spans_of(t)))) for t in column]
    splits = [data.draw(st.sets(st.integers(0, len(spans_of(t))))) for t in column]  # passages that touch
    found = []
    for is_taken, split in zip(drawn, splits, strict=True):
        mine: list[Passage] = []
        for word in np.flatnonzero(is_taken).tolist():
            if mine and mine[-1].end == word and word not in split:
                mine[-1] = Passage(mine[-1].begin, word + 1, "copy")
            else:
                mine.append(Passage(word, word + 1, "copy"))
        found.append(mine)
    rows = [(number, one.begin, one.end) for number, mine in enumerate(found) for one in mine]
    column_data, bounds = as_column(column)
    counts = np.cumsum([0, *(len(spans_of(text)) for text in column)])
    places = words.place_words_column(column_data, bounds, int(counts[-1]), in_bytes=True)
    spans = cuts.span_passages(column_data, bounds, np.array(rows, np.int64).reshape(-1, 3), counts, *places)
    expected = [[span_of(text, one, mine) for one in mine] for text, mine in zip(column, found, strict=True)]
    assert spans[:, 2:].tolist() == [list(span) for mine in expected for span in mine]
    firsts = np.cumsum([0, *map(len, found)])
    after = strings(*cuts.cut_spans(column_data, bounds, firsts, spans[:, 0].copy(), spans[:, 1].copy()))
    assert after == [cut(text, mine) for text, mine in zip(column, expected, strict=True)]
    base = bounds[[number for number, _, _ in rows]].astype(np.int64)
    pieces = iter(strings(*cuts.copy_spans(column_data, base + spans[:, 0], base + spans[:, 1])))
    for text, shorter, gone, is_taken in zip(column, after, expected, drawn, strict=True):
        assert restore_text(shorter, [(*span, next(pieces)) for span in gone]) == text
        left = [word for word, taken in zip(words_of(text), is_taken, strict=True) if not taken]
        assert words_of(shorter) == left


@some
@given(st.lists(st.integers(0, 5), max_size=30))
def test_an_order_by_number_keeps_that_of_equal_ones(numbers: list[int]) -> None:
    order, begins = passages.order_by(np.array(numbers, np.int64), 6)
    assert order.tolist() == sorted(range(len(numbers)), key=lambda i: numbers[i])
    assert begins.tolist() == [sum(number < one for number in numbers) for one in range(7)]
