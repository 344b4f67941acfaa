"""URLs as paths: the folder a page lies in, crawler loops in it, and sums over the tree of folders."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.words import mix

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]

SLASH, COLON, QUERY, FRAGMENT = 47, 58, 63, 35


@njit(cache=True, nogil=True)
def _path_of(urls: Bytes, begin: int, end: int) -> tuple[int, int]:
    """Where the path of a URL begins, at its slash, and ends; empty if it has none."""
    at = begin
    while at + 2 < end and not (urls[at] == COLON and urls[at + 1] == SLASH and urls[at + 2] == SLASH):
        at += 1
    at = at + 3 if at + 2 < end else begin
    while at < end and urls[at] != SLASH and urls[at] != QUERY and urls[at] != FRAGMENT:
        at += 1
    stop = at
    while stop < end and urls[stop] != QUERY and urls[stop] != FRAGMENT:
        stop += 1
    return at, stop


@njit(cache=True, nogil=True)
def folders(urls: Bytes, places: Places, hosts: Bytes, host_places: Places) -> tuple[Bytes, Offsets]:
    """The folder of each URL, host and path up to the last slash, as bytes and int64[n + 1] offsets.

    urls, places and hosts, host_places: two Arrow columns of n strings. n may be 0.
    """
    n = len(places) - 1
    size = np.int64(places[n]) - np.int64(places[0]) + np.int64(host_places[n]) - np.int64(host_places[0]) + n
    out = np.empty(size, np.uint8)
    offsets = np.zeros(n + 1, np.int64)
    at = 0
    for i in range(n):
        for j in range(host_places[i], host_places[i + 1]):
            out[at] = hosts[j]
            at += 1
        begin, end = _path_of(urls, np.int64(places[i]), np.int64(places[i + 1]))
        while end > begin and urls[end - 1] != SLASH:
            end -= 1
        for j in range(begin, end):
            out[at] = urls[j]
            at += 1
        if begin == end:
            out[at] = SLASH
            at += 1
        offsets[i + 1] = at
    return out[:at], offsets


@njit(cache=True, nogil=True)
def _most_repeats(parts: npt.NDArray[np.uint64], count: int) -> int:
    """How often, at most, a run of components stands again and again, one behind the other."""
    most = 1 if count else 0
    for length in range(1, count // 2 + 1):
        same = 0
        for i in range(length, count):
            same = same + 1 if parts[i] == parts[i - length] else 0
            most = max(most, same // length + 1)
    return most


@njit(cache=True, nogil=True)
def loops(urls: Bytes, places: Places, max_components: int) -> tuple[Places, Places]:
    """Components of each URL's path, and how often a run of them is repeated at most: int32[n] each.

    urls, places: an Arrow column of n strings. Of a path with more than max_components the repeats are not counted,
    and are 0. Empty components do not count. n may be 0.
    """
    n = len(places) - 1
    components, repeats = np.zeros(n, np.int32), np.zeros(n, np.int32)
    parts = np.empty(max_components + 1, np.uint64)
    for i in range(n):
        at, end = _path_of(urls, np.int64(places[i]), np.int64(places[i + 1]))
        count = 0
        while at < end:
            at += 1
            part, length = np.uint64(0), 0
            while at < end and urls[at] != SLASH:
                part = mix(part ^ np.uint64(urls[at])) + np.uint64(1)
                at += 1
                length += 1
            if length:
                if count <= max_components:
                    parts[count] = part
                count += 1
        components[i] = count
        repeats[i] = _most_repeats(parts, count) if count <= max_components else 0
    return components, repeats


@njit(cache=True, nogil=True)
def _common(names: Bytes, offsets: Offsets, i: int) -> int:
    """Up to where names i - 1 and i agree."""
    a, b = offsets[i - 1], offsets[i]
    most = min(offsets[i] - a, offsets[i + 1] - b)
    length = 0
    while length < most and names[a + length] == names[b + length]:
        length += 1
    return length


@njit(cache=True, nogil=True)
def add_up_tree(
    names: Bytes, offsets: Offsets, values: npt.NDArray[np.int64]
) -> tuple[Offsets, Offsets, npt.NDArray[np.int64]]:
    """Every folder above some folders, and themselves, with the sums over all that lie in them, by name.

    names, offsets: n different names that end with a slash, sorted by their bytes; values: int64[n, columns]. Gives
    for each folder int64 a name it begins, its length in it, and int64[folders, columns]. n may be 0.
    """
    n = len(offsets) - 1
    depth = 0
    total = 0
    for i in range(n):
        shared = _common(names, offsets, i) if i else 0
        own = 0
        for j in range(offsets[i], offsets[i + 1]):
            own += names[j] == SLASH
            total += names[j] == SLASH and j - offsets[i] >= shared
        depth = max(depth, own)
    which, lengths = np.empty(total, np.int64), np.empty(total, np.int64)
    sums = np.zeros((total, values.shape[1]), np.int64)
    open_folders = np.empty(depth + 1, np.int64)
    opened = found = 0
    for i in range(n):
        shared = _common(names, offsets, i) if i else 0
        while opened and lengths[open_folders[opened - 1]] > shared:
            opened -= 1
        known = lengths[open_folders[opened - 1]] if opened else 0
        for j in range(offsets[i] + known, offsets[i + 1]):
            if names[j] == SLASH:
                which[found], lengths[found] = i, j - offsets[i] + 1
                open_folders[opened] = found
                opened += 1
                found += 1
        for k in range(opened):
            for c in range(values.shape[1]):
                sums[open_folders[k], c] += values[i, c]
    return which[:found], lengths[:found], sums[:found]


@njit(cache=True, nogil=True)
def cut_names(names: Bytes, offsets: Offsets, which: Offsets, lengths: Offsets) -> tuple[Bytes, Offsets]:
    """The beginnings of some names, as bytes and int64[n + 1] offsets. which, lengths: int64[n]; n may be 0."""
    cuts = np.zeros(len(which) + 1, np.int64)
    for i in range(len(which)):
        cuts[i + 1] = cuts[i] + lengths[i]
    out = np.empty(cuts[len(which)], np.uint8)
    for i in range(len(which)):
        for j in range(lengths[i]):
            out[cuts[i] + j] = names[offsets[which[i]] + j]
    return out, cuts


@njit(cache=True, nogil=True)
def highest_above(names: Bytes, offsets: Offsets, is_bad: npt.NDArray[np.bool_]) -> Offsets:
    """int64[n], for each bad folder the highest bad one it lies in, itself if there is none; -1 for the others.

    names, offsets: n folders, sorted by their bytes. is_bad: bool[n]. n may be 0.
    """
    n = len(offsets) - 1
    above = np.full(n, -1, np.int64)
    top = -1
    for i in range(n):
        if not is_bad[i]:
            continue
        is_inside = top >= 0 and offsets[top + 1] - offsets[top] <= offsets[i + 1] - offsets[i]
        if is_inside:
            for j in range(offsets[top + 1] - offsets[top]):
                if names[offsets[top] + j] != names[offsets[i] + j]:
                    is_inside = False
                    break
        if not is_inside:
            top = i
        above[i] = top
    return above
