"""Pairs of hosts that share features, and how alike the pages of a pair are."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import copy_to, sort
from unquilt.kernels.jit import njit
from unquilt.kernels.words import mix

Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]

U1 = np.uint64(1)
STEP = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def shared_pairs(keys: Hashes, hosts: Hashes, begins: Ints, most: int) -> tuple[Hashes, Hashes, Codes]:
    """Each pair of hosts a < b that share a feature of 2 to ``most`` hosts: a, b uint64[n] and a code uint32[n].

    keys: uint64[rows], sorted; hosts: uint64[rows], no two equal for one key; begins: runs of the keys. The code is
    twice the number of hosts with the feature, and one more for the feature of a host name.
    """
    count = 0
    for run in range(len(begins) - 1):
        size = begins[run + 1] - begins[run]
        if 2 <= size <= most:
            count += size * (size - 1) // 2
    first = np.empty(count, np.uint64)
    second = np.empty(count, np.uint64)
    codes = np.empty(count, np.uint32)
    at = 0
    for run in range(len(begins) - 1):
        begin, end = begins[run], begins[run + 1]
        if not 2 <= end - begin <= most:
            continue
        code = np.uint32(2 * (end - begin)) | np.uint32(keys[begin] & U1)
        for i in range(begin, end):
            for j in range(i + 1, end):
                first[at], second[at] = min(hosts[i], hosts[j]), max(hosts[i], hosts[j])
                codes[at] = code
                at += 1
    return first, second, codes


@njit(cache=True, nogil=True)
def pair_keys(first: Hashes, second: Hashes) -> Hashes:
    """uint64[n], a key for each pair of hosts."""
    keys = np.empty(len(first), np.uint64)
    for i in range(len(first)):
        keys[i] = mix(mix(first[i]) + second[i])
    return keys


@njit(cache=True, nogil=True)
def score_pairs(
    first: Hashes, second: Hashes, codes: Codes, host_weight: float, path_weight: float
) -> tuple[Ints, Floats, Ints, Ints]:
    """For each pair the row it begins at, its score, and how many features and path features it shares.

    first, second, codes: rows of shared_pairs, sorted by all three, so that sums do not depend on how they came.
    """
    n = len(first)
    begins = np.empty(n, np.int64)
    scores = np.zeros(n, np.float64)
    features = np.zeros(n, np.int64)
    paths = np.zeros(n, np.int64)
    at = -1
    for i in range(n):
        if i == 0 or first[i] != first[i - 1] or second[i] != second[i - 1]:
            at += 1
            begins[at] = i
        is_host = codes[i] & np.uint32(1)
        scores[at] += (host_weight if is_host else path_weight) / np.float64(codes[i] >> np.uint32(1))
        features[at] += 1
        paths[at] += 0 if is_host else 1
    count = at + 1
    return begins[:count], scores[:count], features[:count], paths[:count]


@njit(cache=True, nogil=True)
def resemblances(grams: Hashes, offsets: Ints, left: Ints, right: Ints) -> Floats:
    """float64[n], the Jaccard similarity of the gram sets of pages left[i] and right[i]; 0 if both are empty.

    The grams of page p are grams[offsets[p]:offsets[p + 1]], distinct and ascending.
    """
    found = np.zeros(len(left), np.float64)
    for n in range(len(left)):
        i, j = offsets[left[n]], offsets[right[n]]
        end_i, end_j = offsets[left[n] + 1], offsets[right[n] + 1]
        size = (end_i - i) + (end_j - j)
        shared = 0
        while i < end_i and j < end_j:
            if grams[i] == grams[j]:
                shared += 1
                i += 1
                j += 1
            elif grams[i] < grams[j]:
                i += 1
            else:
                j += 1
        if size:
            found[n] = shared / (size - shared)
    return found


@njit(cache=True, nogil=True)
def sort_sets(grams: Hashes, offsets: Ints) -> Hashes:
    """The grams of each page in ascending order: those of page p are grams[offsets[p]:offsets[p + 1]]."""
    out = np.empty(len(grams), np.uint64)
    for page in range(len(offsets) - 1):
        begin, end = offsets[page], offsets[page + 1]
        copy_to(out, begin, grams[begin:end])
        sort(out[begin:end])
    return out


@njit(cache=True, nogil=True)
def hash_letters(data: npt.NDArray[np.uint8], offsets: Ints) -> Hashes:
    """uint64[n], a hash of each text without its white space: text i is data[offsets[i]:offsets[i + 1]]."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        h, word, filled = U1, np.uint64(0), np.uint64(0)
        for j in range(offsets[i], offsets[i + 1]):
            if data[j] > 32:
                word = (word << np.uint64(8)) | np.uint64(data[j])
                filled += U1
                if filled & np.uint64(7) == np.uint64(0):
                    h = mix(h ^ word) * STEP
                    word = np.uint64(0)
        hashes[i] = mix(mix(h ^ word) ^ filled)
    return hashes


@njit(cache=True, nogil=True)
def page_keys(hosts: Hashes, paths: Hashes) -> Hashes:
    """uint64[n], a key for the page of each host and path, from their hashes."""
    keys = np.empty(len(hosts), np.uint64)
    for i in range(len(hosts)):
        keys[i] = mix(mix(hosts[i] + STEP) ^ paths[i])
    return keys


@njit(cache=True, nogil=True)
def whole_text_grams(grams: Hashes, offsets: Ints, words: Hashes, word_offsets: Ints) -> tuple[Hashes, Ints]:
    """The grams of each page, and one gram of all its words for a page with fewer words than a gram has."""
    out = np.empty(len(grams) + len(offsets) - 1, np.uint64)
    out_offsets = np.zeros(len(offsets), np.int64)
    at = 0
    for page in range(len(offsets) - 1):
        for i in range(offsets[page], offsets[page + 1]):
            out[at] = grams[i]
            at += 1
        if offsets[page] == offsets[page + 1] and word_offsets[page] < word_offsets[page + 1]:
            h = STEP
            for i in range(word_offsets[page], word_offsets[page + 1]):
                h = mix(h ^ words[i])
            out[at] = h
            at += 1
        out_offsets[page + 1] = at
    return out[:at], out_offsets
