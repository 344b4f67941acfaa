"""Where the paragraphs of an HTML file begin."""

import numpy as np
import numpy.typing as npt
from numba import njit

from unquilt.kernels.space import borrowed

LESS_THAN, LOWER_P, CASE_BIT = np.uint8(60), np.uint8(112), np.uint8(32)
U1, U2 = np.uint64(1), np.uint64(2)
BLOCK = np.uint64(64)
MOST_IN_BLOCK = 22


@njit(cache=True, nogil=True)
def _names_p(html: npt.NDArray[np.uint8], begin: np.uint64) -> bool:
    """Whether some `<p` stands in html[begin:begin + BLOCK]; one byte more must be there."""
    found = np.uint8(0)
    for j in range(BLOCK):
        less_than = np.uint8(html[begin + j] == LESS_THAN)
        found |= less_than & np.uint8((html[begin + j + U1] | CASE_BIT) == LOWER_P)
    return bool(found != 0)


@njit(cache=True, nogil=True)
def _append_cuts(
    html: npt.NDArray[np.uint8], begin: np.uint64, end: np.uint64, cuts: npt.NDArray[np.int64], count: int
) -> int:
    """Write the cuts in html[begin:end] to cuts[count:]; the new count. html[end + 1] must be there."""
    for i in range(begin, end):
        if (html[i] == LESS_THAN) & ((html[i + U1] | CASE_BIT) == LOWER_P):
            after = html[i + U2]
            if after == 32 or after == 9 or after == 10 or after == 13 or after == 47 or after == 62:
                cuts[count] = i
                count += 1
    return count


@njit(cache=True, nogil=True)
def paragraph_cuts(html: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """int64[cuts], the offset of each opening <p> tag of the raw bytes html, ascending; none, empty.

    Such a tag is `<p` in either case, then space, tab, line end, `/` or `>`. Chunks run from 0 (unless the
    first cut is there) to the first cut, and so on to the end of the file.
    """
    cuts = np.empty(64, np.int64)
    count = 0
    if len(html) < 3:
        return cuts[:0].copy()
    source = borrowed(html)
    last = np.uint64(len(html)) - U2
    begin = np.uint64(0)
    while begin < last:
        end = min(begin + BLOCK, last)
        # Whole blocks without `<p` are passed over with wide instructions.
        if end < begin + BLOCK or _names_p(source, begin):
            if count + MOST_IN_BLOCK > len(cuts):
                grown = np.empty(2 * len(cuts), np.int64)
                grown[:count] = cuts[:count]
                cuts = grown
            count = _append_cuts(source, begin, end, cuts, count)
        begin = end
    return cuts[:count].copy()
