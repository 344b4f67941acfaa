"""What a fingerprint can be made of besides the noise: tag names, or the source as it is; and a page's exact parts."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.noise import BASE as GRAM_BASE
from unquilt.kernels.noise import EMPTY, ESCAPED, keep_minima, reduce_minima
from unquilt.kernels.space import find, kernel
from unquilt.kernels.words import CLASS_SHIFT, SINGLE, TABLE, WORD, Table, mix, read_character

Bytes = npt.NDArray[np.uint8]
Tokens = npt.NDArray[np.uint32]

LESS, GREATER, SLASH, BANG, DASH = ord("<"), ord(">"), ord("/"), ord("!"), ord("-")
CASE = 0x20
NAME_BASE = np.uint64(0x100000001B3)
LOW = np.uint64(0xFFFFFFFF)


@kernel
def _characters(html: Bytes, table: Table, only_noise: bool) -> Tokens:
    tokens = np.empty(len(html), np.uint32)
    count = i = 0
    while i < len(html):
        code, length = read_character(html, i, len(html))
        kind = table[code] >> CLASS_SHIFT if code >= 0 else 0
        if not only_noise or (kind != WORD and kind != SINGLE):
            tokens[count] = code if code >= 0 else ESCAPED + html[i]
            count += 1
        i += length
    return tokens[:count]


@kernel
def _is_letter(byte: int) -> bool:
    return ord("a") <= byte | CASE <= ord("z")


@kernel
def tag_tokens(html: Bytes) -> Tokens:
    """A number for each tag of a page, in order: a hash of its name, lower case, with the slash of an end tag.

    html: uint8[n]; n may be 0. Comments and declarations are no tags; one that never ends hides the rest. What looks
    like a tag in a script is one.
    """
    tokens = np.empty(len(html) // 2 + 1, np.uint32)
    count = i = 0
    while True:
        i = find(html, i, LESS, 1) + 1
        if i >= len(html):
            return tokens[:count]
        if i + 2 < len(html) and html[i] == BANG and html[i + 1] == DASH and html[i + 2] == DASH:
            i += 1
            while i + 2 < len(html) and not (html[i] == DASH and html[i + 1] == DASH and html[i + 2] == GREATER):
                i += 1
            if i + 2 >= len(html):
                return tokens[:count]
            continue
        at = i + 1 if html[i] == SLASH else i
        if at >= len(html) or not _is_letter(html[at]):
            continue
        name = np.uint64(html[i] == SLASH)
        while at < len(html) and (_is_letter(html[at]) or ord("0") <= html[at] <= ord("9")):
            name = (name ^ np.uint64(html[at] | CASE)) * NAME_BASE
            at += 1
        tokens[count] = mix(name) & LOW
        count += 1
        i = at


@kernel
def _fingerprint(
    tokens: Tokens, n: int, shifts: npt.NDArray[np.uint8], masks: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint16]:
    minima = np.full(len(shifts), EMPTY, np.uint64)
    keep_minima(tokens, len(tokens), n, minima, shifts, masks)
    cells: npt.NDArray[np.uint16] = reduce_minima(minima)
    return cells


@kernel
def _hashes(tokens: Tokens, n: int) -> npt.NDArray[np.uint64]:
    count = max(len(tokens) - n + 1, 0)
    hashes = np.empty(count, np.uint64)
    for i in range(count):
        h = np.uint64(0)
        for j in range(i, i + n):
            h = h * GRAM_BASE + np.uint64(tokens[j])
        hashes[i] = mix(h)
    return hashes


def tokens_of(html: Bytes, variant: str) -> Tokens:
    """uint32[tokens], what of a page counts: characters of its noise or of all its source, or its tags."""
    tokens: Tokens = tag_tokens(html) if variant == "tags" else _characters(html, TABLE, variant == "noise")
    return tokens


def fingerprint_of(
    html: Bytes, variant: str, n: int, shifts: npt.NDArray[np.uint8], masks: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint16]:
    """uint16[m], the fingerprint of the parts of n tokens; 0 is empty. shifts, masks: as noise_cells has them."""
    cells: npt.NDArray[np.uint16] = _fingerprint(tokens_of(html, variant), n, shifts, masks)
    return cells


def parts_of(html: Bytes, variant: str, n: int) -> npt.NDArray[np.uint64]:
    """uint64[parts], the hash of each distinct part of a page, ascending: what a fingerprint is a sample of."""
    return np.unique(_hashes(tokens_of(html, variant), n))
