"""Where the paragraphs of an HTML file begin."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.space import BLOCK, borrowed, first_one, inlined, marks

LESS_THAN, UPPER_P, LOWER_P = 60, 80, 112


@inlined
def _ends_name(byte: int) -> bool:
    return byte == 32 or byte == 9 or byte == 10 or byte == 13 or byte == 47 or byte == 62


@njit(cache=True, nogil=True)
def _cuts_of(html: npt.NDArray[np.uint8], cuts: npt.NDArray[np.int64]) -> int:
    """Write the cuts to cuts and give their number; if there is no room for all, the number it would be."""
    count = 0
    i = 0
    while i + BLOCK + 2 <= len(html):
        found = marks(html, i, LESS_THAN, 1) & (marks(html, i + 1, LOWER_P, 1) | marks(html, i + 1, UPPER_P, 1))
        while found:
            at = i + int(first_one(found))
            found &= found - 1
            if _ends_name(html[at + 2]):
                if count < len(cuts):
                    cuts[count] = at
                count += 1
        i += BLOCK
    while i + 2 < len(html):
        if html[i] == LESS_THAN and html[i + 1] | 32 == LOWER_P and _ends_name(html[i + 2]):
            if count < len(cuts):
                cuts[count] = i
            count += 1
        i += 1
    return count


@njit(cache=True, nogil=True)
def paragraph_cuts(html: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """int64[cuts], the offset of each opening <p> tag of the raw bytes html, ascending; none, empty.

    Such a tag is `<p` in either case, then space, tab, line end, `/` or `>`. Chunks run from 0 (unless the
    first cut is there) to the first cut, and so on to the end of the file.
    """
    cuts = np.empty(256, np.int64)
    count = _cuts_of(borrowed(html), borrowed(cuts))
    if count > len(cuts):
        cuts = np.empty(count, np.int64)
        _cuts_of(borrowed(html), borrowed(cuts))
    return cuts[:count].copy()


def _packed(name: str) -> int:
    """A tag's name as a number, six bits a letter or digit."""
    number = 0
    for character in name:
        number = number << 6 | (ord(character) - 96 if character.isalpha() else ord(character) - 22)
    return number


BLOCK_NAMES = (
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head",
    "header", "hgroup", "hr", "html", "li", "main", "menu", "nav", "noscript", "ol", "p", "pre", "script", "search",
    "section", "style", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
)  # fmt: skip
"""Elements that begin a chunk with the block cutter: what a browser shows as a block, tables, scripts and styles."""

_NAME_SLOTS = 256
_NAME_TABLE = np.zeros(_NAME_SLOTS, np.int64)
for _name in BLOCK_NAMES:
    _slot = _packed(_name) * 40503 >> 4 & _NAME_SLOTS - 1
    while _NAME_TABLE[_slot]:
        _slot = _slot + 1 & _NAME_SLOTS - 1
    _NAME_TABLE[_slot] = _packed(_name)
_LONGEST_NAME = max(map(len, BLOCK_NAMES))


@inlined
def _is_block_name(packed: int) -> bool:
    slot = (packed * 40503 >> 4) & (_NAME_SLOTS - 1)
    while _NAME_TABLE[slot] != 0:
        if _NAME_TABLE[slot] == packed:
            return True
        slot = (slot + 1) & (_NAME_SLOTS - 1)
    return False


@inlined
def _opens_block(html: npt.NDArray[np.uint8], at: int) -> bool:
    """Whether the `<` at html[at] opens a block-level element."""
    packed, i = 0, at + 1
    while i < len(html) and i - at <= _LONGEST_NAME:
        byte = html[i]
        lower = byte | 32
        if 97 <= lower <= 122:
            packed = packed << 6 | int(lower - 96)
        elif 49 <= byte <= 54:
            packed = packed << 6 | int(byte - 22)
        else:
            break
        i += 1
    return packed != 0 and i < len(html) and _ends_name(html[i]) and _is_block_name(packed)


@njit(cache=True, nogil=True)
def _block_cuts_of(html: npt.NDArray[np.uint8], cuts: npt.NDArray[np.int64]) -> int:
    count = 0
    for i in range(len(html)):
        if html[i] == LESS_THAN and _opens_block(html, i):
            if count < len(cuts):
                cuts[count] = i
            count += 1
    return count


@njit(cache=True, nogil=True)
def block_cuts(html: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """int64[cuts], the offset of each tag that opens a block-level element, ascending; as paragraph_cuts."""
    cuts = np.empty(1024, np.int64)
    count = _block_cuts_of(borrowed(html), borrowed(cuts))
    if count > len(cuts):
        cuts = np.empty(count, np.int64)
        _block_cuts_of(borrowed(html), borrowed(cuts))
    return cuts[:count].copy()


@njit(cache=True, nogil=True)
def line_cuts(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """int64[cuts], the offset behind each line feed of the raw bytes that is not their last, ascending."""
    count = 0
    for i in range(len(text) - 1):
        count += text[i] == 10
    cuts = np.empty(count, np.int64)
    count = 0
    for i in range(len(text) - 1):
        if text[i] == 10:
            cuts[count] = i + 1
            count += 1
    return cuts
