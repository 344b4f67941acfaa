"""Near-duplicates: keys of runs that agree, edges between pages, and how much pages really share."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.components import join, root
from unquilt.kernels.jit import njit
from unquilt.kernels.words import mix

Hashes = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

STEP = np.uint64(0x9E3779B97F4A7C15)
U1 = np.uint64(1)
NEAR = 2048
"""Pages of a class, each unlike the others, that are all compared with each other; beyond, see verified_roots."""


@njit(cache=True, nogil=True)
def run_hashes(shingles: Hashes, runs: int, length: int) -> Hashes:
    """uint64[pages, runs], a hash of each run of ``length`` shingles of each page. shingles: uint64[pages, n]."""
    found = np.empty((len(shingles), runs), np.uint64)
    for page in range(len(shingles)):
        for run in range(runs):
            h = mix(STEP * np.uint64(run + 1))
            for i in range(run * length, (run + 1) * length):
                h = mix(h ^ shingles[page, i]) * STEP
            found[page, run] = mix(h)
    return found


@njit(cache=True, nogil=True)
def agreement_keys(shingles: Hashes, runs: int, length: int, choices: Offsets) -> Hashes:
    """uint64[pages * ways], for each page and each way to choose runs, a hash of the chosen runs.

    choices: int64[ways, agree], the runs of each way. Pages with an equal key agree in those runs; pages that
    agree in as many runs as are chosen have an equal key.
    """
    hashes = run_hashes(shingles, runs, length)
    ways, agree = choices.shape
    keys = np.empty(len(shingles) * ways, np.uint64)
    for page in range(len(shingles)):
        for way in range(ways):
            h = mix(np.uint64(way) + U1)
            for i in range(agree):
                h = mix(h ^ hashes[page, choices[way, i]]) * STEP
            keys[page * ways + way] = mix(h)
    return keys


@njit(cache=True, nogil=True)
def group_edges(pages: Pages, begins: Offsets, parent: Offsets) -> tuple[Pages, Pages]:
    """Edges that join the pages of each group, none that follows from those before it.

    pages: uint32[n], ascending within a group; group g is pages[begins[g]:begins[g + 1]]. parent: int64[m], the
    numbers 0 to m - 1, a place for each distinct page: here pages stand for their places.
    """
    one, other = np.empty(len(pages), np.uint32), np.empty(len(pages), np.uint32)
    count = 0
    for group in range(len(begins) - 1):
        first = pages[begins[group]]
        for i in range(begins[group] + 1, begins[group + 1]):
            if join(parent, np.int64(first), np.int64(pages[i])):
                one[count], other[count] = first, pages[i]
                count += 1
    return one[:count], other[:count]


@njit(cache=True, nogil=True)
def join_all(parent: Pages, one: Pages, other: Pages) -> None:
    """Join each one[i] with other[i] in parent uint32[pages], in which a page's parent is never above it."""
    for i in range(len(one)):
        a, b = one[i], other[i]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b


@njit(cache=True, nogil=True)
def flatten(parent: Pages) -> None:
    """Make the parent of each page the least page it is joined with."""
    for page in range(len(parent)):
        parent[page] = parent[parent[page]]


@njit(cache=True, nogil=True)
def _is_edge(a: Hashes, b: Hashes, runs_a: Hashes, runs_b: Hashes, agree: int, least_equal: int) -> bool:
    agreeing = 0
    for run in range(len(runs_a)):
        agreeing += 1 if runs_a[run] == runs_b[run] else 0
    if agreeing < agree:
        return False
    equal = 0
    for i in range(len(a)):
        equal += 1 if a[i] == b[i] else 0
    return equal >= least_equal


@njit(cache=True, nogil=True)
def verified_roots(shingles: Hashes, runs: Hashes, agree: int, least_equal: int, near: int) -> Offsets:
    """int64[n], the first page of a class each of its pages is joined with by edges of at least so many equal shingles.

    shingles: uint64[n, m], runs: uint64[n, r], of run_hashes; n may be 0. All pairs are compared, but for those
    joined already, if n is at most ``near``; else a page with the ``near`` pages before it and with the first of
    each of the first ``near`` groups.
    """
    n = len(shingles)
    parent = np.arange(n).astype(np.int64)
    firsts = np.empty(min(n, near), np.int64)
    groups = 0
    for j in range(n):
        window = max(j - near, 0)
        for g in range(groups + j - window):
            i = firsts[g] if g < groups else window + g - groups
            is_apart = (g >= groups or i < window) and root(parent, i) != root(parent, j)
            if is_apart and _is_edge(shingles[i], shingles[j], runs[i], runs[j], agree, least_equal):
                join(parent, i, j)
        if root(parent, j) == j and groups < len(firsts):
            firsts[groups] = j
            groups += 1
    for page in range(n):
        parent[page] = root(parent, page)
    return parent


@njit(cache=True, nogil=True)
def _fill(table: Hashes, owner: Offsets, mask: np.uint64, grams: Hashes, mark: int) -> int:
    """Put grams into an open hash table, as the set of this mark; how many are distinct."""
    count = 0
    for i in range(len(grams)):
        slot = mix(grams[i]) & mask
        while owner[slot] == mark and table[slot] != grams[i]:
            slot = (slot + U1) & mask
        if owner[slot] != mark:
            owner[slot] = mark
            table[slot] = grams[i]
            count += 1
    return count


@njit(cache=True, nogil=True)
def resemblances(grams: Hashes, begins: Offsets, member: Offsets, other: Offsets) -> npt.NDArray[np.float64]:
    """float64[pairs], the Jaccard of the grams of two pages: what both have by what either has.

    grams: uint64[n], those of page p, each once, are grams[begins[p]:begins[p + 1]]. member, other: int64[pairs].
    Pairs of the same other follow each other. No pages have no grams.
    """
    found = np.empty(len(member), np.float64)
    most = 1
    for i in range(len(begins) - 1):
        most = max(most, begins[i + 1] - begins[i])
    slots = 2
    while slots < 2 * most:
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.empty(slots, np.uint64)
    owner = np.full(slots, -1, np.int64)
    for pair in range(len(member)):
        a, b = member[pair], other[pair]
        if pair == 0 or other[pair - 1] != b:
            _fill(table, owner, mask, grams[begins[b] : begins[b + 1]], b)
        common = 0
        for i in range(begins[a], begins[a + 1]):
            slot = mix(grams[i]) & mask
            while owner[slot] == b and table[slot] != grams[i]:
                slot = (slot + U1) & mask
            common += 1 if owner[slot] == b else 0
        found[pair] = common / (begins[a + 1] - begins[a] + begins[b + 1] - begins[b] - common)
    return found
