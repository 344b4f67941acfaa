"""Where patches stand, against a search that looks at one gram and one word at a time."""

from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_quilts import grams_of, spans_of, words_of
from unquilt.kernels import patches, words

some = settings(deadline=None, max_examples=200)
LETTERS = "aAbBßİéE\u0301\u0345中文ñน้𝒳𐐀𐐨𠀀🙂 -"
texts = st.text(st.sampled_from(LETTERS + "      "), max_size=30)
grams = st.lists(st.integers(0, 5), max_size=14)
claims = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 20)), max_size=12)
Numbers = npt.NDArray[np.int64]


def numbers(values: list[int]) -> Numbers:
    return np.array(values, np.int64)


def as_column(column: list[str]) -> tuple[npt.NDArray[np.uint8], Numbers]:
    encoded = [text.encode() for text in column]
    return np.frombuffer(b"".join(encoded), np.uint8), numbers([0, *map(len, encoded)]).cumsum()


def place_words(text: str, *, in_bytes: bool) -> tuple[Numbers, Numbers]:
    data, offsets = as_column([text])
    return words.place_words_column(data, offsets, len(spans_of(text)), in_bytes=in_bytes)


def slow_claims(page: list[int], sources: list[list[int]]) -> list[tuple[int, int]]:
    """For each gram the first source that has it, and where: after the gram before it, or where it first stands."""
    found: list[tuple[int, int]] = []
    for at, gram in enumerate(page):
        rank = next((rank for rank, source in enumerate(sources) if gram in source), -1)
        if rank < 0:
            found.append((-1, -1))
            continue
        place = sources[rank].index(gram)
        if at and found[at - 1][0] == rank:
            after = found[at - 1][1] + 1
            place = after if sources[rank][after : after + 1] == [gram] else place
        found.append((rank, place))
    return found


@some
@given(st.lists(grams, min_size=1, max_size=6), st.data(), st.sampled_from([1, 1 << 40, 1 << 62]))
def test_a_gram_goes_to_the_first_source_that_has_it(pages: list[list[int]], data: st.DataObject, factor: int) -> None:
    page_numbers = st.integers(0, len(pages) - 1)
    quilts = data.draw(st.lists(page_numbers, unique=True, max_size=3))
    sources = [data.draw(st.lists(page_numbers, unique=True, max_size=4)) for _ in quilts]
    offsets, ranks, places = patches.claim_grams(
        np.array([gram * factor & (1 << 64) - 1 for page in pages for gram in page], np.uint64),
        numbers([0, *map(len, pages)]).cumsum(),
        numbers(quilts),
        numbers([0, *map(len, sources)]).cumsum(),
        numbers([source for mine in sources for source in mine]),
    )
    assert offsets.tolist() == numbers([0, *(len(pages[quilt]) for quilt in quilts)]).cumsum().tolist()
    distinct = [[gram * factor & (1 << 64) - 1 for gram in page] for page in pages]
    for q, quilt in enumerate(quilts):
        mine = slice(offsets[q], offsets[q + 1])
        expected = slow_claims(distinct[quilt], [distinct[source] for source in sources[q]])
        assert list(zip(ranks[mine].tolist(), places[mine].tolist(), strict=True)) == expected


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


@some
@given(texts, texts)
def test_words_are_equal_when_their_folded_characters_are(one: str, other: str) -> None:
    a, b = (np.frombuffer(text.encode(), np.uint8) for text in (one, other))
    spans_a, spans_b = (list(zip(*place_words(text, in_bytes=True), strict=True)) for text in (one, other))
    for word_a, span_a in zip(words_of(one), spans_a, strict=True):
        for word_b, span_b in zip(words_of(other), spans_b, strict=True):
            assert patches.same_word(a, *span_a, b, *span_b, words.TABLE) == (word_a == word_b)


@some
@given(texts, texts, st.integers(1, 4), st.data())
def test_claims_are_dropped_exactly_where_the_words_differ(page: str, source: str, k: int, data: st.DataObject) -> None:
    mine, theirs = grams_of(words_of(page), k), grams_of(words_of(source), k)
    claim = st.tuples(st.sampled_from([-1, 0, 1]), st.integers(0, max(len(theirs) - 1, 0)))
    claimed = data.draw(st.lists(claim, min_size=len(mine), max_size=len(mine))) if theirs else [(-1, 0)] * len(mine)
    ranks, places = numbers([rank for rank, _ in claimed]), numbers([place for _, place in claimed])
    dropped = patches.drop_collisions(
        np.frombuffer(page.encode(), np.uint8), *place_words(page, in_bytes=True),
        np.frombuffer(source.encode(), np.uint8), *place_words(source, in_bytes=True),
        1, k, ranks, places, words.TABLE,
    )  # fmt: skip
    differ = [rank == 1 and mine[at] != theirs[place] for at, (rank, place) in enumerate(claimed)]
    assert dropped == sum(differ)
    assert ranks.tolist() == [-1 if wrong else rank for wrong, (rank, _) in zip(differ, claimed, strict=True)]
    assert places.tolist() == [place for _, place in claimed]


def test_no_grams_give_no_patches() -> None:
    ranks, shifts = patches.claim_words(numbers([]), numbers([]), 5)
    assert ranks.tolist() == shifts.tolist() == []
    assert [column.tolist() for column in patches.patch_runs(ranks, shifts)] == [[], [], [], []]
