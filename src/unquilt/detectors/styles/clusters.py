"""Groups of pages as the result tables show them: ranked, with a prototype, the similarity of each member, a kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import PageArray, PageArrays, site_numbers
from unquilt.detectors.styles.find import PAGES_PER_ITEM, Groups
from unquilt.detectors.styles.kinds import Kinds, find_kinds
from unquilt.detectors.styles.marks import Marks
from unquilt.engines import Engine
from unquilt.kernels.styles import cluster_centers
from unquilt.schema import STYLE_CLUSTERS, STYLE_MEMBERS

NOWHERE = np.uint32(0xFFFFFFFF)
"""The cluster of a page that is in none."""
_TAKEN_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Clusters:
    """Pages by cluster, in order: those of cluster c are pages[begins[c]:begins[c + 1]]."""

    pages: npt.NDArray[np.uint32]
    begins: npt.NDArray[np.int64]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.diff(self.begins)

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The cluster of each of the pages."""
        return np.repeat(np.arange(len(self.begins) - 1), self.sizes)

    def cut(self) -> list[Clusters]:
        """The same in pieces of about so many pages as a step should have; a larger cluster is a piece of its own."""
        wanted = np.searchsorted(self.begins, np.arange(0, len(self.pages), PAGES_PER_ITEM))
        cuts = np.unique(np.append(wanted, len(self.begins) - 1))
        return [
            Clusters(self.pages[self.begins[a] : self.begins[b]], self.begins[a : b + 1] - self.begins[a])
            for a, b in pairwise(cuts.tolist())
        ]


def describe_clusters(
    corpus: Corpus, marks: Marks, groups: Groups, min_pages: int, arrays: PageArrays, engine: Engine
) -> dict[str, pa.Table]:
    """The result tables: clusters and members."""
    clusters = collect(groups, min_pages)
    found = list(engine.map(partial(find_centers, marks=marks), clusters.cut(), name="Finding prototypes"))
    centers = np.concatenate([np.empty(0, np.uint32), *(one[0] for one in found)])
    similar = np.concatenate([np.empty(0, np.uint32), *(one[1] for one in found)]) / marks.m
    sizes = clusters.sizes
    totals = np.bincount(clusters.numbers, similar, minlength=len(sizes))
    means = (totals - _own(marks, centers)) / (sizes - 1)
    sites = {level: site_numbers(corpus, level) for level in ("host", "domain")}
    domains, hosts = (_count(clusters, sites[level]) for level in ("domain", "host"))
    kinds = find_kinds(corpus, clusters, hosts > 1, sites, arrays, engine)
    urls = _Urls(corpus, clusters, arrays, engine)
    scores = means * domains
    order = np.lexsort((clusters.pages[clusters.begins[:-1]], -sizes, -scores))
    return {
        "clusters": _clusters_table(order, sizes, domains, hosts, means, scores, urls.take(centers), kinds),
        "members": _members_table(order, clusters, similar, urls),
    }


def collect(groups: Groups, min_pages: int) -> Clusters:
    """The groups of enough pages, in the order of their first pages."""
    counts = np.bincount(groups, minlength=len(groups))
    pages = np.flatnonzero(counts[groups] >= min_pages)
    pages = pages[np.argsort(groups[pages], kind="stable")]
    begins = np.flatnonzero(np.diff(groups[pages], prepend=-1))
    return Clusters(pages.astype(np.uint32), np.append(begins, len(pages)))


def find_centers(clusters: Clusters, *, marks: Marks) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The prototype of each cluster, and the equal cells of each of its pages with it."""
    places, similar = cluster_centers(clusters.pages, clusters.begins, marks.load())
    return clusters.pages[places], similar


def _own(marks: Marks, centers: npt.NDArray[np.uint32]) -> npt.NDArray[np.float64]:
    """What a prototype has in common with itself: its cells that are not empty."""
    cells = marks.load()
    return np.array([np.count_nonzero(cells[page]) for page in centers.tolist()], np.float64) / marks.m


def _count(clusters: Clusters, sites: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """How many sites the pages of each cluster are on."""
    pairs = np.unique((clusters.numbers << 32) + sites[clusters.pages])
    return np.bincount(pairs >> 32, minlength=len(clusters.sizes))


class _Urls:
    """The URLs of pages in clusters."""

    def __init__(self, corpus: Corpus, clusters: Clusters, arrays: PageArrays, engine: Engine) -> None:
        self._pages = np.sort(clusters.pages)
        is_wanted = np.zeros(corpus.pages, np.uint32)
        is_wanted[self._pages] = 1
        step = partial(read_urls, is_wanted=arrays.save("wanted", is_wanted))
        tables = engine.map(step, corpus.files(), name="Reading URLs", label=lambda file: file.label)
        self._urls = engine.gather(tables, pa.schema([("url", pa.string())]))["url"]

    def take(self, pages: npt.NDArray[np.uint32]) -> pa.ChunkedArray:
        rows = np.searchsorted(self._pages, pages)
        pieces = [self._urls.take(pa.array(rows[a : a + _TAKEN_ROWS])) for a in range(0, len(rows), _TAKEN_ROWS)]
        return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], pa.string())


def read_urls(file: PartFile, *, is_wanted: PageArray) -> pa.Table:
    """The URLs of the wanted pages of a part."""
    wanted = is_wanted.load()[file.first : file.first + file.pages] == 1
    urls = pa.chunked_array([chunk for table in file.batches(["url"]) for chunk in table["url"].chunks], pa.string())
    return pa.table({"url": urls.filter(pa.array(wanted))})


def _clusters_table(
    order: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    domains: npt.NDArray[np.int64],
    hosts: npt.NDArray[np.int64],
    means: npt.NDArray[np.float64],
    scores: npt.NDArray[np.float64],
    prototypes: pa.ChunkedArray,
    kinds: Kinds,
) -> pa.Table:
    columns = [
        np.arange(1, len(order) + 1), sizes[order], domains[order], hosts[order], means[order],
        scores[order], prototypes.take(pa.array(order)), kinds.names(order),
        kinds.foreign_links[order], kinds.linked[order], kinds.same_page[order], kinds.same_text[order],
        kinds.sentences(order, hosts),
    ]  # fmt: skip
    return pa.table(columns, schema=STYLE_CLUSTERS)


def _members_table(
    order: npt.NDArray[np.int64], clusters: Clusters, similar: npt.NDArray[np.float64], urls: _Urls
) -> pa.Table:
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    numbers = ranks[clusters.numbers]
    rows = np.lexsort((clusters.pages, -similar, numbers))
    return pa.table([numbers[rows], urls.take(clusters.pages[rows]), similar[rows]], schema=STYLE_MEMBERS)
