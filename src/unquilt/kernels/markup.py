"""Where block-level tags stand in HTML source, so that their words can be kept apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

# Elements that end the line of text they stand in; all others (a, b, span, ...) run on within a word.
BLOCK_NAMES = ["address", "article", "aside", "audio", "blockquote", "body", "br", "button", "canvas", "caption", "center", "col", "colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "iframe", "img", "input", "isindex", "label", "legend", "li", "link", "main", "map", "menu", "meta", "meter", "nav", "noframes", "noscript", "object", "ol", "optgroup", "option", "output", "p", "param", "picture", "plaintext", "pre", "progress", "script", "search", "section", "select", "source", "style", "summary", "svg", "table", "tbody", "td", "template", "textarea", "tfoot", "th", "thead", "title", "tr", "track", "ul", "video", "xmp"]
LONGEST = 10  # at 6 bits a character, a name is one 64-bit number
SLOTS = 1024
SPREAD = np.uint64(0xD6E8FEB86659FD93)

# The 6 bits of each byte that may stand in a name, upper case as lower; 0 for bytes that may not.
CODES = np.zeros(256, np.uint8)
CODES[ord("0") : ord("9") + 1] = np.arange(1, 11)
CODES[ord("a") : ord("z") + 1] = CODES[ord("A") : ord("Z") + 1] = np.arange(11, 37)


def _names() -> npt.NDArray[np.uint64]:
    """uint64[1024]: an open hash table of the packed names; 0 is a free slot."""
    table = np.zeros(SLOTS, np.uint64)
    for name in BLOCK_NAMES:
        packed = sum(int(CODES[ord(letter)]) << 6 * i for i, letter in enumerate(name))
        slot = (packed * int(SPREAD) % 2**64) >> 54
        while table[slot]:
            slot = (slot + 1) % SLOTS
        table[slot] = packed
    return table


NAMES = _names()


@njit(cache=True, nogil=True)
def _is_block(
    html: npt.NDArray[np.uint8], at: int, codes: npt.NDArray[np.uint8], names: npt.NDArray[np.uint64]
) -> bool:
    """Whether a block-level tag's name starts at html[at] and ends as a tag name does."""
    packed = np.uint64(0)
    shift = np.uint64(0)
    i = at
    while i < len(html) and i - at < LONGEST and codes[html[i]]:
        packed |= np.uint64(codes[html[i]]) << shift
        shift += np.uint64(6)
        i += 1
    if i == at or i >= len(html):
        return False
    c = html[i]
    if not (c == 62 or c == 47 or c == 32 or (c >= 9 and c <= 13)):
        return False
    slot: int = np.int64((packed * SPREAD) >> np.uint64(54))  # type: ignore[assignment]
    while names[slot] != 0:
        if names[slot] == packed:
            return True
        slot = (slot + 1) % SLOTS
    return False


@njit(cache=True, nogil=True)
def _block_tags(
    html: npt.NDArray[np.uint8], codes: npt.NDArray[np.uint8], names: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """Where each block-level tag begins, int64[tags] in order."""
    tags = 0
    for i in range(len(html)):
        tags += np.int64(html[i] == 60)
    begins = np.empty(tags, np.int64)
    count = 0
    for i in range(len(html) - 1):
        if html[i] == 60 and _is_block(html, i + 2 if html[i + 1] == 47 else i + 1, codes, names):
            begins[count] = i
            count += 1
    return begins[:count]


@njit(cache=True, nogil=True)
def _break_at(html: npt.NDArray[np.uint8], begins: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    out = np.empty(len(html) + len(begins), np.uint8)
    done = 0
    for i in range(len(begins)):
        for j in range(done, begins[i]):
            out[i + j] = html[j]
        out[i + begins[i]] = 10
        done = begins[i]
    for j in range(done, len(html)):
        out[len(begins) + j] = html[j]
    return out


def break_blocks(html: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The same source with a line feed in front of every block-level tag, opening or closing.

    html: uint8[n], UTF-8 or any superset of ASCII; n may be 0. White space between elements changes nothing
    that a parser builds but the text between them, so ``<td>one</td><td>two</td>`` reads as two words and
    ``cr<b>oss</b>`` as one.
    """
    broken: npt.NDArray[np.uint8] = _break_at(html, _block_tags(html, CODES, NAMES))
    return broken


@njit(cache=True, nogil=True)
def fold_space(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Text with each run of white space as one space, or one line feed if the run holds one; none at the ends.

    text: uint8[n], UTF-8; n may be 0. A no-break space (C2 A0) is white space too.
    """
    out = np.empty(len(text), np.uint8)
    size = 0
    pending = np.uint8(0)
    i = 0
    while i < len(text):
        c = text[i]
        if c == 10 or c == 13:
            pending = np.uint8(10)
        elif c == 32 or (c >= 9 and c <= 12):
            if pending == 0:
                pending = np.uint8(32)
        elif c == 0xC2 and i + 1 < len(text) and text[i + 1] == 0xA0:
            if pending == 0:
                pending = np.uint8(32)
            i += 1
        else:
            if pending != 0 and size > 0:
                out[size] = pending
                size += 1
            pending = np.uint8(0)
            out[size] = c
            size += 1
        i += 1
    return out[:size]
