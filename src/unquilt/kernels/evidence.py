"""What tells mirrors and link farms from pages that only share a template: addresses, and sketches of texts."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.arrays import place_of
from unquilt.kernels.space import inlined, kernel
from unquilt.kernels.words import mix

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

BINS, BANDS = 32, 4
HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)
STEP, SEED = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x51ED270B)
S5 = np.uint64(5)
SLASH, HASH, COLON = ord("/"), ord("#"), ord(":")


@inlined
def _hash_bytes(data: Bytes, begin: int, end: int) -> np.uint64:
    h = SEED
    for i in range(begin, end):
        h = (h ^ np.uint64(data[i])) * STEP
        h ^= h >> np.uint64(29)
    return np.uint64(mix(h))


@kernel
def hash_addresses(
    data: Bytes, offsets: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """A hash of each URL without scheme, fragment and last slash, and one of its path with the query alone.

    data: uint8, the URLs one after the other; URL i is data[offsets[i]:offsets[i + 1]]. There may be none.
    """
    wholes = np.empty(len(offsets) - 1, np.uint64)
    paths = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(wholes)):
        begin, end, last = int(offsets[i]), int(offsets[i]), int(offsets[i + 1])
        while end < last and data[end] != HASH:
            end += 1
        if end > begin and data[end - 1] == SLASH:
            end -= 1
        for j in range(begin, min(begin + 8, end - 2)):
            if data[j] == COLON and data[j + 1] == SLASH and data[j + 2] == SLASH:
                begin = j + 3
                break
        path = begin
        while path < end and data[path] != SLASH:
            path += 1
        wholes[i] = _hash_bytes(data, begin, end)
        paths[i] = _hash_bytes(data, path, end)
    return wholes, paths


@kernel
def text_bands(words: Hashes, word_offsets: Offsets, grams: Hashes, gram_offsets: Offsets) -> Hashes:
    """uint64[pages, 4], hashes of a sketch of each text: near-duplicates very likely agree in one, others do not.

    words, grams: uint64, those of page i are words[word_offsets[i]:word_offsets[i + 1]], and grams likewise. Of the
    grams 32 minima are kept, each over a 32nd of all, and each 8 make a band: texts of resemblance s agree in one with
    the chance 1 - (1 - s**8)**4. A text without grams is its words.
    """
    pages = len(word_offsets) - 1
    bands = np.empty((pages, BANDS), np.uint64)
    minima = np.empty(BINS, np.uint64)
    for page in range(pages):
        minima[:] = HIGHEST
        for i in range(gram_offsets[page], gram_offsets[page + 1]):
            place = grams[i] & np.uint64(BINS - 1)
            minima[place] = min(minima[place], grams[i] >> S5)
        if gram_offsets[page] == gram_offsets[page + 1]:
            h = SEED
            for i in range(word_offsets[page], word_offsets[page + 1]):
                h = mix(h ^ words[i])
            minima[:] = h
        for band in range(BANDS):
            h = np.uint64(band)
            for i in range(BINS // BANDS):
                h = mix(h * STEP ^ minima[band * (BINS // BANDS) + i])
            bands[page, band] = h
    return bands


@kernel
def count_foreign_links(
    targets: Hashes,
    offsets: Offsets,
    pages: npt.NDArray[np.uint32],
    known: Hashes,
    known_pages: npt.NDArray[np.uint32],
    clusters: npt.NDArray[np.uint32],
    domains: npt.NDArray[np.uint32],
) -> npt.NDArray[np.uint32]:
    """uint32[n], how many links of each page lead to a page of its cluster on another domain.

    targets: uint64, hashes of addresses; those of pages[i] are targets[offsets[i]:offsets[i + 1]]. known: uint64[k],
    ascending, the addresses of known_pages uint32[k]. clusters, domains: uint32, by page.
    """
    counts = np.zeros(len(pages), np.uint32)
    for i in range(len(pages)):
        for j in range(offsets[i], offsets[i + 1]):
            at = place_of(known, targets[j])
            if at == len(known) or known[at] != targets[j]:
                continue
            page = known_pages[at]
            if clusters[page] == clusters[pages[i]] and domains[page] != domains[pages[i]]:
                counts[i] += np.uint32(1)
    return counts
