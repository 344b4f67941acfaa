"""Sets of digests as steps use them, and the digests of pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.corpus import Corpus
from unquilt.errors import BadInput
from unquilt.kernels.digests import WORDS, find_digests, index_digests
from unquilt.schema import SHA1_BYTES, sha1

Words = npt.NDArray[np.uint32]
_MOST_BITS = 24
LABELLED, STOP, SHARED = 1, 2, 4
"""Flags of a digest: it is labelled; it is a stop chunk; it is on more than one domain."""


@dataclass(frozen=True, slots=True)
class Digests:
    """Digests in the order of their bytes, each with flags, and an index that finds one in a step or two."""

    words: Words  # uint32[5 n]
    flags: Words  # uint32[n]
    starts: Words
    bits: int

    def __len__(self) -> int:
        return len(self.flags)

    @classmethod
    def make(cls, words: Words, flags: Words | None = None) -> Digests:
        """Of digests in any order; flags of equal ones are joined."""
        rows = np.ascontiguousarray(words).reshape(-1, WORDS)
        flags = np.full(len(rows), LABELLED, np.uint32) if flags is None else flags
        order = np.lexsort(rows.byteswap().T[::-1])
        rows, flags = rows[order], flags[order]
        is_new = np.ones(len(rows), bool)
        is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        joined = np.bitwise_or.reduceat(flags, np.flatnonzero(is_new)) if len(rows) else flags
        return cls.of_sorted(rows[is_new].reshape(-1), joined)

    @classmethod
    def of_sorted(cls, words: Words, flags: Words) -> Digests:
        bits = min(max(len(flags).bit_length(), 1), _MOST_BITS)
        return cls(words, flags, index_digests(words, bits), bits)

    def find(self, words: Words) -> npt.NDArray[np.int64]:
        """Which of them each digest is, -1 if none."""
        found: npt.NDArray[np.int64] = find_digests(words, self.words, self.starts, self.bits)
        return found

    def flags_of(self, words: Words) -> npt.NDArray[np.uint8]:
        """The flags of each digest, 0 if it is none of them."""
        known = np.append(self.flags, np.uint32(0)).astype(np.uint8)
        return known[self.find(words)]  # -1 is the last: none

    def packed(self) -> Words:
        """As one array, for a file that workers map."""
        head = np.array([self.bits, len(self)], np.uint32)
        return np.concatenate([head, self.starts, self.flags, self.words])

    @classmethod
    def unpacked(cls, array: Words) -> Digests:
        bits, n = int(array[0]), int(array[1])
        starts, flags, words = np.split(array[2:], [(1 << bits) + 1, (1 << bits) + 1 + n])
        return cls(words, flags, starts, bits)


def words_of(digests: bytes) -> Words:
    """Digests, one behind the other, as numbers."""
    return np.frombuffer(digests, np.uint32)


def column_words(column: pa.ChunkedArray | pa.Array) -> Words:
    """A column of digests without nulls, as numbers."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.empty(0, np.uint32)
    begin = array.offset * WORDS
    return np.frombuffer(data, np.uint32)[begin : begin + len(array) * WORDS]


def words_column(words: Words) -> pa.Array:
    """The other way round."""
    data = pa.py_buffer(np.ascontiguousarray(words))
    return pa.Array.from_buffers(sha1, data.size // SHA1_BYTES, [None, data])


def lists_of(column: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The values of a column of lists, and int64[rows + 1] where each list begins; null is an empty list."""
    array = column.combine_chunks()
    lengths = array.value_lengths().fill_null(0).to_numpy()
    return array.flatten(), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def check_chunks(corpus: Corpus) -> None:
    """An error unless the corpus has the chunks of its pages."""
    files = corpus.files()
    for file in files:
        if "chunk_sizes" not in pq.read_schema(file.path).names:
            raise BadInput(
                f"{corpus.path} was made by an earlier version of unquilt, which did not keep the lengths of chunks.",
                fix="Ingest the crawl again.",
            )
    if files and not sum(part.bytes for part in corpus.parts):
        raise BadInput(
            f"{corpus.path} has no raw bytes: it was made from a list of URLs or from text alone.",
            fix="Reuse is found in the bytes of pages. Ingest WARC, HTML, JSONL or Parquet files with the HTML itself.",
        )
