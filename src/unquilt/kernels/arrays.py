"""What numpy has too, but numba's versions of it take as long to compile as all that calls them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Values = npt.NDArray[Any]

_SHORT = 16


@njit(cache=True, nogil=True)
def sort(values: Values) -> None:
    """Put numbers in ascending order, where they are. values: [n]; n may be 0."""
    waiting = np.empty((64, 2), np.int64)  # parts that are to be sorted; the next is at most half as long as the last
    waiting[0, 0], waiting[0, 1] = 0, len(values)
    parts = 1
    while parts > 0:
        parts -= 1
        begin, end = waiting[parts, 0], waiting[parts, 1]
        while end - begin > _SHORT:
            a, b, c = values[begin], values[(begin + end) // 2], values[end - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = begin, end - 1
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if j + 1 - begin < end - i:
                waiting[parts, 0], waiting[parts, 1] = i, end
                end = j + 1
            else:
                waiting[parts, 0], waiting[parts, 1] = begin, j + 1
                begin = i
            parts += 1
        for i in range(begin + 1, end):
            value = values[i]
            j = i
            while j > begin and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value


@njit(cache=True, nogil=True)
def place_of(values: Values, sought: Any) -> int:
    """How many of the values, [n] and ascending, are less than the sought one. n may be 0."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < sought:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def copy_to(out: Values, at: int, values: Values) -> None:
    """out[at : at + n] = values. values: [n]; n may be 0."""
    for i in range(len(values)):
        out[at + i] = values[i]


@njit(cache=True, nogil=True)
def grown(values: Values) -> Values:
    """The values with room for as many more behind them. values: [n]."""
    out = np.empty(2 * len(values), values.dtype)
    copy_to(out, 0, values)
    return out


@njit(cache=True, nogil=True)
def grown_rows(rows: Values) -> Values:
    """The same of rows. rows: [n, width]."""
    out = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] = rows[i, j]
    return out
