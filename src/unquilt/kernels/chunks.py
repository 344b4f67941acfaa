"""Where the paragraphs of an HTML file begin."""

import numpy as np
import numpy.typing as npt
from numba import njit

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
