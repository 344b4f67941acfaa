"""Hashes of whole strings, against the same hash one Python number at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels.strings import hash_strings

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15
some = settings(deadline=None, max_examples=200)
strings = st.lists(st.one_of(st.binary(max_size=20), st.text("a\0", max_size=18).map(str.encode)), max_size=12)
seeds = st.integers(0, MASK)


def hashes_of(strings: list[bytes], seed: int, *, before: bytes = b"", large: bool = True) -> list[int]:
    offsets = np.cumsum([len(before), *map(len, strings)])
    data = np.frombuffer(before + b"".join(strings), np.uint8)
    hashes = hash_strings(data, offsets if large else offsets.astype(np.int32), np.uint64(seed))
    return [int(one) for one in hashes]


def slow_mix(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return h ^ h >> 33


def slow_hash(string: bytes, seed: int) -> int:
    h = slow_mix(seed ^ len(string) * STEP & MASK)
    whole = len(string) // 8 * 8
    for at in range(0, whole, 8):
        h = slow_mix(h ^ int.from_bytes(string[at : at + 8])) * STEP & MASK
    return slow_mix(h ^ int.from_bytes(string[whole:]))


@some
@given(strings, seeds, st.binary(max_size=3), st.booleans())
def test_a_hash_depends_on_the_string_and_the_seed_alone(
    strings: list[bytes], seed: int, before: bytes, large: bool
) -> None:
    hashes = hashes_of(strings, seed, before=before, large=large)
    assert hashes == [slow_hash(string, seed) for string in strings]


@some
@given(strings, seeds)
def test_different_strings_have_different_hashes(strings: list[bytes], seed: int) -> None:
    assert len(set(hashes_of(strings, seed))) == len(set(strings))


def test_zeros_count() -> None:
    zeros = [bytes(length) for length in range(40)]
    padded = [b"\0" * before + b"a" + b"\0" * after for before in range(10) for after in range(10)]
    assert len(set(hashes_of(zeros + padded, 1))) == 140


def test_seeds_give_hashes_that_have_nothing_to_do_with_each_other() -> None:
    strings = [str(number).encode() for number in range(2000)]
    one, two = (np.array(hashes_of(strings, seed), np.uint64) for seed in (11, 12))
    differing = np.unpackbits((one ^ two).view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.all(np.abs(differing - 0.5) < 0.07)  # six standard deviations


def test_no_strings_have_no_hashes() -> None:
    assert hashes_of([], 1) == []
    assert hashes_of([b"", b""], 1) == [slow_hash(b"", 1)] * 2
