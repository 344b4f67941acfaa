"""Groups of pages compared as wholes, through the pages of each that are seen."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.space import borrowed, inlined, kernel
from unquilt.kernels.styles import Cells, Offsets, Pages, equal_cells

Means = npt.NDArray[np.float64]


@inlined
def _mean(a: int, b: int, firsts: Offsets, seen: Pages, cells: Cells) -> float:
    """The mean number of equal cells of a page seen of unit a and one of unit b."""
    total = 0.0
    for i in range(firsts[a], firsts[a + 1]):
        for j in range(firsts[b], firsts[b + 1]):
            total += equal_cells(cells, seen[i], cells, seen[j])
    pairs = (firsts[a + 1] - firsts[a]) * (firsts[b + 1] - firsts[b])
    return total / float(pairs)


@kernel
def _firsts(owners: Pages) -> Offsets:
    """int64[units + 1], where the pages of each unit begin among those seen."""
    count = np.int64(owners[-1]) + 1 if len(owners) else 0
    firsts = np.zeros(count + 1, np.int64)
    for i in range(len(owners)):
        firsts[np.int64(owners[i]) + 1] += 1
    for unit in range(count):
        firsts[unit + 1] += firsts[unit]
    return firsts


@kernel
def _largest(units: Pages, count: int, sizes: Pages, most: int) -> Offsets:
    """The places of the most largest of units[:count], the first of equals; ascending."""
    weights = np.empty(count, np.int64)
    for i in range(count):
        weights[i] = np.int64(sizes[units[i]])
    return np.sort(np.argsort(-weights, kind="mergesort")[:most])


@kernel
def _compare(
    units: Pages, count: int, chosen: Offsets, firsts: Offsets, seen: Pages, cells: Cells, best: Means, which: Offsets
) -> None:
    """Note for each of units[:count] the nearest of the chosen, and for each chosen the nearest of all."""
    for c in range(len(chosen)):
        i = chosen[c]
        for j in range(count):
            if j == i or (len(chosen) == count and j < i):
                continue
            mean = _mean(units[i], units[j], firsts, seen, cells)
            if mean > best[j] or (mean == best[j] and units[i] < which[j]):
                best[j], which[j] = mean, units[i]
            if mean > best[i] or (mean == best[i] and units[j] < which[i]):
                best[i], which[i] = mean, units[j]


@kernel
def nearest_units(
    places: Pages,
    begins: Offsets,
    seen: Pages,
    owners: Pages,
    sizes: Pages,
    cells: Cells,
    least: float,
    small: int,
    most: int,
) -> tuple[Pages, Pages, Means]:
    """Units, for each the nearest other in a group, and their mean number of equal cells, which is at least least.

    places: uint32[n], pages seen by group, ascending in each; begins: int64[groups + 1]. seen, owners: uint32[s], the
    page at each place and its unit, ascending; sizes: uint32[units]. In a group of more than small units each is
    compared with the most largest ones only. A unit comes once for each of its groups. n may be 0.
    """
    firsts = _firsts(owners)
    longest = 0
    for group in range(len(begins) - 1):
        longest = max(longest, begins[group + 1] - begins[group])
    units = np.empty(longest, np.uint32)
    best, which = np.empty(longest), np.empty(longest, np.int64)
    mine, others = np.empty(len(places), np.uint32), np.empty(len(places), np.uint32)
    means = np.empty(len(places))
    found = 0
    for group in range(len(begins) - 1):
        count = 0
        for i in range(begins[group], begins[group + 1]):
            if count == 0 or owners[places[i]] != units[count - 1]:
                units[count] = owners[places[i]]
                best[count], which[count] = 0.0, -1
                count += 1
        if count < 2:
            continue
        chosen = np.arange(count) if count <= small else _largest(units, count, sizes, most)
        _compare(
            borrowed(units), count, chosen, borrowed(firsts), borrowed(seen), borrowed(cells), borrowed(best),
            borrowed(which),
        )  # fmt: skip
        for i in range(count):
            if which[i] >= 0 and best[i] >= least:
                mine[found], others[found], means[found] = units[i], which[i], best[i]
                found += 1
    return mine[:found], others[:found], means[:found]
