"""Words found in bytes, against words found in decoded text one character at a time."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels import words
from unquilt.kernels.make_unicode_table import UNSPACED, character_class, fold

MASK = 2**64 - 1
TABLE_FILE = Path(words.__file__).with_name("unicode_words.npz")
with np.load(TABLE_FILE) as shipped:
    VERSION = str(shipped["unicode_version"])
    ASSIGNED = np.repeat(shipped["assigned_values"], shipped["assigned_lengths"]).astype(bool)

SCRIPTS = "aZßİĞñé09 _-<>中文日本語ひカภาษาไทยกำน้ำعَرَبِيّהִनमस्ते한국𝒳𐐀𠀀🙂\u0301\u0345\ufffd\u200d²½Ⅷ"
scripts = st.text(st.sampled_from(SCRIPTS), max_size=40)
INVALID = [b"\xed\xa0\x80", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"\xff", b"\x80"]
VALID = [piece.encode() for piece in ("a", "B7", " ", "é", "中", "น้ำ", "𝒳", "\u0301")]
broken = st.lists(st.sampled_from(INVALID + VALID), max_size=12).map(b"".join)
texts = st.one_of(
    scripts.map(str.encode),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(str.encode),
    st.binary(max_size=40),
    broken,
)
some = settings(deadline=None, max_examples=300)


def as_bytes(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


def slow_words(data: bytes) -> list[str]:
    """The folded words of data, one character at a time."""
    found: list[str] = []
    open_word = single = False
    for character in data.decode("utf8", "replace"):
        known = bool(ASSIGNED[ord(character)])
        if known and character.isalnum():
            alone = any(first <= ord(character) <= last for first, last in UNSPACED)
            if open_word and not alone and not single:
                found[-1] += fold(character)
            else:
                found.append(fold(character))
            open_word, single = True, alone
        elif known and unicodedata.category(character)[0] == "M" and open_word:
            found[-1] += fold(character)
        else:
            open_word = single = False
    return found


def slow_mix(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return h ^ h >> 33


def slow_hash(word: str) -> int:
    h = 0x9E3779B97F4A7C15
    for character in word:
        h = (h ^ ord(character)) * 0xD6E8FEB86659FD93 & MASK
        h ^= h >> 32
    return slow_mix(h)


@some
@given(texts)
def test_hashes_are_those_of_words_found_one_character_at_a_time(data: bytes) -> None:
    assert words.hash_words(as_bytes(data)).tolist() == [slow_hash(word) for word in slow_words(data)]


@some
@given(texts)
def test_spans_hold_the_words_and_agree_with_the_hashes(data: bytes) -> None:
    hashes, begins, ends = words.word_spans(as_bytes(data))
    spelled = ["".join(fold(c) for c in data[b:e].decode()) for b, e in zip(begins, ends, strict=True)]
    assert spelled == slow_words(data)
    assert hashes.tolist() == words.hash_words(as_bytes(data)).tolist()
    assert words.count_words(as_bytes(data)) == len(spelled)


@some
@given(st.lists(texts, max_size=5), st.booleans(), st.binary(max_size=3))
def test_a_column_gives_the_words_of_each_text_alone(column: list[bytes], large: bool, before: bytes) -> None:
    data = as_bytes(before + b"".join(column))
    offsets = np.cumsum([len(before)] + [len(text) for text in column])
    hashes, page_offsets = words.hash_words_column(data, offsets if large else offsets.astype(np.int32))
    assert len(page_offsets) == len(column) + 1
    assert page_offsets[0] == 0
    assert page_offsets[-1] == len(hashes)
    for i, text in enumerate(column):
        begin, end = page_offsets[i], page_offsets[i + 1]
        assert hashes[begin:end].tolist() == words.hash_words(as_bytes(text)).tolist()
    assert words.count_words_column(data, offsets).tolist() == np.diff(page_offsets).tolist()


def test_a_column_that_outgrows_its_first_buffer_keeps_its_words() -> None:
    column = [b"a " * 3000, b"b " * 5000, b"c"]
    offsets = np.cumsum([0] + [len(text) for text in column])
    hashes, page_offsets = words.hash_words_column(as_bytes(b"".join(column)), offsets)
    assert page_offsets.tolist() == [0, 3000, 8000, 8001]
    assert hashes[[0, 2999, 3000, 7999, 8000]].tolist() == [slow_hash(c) for c in "aabbc"]


def test_an_empty_column_has_no_words() -> None:
    hashes, offsets = words.hash_words_column(as_bytes(b""), np.zeros(1, np.int32))
    assert (hashes.tolist(), offsets.tolist()) == ([], [0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("one", ["one"]),
        ("Two WORDS", ["two", "words"]),
        ("don't", ["don", "t"]),
        ("\u0301 a", ["a"]),
        ("e\u0301t", ["e\u0301t"]),
        ("中文abc", ["中", "文", "abc"]),
        ("abc中", ["abc", "中"]),
        ("น้ำ", ["น้", "ำ"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("عَرَبِيّ", ["عَرَبِيّ"]),
        ("𐐀x", ["𐐨x"]),
        ("İ", ["İ"]),
        ("ß", ["ß"]),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words.hash_words(as_bytes(text.encode())).tolist() == [slow_hash(word) for word in expected]


def test_the_shipped_table_agrees_with_python_on_every_character_it_knows() -> None:
    differing = [
        code
        for code in np.flatnonzero(ASSIGNED).tolist()
        if words.TABLE[code] != character_class(chr(code)) << words.CLASS_SHIFT | ord(fold(chr(code)))
    ]
    # Later Unicode versions correct a few characters; the table does not follow them.
    assert len(differing) <= (0 if unicodedata.unidata_version == VERSION else 100)


def test_no_mark_is_alphanumeric_and_unassigned_characters_are_no_words() -> None:
    assert not any(chr(c).isalnum() and unicodedata.category(chr(c))[0] == "M" for c in range(0x110000))
    assert not np.any(words.TABLE[~ASSIGNED] >> words.CLASS_SHIFT)
