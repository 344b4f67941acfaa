"""Tables on their way through an exchange: the rows of a bucket as an Arrow stream, in a column of bytes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.engines import Block, Bucket


def table_block(table: pa.Table, buckets: npt.NDArray[np.int64], count: int) -> Block:
    """The rows of a table, each for the bucket of ``count`` that is named, as one block."""
    order = np.argsort(buckets, kind="stable")
    return sorted_block(table.take(pa.array(order)) if len(table) else table, buckets[order], count)


def sorted_block(table: pa.Table, buckets: npt.NDArray[np.int64], count: int) -> Block:
    """The same for rows that are in the order of their buckets."""
    cuts = np.searchsorted(buckets, np.arange(count + 1))
    streams = [_stream(table.slice(a, b - a)) for a, b in pairwise(cuts.tolist())]
    offsets = np.cumsum([0, *(len(stream) for stream in streams)])
    return Block(offsets, (np.frombuffer(b"".join(streams), np.uint8),))


def bucket_table(bucket: Bucket, schema: pa.Schema) -> pa.Table:
    """The rows of a bucket, put together from all streams."""
    table = read_bucket(bucket)
    return schema.empty_table() if table is None else table


def read_bucket(bucket: Bucket) -> pa.Table | None:
    """The same; None if there are none, where nobody knows their columns."""
    if not bucket.columns:
        return None
    data, tables = bucket.columns[0], []
    source = pa.BufferReader(pa.py_buffer(data))
    while source.tell() < len(data):
        tables.append(pa.ipc.open_stream(source).read_all())
    return pa.concat_tables(tables).combine_chunks() if tables else None


def _stream(table: pa.Table) -> bytes:
    if not len(table):
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
