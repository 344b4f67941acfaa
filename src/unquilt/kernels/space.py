"""Bytes looked at 32 at a time, and white space folded with it.

Text and markup are mostly bytes that only need to be passed over. A block of 32 takes a processor with
vector instructions no longer than one byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from unquilt.kernels.jit import njit

Bytes = npt.NDArray[np.uint8]

BLOCK = 32
BEYOND = 1 << BLOCK  # a one past the marks of a block

# What each byte of text leaves between words: a space or a line feed; C2 may begin a no-break space.
GAPS = np.zeros(256, np.int64)
GAPS[[9, 11, 12, 32]] = 32
GAPS[[10, 13]] = 10
GAPS[0xC2] = 0xC2

kernel = njit(cache=True, nogil=True)
inlined = njit(cache=True, nogil=True, forceinline=True)  # each call would count references to its arrays

_VECTOR = ir.VectorType(ir.IntType(8), BLOCK)


def _block(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """A pointer to the 32 bytes at array[at]."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


@intrinsic
def marks(typing: Any, source: Any, at: Any, least: Any, count: Any) -> Any:
    """int64 whose bit k tells whether least <= source[at + k] < least + count, for k below 32.

    All 32 bytes must be in source. least and count: int64, 0 to 255.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, at, least, count = arguments

        def spread(number: Any) -> Any:
            byte = builder.trunc(number, ir.IntType(8))
            one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
            return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), zeros)

        block = builder.load(_block(context, builder, signature.args[0], source, at), align=1)
        is_marked = builder.icmp_unsigned("<", builder.sub(block, spread(least)), spread(count))
        return builder.zext(builder.bitcast(is_marked, ir.IntType(BLOCK)), ir.IntType(64))

    return types.int64(source, types.int64, types.int64, types.int64), codegen


@intrinsic
def copy_block(typing: Any, out: Any, size: Any, source: Any, at: Any) -> Any:
    """out[size : size + 32] = source[at : at + 32], where both must have as many."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, size, source, at = arguments
        block = builder.load(_block(context, builder, signature.args[2], source, at), align=1)
        builder.store(block, _block(context, builder, signature.args[0], out, size), align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, source, types.int64), codegen


@intrinsic
def eight_bytes(typing: Any, source: Any, at: Any) -> Any:
    """source[at : at + 8], where it must have as many, as an int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = _block(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(block, ir.IntType(64).as_pointer()), align=1)

    return types.int64(source, types.int64), codegen


@intrinsic
def borrowed(typing: Any, array: Any) -> Any:
    """The same array, whose references are not counted: the given one must outlive it.

    Counting takes most of the time of a kernel that passes arrays to small functions a million times.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        made.meminfo = ir.Constant(made.meminfo.type, None)
        return made._getvalue()

    return array(array), codegen


@intrinsic
def first_one(typing: Any, number: Any) -> Any:
    """Which bit of an int64 is the lowest one; the number must not be 0."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@inlined
def find(source: Bytes, at: int, least: int, count: int) -> int:
    """Where a byte from least to least + count - 1 stands first from source[at] on; len(source) if nowhere."""
    i = at
    while i + BLOCK <= len(source):
        found = marks(source, i, least, count)
        if found:
            return i + int(first_one(found))
        i += BLOCK
    while i < len(source) and not least <= source[i] < least + count:
        i += 1
    return i


@inlined
def _read_gap(text: Bytes, at: int) -> tuple[int, int]:
    """Where the white space at text[at] ends, and what is left of it: 32, 10, or 0 if there is none."""
    left = 0
    i = at
    while i < len(text):
        gap = GAPS[text[i]]
        if gap == 0xC2:
            is_space = i + 1 < len(text) and text[i + 1] == 0xA0
            i += is_space
            gap = 32 * is_space
        if gap == 0:
            break
        left = min(gap, left) if left else gap
        i += 1
    return i, left


@inlined
def _fold(text: Bytes, out: Bytes) -> int:
    """Write text with white space folded to out, with up to one at each end; how much is written."""
    i = size = 0
    while i < len(text):
        if i + BLOCK <= len(text):
            # One space or line feed alone stays as it is; the last byte's neighbor is not seen.
            strange = marks(text, i, 11, 3) | marks(text, i, 9, 1) | marks(text, i, 0xC2, 1)
            white = strange | marks(text, i, 32, 1) | marks(text, i, 10, 1)
            copy_block(out, size, text, i)
            plain = first_one(strange | white & (white >> 1 | 1 << BLOCK - 1) | BEYOND)
            i += plain
            size += plain
            if plain == BLOCK:
                continue
        i, gap = _read_gap(text, i)
        out[size] = gap
        if gap == 0:
            out[size] = text[i]
            i += 1
        size += 1
    return size


@kernel
def fold_space(text: Bytes) -> Bytes:
    """Text with each run of white space as one space, or a line feed if the run holds one; none at the ends.

    text: uint8[n], UTF-8; n may be 0. A no-break space (C2 A0) is white space too.
    """
    out = np.empty(len(text) + BLOCK, np.uint8)
    size = _fold(borrowed(text), borrowed(out))
    begin = 1 if size > 0 and (out[0] == 32 or out[0] == 10) else 0
    if size > begin and (out[size - 1] == 32 or out[size - 1] == 10):
        size -= 1
    return out[begin:size]
