"""Passages of texts as bytes and characters, and texts without them."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32]

LINE_BREAK = 10


@njit(cache=True, nogil=True)
def _is_space(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@njit(cache=True, nogil=True)
def span_passages(
    data: Bytes, bounds: Numbers, passages: Numbers, word_begins: Numbers, begins: Numbers, ends: Numbers
) -> Numbers:
    """Where passages stand in their texts: int64[n, 4], begin and end in bytes and in characters.

    data, bounds: texts in UTF-8. passages: int64[n, 3], which text, and begin and end in words; in order, disjoint.
    word_begins: int64[texts + 1], where the words of each text begin in begins and ends, their places in bytes.
    A passage begins with the white space before its first word. It reaches over what is neither word nor white space
    behind its last one and the white space after that; if another one follows at once, to that one.
    """
    spans = np.empty((len(passages), 4), np.int64)
    at = characters = np.int64(0)
    for i in range(len(passages)):
        text, first, last = passages[i, 0], passages[i, 1], passages[i, 2]
        base = np.int64(bounds[text])
        words = word_begins[text]
        if i == 0 or passages[i - 1, 0] != text:
            at = characters = np.int64(0)
        begin, end = begins[words + first], ends[words + last - 1]
        if i == 0 or passages[i - 1, 0] != text or passages[i - 1, 2] != first:
            bound = ends[words + first - 1] if first else 0
            while begin > bound and _is_space(data[base + begin - 1]):
                begin -= 1
        is_last = words + last == word_begins[text + 1]
        bound = np.int64(bounds[text + 1]) - base if is_last else begins[words + last]
        if i + 1 < len(passages) and passages[i + 1, 0] == text and passages[i + 1, 1] == last:
            end = bound
        while end < bound and not _is_space(data[base + end]):
            end += 1
        while end < bound and _is_space(data[base + end]):
            end += 1
        spans[i, 0], spans[i, 1] = begin, end
        for side in range(2):
            while at < spans[i, side]:
                characters += (data[base + at] & 0xC0) != 0x80
                at += 1
            spans[i, 2 + side] = characters
    return spans


@njit(cache=True, nogil=True)
def cut_spans(data: Bytes, bounds: Numbers, firsts: Numbers, begins: Numbers, ends: Numbers) -> tuple[Bytes, Offsets]:
    """The texts without some spans: their bytes, and where each begins, int32[texts + 1].

    data, bounds: texts in UTF-8. firsts: int64[texts + 1], where the spans of each begin in begins and ends, which are
    in bytes of the text, in order and disjoint. Spans that touch are one cut. In place of a cut stands a line break,
    but at the beginning and the end of a text.
    """
    texts = len(bounds) - 1
    out = np.empty(np.int64(bounds[texts]) - np.int64(bounds[0]) + len(begins), np.uint8)
    offsets = np.zeros(texts + 1, np.int32)
    size = np.int64(0)
    for text in range(texts):
        base, length = np.int64(bounds[text]), np.int64(bounds[text + 1]) - np.int64(bounds[text])
        at = np.int64(0)
        for i in range(firsts[text], firsts[text + 1]):
            kept = begins[i] - at
            out[size : size + kept] = data[base + at : base + begins[i]]
            size += kept
            at = ends[i]
            touches = i + 1 < firsts[text + 1] and begins[i + 1] == at
            if not touches and at < length and size > offsets[text]:
                out[size] = LINE_BREAK
                size += 1
        out[size : size + length - at] = data[base + at : base + length]
        size += length - at
        offsets[text + 1] = size
    return out[:size], offsets


@njit(cache=True, nogil=True)
def copy_spans(data: Bytes, begins: Numbers, ends: Numbers) -> tuple[Bytes, Offsets]:
    """Some spans of data, int64[n] in bytes, one behind the other, and where each begins, int32[n + 1]."""
    offsets = np.zeros(len(begins) + 1, np.int32)
    for i in range(len(begins)):
        offsets[i + 1] = offsets[i] + ends[i] - begins[i]
    out = np.empty(offsets[-1], np.uint8)
    for i in range(len(begins)):
        out[offsets[i] : offsets[i + 1]] = data[begins[i] : ends[i]]
    return out, offsets
