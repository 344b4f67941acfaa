"""The pages of a part, clean, with what was taken out of them, to files."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.clean.drop import Drops
from unquilt.clean.files import TableWriter
from unquilt.clean.find import PASSAGES
from unquilt.clean.params import CleanParams
from unquilt.detectors.sites import SavedFiles, text_buffers
from unquilt.detectors.streams import bucket_table
from unquilt.engines import Bucket
from unquilt.kernels.cuts import copy_spans, cut_spans, span_passages
from unquilt.kernels.passages import BOILERPLATE
from unquilt.kernels.words import count_words_column, place_words_column
from unquilt.schema import CLEAN_DROPPED, CLEAN_PAGES, CLEAN_REMOVED

Numbers = npt.NDArray[np.int64]

FOLDERS = {"pages": CLEAN_PAGES, "removed": CLEAN_REMOVED, "dropped": CLEAN_DROPPED}
EXAMPLES = 3
_EXAMPLE_CHARACTERS = 200


@dataclass(slots=True)
class Written:
    """What is in the files of a part."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)


def write_part(bucket: Bucket, *, files: SavedFiles, drops: Drops, out: Path, params: CleanParams) -> Written:
    """Write the pages of a file that are kept, the passages in them, and the pages that are dropped."""
    file = files.load()[bucket.number]
    passages = bucket_table(bucket, PASSAGES).sort_by([("page", "ascending"), ("begin", "ascending")])
    written = Written(f"{Path(file.path).stem}.{params.format}")
    with ExitStack() as stack:
        writers = {
            folder: stack.enter_context(TableWriter(out / folder / written.name, schema))
            for folder, schema in FOLDERS.items()
        }
        first = file.first
        for table in file.batches(CLEAN_PAGES.names):
            for folder, rows in zip(FOLDERS, _split(table, first, passages, drops, params, written), strict=True):
                writers[folder].write(rows)
            first += len(table)
    return written


def _split(
    table: pa.Table, first: int, passages: pa.Table, drops: Drops, params: CleanParams, written: Written
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Some pages of a part as tables for the three folders; what they hold is counted."""
    numbers = np.arange(first, first + len(table))
    is_kept = drops.keepers.load()[first : first + len(table)] == numbers
    kept, dropped = table.filter(pa.array(is_kept)), table.filter(pa.array(~is_kept))
    low, high = np.searchsorted(passages["page"].to_numpy(), [first, first + len(table)])
    pages, removed = clean_texts(kept, numbers[is_kept], passages.slice(low, high - low), mark=params.mark)
    _count(written, kept, dropped, pages, removed)
    known = drops.load()
    low, high = np.searchsorted(known["number"].to_numpy(), [first, first + len(table)])
    for name in CLEAN_DROPPED.names[len(CLEAN_PAGES) :]:
        dropped = dropped.append_column(name, known[name].slice(low, high - low))
    return pages, removed, dropped.cast(CLEAN_DROPPED)


def clean_texts(table: pa.Table, numbers: Numbers, passages: pa.Table, *, mark: bool) -> tuple[pa.Table, pa.Table]:
    """Pages, by number, without the passages in them, unless they are only marked; and the passages, CLEAN_REMOVED."""
    if not len(passages):
        return table, CLEAN_REMOVED.empty_table()
    own, text = np.unique(passages["page"].to_numpy(), return_inverse=True)
    rows = np.searchsorted(numbers, own)
    data, bounds = text_buffers(table["text"].take(pa.array(rows)))
    words = np.concatenate([[0], np.cumsum(count_words_column(data, bounds), dtype=np.int64)])
    begin, end = (passages[name].to_numpy() for name in ("begin", "end"))
    places = place_words_column(data, bounds, words[-1], in_bytes=True)
    spans = span_passages(data, bounds, np.column_stack([text, begin, end]), words, *places)
    here = pa.array(rows[text])
    base = bounds[text].astype(np.int64)
    is_boilerplate = pa.array(passages["kind"].to_numpy() == BOILERPLATE)
    removed = pa.table(
        [
            table["page"].take(here), table["url"].take(here), spans[:, 2], spans[:, 3], end - begin,
            pc.if_else(is_boilerplate, "boilerplate", "copy"), pc.if_else(is_boilerplate, passages["pages"], None),
            *(passages[name] for name in ("source_url", "source_begin", "source_end")),
            _strings(*copy_spans(data, base + spans[:, 0], base + spans[:, 1])),
        ],
        schema=CLEAN_REMOVED,
    )  # fmt: skip
    if mark:
        return table, removed
    cut = np.bincount(rows[text], weights=end - begin, minlength=len(table)).astype(np.int32)
    return _without(table, rows, text, spans).set_column(
        table.column_names.index("words"), CLEAN_PAGES.field("words"), pc.subtract(table["words"], pa.array(cut))
    ), removed


def _without(table: pa.Table, rows: Numbers, text: Numbers, spans: Numbers) -> pa.Table:
    """Pages without spans, of which each stands in a text, the text being in a row."""
    data, bounds = text_buffers(table["text"].fill_null(""))
    firsts = np.searchsorted(rows[text], np.arange(len(table) + 1))
    cut = _strings(*cut_spans(data, bounds, firsts, spans[:, 0].copy(), spans[:, 1].copy()))
    at = table.column_names.index("text")
    cut = pc.if_else(table["text"].is_valid(), cut, pa.scalar(None, pa.string()))
    return table.set_column(at, CLEAN_PAGES.field("text"), cut)


def _strings(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32]) -> pa.Array:
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def _count(written: Written, kept: pa.Table, dropped: pa.Table, pages: pa.Table, removed: pa.Table) -> None:
    copies = removed.filter(pc.equal(removed["kind"], "copy"))
    words = {"copy": _total(copies["words"]), "boilerplate": _total(removed["words"]) - _total(copies["words"])}
    for kind, passages in {"copy": len(copies), "boilerplate": len(removed) - len(copies)}.items():
        written.counts[f"{kind}_passages"] += passages
        written.counts[f"{kind}_words"] += words[kind]
    for name, tables in {"": (kept, dropped), "kept_": (kept,), "clean_": (pages,)}.items():
        written.counts[f"{name}pages"] += sum(map(len, tables))
        written.counts[f"{name}words"] += sum(_total(table["words"]) for table in tables)
        written.counts[f"{name}bytes"] += sum(_total(pc.binary_length(table["text"])) for table in tables)
    longest = copies.sort_by([("words", "descending"), ("page", "ascending"), ("begin", "ascending")])
    written.examples = take_examples(written.examples + longest.slice(0, EXAMPLES).to_pylist())


def take_examples(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The longest copies, of equals the first ones, with the beginning of their texts."""
    longest = nlargest(EXAMPLES, found, key=lambda one: one["words"])
    return [one | {"text": one["text"][:_EXAMPLE_CHARACTERS]} for one in longest]


def _total(column: pa.ChunkedArray) -> int:
    return pc.sum(column, min_count=0).as_py() or 0
