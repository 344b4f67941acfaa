"""Paths that end alike."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Ints = npt.NDArray[np.int64]
SLASH = 47


@njit(cache=True, nogil=True)
def _common_end(data: npt.NDArray[np.uint8], offsets: Ints, a: int, b: int) -> int:
    """The length of the longest end, from a slash on, that paths a and b have in common; 0 if there is none."""
    end_a, end_b = offsets[a + 1], offsets[b + 1]
    length = min(end_a - offsets[a], end_b - offsets[b])
    common = 0
    for i in range(1, length + 1):
        if data[end_a - i] != data[end_b - i]:
            break
        if data[end_a - i] == SLASH:
            common = i
    return common


@njit(cache=True, nogil=True)
def _has_path(
    hosts: Ints, data: npt.NDArray[np.uint8], offsets: Ints, begin: int, end: int, host: int, path: int
) -> bool:
    """Whether one of the pages begin..end - 1 is of this host and has the path of page ``path``."""
    length = offsets[path + 1] - offsets[path]
    for i in range(begin, end):
        if hosts[i] == host and offsets[i + 1] - offsets[i] == length:
            same = True
            for j in range(length):
                if data[offsets[i] + j] != data[offsets[path] + j]:
                    same = False
                    break
            if same:
                return True
    return False


@njit(cache=True, nogil=True)
def common_trees(
    begins: Ints, hosts: Ints, data: npt.NDArray[np.uint8], offsets: Ints, most: int
) -> tuple[Ints, Ints, Ints]:
    """Pairs of pages of one text on two hosts whose paths differ but end alike: two rows, and the common length.

    begins: where the runs of pages of one text begin, and n; runs of 2 to ``most`` pages count. hosts: int64[n]. Path
    i is data[offsets[i]:offsets[i + 1]]. A bare slash is no end, as every folder has one. A text that stands at one of
    the two paths on both hosts is mirrored, not renamed.
    """
    count = 0
    for run in range(len(begins) - 1):
        size = begins[run + 1] - begins[run]
        if 2 <= size <= most:
            count += size * (size - 1) // 2
    left, right, common = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    at = 0
    for run in range(len(begins) - 1):
        if not 2 <= begins[run + 1] - begins[run] <= most:
            continue
        for i in range(begins[run], begins[run + 1]):
            for j in range(i + 1, begins[run + 1]):
                if hosts[i] == hosts[j]:
                    continue
                length = _common_end(data, offsets, i, j)
                begin, end = begins[run], begins[run + 1]
                if length > 1 and not (
                    _has_path(hosts, data, offsets, begin, end, hosts[j], i)
                    or _has_path(hosts, data, offsets, begin, end, hosts[i], j)
                ):
                    left[at], right[at], common[at] = i, j, length
                    at += 1
    return left[:at], right[:at], common[:at]
