"""Passages that are copies or boilerplate: where they stand in their page, and copies in the page that has them first.

Grams travel with their places. Those on several pages meet at their hash; where they stand on a page and where they
stand first goes to the file of that page, where runs of them become passages. A passage asks the file of its source
where its words are in the text there, and comes back with the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.clean.params import CleanParams
from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.quilts.find import bucket_bits
from unquilt.detectors.sites import PageArray, SavedFiles, text_buffers
from unquilt.detectors.streams import table_block
from unquilt.engines import Block, Blocks, Bucket, Engine
from unquilt.kernels.grams import hash_grams_column
from unquilt.kernels.passages import BOILERPLATE, COPY, find_passages, order_by, place_grams, shared_places
from unquilt.kernels.radix import partition, runs, sort_pairs
from unquilt.kernels.words import count_words_column, hash_words_column, place_words_column

Numbers = npt.NDArray[np.int64]

PASSAGES = pa.schema(
    [
        ("page", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("kind", pa.int64()),
        ("pages", pa.int64()),
        ("source_url", pa.string()),
        ("source_begin", pa.int64()),
        ("source_end", pa.int64()),
    ]
)
"""Passages by number of their page: begin and end in words of it, and in characters of the source."""


@contextmanager
def share_passages(
    corpus: Corpus, keepers: PageArray, files: SavedFiles, params: CleanParams, engine: Engine
) -> Iterator[Blocks]:
    """The passages of the pages that are kept, by the file of their page, as tables."""
    count = len(files.load())
    firsts = np.array([file.first for file in files.load()])
    bits = bucket_bits(sum(part.words for part in corpus.parts))
    with ExitStack() as stack:
        grams = stack.enter_context(
            engine.exchange(
                partial(emit_grams, k=params.k, bits=bits, keepers=keepers), files.load(), name="Cutting grams",
                buckets=1 << bits, label=lambda file: file.label,
            )
        )  # fmt: skip
        step = partial(emit_shared, bits=bits, boilerplate=params.boilerplate, firsts=firsts)
        shared = stack.enter_context(engine.exchange(step, grams, name="Finding shared grams", buckets=count))
        grams.close()
        ask = partial(emit_passages, params=params, firsts=firsts)
        asked = stack.enter_context(engine.exchange(ask, shared, name="Finding passages", buckets=count))
        shared.close()
        answer = partial(emit_sources, files=files, firsts=firsts)
        placed = stack.enter_context(engine.exchange(answer, asked, name="Placing passages", buckets=count))
        asked.close()
        yield placed


def emit_grams(file: PartFile, *, k: int, bits: int, keepers: PageArray) -> Iterator[Block]:
    """Every gram of the pages of a part that are kept, with its place."""
    first = file.first
    for table in file.batches(["text"]):
        numbers = np.arange(first, first + len(table))
        is_kept = keepers.load()[first : first + len(table)] == numbers
        hashes, words = hash_words_column(*text_buffers(table["text"].filter(pa.array(is_kept)).fill_null("")))
        grams, offsets = hash_grams_column(hashes, words, k)
        keys, places, cuts = partition(grams, place_grams(offsets, numbers[is_kept]), bits)
        yield Block(cuts, (keys, places))
        first += len(table)


def emit_shared(bucket: Bucket, *, bits: int, boilerplate: int, firsts: Numbers) -> Iterator[Block]:
    """The places of grams of several pages, each with the first place of its gram, for the file of its page."""
    if not bucket.columns:
        return
    keys, places = sort_pairs(*bucket.columns, bits)
    columns = shared_places(places, runs(keys), boilerplate)
    order, cuts = order_by(files_of(columns[0] >> np.uint64(32), firsts), len(firsts))
    yield Block(cuts, tuple(column[order] for column in columns))


def files_of(pages: npt.NDArray[np.integer], firsts: Numbers) -> Numbers:
    """Which file each page is in."""
    return np.searchsorted(firsts, pages.astype(np.int64), side="right") - 1


def emit_passages(bucket: Bucket, *, params: CleanParams, firsts: Numbers) -> Iterator[Block]:
    """The passages of the pages of a file, for the files of their sources."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    places, order = sort_pairs(bucket.columns[0], np.arange(len(bucket.columns[0]), dtype=np.int64))
    found = find_passages(
        places, bucket.columns[1][order], bucket.columns[2][order], params.k, params.min_words, params.boilerplate,
        params.min_boilerplate,
    )  # fmt: skip
    order, cuts = order_by(files_of(found[:, 4], firsts), len(firsts))
    yield Block(cuts, tuple(np.ascontiguousarray(found[order].T)))


def emit_sources(bucket: Bucket, *, files: SavedFiles, firsts: Numbers) -> Iterator[Block]:
    """The passages whose sources are in a file, with the places there, for the files of their pages."""
    if not bucket.columns or not len(bucket.columns[0]):
        return
    page, begin, end, kind, source, source_begin, source_end, pages = bucket.columns
    own = kind == BOILERPLATE
    nothing = pa.nulls(int(own.sum()))
    table = pa.table([page[own], begin[own], end[own], kind[own], pages[own], *[nothing] * 3], schema=PASSAGES)
    yield table_block(table, files_of(page[own], firsts), len(firsts))
    copies = np.flatnonzero(kind == COPY)
    copies = copies[np.argsort(source[copies], kind="stable")]
    file = files.load()[bucket.number]
    for places, texts in file.take(["url", "text"], np.unique(source[copies]) - file.first):
        low, high = np.searchsorted(source[copies], [places[0] + file.first, places[-1] + file.first + 1])
        here = copies[low:high]
        text = np.searchsorted(places, source[here] - file.first)
        data, bounds = text_buffers(texts["text"])
        words = np.concatenate([[0], np.cumsum(count_words_column(data, bounds), dtype=np.int64)])
        begins, ends = place_words_column(data, bounds, words[-1])
        columns = [page[here], begin[here], end[here], kind[here], pa.nulls(len(here)), texts["url"].take(text)]
        columns += [begins[words[text] + source_begin[here]], ends[words[text] + source_end[here] - 1]]
        yield table_block(pa.table(columns, schema=PASSAGES), files_of(page[here], firsts), len(firsts))
