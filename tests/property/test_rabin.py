"""Rabin fingerprints, against long division of polynomials."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels import rabin

MASK = 2**64 - 1
some = settings(deadline=None, max_examples=100)
POLY = rabin.primitive_polynomial(1, 0)
TABLES = rabin.rabin_tables(POLY)
hashes = st.lists(st.one_of(st.integers(0, MASK), st.integers(0, 2)), max_size=20)


def remainder(a: int, b: int = POLY) -> int:
    """What long division of the polynomial a by b leaves."""
    while a.bit_length() >= b.bit_length():
        a ^= b << (a.bit_length() - b.bit_length())
    return a


def product(a: int, b: int) -> int:
    """The product of two polynomials."""
    total = 0
    for i in range(b.bit_length()):
        if b >> i & 1:
            total ^= a << i
    return total


def slow_gram(words: list[int]) -> int:
    bits = 1
    for word in words:
        bits = bits << 64 | word
    return remainder(bits)


def array(values: list[int]) -> npt.NDArray[np.uint64]:
    return np.array(values, np.uint64)


@some
@given(st.binary(max_size=40))
def test_bytes_give_the_remainder_of_long_division(data: bytes) -> None:
    bits = int.from_bytes(b"\x01" + data, "big")
    assert int(rabin.fingerprint_bytes(np.frombuffer(data, np.uint8), TABLES)) == remainder(bits)


@some
@given(hashes)
def test_a_value_is_fingerprinted_as_its_bits_and_64_zeros(values: list[int]) -> None:
    expected = [remainder((1 << 64 | value) << 64) for value in values]
    assert rabin.fingerprint_u64s(array(values), TABLES).tolist() == expected
    assert [int(rabin.fingerprint_u64(value, TABLES)) for value in array(values)] == expected


@some
@given(hashes, st.integers(1, 7))
def test_rolled_grams_are_those_of_each_k_consecutive_words(words: list[int], k: int) -> None:
    prefix = rabin.prefix_tables(POLY, k)
    straight = [slow_gram(words[i : i + k]) for i in range(len(words) - k + 1)]
    assert rabin.rabin_grams(array(words), k, TABLES, prefix).tolist() == straight
    around = words * (k + 1)
    circle = [slow_gram(around[i : i + k]) for i in range(len(words))]
    assert rabin.rabin_grams_circular(array(words), k, TABLES, prefix).tolist() == circle


@some
@given(st.lists(st.integers(0, MASK), min_size=2, max_size=8))
def test_extending_then_deleting_the_prefix_moves_one_word_on(words: list[int]) -> None:
    prefix = rabin.prefix_tables(POLY, len(words) - 1)
    shorter, last = np.uint64(slow_gram(words[:-1])), np.uint64(words[-1])
    longer = np.uint64(rabin.extend(shorter, last, TABLES))
    assert int(longer) == slow_gram(words)
    moved = rabin.delete_prefix(longer, np.uint64(words[0]), TABLES, prefix)
    assert int(moved) == slow_gram(words[1:])


@some
@given(st.integers(0, MASK), st.integers(0, MASK))
def test_multiplication_agrees_with_long_division(a: int, b: int) -> None:
    low = np.uint64(POLY & MASK)
    assert int(rabin.multiply(np.uint64(a), np.uint64(b), low)) == remainder(product(a, b))


def test_the_primes_of_the_order_are_all_there() -> None:
    assert math.prod(rabin.ORDER_PRIMES) == 2**64 - 1
    assert all(p % d for p in rabin.ORDER_PRIMES for d in range(2, math.isqrt(p) + 1))


def test_polynomials_known_to_be_primitive_or_not_are_told_apart() -> None:
    known = 1 << 64 | 0b11011
    assert rabin.is_primitive(known)
    assert not rabin.is_primitive(1 << 64 | 1)
    assert not rabin.is_primitive(product(1 << 32 | 0b10001101, 1 << 32 | 0b11000101))
    assert not rabin.is_primitive(0b11011)


def test_an_irreducible_polynomial_of_smaller_order_is_not_primitive() -> None:
    # The minimal polynomial of t**3: its order is (2**64 - 1) / 3.
    low = np.uint64(0b11011)
    cube = np.uint64(8)
    powers = [int(rabin.power(cube, np.uint64(i), low)) for i in range(65)]
    poly = next(iter(dependency(powers)))
    assert rabin.is_irreducible(poly)
    assert not rabin.is_primitive(poly)


def dependency(vectors: list[int]) -> list[int]:
    """Which of the vectors add up to 0, as a bit mask; Gaussian elimination over GF(2)."""
    basis: dict[int, tuple[int, int]] = {}
    found = []
    for i, vector in enumerate(vectors):
        used = 1 << i
        while vector and vector.bit_length() in basis:
            other, others = basis[vector.bit_length()]
            vector, used = vector ^ other, used ^ others
        if vector:
            basis[vector.bit_length()] = (vector, used)
        else:
            found.append(used)
    return found


@pytest.mark.parametrize("index", range(4))
def test_generated_polynomials_are_primitive_and_repeatable(index: int) -> None:
    poly = rabin.primitive_polynomial(42, index)
    assert rabin.is_primitive(poly)
    assert poly == rabin.primitive_polynomial(42, index)
    assert poly != rabin.primitive_polynomial(43, index)
    assert poly != rabin.primitive_polynomial(42, index + 1)
