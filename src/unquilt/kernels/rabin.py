"""Rabin fingerprints: bits as a polynomial over GF(2), modulo a primitive polynomial of degree 64.

A polynomial of degree 64 is a Python int of 65 bits; one below that degree is a uint64, the highest power
in the highest bit. A 1 bit is put in front of what is fingerprinted, so that leading zeros count.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Tables = npt.NDArray[np.uint64]
"""uint64[8, 256], see power_tables"""
Hashes = npt.NDArray[np.uint64]

DEGREE = 64
ORDER = 2**DEGREE - 1
ORDER_PRIMES = (3, 5, 17, 257, 641, 65537, 6700417)
LOW_BITS = ORDER
ZERO, U1, BYTE = np.uint64(0), np.uint64(1), np.uint64(255)
TOP_SHIFT = np.uint64(63)


@njit(cache=True, nogil=True)
def multiply(a: np.uint64, b: np.uint64, low: np.uint64) -> np.uint64:
    """a * b modulo t**64 + low."""
    product = ZERO
    for i in range(DEGREE):
        product = product << U1 ^ (low if product >> TOP_SHIFT else ZERO)
        if (b >> np.uint64(DEGREE - 1 - i)) & U1:
            product ^= a
    return product


@njit(cache=True, nogil=True)
def power(base: np.uint64, exponent: np.uint64, low: np.uint64) -> np.uint64:
    """base ** exponent modulo t**64 + low; 1 if the exponent is 0."""
    result = U1
    for i in range(DEGREE):
        result = multiply(result, result, low)
        if (exponent >> np.uint64(DEGREE - 1 - i)) & U1:
            result = multiply(result, base, low)
    return result


@njit(cache=True, nogil=True)
def frobenius(squarings: int, low: np.uint64) -> np.uint64:
    """t ** (2 ** squarings) modulo t**64 + low."""
    result = np.uint64(2)
    for _ in range(squarings):
        result = multiply(result, result, low)
    return result


def common_divisor(a: int, b: int) -> int:
    """The greatest common divisor of two polynomials; that of a and 0 is a."""
    while b:
        while a.bit_length() >= b.bit_length():
            a ^= b << (a.bit_length() - b.bit_length())
        a, b = b, a
    return a


def is_irreducible(poly: int) -> bool:
    """Whether poly, of degree 64, is no product (Rabin's test; 2 is the only prime divisor of 64)."""
    low = np.uint64(poly & LOW_BITS)
    if frobenius(DEGREE, low) != 2:
        return False
    half: int = int(frobenius(DEGREE // 2, low)) ^ 2
    return common_divisor(poly, half) == 1


def is_primitive(poly: int) -> bool:
    """Whether the powers of t modulo poly, of degree 64, run through all 2**64 - 1 nonzero remainders."""
    if poly.bit_length() != DEGREE + 1 or not is_irreducible(poly):
        return False
    low, t = np.uint64(poly & LOW_BITS), np.uint64(2)
    return all(power(t, np.uint64(ORDER // prime), low) != 1 for prime in ORDER_PRIMES)


def primitive_polynomial(seed: int, index: int) -> int:
    """The index-th primitive polynomial of degree 64 of this seed, as an int of 65 bits."""
    attempt = 0
    while True:
        drawn = hashlib.sha256(f"{seed} {index} {attempt}".encode()).digest()
        poly = 1 << DEGREE | int.from_bytes(drawn[:8], "big") | 1
        if is_primitive(poly):
            return poly
        attempt += 1


@njit(cache=True, nogil=True)
def _power_tables(low: np.uint64, words: int) -> Tables:
    """As power_tables."""
    tables = np.zeros((8, 256), np.uint64)
    shifted = power(np.uint64(2), np.uint64(DEGREE * words), low)
    for byte in range(8):
        for value in range(256):
            tables[byte, value] = multiply(shifted, np.uint64(value), low)
        shifted = multiply(shifted, np.uint64(256), low)
    return tables


def power_tables(poly: int, words: int) -> Tables:
    """uint64[8, 256], tables[j, x] = x * t**(64 * words + 8 * j) modulo poly."""
    tables: Tables = _power_tables(np.uint64(poly & LOW_BITS), words)
    return tables


def rabin_tables(poly: int) -> Tables:
    """uint64[8, 256], what makes place for 64 more bits in a fingerprint modulo poly."""
    return power_tables(poly, 1)


def prefix_tables(poly: int, k: int) -> Tables:
    """uint64[8, 256], what takes the first of k + 1 words out of a fingerprint modulo poly."""
    return power_tables(poly, k)


@njit(cache=True, nogil=True)
def times(value: np.uint64, tables: Tables) -> np.uint64:
    """value times the power of t that tables are made for."""
    product = ZERO
    for byte in range(8):
        product ^= tables[byte, (value >> np.uint64(8 * byte)) & BYTE]
    return product


@njit(cache=True, nogil=True)
def extend(fingerprint: np.uint64, word: np.uint64, tables: Tables) -> np.uint64:
    """The fingerprint of what was fingerprinted, followed by the 64 bits of word."""
    longer: np.uint64 = times(fingerprint, tables) ^ word
    return longer


@njit(cache=True, nogil=True)
def delete_prefix(fingerprint: np.uint64, word: np.uint64, tables: Tables, prefix: Tables) -> np.uint64:
    """The fingerprint of k words, from that of the k + 1 words that begin with word; prefix is for k."""
    lead = prefix[0, 1]
    shorter: np.uint64 = fingerprint ^ times(word, prefix) ^ times(lead, tables) ^ lead
    return shorter


@njit(cache=True, nogil=True)
def fingerprint_bytes(data: npt.NDArray[np.uint8], tables: Tables) -> np.uint64:
    """The fingerprint of uint8[n], the first byte highest; 1 if empty."""
    fingerprint = U1
    for i in range(len(data)):
        top = tables[0, fingerprint >> np.uint64(56)]
        fingerprint = (fingerprint << np.uint64(8)) ^ np.uint64(data[i]) ^ top
    return fingerprint


@njit(cache=True, nogil=True)
def fingerprint_u64(value: np.uint64, tables: Tables) -> np.uint64:
    """The fingerprint of the 64 bits of value followed by 64 zeros.

    Without the zeros value would be its own remainder, and all functions would differ by a mask only.
    """
    fingerprint: np.uint64 = extend(extend(U1, value, tables), ZERO, tables)
    return fingerprint


@njit(cache=True, nogil=True)
def fingerprint_u64s(values: Hashes, tables: Tables) -> Hashes:
    """fingerprint_u64 of each of uint64[n]; n may be 0."""
    fingerprints = np.empty(len(values), np.uint64)
    for i in range(len(values)):
        fingerprints[i] = fingerprint_u64(values[i], tables)
    return fingerprints


@njit(cache=True, nogil=True)
def _roll(words: Hashes, k: int, count: int, tables: Tables, prefix: Tables) -> Hashes:
    """uint64[count], the fingerprint of the k words from each of the first count on, as a circle; n >= 1."""
    n = len(words)
    grams = np.empty(count, np.uint64)
    fingerprint = U1
    for i in range(k):
        fingerprint = extend(fingerprint, words[i % n], tables)
    lead = times(prefix[0, 1], tables) ^ prefix[0, 1]
    for i in range(count):
        grams[i] = fingerprint
        longer = extend(fingerprint, words[(i + k) % n], tables)
        fingerprint = longer ^ times(words[i], prefix) ^ lead
    return grams


@njit(cache=True, nogil=True)
def rabin_grams(words: Hashes, k: int, tables: Tables, prefix: Tables) -> Hashes:
    """uint64[max(n - k + 1, 0)], the fingerprint of each k consecutive words, in order.

    words: uint64[n], n may be 0. tables: of rabin_tables(poly). prefix: of prefix_tables(poly, k).
    """
    count = max(len(words) - k + 1, 0)
    if count == 0:
        return np.empty(0, np.uint64)
    grams: Hashes = _roll(words, k, count, tables, prefix)
    return grams


@njit(cache=True, nogil=True)
def rabin_grams_circular(words: Hashes, k: int, tables: Tables, prefix: Tables) -> Hashes:
    """uint64[n], as rabin_grams, but the first word follows the last; one word, one gram of it k times."""
    if len(words) == 0:
        return np.empty(0, np.uint64)
    grams: Hashes = _roll(words, k, len(words), tables, prefix)
    return grams
