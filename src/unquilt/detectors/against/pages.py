"""What became of each page: URLs of two crawls matched, and pages that are gone found again under another URL.

Pages meet by the hash of their URL; what is left over on both sides meets by the hash of its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.mirrors.candidates import wide
from unquilt.detectors.reuse.digests import column_words
from unquilt.detectors.sites import text_buffers
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.against import NO_KIN, hash_texts
from unquilt.kernels.mirrors import page_keys
from unquilt.kernels.radix import partition
from unquilt.kernels.strings import hash_strings
from unquilt.kernels.urls import candidate_paths
from unquilt.kernels.words import hash_words_column
from unquilt.schema import SHA1_BYTES

Numbers = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]

STATES = ("", "new", "gone", "same", "same-text", "changed", "moved")
NEW, GONE, SAME, SAME_TEXT, CHANGED, MOVED = range(1, len(STATES))

PAGES_PER_BUCKET = 1024
_MIN_WORDS = 10  # shorter texts, as "Not found", are on pages that have nothing to do with each other
_URLS_PER_BUCKET = 1 << 14
_MOST_BITS = 11
_SEEDS = tuple(map(np.uint64, (1, 2, 3)))
_BYTES = np.uint64(0x9E3779B97F4A7C15)  # tells a key of bytes from one of text
_NO_KEY = np.uint64(0)

MATCHED = pa.schema([("new", pa.uint32()), ("old", pa.uint32()), ("state", pa.uint8())])
"""A page of either crawl or of both, NO_KIN where there is none, and its state."""


@dataclass(frozen=True, slots=True)
class Crawls:
    """The files of two crawls as those of one: the pages of the old one are numbered from ``first_old`` on."""

    new: list[PartFile]
    old: list[PartFile]
    first_old: int
    total: int

    @classmethod
    def of(cls, new: Corpus, old: Corpus) -> Crawls:
        first_old = -(-new.pages // PAGES_PER_BUCKET) * PAGES_PER_BUCKET
        files = [replace(file, first=file.first + first_old) for file in old.files()]
        return cls(new.files(), files, first_old, first_old + old.pages)

    @property
    def files(self) -> list[PartFile]:
        return self.new + self.old


@dataclass(frozen=True, slots=True)
class Fates:
    """For each page by number its state (0: a capture that another stands for), and its version in the other crawl."""

    states: npt.NDArray[np.uint8]
    kin: Numbers  # NO_KIN if there is none


def match_pages(crawls: Crawls, engine: Engine) -> Fates:
    """What became of each page. Of several captures of a URL in one crawl the last stands for it."""
    states, kin = np.zeros(crawls.total, np.uint8), np.full(crawls.total, NO_KIN, np.uint32)
    bits = min(max((crawls.total // _URLS_PER_BUCKET).bit_length(), 2), _MOST_BITS)
    by_url = Matching(crawls.first_old, bits)
    with engine.exchange(
        partial(emit_pages, bits=bits), crawls.files, name="Comparing pages", buckets=1 << bits,
        label=lambda file: file.label,
    ) as pages:  # fmt: skip
        tables = [engine.gather(engine.reduce(by_url.pages_of, pages, name="Matching URLs"), MATCHED)]
        left = engine.exchange(by_url.emit_rest, pages, name="Looking for the rest", buckets=1 << bits)
    with left:
        tables.append(engine.gather(engine.reduce(by_url.moved_of, left, name="Matching texts"), MATCHED))
    for table in tables:
        new, old, state = (table[name].to_numpy() for name in MATCHED.names)
        for one, other in ((new, old), (old, new)):
            is_there = one != NO_KIN
            states[one[is_there]], kin[one[is_there]] = state[is_there], other[is_there]
    return Fates(states, kin)


def emit_pages(file: PartFile, *, bits: int) -> Iterator[Block]:
    """Each page as hashes of its URL, bytes, text, what it can be found again by, host and path, with its number."""
    first = file.first
    for table in file.batches(["url", "host", "text", "file_sha1"]):
        url = wide(table["url"])
        urls, others = (hash_strings(*url, seed) for seed in _SEEDS[:2])
        sha1s = column_words(table["file_sha1"].combine_chunks().fill_null(bytes(SHA1_BYTES)))
        whole = np.ascontiguousarray(sha1s.reshape(-1, SHA1_BYTES // 4)[:, :2]).view(np.uint64).ravel()
        words, begins = hash_words_column(*text_buffers(table["text"].fill_null("")))
        texts = hash_texts(words, begins)
        found_by = np.where(whole != _NO_KEY, whole ^ _BYTES, _NO_KEY)
        found_by = np.where(np.diff(begins) >= _MIN_WORDS, texts, found_by)
        hosts = hash_strings(*wide(table["host"]), _SEEDS[2])
        paths = candidate_paths(*url, 1)[2]
        numbers = np.arange(first, first + len(table), dtype=np.uint32)
        urls, order, cuts = partition(urls, np.arange(len(table), dtype=np.uint32), bits)
        yield Block(cuts, (urls, *(one[order] for one in (others, whole, texts, found_by, hosts, paths, numbers))))
        first += len(table)


@dataclass(frozen=True, slots=True)
class Matching:
    """The steps that match pages, which know where the old ones begin."""

    first_old: int
    bits: int

    def pages_of(self, bucket: Bucket) -> pa.Table:
        """The URLs of a bucket with their states."""
        new, old, rows = self._match(bucket)
        if not len(rows):
            return MATCHED.empty_table()
        whole, texts, numbers = (bucket.columns[i][rows] for i in (2, 3, 7))
        is_same = (whole[new] == whole[old]) & (whole[new] != _NO_KEY)
        states = np.where(is_same, SAME, np.where(texts[new] == texts[old], SAME_TEXT, CHANGED))
        alone = np.ones(len(rows), bool)
        alone[new] = alone[old] = False
        is_old = numbers >= self.first_old
        news, olds = numbers[alone & ~is_old], numbers[alone & is_old]
        none = np.full(max(len(news), len(olds)), NO_KIN, np.uint32)
        columns = [
            np.concatenate([numbers[new], news, none[: len(olds)]]),
            np.concatenate([numbers[old], none[: len(news)], olds]),
            np.concatenate([states, np.full(len(news), NEW), np.full(len(olds), GONE)]).astype(np.uint8),
        ]
        return pa.table(columns, schema=MATCHED)

    def emit_rest(self, bucket: Bucket) -> Iterator[Block]:
        """The pages of a bucket whose URL is in one crawl only, by what they can be found again by."""
        new, old, rows = self._match(bucket)
        alone = np.ones(len(rows), bool)
        alone[new] = alone[old] = False
        rows = rows[alone]
        if len(rows):
            rows = rows[bucket.columns[4][rows] != _NO_KEY]
            found_by, hosts, paths, numbers = (column[rows] for column in bucket.columns[4:])
            found_by, order, cuts = partition(found_by, np.arange(len(rows), dtype=np.uint32), self.bits)
            yield Block(cuts, (found_by, hosts[order], paths[order], numbers[order]))

    def moved_of(self, bucket: Bucket) -> pa.Table:
        """Pairs of a new page and a gone one of the same text, one to one: same path first, then same host."""
        if not bucket.columns or not len(bucket.columns[0]):
            return MATCHED.empty_table()
        found_by, hosts, paths, numbers = bucket.columns
        left = np.argsort(numbers, kind="stable")
        pairs = []
        for keys in (page_keys(found_by, paths), page_keys(found_by, hosts), found_by):
            is_old = numbers[left] >= self.first_old
            new, old = left[~is_old], left[is_old]
            new, old = _in_pairs(keys, new, old)
            pairs.append(np.column_stack([numbers[new], numbers[old]]))
            left = left[~np.isin(left, np.concatenate([new, old]))]
        matched = np.concatenate(pairs)
        columns = [matched[:, 0], matched[:, 1], np.full(len(matched), MOVED, np.uint8)]
        return pa.table(columns, schema=MATCHED)

    def _match(self, bucket: Bucket) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows of a bucket that stand for a URL of a crawl, and which of them are new and old of one URL."""
        if not bucket.columns or not len(bucket.columns[0]):
            none = np.empty(0, np.int64)
            return none, none, none
        first, second, numbers = (bucket.columns[i] for i in (0, 1, 7))
        order = np.lexsort((numbers, second, first))
        is_next = (first[order[1:]] == first[order[:-1]]) & (second[order[1:]] == second[order[:-1]])
        is_old = numbers[order] >= self.first_old
        is_last = np.append(~is_next | (is_old[1:] != is_old[:-1]), True)
        rows = order[is_last]
        is_pair = (first[rows[1:]] == first[rows[:-1]]) & (second[rows[1:]] == second[rows[:-1]])
        new = np.flatnonzero(is_pair)
        return new, new + 1, rows


def _in_pairs(
    keys: Keys, new: npt.NDArray[np.int64], old: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of both kinds with the same key, the first of one with the first of the other, and so on."""
    new, old = (rows[np.argsort(keys[rows], kind="stable")] for rows in (new, old))
    begins = np.searchsorted(keys[old], keys[new])
    places = begins + np.arange(len(new)) - np.searchsorted(keys[new], keys[new])
    is_pair = places < np.searchsorted(keys[old], keys[new], side="right")
    return new[is_pair], old[places[is_pair]]
