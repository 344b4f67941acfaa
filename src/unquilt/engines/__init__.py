"""Where steps run. An engine has four verbs, and every detector is written in them.

    map       a step over items (parts of a corpus, pieces of input), results in the order of the items
    exchange  a step over items, or over the buckets of an earlier exchange, whose blocks are kept by bucket
    reduce    a step over each bucket of an exchange, results in the order of the buckets
    gather    small tables to one

A step is a function that can be imported, so that it can run in another process or on another machine. What
it gives depends on its item alone: results are the same on every engine and with any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Item = TypeVar("Item")
Result = TypeVar("Result")
Column = npt.NDArray[Any]

BUCKET_BITS = 11
"""2,048 buckets: small enough to sort in cache, few enough to exchange in large pieces."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows cut into buckets: those of bucket b are ``column[offsets[b]:offsets[b + 1]]`` of every column."""

    offsets: npt.NDArray[np.int64]
    columns: tuple[Column, ...]

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self.columns)


@dataclass(frozen=True, slots=True)
class Bucket:
    """All rows of one bucket, in the order of the items they came from."""

    number: int
    columns: tuple[Column, ...]


class Blocks(Protocol):
    """What an exchange keeps until it is reduced; closing it frees the memory or the disk."""

    buckets: int
    rows: int

    def close(self) -> None: ...

    def __enter__(self) -> Blocks: ...

    def __exit__(self, *stopped_by: object) -> None: ...


class Engine(Protocol):
    """The verbs. ``name`` is shown while a step runs; ``label`` names an item in an error."""

    def map(
        self,
        step: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        name: str,
        label: Callable[[Item], str] = str,
        size: Callable[[Item], int] | None = None,
    ) -> Iterator[Result]: ...

    def exchange(
        self,
        step: Callable[[Any], Iterable[Block]],
        items: Sequence[Any] | Blocks,
        *,
        name: str,
        buckets: int = 1 << BUCKET_BITS,
        label: Callable[[Any], str] = str,
        size: Callable[[Any], int] | None = None,
    ) -> Blocks: ...

    def reduce(self, step: Callable[[Bucket], Result], blocks: Blocks, *, name: str) -> Iterator[Result]: ...

    def gather(self, tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table: ...


_work = ""


def working_on(what: str) -> None:
    """Note what a step is at, for the message if it fails: a page, a record."""
    global _work
    _work = what


def current_work() -> str:
    return _work
