"""Labelled objects shown: an example page of each, where in it the chunk lies, and its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.reuse.digests import Words, column_words, lists_of
from unquilt.engines import Engine
from unquilt.errors import BadInput
from unquilt.ingest.again import read_captures
from unquilt.ingest.params import IngestParams
from unquilt.kernels.digests import places_of
from unquilt.schema import sha1

SHOWN_BYTES = 4096
"""Of an example's content, so much is kept."""

PLACES = pa.schema(
    [
        ("length", pa.int64()),
        ("begin", pa.int64()),
        ("example", pa.string()),
        ("source", pa.string()),
        ("offset", pa.int64()),
        ("file_sha1", sha1),
    ]
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Objects whose example is a page of this part, by page."""

    file: PartFile
    pages: npt.NDArray[np.uint32]
    digests: Words | None  # of chunks; None: whole files


def find_places(corpus: Corpus, engine: Engine, objects: pa.Table, kind: str) -> pa.Table:
    """Where each object lies in its example page; in the order of ``objects``."""
    pages = objects["page"].to_numpy()
    order = np.argsort(pages, kind="stable")
    words = column_words(objects["sha1"]).reshape(-1, 5)[order]
    items = []
    for file in corpus.files():
        begin, end = np.searchsorted(pages[order], [file.first, file.first + file.pages])
        if begin < end:
            digests = words[begin:end].reshape(-1) if kind == "chunk" else None
            items.append(Wanted(file, pages[order][begin:end], digests))
    found = engine.gather(
        engine.map(find_places_of_part, items, name=f"Finding example {kind}s", label=lambda item: item.file.label),
        PLACES,
    )
    return found.take(pa.array(np.argsort(order, kind="stable")))


def find_places_of_part(wanted: Wanted) -> pa.Table:
    first = wanted.file.first
    found = [PLACES.empty_table()]
    columns = ["url", "source", "offset", "file_sha1", "bytes"]
    for table in wanted.file.batches(
        [*columns, *(["chunk_sha1s", "chunk_sizes"] if wanted.digests is not None else [])]
    ):
        begin, end = np.searchsorted(wanted.pages, [first, first + len(table)])
        rows = table.take(pa.array(wanted.pages[begin:end] - np.uint32(first)))
        first += len(table)
        if wanted.digests is None:
            begins, lengths = np.zeros(len(rows), np.int64), rows["bytes"].to_numpy()
        else:
            values, offsets = lists_of(rows["chunk_sha1s"])
            sizes = lists_of(rows["chunk_sizes"])[0].to_numpy()
            begins, lengths = places_of(wanted.digests[5 * begin : 5 * end], column_words(values), offsets, sizes)
        names = [rows[name].combine_chunks() for name in ("url", "source", "offset", "file_sha1")]
        found.append(pa.table([lengths, begins, *names], schema=PLACES))
    return pa.concat_tables(found)


def read_examples(corpus: Corpus, engine: Engine, objects: pa.Table) -> list[bytes | None]:
    """The content of each object in its example page, cut off if it is long; None where the crawl is gone."""
    if not len(objects):
        return []
    rows = objects.select(["example", "source", "offset", "file_sha1", "begin", "length"]).to_pylist()
    by_source: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        by_source.setdefault(row["source"], []).append(at)
    groups = [many[i : i + 64] for many in by_source.values() for i in range(0, len(many), 64)]
    items = [[rows[at] for at in group] for group in groups]
    step = partial(read_group, settings=corpus.settings, beside=str(corpus.path.parent))
    found: list[bytes | None] = [None] * len(rows)
    results = engine.map(step, items, name="Reading examples", label=lambda item: str(item[0]["source"]))
    for group, contents in zip(groups, results, strict=True):
        for at, content in zip(group, contents, strict=True):
            found[at] = content
    return found


def read_group(rows: list[dict[str, Any]], *, settings: dict[str, Any], beside: str) -> list[bytes | None]:
    return [read_example(row, settings, Path(beside), most=SHOWN_BYTES) for row in rows]


def read_example(row: dict[str, Any], settings: dict[str, Any], beside: Path, *, most: int | None) -> bytes | None:
    """The bytes of one object, at most so many."""
    params = IngestParams(status=settings["status"], max_page_bytes=settings["max_page_bytes"])
    try:
        ((_, capture),) = read_captures([row | {"url": row["example"]}], params, beside=beside)
    except (BadInput, OSError):
        return None  # the crawl is not there any more
    size = row["length"] if most is None else min(row["length"], most)
    return capture.body[row["begin"] : row["begin"] + size]
