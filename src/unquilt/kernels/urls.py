"""Paths of URLs: their hashes, a sample of each host's that two mirrors share, and its positional bigrams."""

from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import sort
from unquilt.kernels.jit import njit
from unquilt.kernels.space import borrowed
from unquilt.kernels.words import mix

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

SLASH, BACKSLASH, QUERY, HASH_SIGN, COLON = 47, 92, 63, 35, 58
TAB, LINE_FEED, RETURN, SPACE = 9, 10, 13, 32
STEP = np.uint64(0x9E3779B97F4A7C15)
EIGHT, U1 = np.uint64(8), np.uint64(1)
BIGRAM = np.uint64(0xA0761D6478BD642F)
MOST_MODULUS = 1 << 60


@njit(cache=True, nogil=True)
def _path_span(data: Bytes, begin: int, end: int) -> tuple[int, int]:
    """Where what follows the host of the URL data[begin:end] begins and ends; the fragment is left out."""
    while begin < end and data[begin] <= SPACE:
        begin += 1
    while begin < end and data[end - 1] <= SPACE:
        end -= 1
    i = begin
    while i + 1 < end and not (data[i] == SLASH and data[i + 1] == SLASH):
        i += 1
    i = min(i + 2, end)
    while i < end and data[i] != SLASH and data[i] != QUERY and data[i] != HASH_SIGN and data[i] != BACKSLASH:
        i += 1
    stop = i
    while stop < end and data[stop] != HASH_SIGN:
        stop += 1
    return i, stop


@njit(cache=True, nogil=True)
def _hash_path(data: Bytes, begin: int, end: int) -> Any:
    """A hash of the path in data[begin:end], which may want its first slash; tabs and line ends do not count."""
    h = STEP
    word, filled = np.uint64(SLASH), np.uint64(1)
    i = begin + 1 if begin < end and (data[begin] == SLASH or data[begin] == BACKSLASH) else begin
    while i < end:
        byte = data[i]
        i += 1
        if byte in (TAB, LINE_FEED, RETURN):
            continue
        word = (word << EIGHT) | np.uint64(byte)
        filled += U1
        if filled & np.uint64(7) == np.uint64(0):
            h = mix(h ^ word) * STEP
            word = np.uint64(0)
    return mix(mix(h ^ word) ^ filled)


@njit(cache=True, nogil=True)
def hash_paths(data: Bytes, offsets: Ints) -> Hashes:
    """uint64[n], a hash of each path data[offsets[i]:offsets[i + 1]]; the same as candidate_paths gives it."""
    source = borrowed(data)
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = _hash_path(source, offsets[i], offsets[i + 1])
    return hashes


@njit(cache=True, nogil=True)
def candidate_paths(data: Bytes, offsets: Ints, modulus: int) -> tuple[Ints, Ints, Hashes, Bytes, Ints]:
    """The URLs whose path has a hash of 0 modulo ``modulus``.

    URL i is data[offsets[i]:offsets[i + 1]]. A path is what follows the host, query included and fragment not; it
    begins with a slash. Gives rows int64[m], where in data the path begins int64[m], hashes uint64[m], and the paths as
    bytes and offsets int64[m + 1]. modulus 1 takes every URL. m may be 0.
    """
    source = borrowed(data)
    n = len(offsets) - 1
    rows = np.empty(n, np.int64)
    hashes = np.empty(n, np.uint64)
    begins = np.empty(n, np.int64)
    ends = np.empty(n, np.int64)
    divisor = np.uint64(modulus)
    count, size = 0, 0
    for i in range(n):
        begin, end = _path_span(source, np.int64(offsets[i]), np.int64(offsets[i + 1]))
        h = _hash_path(source, begin, end)
        if h % divisor == np.uint64(0):
            rows[count], hashes[count], begins[count], ends[count] = i, h, begin, end
            count += 1
            size += end - begin + 1
    out = np.empty(size, np.uint8)
    out_offsets = np.zeros(count + 1, np.int64)
    at = 0
    for c in range(count):
        i, end = begins[c], ends[c]
        out[at] = SLASH
        at += 1
        if i < end and (source[i] == SLASH or source[i] == BACKSLASH):
            i += 1
        while i < end:
            if source[i] != TAB and source[i] != LINE_FEED and source[i] != RETURN:
                out[at] = source[i]
                at += 1
            i += 1
        out_offsets[c + 1] = at
    return rows[:count], begins[:count], hashes[:count], out[:at], out_offsets


@njit(cache=True, nogil=True)
def slices(data: Bytes, begins: Ints, ends: Ints) -> tuple[Bytes, Ints]:
    """The strings data[begins[i]:ends[i]] as bytes and offsets int64[n + 1]; n may be 0."""
    offsets = np.zeros(len(begins) + 1, np.int64)
    for i in range(len(begins)):
        offsets[i + 1] = offsets[i] + ends[i] - begins[i]
    out = np.empty(offsets[len(begins)], np.uint8)
    for i in range(len(begins)):
        for j in range(ends[i] - begins[i]):
            out[offsets[i] + j] = data[begins[i] + j]
    return out, offsets


@njit(cache=True, nogil=True)
def shortest_of_each(owners: Ints, data: Bytes, begins: Ints, ends: Ints, n_owners: int) -> Ints:
    """int64[n_owners], the shortest string of each owner, the first in byte order of equals; -1 if it has none.

    String i is data[begins[i]:ends[i]] and belongs to owners[i]; empty ones do not count.
    """
    source = borrowed(data)
    found = np.full(n_owners, -1, np.int64)
    for i in range(len(owners)):
        length = ends[i] - begins[i]
        best = found[owners[i]]
        if length == 0 or (best >= 0 and ends[best] - begins[best] < length):
            continue
        if best < 0 or ends[best] - begins[best] > length:
            found[owners[i]] = i
            continue
        for j in range(length):
            a, b = source[begins[i] + j], source[begins[best] + j]
            if a != b:
                if a < b:
                    found[owners[i]] = i
                break
    return found


@njit(cache=True, nogil=True)
def _compare(data: Bytes, offsets: Ints, a: int, b: int) -> Any:
    """Less than, equal to or greater than 0 as string a comes before b, is equal to it, or comes after it."""
    i, j = offsets[a], offsets[b]
    length = min(offsets[a + 1] - i, offsets[b + 1] - j)
    for k in range(length):
        if data[i + k] != data[j + k]:
            return 1 if data[i + k] > data[j + k] else -1
    return (offsets[a + 1] - i) - (offsets[b + 1] - j)


@njit(cache=True, nogil=True)
def _sort_strings(order: Ints, begin: int, end: int, spare: Ints, data: Bytes, offsets: Ints) -> None:
    """Sort order[begin:end] by the strings it names: merges of growing runs; nothing is done if they are in order."""
    i = begin + 1
    while i < end and _compare(data, offsets, order[i - 1], order[i]) <= 0:
        i += 1
    if i >= end:
        return
    width = 1
    while width < end - begin:
        left = begin
        while left < end:
            middle, right = min(left + width, end), min(left + 2 * width, end)
            a, b = left, middle
            for at in range(left, right):
                if a < middle and (b >= right or _compare(data, offsets, order[a], order[b]) <= 0):
                    spare[at] = order[a]
                    a += 1
                else:
                    spare[at] = order[b]
                    b += 1
            left = right
        for at in range(begin, end):
            order[at] = spare[at]
        width *= 2


@njit(cache=True, nogil=True)
def sample_paths(
    hosts: Ints, hashes: Hashes, data: Bytes, offsets: Ints, n_hosts: int, modulus: int, first: int, growth: float
) -> tuple[Ints, Ints]:
    """The paths a sequential reader of each host's distinct paths, in byte order, keeps.

    It keeps a path if its hash is 0 modulo q; q is ``modulus`` at first and doubles when ``first`` paths are kept, then
    ``first * growth``, and so on. hosts: int64[n], 0..n_hosts - 1; path i is data[offsets[i]:offsets[i + 1]] with
    hashes[i]. Gives indexes of the kept by host and path, and int64[n_hosts + 1], where each host's begin.

    The sample of a union is the sample of the union of samples: one more path before another can only raise the q
    that the other meets, and each q divides the next. So pieces of a host can be sampled apart.
    """
    source = borrowed(data)
    bounds = np.zeros(n_hosts + 1, np.int64)
    for i in range(len(hosts)):
        bounds[hosts[i] + 1] += 1
    for host in range(n_hosts):
        bounds[host + 1] += bounds[host]
    places = bounds.copy()
    order = np.empty(len(hosts), np.int64)
    for i in range(len(hosts)):
        order[places[hosts[i]]] = i
        places[hosts[i]] += 1
    spare = np.empty(len(hosts), np.int64)
    kept = np.empty(len(hosts), np.int64)
    begins = np.zeros(n_hosts + 1, np.int64)
    at = 0
    for host in range(n_hosts):
        _sort_strings(order, bounds[host], bounds[host + 1], spare, source, offsets)
        q, threshold, count = np.uint64(modulus), np.float64(first), 0
        for j in range(bounds[host], bounds[host + 1]):
            i = order[j]
            if j > bounds[host] and _compare(source, offsets, order[j - 1], i) == 0:
                continue
            if hashes[i] % q == np.uint64(0):
                kept[at] = i
                at += 1
                count += 1
                while count >= threshold and q < MOST_MODULUS:
                    q *= np.uint64(2)
                    threshold *= growth
        begins[host + 1] = at
    return kept[:at], begins


@njit(cache=True, nogil=True)
def _terms(data: Bytes, begin: int, end: int, terms: Hashes) -> int:
    """Write the hash of each term of data[begin:end] to terms; how many there are.

    A term is a run of letters, in lower case; bytes beyond ASCII count as letters.
    """
    count = 0
    h = np.uint64(0)
    inside = False
    for i in range(begin, end):
        byte = data[i]
        if 65 <= byte <= 90:
            byte += np.uint8(32)
        if 97 <= byte <= 122 or byte >= 128:
            h = mix((STEP if not inside else h) ^ np.uint64(byte)) * STEP
            inside = True
        elif inside:
            terms[count] = h
            count += 1
            inside = False
    if inside:
        terms[count] = h
        count += 1
    return count


@njit(cache=True, nogil=True)
def _is_among(term: np.uint64, some: Hashes) -> bool:
    for i in range(len(some)):
        if some[i] == term:
            return True
    return False


@njit(cache=True, nogil=True)
def bigram_key(one: np.uint64, two: np.uint64, depth: int) -> Any:
    """The key of a positional bigram; depth -1 is that of a host name. The last bit tells a host's from a path's."""
    key = mix(mix(one * BIGRAM + two) ^ np.uint64(depth + 2))
    return (key | U1) if depth < 0 else key & ~U1


@njit(cache=True, nogil=True)
def hash_terms(data: Bytes, offsets: Ints) -> Hashes:
    """uint64[n], the hash of each string of an Arrow column that is one term."""
    hashes = np.zeros(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        terms = np.zeros((offsets[i + 1] - offsets[i]) // 2 + 1, np.uint64)
        _terms(data, np.int64(offsets[i]), np.int64(offsets[i + 1]), terms)
        hashes[i] = terms[0]
    return hashes


@njit(cache=True, nogil=True)
def _bigrams(terms: Hashes, count: int, stops: Hashes, is_host: bool, out: Hashes, at: int) -> int:
    """Write the key of each bigram of the terms that are no stop terms to out[at:]; where they end."""
    last = np.uint64(0)
    depth = 0
    for i in range(count):
        if _is_among(terms[i], stops):
            continue
        if depth:
            out[at] = bigram_key(last, terms[i], -1 if is_host else depth - 1)
            at += 1
        last = terms[i]
        depth += 1
    return at


@njit(cache=True, nogil=True)
def host_features(
    names: Bytes, name_offsets: Ints, data: Bytes, offsets: Ints, begins: Ints, stops: Hashes, generators: Hashes,
    least: int,
) -> tuple[Hashes, Ints]:  # fmt: skip
    """The distinct features of each host, ascending, and int64[hosts + 1], where each host's begin.

    Host h is called names[name_offsets[h]:name_offsets[h + 1]]; its sampled paths are begins[h]..begins[h + 1] - 1,
    path i being data[offsets[i]:offsets[i + 1]]. A path with a generator term gives no features; a path feature counts
    if at least ``least`` paths of the host have it.
    """
    hosts = len(begins) - 1
    longest, most = 1, 1
    for h in range(hosts):
        size = (name_offsets[h + 1] - name_offsets[h]) // 2 + 1
        longest = max(longest, size)
        if begins[h + 1] > begins[h]:
            most = max(most, size + (offsets[begins[h + 1]] - offsets[begins[h]]) // 2 + begins[h + 1] - begins[h])
        most = max(most, size)
        for i in range(begins[h], begins[h + 1]):
            longest = max(longest, (offsets[i + 1] - offsets[i]) // 2 + 1)
    terms = np.empty(longest, np.uint64)
    found = np.empty(most, np.uint64)
    out = np.empty((len(data) + len(names)) // 2 + len(offsets) + hosts, np.uint64)
    out_begins = np.zeros(hosts + 1, np.int64)
    at = 0
    for h in range(hosts):
        count = _terms(names, np.int64(name_offsets[h]), np.int64(name_offsets[h + 1]), terms)
        used = _bigrams(terms, count, stops, True, found, 0)
        for i in range(begins[h], begins[h + 1]):
            count = _terms(data, np.int64(offsets[i]), np.int64(offsets[i + 1]), terms)
            is_generated = False
            for t in range(count):
                is_generated = is_generated or _is_among(terms[t], generators)
            if not is_generated:
                used = _bigrams(terms, count, stops, False, found, used)
        mine = found[:used]
        sort(mine)
        i = 0
        while i < used:
            j = i
            while j < used and mine[j] == mine[i]:
                j += 1
            if mine[i] & U1 == U1 or j - i >= least:
                out[at] = mine[i]
                at += 1
            i = j
        out_begins[h + 1] = at
    return out[:at], out_begins
