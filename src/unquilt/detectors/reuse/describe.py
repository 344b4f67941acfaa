"""The result tables of reuse."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.reuse.detect import CHUNKS, IS_COPY, LABELS, SHARES, STOPS, share_of
from unquilt.detectors.reuse.digests import Digests, column_words
from unquilt.detectors.reuse.examples import find_places, read_examples
from unquilt.detectors.reuse.params import ReuseParams
from unquilt.detectors.reuse.stop_chunks import has_sentence, kind_of
from unquilt.engines import Engine
from unquilt.schema import REUSE_FILES, REUSE_OBJECTS, REUSE_SITES, REUSE_SUMMARY

_LOOKED_AT = 400
"""Objects of each kind whose bytes are read: the most frequent, and as many that may be stop chunks."""


@dataclass(slots=True)
class Facts:
    """Thresholds and totals, in the order they became known."""

    rows: list[tuple[str, float, str | None]] = field(default_factory=list)

    def add(self, name: str, value: float, why: str | None = None) -> None:
        self.rows.append((name, float(value), why))

    def value(self, name: str) -> float:
        return next(value for known, value, _ in self.rows if known == name)

    def table(self) -> pa.Table:
        return pa.table([list(column) for column in zip(*self.rows, strict=True)], schema=REUSE_SUMMARY)


@dataclass(frozen=True, slots=True)
class Rows:
    """Pages of a part whose names are wanted."""

    file: PartFile
    pages: npt.NDArray[np.int64]


NAMES = pa.schema([("url", pa.string()), ("domain", pa.string())])


def describe_files(
    corpus: Corpus, engine: Engine, pages: npt.NDArray[np.uint32], is_target: npt.NDArray[np.bool_]
) -> pa.Table:
    """Every page with something labelled."""
    kept = np.flatnonzero((pages[:, LABELS] > 0) | (pages[:, IS_COPY] > 0))
    items = []
    for file in corpus.files():
        begin, end = np.searchsorted(kept, [file.first, file.first + file.pages])
        if begin < end:
            items.append(Rows(file, kept[begin:end]))
    names = engine.gather(engine.map(name_pages, items, name="Naming pages", label=lambda item: item.file.label), NAMES)
    counts = pages[kept].astype(np.int64)
    contains = share_of(counts[:, LABELS], counts[:, CHUNKS])
    numbers = [counts[:, column] for column in (CHUNKS, STOPS, LABELS, SHARES)]
    flags = [is_target[kept], counts[:, IS_COPY] > 0]
    return pa.table([names["url"], names["domain"], *numbers, contains, *flags], schema=REUSE_FILES)


def name_pages(rows: Rows) -> pa.Table:
    first = rows.file.first
    found = [NAMES.empty_table()]
    for table in rows.file.batches(NAMES.names):
        begin, end = np.searchsorted(rows.pages, [first, first + len(table)])
        found.append(table.select(NAMES.names).take(pa.array(rows.pages[begin:end] - first)))
        first += len(table)
    return pa.concat_tables(found).cast(NAMES)


def describe_sites(
    files: pa.Table, numbers: npt.NDArray[np.uint32], pages: npt.NDArray[np.uint32], is_target: npt.NDArray[np.bool_]
) -> pa.Table:
    """Domains with labelled chunks, those with the most first."""
    kept = (pages[:, LABELS] > 0) | (pages[:, IS_COPY] > 0)
    sites, firsts = np.unique(numbers[kept], return_index=True)
    size = int(sites.max()) + 1 if len(sites) else 0
    counted = (pages[:, CHUNKS] > 0) & (numbers < size)

    def total(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
        sums = np.zeros(size, np.int64)
        np.add.at(sums, numbers[counted], values[counted].astype(np.int64))
        chosen: npt.NDArray[np.int64] = sums[sites]
        return chosen

    chunks = total(pages[:, CHUNKS].astype(np.int64) - pages[:, STOPS])
    labelled = total(pages[:, LABELS])
    table = pa.table(
        [
            files["domain"].take(pa.array(firsts)), total(pages[:, CHUNKS] > 0), total(is_target), chunks, labelled,
            total(pages[:, SHARES]), share_of(labelled, chunks),
        ],
        schema=REUSE_SITES,
    )  # fmt: skip
    return table.sort_by([("labelled", "descending"), ("share", "descending"), ("domain", "ascending")])


def describe_objects(
    corpus: Corpus, engine: Engine, objects: dict[str, pa.Table], stops: npt.NDArray[np.uint32], params: ReuseParams,
    wide: float,
) -> pa.Table:  # fmt: skip
    """Labelled files and chunks, known stop chunks, and candidates for new ones; the most frequent first."""
    tables = [REUSE_OBJECTS.empty_table()]
    known = Digests.make(stops)
    for kind, table in objects.items():
        often = table["often"].to_numpy()
        is_stop = known.find(column_words(table["sha1"])) >= 0
        label = np.where(is_stop, "stop", np.where(often, "labelled", "candidate"))
        places = find_places(corpus, engine, table, kind)
        rows = places.append_column("label", pa.array(label))
        for name in ("sha1", "count", "domains"):
            rows = rows.append_column(name, table[name])
        rows = rows.sort_by([("count", "descending"), ("sha1", "ascending")])
        tables.append(_with_content(corpus, engine, rows, kind, params, wide))
    return pa.concat_tables(tables)


def _with_content(
    corpus: Corpus, engine: Engine, rows: pa.Table, kind: str, params: ReuseParams, wide: float
) -> pa.Table:
    """What the most frequent objects are, and which may be stop chunks; a candidate that turns out to be none goes."""
    label = np.array(rows["label"].to_pylist(), dtype=object)
    may_be_stop = (
        (rows["domains"].to_numpy() >= wide) & (rows["length"].to_numpy() <= params.candidate_bytes) & (label != "stop")
        if kind == "chunk" and not params.labelled
        else np.zeros(len(rows), bool)
    )
    looked = np.zeros(len(rows), bool)
    looked[np.flatnonzero(label != "candidate")[:_LOOKED_AT]] = True
    looked[np.flatnonzero(may_be_stop)[:_LOOKED_AT]] = True
    at = np.flatnonzero(looked)
    contents: list[bytes | None] = [None] * len(rows)
    for row, content in zip(at, read_examples(corpus, engine, rows.take(pa.array(at))), strict=True):
        contents[row] = content
    why: list[str | None] = [None] * len(rows)
    sizes, domains = rows["length"].to_numpy(), rows["domains"].to_numpy()
    for row in np.flatnonzero(may_be_stop & looked):
        content = contents[row]
        if content is not None and not has_sentence(content):
            why[row] = f"{sizes[row]:,} bytes on {domains[row]:,} domains, without a sentence"
    kept = [one is not None or name != "candidate" for one, name in zip(why, label, strict=True)]
    made = {
        "kind": pa.repeat(pa.scalar(kind), len(rows)),
        "why": pa.array(why, pa.string()),
        "content_kind": pa.array([None if one is None else kind_of(one) for one in contents], pa.string()),
        "content": pa.array(contents, pa.binary()),
    }
    columns = [made.get(name, rows[name] if name in rows.column_names else None) for name in REUSE_OBJECTS.names]
    return pa.table(columns, schema=REUSE_OBJECTS).filter(pa.array(kept, pa.bool_()))
