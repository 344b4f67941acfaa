"""Shingles of pages: the hash functions of a seed, and the first exchange."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.sites import text_buffers
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.errors import BadInput
from unquilt.kernels.minhash import (
    NONE,
    WIDTH,
    circular_grams_column,
    mixed_shingles,
    rabin_grams_column,
    rabin_shingles,
)
from unquilt.kernels.rabin import (
    LOW_BITS,
    ORDER,
    Tables,
    fingerprint_u64,
    multiply,
    power,
    prefix_tables,
    primitive_polynomial,
    rabin_tables,
)
from unquilt.kernels.rabin_words import rabin_words_column
from unquilt.kernels.words import hash_words_column

Hashes = npt.NDArray[np.uint64]

PAGES_PER_BUCKET = 1024
_WORDS, _PHRASES, _FIRST_SAMPLER = 0, 1, 2  # the polynomials of a seed, in the order they are drawn


@dataclass(frozen=True, slots=True)
class Mixing:
    """Hashes of words and phrases that are quick, and a product with an odd number for each shingle."""

    k: int
    factors: Hashes
    shingles: int

    def phrases(self, texts: pa.ChunkedArray) -> tuple[Hashes, npt.NDArray[np.int64]]:
        """The phrase that begins at each word of each text, and where each text's begin."""
        words, offsets = hash_words_column(*text_buffers(texts.fill_null("")))
        return circular_grams_column(words, offsets, self.k), offsets

    def sample(self, texts: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
        """uint64[texts, shingles]"""
        words, offsets = hash_words_column(*text_buffers(texts.fill_null("")))
        found: Hashes = mixed_shingles(words, offsets, self.k, self.factors)
        return found[:, : self.shingles]

    def phrase_of(self, position: int, value: int) -> int:
        """The phrase that is a page's shingle of this position and value."""
        return value * pow(int(self.factors[position]), -1, 1 << 64) % (1 << 64)


@dataclass(frozen=True, slots=True)
class Rabin:
    """Rabin's fingerprints of words, of phrases, and of phrases' fingerprints for each shingle."""

    k: int
    polynomials: tuple[int, ...]
    words: Tables
    tables: Tables
    prefix: Tables
    samplers: Tables
    constants: Hashes

    def phrases(self, texts: pa.ChunkedArray) -> tuple[Hashes, npt.NDArray[np.int64]]:
        words, offsets = rabin_words_column(*text_buffers(texts.fill_null("")), self.words)
        return rabin_grams_column(words, offsets, self.k, self.tables, self.prefix), offsets

    def sample(self, texts: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
        words, offsets = rabin_words_column(*text_buffers(texts.fill_null("")), self.words)
        found: Hashes = rabin_shingles(words, offsets, self.k, self.tables, self.prefix, self.samplers, self.constants)
        return found

    def phrase_of(self, position: int, value: int) -> int:
        low = np.uint64(self.polynomials[_FIRST_SAMPLER + position] & LOW_BITS)
        back = np.uint64(power(np.uint64(2), np.uint64(ORDER - 64), low))
        return int(multiply(np.uint64(value) ^ self.constants[position], back, low))


@lru_cache(maxsize=4)
def functions(hash_name: str, k: int, shingles: int, seed: int) -> Mixing | Rabin:
    """The hash functions of a seed."""
    if hash_name == "mix":
        padded = -(-shingles // WIDTH) * WIDTH
        drawn = [hashlib.sha256(f"factor {seed} {i}".encode()).digest()[:8] for i in range(padded)]
        return Mixing(k, np.array([int.from_bytes(one, "big") | 1 for one in drawn], np.uint64), shingles)
    polynomials = tuple(primitive_polynomial(seed, i) for i in range(_FIRST_SAMPLER + shingles))
    samplers = np.stack([rabin_tables(one) for one in polynomials[_FIRST_SAMPLER:]])
    constants = np.array([fingerprint_u64(np.uint64(0), tables) for tables in samplers], np.uint64)
    phrases = polynomials[_PHRASES]
    return Rabin(
        k, polynomials, rabin_tables(polynomials[_WORDS]), rabin_tables(phrases), prefix_tables(phrases, k),
        samplers, constants,
    )  # fmt: skip


def functions_of(params: ClassParams) -> Mixing | Rabin:
    return functions(params.hash, params.k, params.shingles, params.seed)


def share_shingles(corpus: Corpus, params: ClassParams, engine: Engine) -> Blocks:
    """The shingles of all pages, by ranges of pages: each page's follow those of the page before."""
    if corpus.pages and not sum(part.words for part in corpus.parts):
        raise BadInput(
            f"{corpus.path} has no text: it was made from a list of URLs, or its pages are empty.",
            fix="Phrases are found in text. Ingest WARC, HTML, JSONL or Parquet files with the pages themselves.",
        )
    buckets = max(-(-corpus.pages // PAGES_PER_BUCKET), 1)
    return engine.exchange(
        partial(emit_shingles, params=params, buckets=buckets), corpus.files(), name="Sampling phrases",
        buckets=buckets, label=lambda file: file.label,
    )  # fmt: skip


def emit_shingles(file: PartFile, *, params: ClassParams, buckets: int) -> Iterator[Block]:
    """The shingles of each page of a part."""
    sample = functions_of(params).sample
    first = file.first
    for table in file.batches(["text"]):
        found = sample(table["text"])
        bounds = np.clip(np.arange(buckets + 1) * PAGES_PER_BUCKET - first, 0, len(table))
        yield Block(bounds * params.shingles, (found.ravel(),))
        first += len(table)


def pages_of(bucket: Bucket, shingles: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """The pages of a bucket that have words, and their shingles: uint32[n], uint64[n, shingles]."""
    columns = bucket.columns
    found = columns[0].reshape(-1, shingles) if columns else np.empty((0, shingles), np.uint64)
    first = bucket.number * PAGES_PER_BUCKET
    numbers = np.arange(first, first + len(found), dtype=np.uint32)
    has_words = ~np.all(found == NONE, axis=1)
    if has_words.all():
        return numbers, found
    return numbers[has_words], found[has_words]
