"""Styles found the slow way: every pair of pages, cell by cell. Nothing of unquilt is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

Cells = Sequence[int]


def similarity(one: Cells, other: Cells) -> int:
    """Cells that are equal and not empty."""
    return sum(a == b and a != 0 for a, b in zip(one, other, strict=True))


def clusters_of(pages: Sequence[Cells], t: int, probes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Components of two pages or more of the graph whose edges are similar pages that a probe finds."""
    neighbors: dict[int, set[int]] = {page: set() for page in range(len(pages))}
    for a, b in combinations(range(len(pages)), 2):
        equal = {cell for cell, (x, y) in enumerate(zip(pages[a], pages[b], strict=True)) if x == y != 0}
        if len(equal) > t and any(equal.issuperset(probe) for probe in probes):
            neighbors[a].add(b)
            neighbors[b].add(a)
    found, seen = [], set()
    for page in neighbors:
        if page in seen:
            continue
        component, waiting = {page}, [page]
        while waiting:
            new = neighbors[waiting.pop()] - component
            component |= new
            waiting += new
        seen |= component
        if len(component) > 1:
            found.append(sorted(component))
    return found


def prototype_of(members: Sequence[int], pages: Sequence[Cells]) -> int:
    """The first of the members that are most similar to all others."""
    return max(members, key=lambda one: (sum(similarity(pages[one], pages[other]) for other in members), -one))


def tags_of(html: str) -> list[str]:
    """The tag names of a page, with the slash of end tags; comments are none."""
    names, rest = [], html
    while found := re.search(r"<!--|<(/?[a-zA-Z][a-zA-Z0-9]*)", rest):
        if found[1]:
            names.append(found[1].lower())
            rest = rest[found.end() :]
        else:
            _, _, rest = rest[found.start() + 2 :].partition("-->")
    return names
