"""The kernels on one core, each against the plain way to do the same.

Rates are by the processor time of this process, so that what other programs do counts less.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from fastwarc.warc import ArchiveIterator, WarcRecordType

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, alternate, expect_equal
from benchmarks.ingest import ingested_corpus
from unquilt.corpus import Corpus
from unquilt.kernels.chunks import paragraph_cuts
from unquilt.kernels.grams import BASE, hash_grams_column
from unquilt.kernels.noise import cell_permutations, noise_fingerprint
from unquilt.kernels.rabin import prefix_tables, primitive_polynomial, rabin_grams, rabin_tables
from unquilt.kernels.words import MIX_A, MIX_B, S33, hash_words_column
from unquilt.schema import STYLE_CELLS

K = 5
STYLE_GRAM = 32
_SLICE_BYTES = 4 << 20
_EVERY = 4  # the share of pages whose raw bytes are measured
_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(rb"<[pP][ \t\n\r/>]")

Hashes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Texts:
    """Some megabytes of the corpus's text: as the kernels see it, and as Python does."""

    data: Bytes
    offsets: npt.NDArray[np.int32]
    strings: list[str]

    @property
    def size(self) -> int:
        return int(self.offsets[-1]) - int(self.offsets[0])


def figures(context: Context) -> list[Figure]:
    context.say("kernels: one core")
    texts = _read_texts(context)
    pages = _read_html(context)
    hashed = [hash_words_column(part.data, part.offsets) for part in texts]
    return [
        _words(context, texts),
        _grams(context, hashed),
        _rabin(context, hashed),
        _noise(context, pages),
        _cuts(context, pages),
    ]


def _read_texts(context: Context) -> list[Texts]:
    corpus = Corpus(ingested_corpus(context))
    found = []
    for part in corpus.parts:
        column = corpus.read_part(part, ["text"])["text"].combine_chunks()
        if not len(column):
            continue
        assert column.offset == 0
        _, offsets, data = column.buffers()
        bounds = np.frombuffer(offsets, np.int32)[: len(column) + 1]
        content, strings = np.frombuffer(data, np.uint8), column.to_pylist()
        # Results of this size get memory that was used before: the kernel is measured, not the page faults.
        cuts = np.searchsorted(bounds, np.arange(0, int(bounds[-1]), _SLICE_BYTES)).tolist()
        for begin, end in itertools.pairwise([*sorted(set(cuts)), len(column)]):
            found.append(Texts(content, bounds[begin : end + 1], strings[begin:end]))
    return found


def _read_html(context: Context) -> list[bytes]:
    with make_crawl(context).path.open("rb") as file:
        records = ArchiveIterator(file, parse_http=True, record_types=WarcRecordType.response)
        return [record.reader.read() for record in itertools.islice(records, 0, None, _EVERY)]


def _rate(context: Context, name: str, work: float, call: Callable[[], object]) -> Callable[[], float]:
    """A measurement of ``call``, which does so much work: work for each second, in millions."""

    def measure() -> float:
        begun = time.process_time()
        call()
        rate = work / (time.process_time() - begun) / 1e6
        context.say(f"  {name:<34} {rate:8.1f} M/s")
        return rate

    return measure


def _words(context: Context, texts: list[Texts]) -> Figure:
    def ours() -> None:
        for part in texts:
            hash_words_column(part.data, part.offsets)

    def peer() -> None:
        for part in texts:
            for text in part.strings:
                np.array([hash(word) for word in _WORD.findall(text.lower())], np.int64)

    size = sum(part.size for part in texts)
    ours()
    rates = alternate(
        context.repeat,
        _rate(context, "words", size, ours),
        _rate(context, "re.findall and hash", size, peer),
    )
    return Figure(
        name=f"words, {size / 1e6:,.0f} MB of text",
        unit="MB/s",
        ours=rates[0],
        peer=rates[1],
        peer_name=r"re.findall(r'\w+') and hash()",
        limit=Limit("ours", "at least", 200),
        note="processor time, one core",
    )


def _grams(context: Context, hashed: list[tuple[Hashes, npt.NDArray[np.int64]]]) -> Figure:
    def ours() -> None:
        for words, offsets in hashed:
            hash_grams_column(words, offsets, K)

    def peer() -> None:
        for words, offsets in hashed:
            _numpy_grams(words, offsets)

    count = 0
    for words, offsets in hashed:
        grams = hash_grams_column(words, offsets, K)[0]
        expect_equal("grams are those of numpy", np.array_equal(grams, _numpy_grams(words, offsets)), True)
        count += len(grams)
    rates = alternate(
        context.repeat, _rate(context, "grams", count, ours), _rate(context, "grams with numpy", count, peer)
    )
    return Figure(
        name=f"{K}-grams, {count / 1e6:,.1f} M",
        unit="M/s",
        ours=rates[0],
        peer=rates[1],
        peer_name="the same sums in numpy",
        limit=Limit("ours", "at least", 40),
        note="processor time, one core; the same grams",
    )


def _numpy_grams(words: Hashes, offsets: npt.NDArray[np.int64]) -> Hashes:
    count = max(len(words) - K + 1, 0)
    h = np.zeros(count, np.uint64)
    for j in range(K):
        h = h * BASE + words[j : j + count]
    h = (h ^ (h >> S33)) * MIX_A
    h = (h ^ (h >> S33)) * MIX_B
    h ^= h >> S33
    page = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    within: Hashes = h[page[:count] == page[K - 1 :]]
    return within


def _rabin(context: Context, hashed: list[tuple[Hashes, npt.NDArray[np.int64]]]) -> Figure:
    polynomial = primitive_polynomial(0, 0)
    tables, prefix = rabin_tables(polynomial), prefix_tables(polynomial, K)
    count = sum(len(words) for words, _ in hashed)

    def ours() -> None:
        for words, _ in hashed:
            rabin_grams(words, K, tables, prefix)

    def peer() -> None:
        for words, offsets in hashed:
            hash_grams_column(words, offsets, K)

    ours()
    rates = alternate(context.repeat, _rate(context, "Rabin grams", count, ours), _rate(context, "grams", count, peer))
    return Figure(
        name=f"Rabin {K}-grams",
        unit="M/s",
        ours=rates[0],
        peer=rates[1],
        peer_name="our own rolling grams",
        note="processor time, one core",
    )


def _noise(context: Context, pages: list[bytes]) -> Figure:
    shifts, masks = cell_permutations(0, STYLE_CELLS)
    arrays = [np.frombuffer(page, np.uint8) for page in pages]
    size = sum(map(len, pages))

    def ours() -> None:
        for page in arrays:
            noise_fingerprint(page, STYLE_GRAM, STYLE_CELLS, shifts, masks)

    def peer() -> None:
        for page in pages:
            hashlib.sha1(page).digest()

    ours()
    rates = alternate(
        context.repeat, _rate(context, "noise fingerprint", size, ours), _rate(context, "SHA-1", size, peer)
    )
    return Figure(
        name=f"noise fingerprint, {size / 1e6:,.0f} MB of HTML",
        unit="MB/s",
        ours=rates[0],
        peer=rates[1],
        peer_name="SHA-1 of the page",
        note="processor time, one core",
    )


def _cuts(context: Context, pages: list[bytes]) -> Figure:
    arrays = [np.frombuffer(page, np.uint8) for page in pages]
    size = sum(map(len, pages))

    def ours() -> list[Any]:
        return [paragraph_cuts(page).tolist() for page in arrays]

    def peer() -> list[Any]:
        return [[found.start() for found in _PARAGRAPH.finditer(page)] for page in pages]

    expect_equal("paragraph cuts are those of re", ours() == peer(), True)
    rates = alternate(
        context.repeat,
        _rate(context, "paragraph cuts", size, ours),
        _rate(context, "re.finditer", size, peer),
    )
    return Figure(
        name=f"paragraph cuts, {size / 1e6:,.0f} MB of HTML",
        unit="MB/s",
        ours=rates[0],
        peer=rates[1],
        peer_name="re.finditer",
        note="processor time, one core; the same cuts",
    )
