"""What kind of cluster it is: pages of one template, a link farm, mirrored pages, or pages with one text pasted in.

Only clusters on several hosts need a look: pages of one site that share a template are what sites are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import PageArray, PageArrays, text_buffers
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.evidence import count_foreign_links, hash_addresses, text_bands
from unquilt.kernels.grams import hash_grams_column
from unquilt.kernels.noise import mix_all
from unquilt.kernels.radix import partition
from unquilt.kernels.words import hash_words_column

if TYPE_CHECKING:
    from unquilt.detectors.styles.clusters import Clusters

KINDS = ("mirror", "link farm", "copy/paste", "template")
MOST = 0.5
"""A kind is that of a cluster if this share of its pages shows it."""
FARM_LINKS = 2
"""Links to pages of the cluster on other domains that make a page one of a link farm."""

_GRAM = 5
_BITS = 6
_NOWHERE = np.uint32(0xFFFFFFFF)
EVIDENCE = pa.schema(
    [
        ("cluster", pa.uint32()),
        ("foreign_links", pa.float64()),
        ("linked", pa.float64()),
        ("same_page", pa.float64()),
        ("same_text", pa.float64()),
    ]
)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kinds:
    """For each cluster what its kind follows from; all 0 on one host."""

    foreign_links: Floats
    linked: Floats
    same_page: Floats
    same_text: Floats

    def names(self, order: npt.NDArray[np.int64]) -> pa.Array:
        shows = [share[order] >= MOST for share in (self.same_page, self.linked, self.same_text)]
        return pa.array(np.select(shows, KINDS[:3], KINDS[3]).tolist(), pa.string())

    def sentences(self, order: npt.NDArray[np.int64], hosts: npt.NDArray[np.int64]) -> pa.Array:
        """The evidence in words."""
        return pa.array([self._sentence(i, int(hosts[i])) for i in order.tolist()], pa.string())

    def _sentence(self, i: int, hosts: int) -> str:
        if hosts == 1:
            return "all pages are on one host"
        if self.same_page[i] >= MOST:
            return f"{self.same_page[i]:.0%} of the pages have the same path and text on another host"
        if self.linked[i] >= MOST:
            links = f"{self.foreign_links[i]:.1f} links a page"
            return f"{self.linked[i]:.0%} of the pages link to others on other domains, {links}"
        if self.same_text[i] >= MOST:
            return f"{self.same_text[i]:.0%} of the pages have the same text as one on another host, at other paths"
        return (
            f"on {hosts:,} hosts; {self.same_text[i]:.0%} of the texts recur and {self.linked[i]:.0%} of the pages link"
        )


def find_kinds(
    corpus: Corpus,
    clusters: Clusters,
    is_spread: npt.NDArray[np.bool_],
    sites: Mapping[str, npt.NDArray[np.uint32]],
    arrays: PageArrays,
    engine: Engine,
) -> Kinds:
    """The evidence for the kind of each cluster; only those that are spread over hosts are looked at."""
    shares = [np.zeros(len(clusters.sizes)) for _ in EVIDENCE.names[1:]]
    numbers = np.full(corpus.pages, _NOWHERE, np.uint32)
    is_wanted = is_spread[clusters.numbers]
    numbers[clusters.pages[is_wanted]] = clusters.numbers[is_wanted]
    if is_wanted.any():
        saved = arrays.save("clusters", numbers)
        files = [file for file in corpus.files() if (numbers[file.first : file.first + file.pages] != _NOWHERE).any()]
        hosts, domains = (arrays.save(level, sites[level]) for level in ("host", "domain"))
        found = engine.map(partial(member_addresses, clusters=saved), files, name="Reading addresses")
        known = _Addresses.save(np.concatenate(list(found)), np.flatnonzero(numbers != _NOWHERE), arrays)
        step = partial(emit_evidence, clusters=saved, hosts=hosts, domains=domains, known=known)
        with engine.exchange(
            step, files, name="Comparing texts and links", buckets=1 << _BITS, label=lambda file: file.label
        ) as blocks:
            table = engine.gather(engine.reduce(weigh_evidence, blocks, name="Telling kinds apart"), EVIDENCE)
        for share, name in zip(shares, EVIDENCE.names[1:], strict=True):
            share[table["cluster"].to_numpy()] = table[name].to_numpy()
    return Kinds(*shares)


@dataclass(frozen=True, slots=True)
class _Addresses:
    """The pages in clusters by the hash of their address, ascending, in files that workers map."""

    hashes: PageArray
    pages: PageArray

    @classmethod
    def save(cls, hashes: npt.NDArray[np.uint64], pages: npt.NDArray[np.int64], arrays: PageArrays) -> _Addresses:
        order = np.argsort(hashes, kind="stable")
        in_order = arrays.save("address-hashes", hashes[order].view(np.uint32))
        return cls(in_order, arrays.save("address-pages", pages[order].astype(np.uint32)))

    def load(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        return self.hashes.load().view(np.uint64), self.pages.load()


def member_addresses(file: PartFile, *, clusters: PageArray) -> npt.NDArray[np.uint64]:
    """The hashes of the addresses of a part's pages that are in clusters."""
    found = [hash_addresses(*text_buffers(table["url"]))[0] for table in file.batches(["url"])]
    mine = clusters.load()[file.first : file.first + file.pages] != _NOWHERE
    hashes: npt.NDArray[np.uint64] = np.concatenate(found)[mine]
    return hashes


def emit_evidence(
    file: PartFile, *, clusters: PageArray, hosts: PageArray, domains: PageArray, known: _Addresses
) -> Iterator[Block]:
    """For each page in a cluster: its host, path, sketch of its text, and links to others of the cluster."""
    first = file.first
    for table in file.batches(["url", "text", "links"]):
        mine = clusters.load()[first : first + len(table)]
        rows = np.flatnonzero(mine != _NOWHERE)
        pages = (rows + first).astype(np.uint32)
        first += len(table)
        if not len(rows):
            continue
        table = table.take(pa.array(rows)).combine_chunks()
        _, paths = hash_addresses(*text_buffers(table["url"]))
        links = _count_links(table["links"], pages, clusters.load(), domains.load(), known)
        bands = _bands(table["text"])
        _, order, cuts = partition(mix_all(mine[rows].astype(np.uint64)), np.arange(len(rows), dtype=np.uint32), _BITS)
        columns = (mine[rows], hosts.load()[pages], links, paths, *bands.T)
        yield Block(cuts, tuple(np.ascontiguousarray(column[order]) for column in columns))


def _bands(texts: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    words, word_offsets = hash_words_column(*text_buffers(texts.fill_null("")))
    grams, gram_offsets = hash_grams_column(words, word_offsets, _GRAM)
    bands: npt.NDArray[np.uint64] = text_bands(words, word_offsets, grams, gram_offsets)
    return bands


def _count_links(
    links: pa.ChunkedArray,
    pages: npt.NDArray[np.uint32],
    clusters: npt.NDArray[np.uint32],
    domains: npt.NDArray[np.uint32],
    known: _Addresses,
) -> npt.NDArray[np.uint32]:
    lists = links.combine_chunks()
    counts = lists.value_lengths().fill_null(0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    targets, _ = hash_addresses(*text_buffers(lists.flatten()))
    found: npt.NDArray[np.uint32] = count_foreign_links(targets, offsets, pages, *known.load(), clusters, domains)
    return found


def weigh_evidence(bucket: Bucket) -> pa.Table:
    """The shares of each cluster of a bucket."""
    if not bucket.columns or not len(bucket.columns[0]):
        return EVIDENCE.empty_table()
    clusters, hosts, links, paths, *bands = bucket.columns
    numbers, rows = np.unique(clusters, return_inverse=True)
    same_text = np.zeros(len(rows), bool)
    same_page = np.zeros(len(rows), bool)
    for band in bands:
        key = mix_all(band ^ mix_all(clusters.astype(np.uint64)))
        same_text |= _on_two_hosts(key, hosts)
        same_page |= _on_two_hosts(mix_all(key ^ paths), hosts)
    sizes = np.bincount(rows)
    shares = [np.bincount(rows, fact) / sizes for fact in (links, links >= FARM_LINKS, same_page, same_text)]
    return pa.table([numbers, *shares], schema=EVIDENCE)


def _on_two_hosts(keys: npt.NDArray[np.uint64], hosts: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Whether a page of another host has the same key."""
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.concatenate([[True], keys[order][1:] != keys[order][:-1]]))
    least, most = (ufunc.reduceat(hosts[order], begins) for ufunc in (np.minimum, np.maximum))
    shared = np.empty(len(keys), bool)
    shared[order] = np.repeat(least != most, np.diff(np.append(begins, len(keys))))
    return shared
