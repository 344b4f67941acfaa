"""A corpus of made-up chunk hashes, as large as one likes: the pages have no text, only what reuse reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.corpus import Corpus, CorpusWriter, Part
from unquilt.ingest.params import SETTINGS
from unquilt.schema import PAGES, SKIPPED, SUPERSEDED, sha1

CHUNKS_PER_PAGE = 50
_PAGES_PER_PART = 20_000
_GROUP = 8192
_PAGES_PER_HOST = 200
_BYTES = 500  # of a chunk


def make_corpus(path: Path, pages: int) -> Corpus:
    """So many pages of 50 chunks each: 40 % of the chunks unique, the others drawn with a heavy tail."""
    settings = {"status": "200", "captures": "all", "max_page_bytes": 1 << 24, "split_bytes": 1 << 24, "seed": 0}
    with CorpusWriter(path, settings | SETTINGS | {"chunks": "p"}) as writer:
        for number in range(-(-pages // _PAGES_PER_PART)):
            first = number * _PAGES_PER_PART
            count = min(_PAGES_PER_PART, pages - first)
            table = _part(number, first, count)
            pq.write_table(
                table, writer.temporary(number, "pages"), compression="zstd", compression_level=1,
                row_group_size=_GROUP, use_dictionary=["host", "domain"],
            )  # fmt: skip
            pq.write_table(SKIPPED.empty_table(), writer.temporary(number, "skipped"))
            size = count * CHUNKS_PER_PAGE * _BYTES
            writer.add(Part(number, "made up", str(number), count, 0, size, f"{pages}-{number}"))
        writer.save()
        return writer.finish(SUPERSEDED.empty_table())


def _part(number: int, first: int, count: int) -> pa.Table:
    chance = np.random.default_rng(number)
    chunks = count * CHUNKS_PER_PAGE
    ids = np.arange(first * CHUNKS_PER_PAGE, first * CHUNKS_PER_PAGE + chunks, dtype=np.uint64) + np.uint64(1 << 40)
    is_copy = chance.random(chunks) < 0.6
    # The rank of a copied chunk has density 1 / rank, as words and templates have.
    ids[is_copy] = np.exp(chance.random(int(is_copy.sum())) * np.log(2e7)).astype(np.uint64)
    pages = np.arange(first, first + count)
    hosts = [f"host{page // _PAGES_PER_HOST}.example" for page in pages]
    known = {
        "page": pa.array((number << 32) + pages - first),
        "url": [f"http://{host}/{page % 7}/{page % 3}/{page}" for host, page in zip(hosts, pages, strict=True)],
        "host": hosts,
        "domain": hosts,
        "bytes": np.full(count, CHUNKS_PER_PAGE * _BYTES),
        "file_sha1": _digests(np.arange(first, first + count, dtype=np.uint64) + np.uint64(1 << 50)),
        "chunk_sha1s": _lists(_digests(ids)),
        "chunk_sizes": _lists(pa.array(np.full(chunks, _BYTES, np.int32))),
        "source": ["made up"] * count,
        "offset": np.zeros(count, np.int64),
    }
    return pa.table(
        [pa.array(known[field.name]) if field.name in known else pa.nulls(count, field.type) for field in PAGES],
        schema=PAGES,
    )


def _lists(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.arange(0, len(values) + 1, CHUNKS_PER_PAGE, dtype=np.int32)), values)


def _digests(ids: npt.NDArray[np.uint64]) -> pa.Array:
    """A digest for each number, as even as SHA-1's."""
    words = np.empty((len(ids), 5), np.uint32)
    for at in range(5):
        mixed = ids * np.uint64(5) + np.uint64(at)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
        words[:, at] = (mixed ^ mixed >> np.uint64(31)) >> np.uint64(16)
    return pa.Array.from_buffers(sha1, len(ids), [None, pa.py_buffer(words)])
