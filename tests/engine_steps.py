"""Steps for the tests of the engines: a worker process must be able to import them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from unquilt.engines import Block, Bucket, working_on
from unquilt.errors import BadInput
from unquilt.kernels.radix import partition

BITS = 4


def square(number: int) -> int:
    time.sleep(0.02 * (number % 3))  # so that later items end before earlier ones
    return number * number


def multiples(number: int) -> Iterator[Block]:
    """Pairs (multiple, number) of a thousand multiples, in two blocks and one that is empty."""
    for begin in (0, 500, 10**6):
        keys = np.arange(begin, min(begin + 500, 1000), dtype=np.uint64) * np.uint64(number + 1)
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys, values, offsets = partition(keys, np.full(len(keys), number, np.uint32), BITS)
        yield Block(offsets, (keys, values))


def count_keys(bucket: Bucket) -> pa.Table:
    keys, counts = np.unique(bucket.columns[0], return_counts=True)
    return pa.table({"key": keys, "count": counts.astype(np.int64)})


def swap(bucket: Bucket) -> Iterator[Block]:
    """The pairs again, by value instead of key."""
    keys, values = bucket.columns
    order = values.astype(np.uint64) << np.uint64(64 - BITS)
    by_value, moved, offsets = partition(order, keys, BITS)
    yield Block(offsets, (by_value >> np.uint64(64 - BITS), moved))


def collect(bucket: Bucket) -> tuple[int, list[int], list[int]]:
    return bucket.number, *(sorted(column.tolist()) for column in bucket.columns)  # type: ignore[return-value]


def rows_of(bucket: Bucket) -> tuple[int, list[list[int]], list[str]]:
    """Everything about a bucket, in its order."""
    return bucket.number, [column.tolist() for column in bucket.columns], [str(one.dtype) for one in bucket.columns]


def hot_key(number: int) -> Iterator[Block]:
    """Half a million rows in five blocks; nine of ten have the same key."""
    for _ in range(5):
        keys = np.arange(100_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        keys[10_000:] = 7
        keys, values, offsets = partition(keys, np.full(len(keys), number, np.uint32), BITS)
        yield Block(offsets, (keys, values))


def fail_at_bucket(bucket: Bucket) -> int:
    if bucket.number == 5:
        raise KeyError("five")
    return bucket.number


def fail_at_three(number: int) -> int:
    working_on(f"page http://a.example/{number}")
    if number == 3:
        raise ZeroDivisionError("three")
    return number


def refuse(number: int) -> int:
    raise BadInput(f"{number} is no good.", fix="Take another.")


class UnportableError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("cannot be rebuilt from its message")


def fail_unportably(number: int) -> int:
    raise UnportableError(1, 2)


def die(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def sleep(folder: str) -> None:
    """Note the process, then take a minute."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)


def wrong_blocks(number: int) -> Iterator[Block]:
    yield Block(np.array([0, 1], np.int64), (np.zeros(1, np.uint64),))


def fill_disk(number: int) -> None:
    with open("/dev/full", "wb", buffering=0) as file:  # noqa: PTH123
        file.write(b"x")
