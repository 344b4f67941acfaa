"""Fingerprints compared: groups of pages that agree in some cells, edges between similar ones, centers of clusters.

Cells are uint16[pages, m]; 0 is an empty cell, which equals nothing. Groups may be as large as the corpus, so
nothing here compares all pairs of a large one.
"""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.components import join, root
from unquilt.kernels.jit import njit
from unquilt.kernels.space import borrowed, inlined, kernel
from unquilt.kernels.words import mix

Cells = npt.NDArray[np.uint16]
Pages = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

CELL_BLOCK = 32  # cells of one cache line
VALUES = 1 << 16
S16 = np.uint64(16)


@inlined
def equal_cells(cells: Cells, a: int, others: Cells, b: int) -> int:
    """How many cells of cells[a] and others[b] are equal and not empty."""
    equal = np.uint16(0)
    for i in range(cells.shape[1]):
        equal += np.uint16(cells[a, i] == others[b, i]) & np.uint16(cells[a, i] != 0)
    return int(equal)


@kernel
def probe_keys(cells: Cells, probes: Offsets, first_page: int) -> tuple[Keys, Pages]:
    """A key for each probe of each page, equal where the probed cells are, and the page; none if one is empty.

    probes: int64[p, k], cells. Pages are numbered from first_page. Both p and pages may be 0.
    """
    keys = np.empty(len(cells) * len(probes), np.uint64)
    pages = np.empty(len(keys), np.uint32)
    count = 0
    for page in range(len(cells)):
        for probe in range(len(probes)):
            key = mix(np.uint64(probe + 1))
            is_full = True
            for i in range(probes.shape[1]):
                cell = cells[page, probes[probe, i]]
                is_full = is_full and cell != 0
                key = mix((key << S16) ^ (key >> np.uint64(48)) ^ np.uint64(cell))
            if is_full:
                keys[count] = key
                pages[count] = first_page + page
                count += 1
    return keys[:count], pages[:count]


@njit(cache=True, nogil=True)
def _link_all(
    pages: Pages, begin: int, end: int, cells: Cells, near: Cells, t: int, parent: Offsets, edges: Pages, count: int
) -> int:
    """Join every pair of a small group that is similar and not yet joined; near is room for its cells."""
    for i in range(end - begin):
        for cell in range(cells.shape[1]):  # from all over a large file to where they are met again soon
            near[i, cell] = cells[pages[begin + i], cell]
    for i in range(end - begin):
        for j in range(i):
            if root(parent, i) == root(parent, j):
                continue
            if equal_cells(near, i, near, j) > t:
                join(parent, i, j)
                edges[count, 0] = pages[begin + j]
                edges[count, 1] = pages[begin + i]
                count += 1
    return count


@njit(cache=True, nogil=True)
def _link_references(
    pages: Pages, begin: int, end: int, cells: Cells, t: int, most: int, parent: Offsets, edges: Pages, count: int
) -> int:
    """Join each page of a large group to the references it is similar to; one like none becomes a reference."""
    references = np.empty(most, np.int64)
    known = 0
    for i in range(end - begin):
        is_new = True
        for r in range(-1, known):
            j = references[r] if r >= 0 else max(i - 1, 0)  # pages that follow each other are often alike
            if root(parent, i) == root(parent, j):
                continue
            if equal_cells(cells, pages[begin + i], cells, pages[begin + j]) > t:
                is_new = False
                join(parent, i, j)
                edges[count, 0] = pages[begin + j]
                edges[count, 1] = pages[begin + i]
                count += 1
        if is_new and known < most:
            references[known] = i
            known += 1
    return count


@njit(cache=True, nogil=True)
def link_groups(pages: Pages, begins: Offsets, cells: Cells, t: int, small: int, most: int) -> Pages:
    """uint32[edges, 2], pairs of pages with more than t equal cells that connect each group.

    pages: uint32[n], ascending in each group; begins: int64[groups + 1]. In a group of at most small pages all that
    is connected gets connected; in a larger one each page is compared with the one before it and with at most most
    references, the first pages of the group that none before them was found similar to. n may be 0.
    """
    longest = 0
    for group in range(len(begins) - 1):
        longest = max(longest, begins[group + 1] - begins[group])
    parent = np.empty(longest, np.int64)
    near = np.empty((min(small, longest), cells.shape[1]), np.uint16)
    edges = np.empty((len(pages), 2), np.uint32)
    count = 0
    for group in range(len(begins) - 1):
        begin, end = begins[group], begins[group + 1]
        if end - begin < 2:
            continue
        for i in range(end - begin):
            parent[i] = i
        if end - begin <= small:
            count = _link_all(
                borrowed(pages),
                begin,
                end,
                borrowed(cells),
                borrowed(near),
                t,
                borrowed(parent),
                borrowed(edges),
                count,
            )
        else:
            count = _link_references(
                borrowed(pages), begin, end, borrowed(cells), t, most, borrowed(parent), borrowed(edges), count
            )
    return edges[:count]


@njit(cache=True, nogil=True)
def join_edges(parent: Offsets, edges: Pages) -> None:
    """Connect the two pages of each of uint32[n, 2] edges in parent int64[pages]."""
    for i in range(len(edges)):
        join(parent, np.int64(edges[i, 0]), np.int64(edges[i, 1]))


@njit(cache=True, nogil=True)
def all_roots(parent: Offsets) -> Offsets:
    """int64[pages], the smallest page of each page's component."""
    for page in range(len(parent)):
        parent[page] = root(parent, page)
    return parent


@njit(cache=True, nogil=True)
def _add_counts(pages: Pages, begin: int, end: int, cells: Cells, first: int, counts: Offsets, totals: Offsets) -> None:
    """Add to totals how many pages of the cluster have the same value, over the cells of a block; counts stays 0."""
    last = min(first + CELL_BLOCK, cells.shape[1])
    for i in range(begin, end):
        for cell in range(first, last):
            counts[cell - first, cells[pages[i], cell]] += 1
    for i in range(begin, end):
        for cell in range(first, last):
            value = cells[pages[i], cell]
            if value != 0:
                totals[i - begin] += counts[cell - first, value]
    for i in range(begin, end):
        for cell in range(first, last):
            counts[cell - first, cells[pages[i], cell]] = 0


@njit(cache=True, nogil=True)
def cluster_centers(pages: Pages, begins: Offsets, cells: Cells) -> tuple[Offsets, Pages]:
    """The member of each cluster most similar to all others, as its place in pages, and each page's similarity to it.

    pages: uint32[n]; those of cluster c are pages[begins[c]:begins[c + 1]], at least one. int64[clusters],
    uint32[n] equal cells. The first of equals is the center. Linear in pages: the equal cells of a page with all
    others add up from how often each of its values occurs.
    """
    counts = np.zeros((CELL_BLOCK, VALUES), np.int64)
    centers = np.empty(len(begins) - 1, np.int64)
    similar = np.empty(len(pages), np.uint32)
    for cluster in range(len(begins) - 1):
        begin, end = begins[cluster], begins[cluster + 1]
        totals = np.zeros(end - begin, np.int64)
        for first in range(0, cells.shape[1], CELL_BLOCK):
            _add_counts(borrowed(pages), begin, end, borrowed(cells), first, borrowed(counts), borrowed(totals))
        center = begin + np.argmax(totals)
        centers[cluster] = center
        for i in range(begin, end):
            similar[i] = equal_cells(cells, pages[i], cells, pages[center])
    return centers, similar


@kernel
def most_similar(cells: Cells, references: Cells) -> tuple[Pages, Pages]:
    """For each page the most equal cells it has with one of the references, and the first that has so many.

    cells: uint16[pages, m]; references: uint16[r, m], r at least 1.
    """
    best = np.zeros(len(cells), np.uint32)
    which = np.zeros(len(cells), np.uint32)
    for page in range(len(cells)):
        for r in range(len(references)):
            equal = equal_cells(cells, page, references, r)
            if equal > best[page]:
                best[page] = equal
                which[page] = r
    return best, which


@njit(cache=True, nogil=True)
def all_pairs(cells: Cells) -> npt.NDArray[np.uint16]:
    """uint16[n, n], the equal cells of every pair: for a sample."""
    equal = np.zeros((len(cells), len(cells)), np.uint16)
    for a in range(len(cells)):
        for b in range(a + 1):
            equal[a, b] = equal[b, a] = equal_cells(cells, a, cells, b)
    return equal
