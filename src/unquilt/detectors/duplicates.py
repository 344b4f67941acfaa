"""Pages of equal text, folded into the first of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import text_buffers
from unquilt.engines import Block, Bucket, Engine
from unquilt.kernels.radix import partition, runs, sort_pairs
from unquilt.kernels.strings import hash_strings
from unquilt.kernels.words import hash_words_column

_BITS = 6
_SEEDS = (np.uint64(11), np.uint64(12))
FOLDED = pa.schema([("page", pa.uint32()), ("first", pa.uint32())])


def fold_duplicates(corpus: Corpus, engine: Engine) -> npt.NDArray[np.uint32]:
    """For each page the first page with the same words, itself if there is none before it.

    Texts are compared by two independent 64-bit hashes of their words; pages without words are never equal.
    """
    with engine.exchange(
        emit_texts, corpus.files(), name="Comparing texts", buckets=1 << _BITS, label=lambda file: file.label
    ) as blocks:
        pairs = engine.gather(engine.reduce(fold_bucket, blocks, name="Folding duplicates"), FOLDED)
    firsts = np.arange(corpus.pages, dtype=np.uint32)
    firsts[pairs["page"].to_numpy()] = pairs["first"].to_numpy()
    return firsts


def emit_texts(file: PartFile) -> Iterator[Block]:
    """The words of each page of a part as two hashes, with the page."""
    first = file.first
    for table in file.batches(["text"]):
        hashes, offsets = hash_words_column(*text_buffers(table["text"].fill_null("")))
        one, two = (hash_strings(hashes.view(np.uint8), offsets * 8, seed) for seed in _SEEDS)
        pages = np.arange(first, first + len(table), dtype=np.uint32)
        has_words = np.diff(offsets) > 0
        one, two, pages = one[has_words], two[has_words], pages[has_words]
        keys, order, cuts = partition(one, np.arange(len(one), dtype=np.uint32), _BITS)
        yield Block(cuts, (keys, two[order], pages[order]))
        first += len(table)


def fold_bucket(bucket: Bucket) -> pa.Table:
    if not bucket.columns or not len(bucket.columns[0]):
        return FOLDED.empty_table()
    keys, second, pages = bucket.columns
    keys, order = sort_pairs(keys, np.arange(len(keys), dtype=np.uint32), _BITS)
    lengths = np.diff(runs(keys))
    order = order[np.repeat(lengths > 1, lengths)]
    one, two, pages = bucket.columns[0][order], second[order], pages[order]
    order = np.lexsort((pages, two, one))
    one, two, pages = one[order], two[order], pages[order]
    is_first = np.ones(len(one), bool)
    is_first[1:] = (one[1:] != one[:-1]) | (two[1:] != two[:-1])
    firsts = pages[np.flatnonzero(is_first)[np.cumsum(is_first) - 1]] if len(pages) else pages
    return pa.table([pages[~is_first], firsts[~is_first]], schema=FOLDED)
