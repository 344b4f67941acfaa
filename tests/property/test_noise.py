"""The noise fingerprint, against one made from the decoded page part by part."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_words import ASSIGNED, MASK, slow_mix, texts

from unquilt.kernels import noise

BASE = 0x9E6C63D0876A9A63
some = settings(deadline=None, max_examples=150)
pages = st.one_of(
    st.lists(texts, max_size=8).map(b"".join),
    st.text(st.sampled_from('<>/="ab1 \né中🙂\u0301'), max_size=200).map(str.encode),
)
shapes = st.tuples(st.sampled_from([1, 2, 3, 5, 32]), st.sampled_from([1, 3, 8, 128]))


def slow_noise(html: bytes) -> list[int]:
    """The characters of the noise; surrogateescape keeps each invalid byte as one character."""
    characters = html.decode("utf8", "surrogateescape")
    return [ord(c) for c in characters if not (ASSIGNED[ord(c)] and c.isalnum())]


def slow_minima(html: bytes, n: int, m: int, shifts: list[int], masks: list[int]) -> dict[int, int]:
    """The least value of each cell that has one."""
    characters = slow_noise(html)
    minima: dict[int, int] = {}
    for begin in range(len(characters) - n + 1):
        h = 0
        for character in characters[begin : begin + n]:
            h = (h * BASE + character) & MASK
        h = slow_mix(h)
        cell = h % m
        rotated = (h << shifts[cell] | h >> (64 - shifts[cell])) & MASK
        value = rotated ^ masks[cell]
        minima[cell] = min(minima.get(cell, MASK), value)
    return minima


def check(html: bytes, n: int, m: int) -> None:
    shifts, masks = noise.cell_permutations(7, m)
    data = np.frombuffer(html, np.uint8)
    minima, filled = noise.noise_cells(data, n, m, shifts, masks)
    expected = slow_minima(html, n, m, shifts.tolist(), masks.tolist())
    assert {i: int(minima[i]) for i in np.flatnonzero(filled).tolist()} == expected
    cells = noise.noise_fingerprint(data, n, m, shifts, masks)
    reduced = {i: 1 + slow_mix(value ^ BASE) % 65535 for i, value in expected.items()}
    assert cells.dtype == np.uint16
    assert cells.tolist() == [reduced.get(i, 0) for i in range(m)]


@some
@given(pages, shapes)
def test_cells_keep_the_minimum_over_all_parts_of_the_noise(html: bytes, shape: tuple[int, int]) -> None:
    check(html, *shape)


def test_pages_longer_than_one_block_lose_no_part() -> None:
    rng = np.random.default_rng(3)
    alphabet = '<>/="ab1 \né中🙂'
    html = "".join(alphabet[i] for i in rng.integers(0, len(alphabet), 3 * noise.BLOCK)).encode()
    check(html + b"\xff\xc3", 32, 128)


def test_words_do_not_change_the_fingerprint() -> None:
    shifts, masks = noise.cell_permutations(1, 128)
    a, b = (
        np.frombuffer((f'<div class="{word}">{word}</div>\n' * 9).encode(), np.uint8) for word in ("red", "naïve中7")
    )
    first, second = (noise.noise_fingerprint(page, 32, 128, shifts, masks) for page in (a, b))
    assert first.tolist() == second.tolist()
    assert any(first)


def test_noise_shorter_than_a_part_fills_no_cell() -> None:
    shifts, masks = noise.cell_permutations(1, 128)
    for html in (b"", b"word", b"<" * 31):
        assert not noise.noise_fingerprint(np.frombuffer(html, np.uint8), 32, 128, shifts, masks).any()


cells = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30)


@some
@given(cells)
def test_similarity_counts_equal_cells_that_are_not_empty(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array([pair[side] for pair in pairs], np.uint16) for side in (0, 1))
    assert noise.similarity(a, b) == sum(x == y != 0 for x, y in pairs)


def test_permutations_depend_on_the_seed_alone() -> None:
    shifts, masks = noise.cell_permutations(5, 128)
    again = noise.cell_permutations(5, 128)
    assert shifts.tolist() == again[0].tolist()
    assert masks.tolist() == again[1].tolist()
    assert masks.tolist() != noise.cell_permutations(6, 128)[1].tolist()
    assert shifts.max() < 64
    assert len(set(masks.tolist())) == 128
