"""A corpus: a folder of Parquet parts, named in corpus.json.

A part is written under a temporary name, renamed, synced, and only then named in corpus.json, which is itself
replaced in one step: a corpus opens at any moment, whatever happened to the process that was writing it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from unquilt import __version__
from unquilt.errors import BadInput, CorpusBusy, CorpusMismatch, NotACorpus
from unquilt.schema import PAGES, SKIPPED, SUPERSEDED

FORMAT = 1
_JSON = "corpus.json"


@dataclass(frozen=True, slots=True)
class Part:
    """One Parquet file of pages: what became of one piece of input."""

    number: int
    source: str
    key: str  # tells the piece of input from every other, so that it is not read twice
    pages: int
    words: int
    bytes: int
    digest: str  # SHA-256 of the file
    skipped: Mapping[str, int] = field(default_factory=dict)
    passed: Mapping[str, int] = field(default_factory=dict)
    span: tuple[int, int] | None = None

    @property
    def file(self) -> str:
        return f"pages/part-{self.number:06}.parquet"


@dataclass(frozen=True, slots=True)
class PartFile:
    """A part as a step reads it: small enough to send to a worker, and enough to read its pages.

    The pages of a corpus that count have numbers without gaps, in order; ``first`` is that of the part's first.
    """

    path: str
    label: str
    first: int
    pages: int
    dropped: npt.NDArray[np.int64] | None = None  # rows that do not count

    def batches(self, columns: list[str]) -> Iterator[pa.Table]:
        """The pages that count, in order, a row group at a time."""
        row = 0
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=columns, use_threads=False)
                begin, row = row, row + len(table)
                yield _without(table, self.dropped, begin)

    def take(
        self, columns: list[str], places: npt.NDArray[np.int64]
    ) -> Iterator[tuple[npt.NDArray[np.int64], pa.Table]]:
        """Some of the pages that count, by their places among them, ascending; row groups without one are not read."""
        row = first = 0
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                begin, row = row, row + file.metadata.row_group(group).num_rows
                pages = row - begin
                if self.dropped is not None:
                    pages -= int(np.count_nonzero((self.dropped >= begin) & (self.dropped < row)))
                low, high = np.searchsorted(places, [first, first + pages])
                if low < high:
                    table = _without(file.read_row_group(group, columns, use_threads=False), self.dropped, begin)
                    yield places[low:high], table.take(pa.array(places[low:high] - first))
                first += pages


class Corpus:
    """The pages of a crawl."""

    def __init__(self, path: str | Path) -> None:
        """Open the corpus in a folder."""
        self.path = Path(path)
        known = _load(self.path)
        self.settings: dict[str, Any] = known["settings"]
        self.is_complete: bool = known["complete"]
        self.parts = [Part(**part) for part in known["parts"]]
        self._superseded_digest: str = known["superseded"]

    def __repr__(self) -> str:
        return f"Corpus({str(self.path)!r}, {self.rows:,} pages)"

    @property
    def rows(self) -> int:
        """Captures that became pages, those that other captures of their URL supersede among them."""
        return sum(part.pages for part in self.parts)

    @property
    def pages(self) -> int:
        """Pages that count."""
        return self.rows - sum(len(pages) for pages in self._superseded.values())

    @property
    def digest(self) -> str:
        """The same pages made with the same settings have the same digest; no others do."""
        content = [self.settings, [part.digest for part in self.parts], self._superseded_digest]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def results(self) -> Path:
        return self.path / "results"

    def read_part(self, part: Part, columns: list[str] | None = None) -> pa.Table:
        """The pages of a part that count, in order; of all columns (``unquilt.schema.PAGES``) or of some."""
        table = pq.read_table(self.path / part.file, columns=columns, use_threads=False)
        return _without(table, self._dropped_rows(part), 0)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """The pages of all parts, in memory at once: for a small corpus, or a few narrow columns."""
        schema = PAGES if columns is None else pa.schema([PAGES.field(name) for name in columns])
        return pa.concat_tables([schema.empty_table(), *(self.read_part(part, columns) for part in self.parts)])

    def read_skipped(self) -> pa.Table:
        """The records that became no page, and why."""
        merged = self.path / "skipped.parquet"
        return pq.read_table(merged) if merged.exists() else SKIPPED.empty_table()

    def count_skipped(self) -> dict[str, int]:
        """Records that became no page, by reason, the most frequent first."""
        return _add_up(part.skipped for part in self.parts)

    def count_passed(self) -> dict[str, int]:
        """Records that are no captures by their nature, by kind."""
        return _add_up(part.passed for part in self.parts)

    def files(self) -> list[PartFile]:
        """The parts that have pages, for the steps of a detector."""
        found = []
        first = 0
        for part in self.parts:
            dropped = self._dropped_rows(part)
            pages = part.pages - (0 if dropped is None else len(dropped))
            if pages:
                found.append(PartFile(str(self.path / part.file), part.source, first, pages, dropped))
            first += pages
        return found

    def _dropped_rows(self, part: Part) -> npt.NDArray[np.int64] | None:
        pages = self._superseded.get(part.number)
        return None if pages is None else pages & 0xFFFFFFFF

    @cached_property
    def _superseded(self) -> dict[int, npt.NDArray[np.int64]]:
        """By part number, the pages that do not count."""
        if not self._superseded_digest:
            return {}
        pages = pq.read_table(self.path / "superseded.parquet", columns=["page"])["page"].to_numpy()
        numbers, begins = np.unique(pages >> 32, return_index=True)
        return dict(zip(numbers.tolist(), np.split(pages, begins[1:]), strict=True))


def _without(table: pa.Table, rows: npt.NDArray[np.int64] | None, begin: int) -> pa.Table:
    """A table without some rows, which are counted from ``begin`` rows before it."""
    if rows is None:
        return table
    inside = rows[(rows >= begin) & (rows < begin + len(table))] - begin
    if not len(inside):
        return table
    kept = np.ones(len(table), bool)
    kept[inside] = False
    return table.filter(pa.array(kept))


def _add_up(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def _load(path: Path) -> dict[str, Any]:
    try:
        known = json.loads((path / _JSON).read_bytes())
    except FileNotFoundError:
        raise _not_a_corpus(path) from None
    except (OSError, ValueError) as error:
        raise NotACorpus(f"{path / _JSON} cannot be read: {error}.", fix="Ingest the crawl again.") from None
    if not isinstance(known, dict) or known.get("format") != FORMAT:
        made = known.get("format") if isinstance(known, dict) else None
        raise NotACorpus(
            f"{path} is a corpus of format {made}; this version of unquilt reads format {FORMAT}.",
            fix="Ingest the crawl again with this version.",
        )
    return known


def _not_a_corpus(path: Path) -> NotACorpus:
    make = f"Make one first:  unquilt ingest {path} -o {path.name.split('.')[0] or 'crawl'}.corpus"
    if not path.exists():
        return NotACorpus(
            f"{path} does not exist.",
            fix="Check the path, or make a corpus:  unquilt ingest INPUT... -o CORPUS",
        )
    if not path.is_dir():
        return NotACorpus(f"{path} is a file, not a corpus.", fix=make)
    crawls = any(path.glob("*.warc*")) or any(path.glob("*.wacz"))
    holds = "holds WARC files, not a corpus" if crawls else f"is a folder without a {_JSON}, not a corpus"
    return NotACorpus(f"{path} {holds}.", fix=make)


class CorpusWriter:
    """Adds parts to a corpus, new or old. One process at a time: use it in a ``with``."""

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._settings = dict(settings)
        self._parts: list[Part] = []
        self._superseded = ""
        self._complete = False
        self._unsynced: list[Path] = []  # here and not in the workers, which need not wait for the disk

    def __enter__(self) -> CorpusWriter:
        _prepare(self.path)
        self._lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise CorpusBusy(
                f"Another process is writing to {self.path}.",
                fix="Wait for it to end, or choose another folder with -o.",
            ) from None
        try:
            if (self.path / _JSON).exists():
                self._take_over(Corpus(self.path))
            else:
                self.save()
            for left in (self.path / "pages").glob("*.tmp"):
                left.unlink()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, *stopped_by: object) -> None:
        os.close(self._lock)

    def _take_over(self, corpus: Corpus) -> None:
        differ = [name for name, value in self._settings.items() if corpus.settings.get(name) != value]
        if differ:
            was = ", ".join(f"{name} = {corpus.settings.get(name)}" for name in differ)
            now = ", ".join(f"{name} = {self._settings[name]}" for name in differ)
            raise CorpusMismatch(
                f"{self.path} was made with {was}; asked for is {now}.",
                fix="Use the same settings to add to it, or choose another folder with -o.",
            )
        self._parts = list(corpus.parts)
        self._superseded = corpus._superseded_digest
        self._complete = corpus.is_complete

    @property
    def parts(self) -> list[Part]:
        return self._parts

    def temporary(self, number: int, kind: str) -> str:
        """Where a worker puts a file of a part before it belongs to the corpus."""
        return str(self.path / "pages" / f"part-{number:06}.{kind}.tmp")

    def add(self, part: Part) -> None:
        """Take in a part whose files are complete. It counts once ``save`` was called."""
        Path(self.temporary(part.number, "pages")).replace(self.path / part.file)
        Path(self.temporary(part.number, "skipped")).replace(_skipped_of(self.path, part.number))
        self._parts.append(part)
        self._unsynced += [self.path / part.file, _skipped_of(self.path, part.number)]
        self._complete = False

    def save(self) -> None:
        """Name all parts in corpus.json, once they are safe on disk."""
        for path in self._unsynced:
            sync(path)
        self._unsynced = []
        sync(self.path / "pages")
        known = {
            "format": FORMAT,
            "unquilt": __version__,
            "complete": self._complete,
            "settings": self._settings,
            "superseded": self._superseded,
            "parts": [asdict(part) for part in self._parts],
        }
        write_atomically(self.path / _JSON, (json.dumps(known, indent=1, ensure_ascii=False) + "\n").encode())

    def finish(self, superseded: pa.Table) -> Corpus:
        """Write what concerns all parts together, and name the corpus complete."""
        self._superseded = ""
        if len(superseded):
            digest = hashlib.sha256()
            for name in SUPERSEDED.names:
                digest.update(superseded[name].to_numpy().tobytes())
            self._superseded = digest.hexdigest()
        write_table(superseded, self.path / "superseded.parquet")
        self._merge_skipped()
        self._complete = True
        self.save()
        for part in self._parts:
            _skipped_of(self.path, part.number).unlink(missing_ok=True)
        return Corpus(self.path)

    def _merge_skipped(self) -> None:
        """Put the skipped records of new parts into skipped.parquet.

        The file itself says which parts it covers, so that this can be cut off at any moment and repeated.
        """
        target = self.path / "skipped.parquet"
        covered = int((pq.read_schema(target).metadata or {}).get(b"covers", -1)) if target.exists() else -1
        last = self._parts[-1].number if self._parts else -1
        if covered == last and target.exists():
            return
        schema = SKIPPED.with_metadata({"covers": str(last)})
        temporary = target.with_suffix(".tmp")
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for table in self._skipped_rows(target, covered):
                if len(table):
                    writer.write_table(table.replace_schema_metadata(schema.metadata))
        replace_synced(temporary, target)

    def _skipped_rows(self, merged: Path, covered: int) -> Iterator[pa.Table]:
        if merged.exists():
            for batch in pq.ParquetFile(merged).iter_batches():
                yield pa.table(batch)
        for part in self._parts:
            if part.number > covered:
                yield pq.read_table(_skipped_of(self.path, part.number))


def _prepare(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path} is a file; a corpus is a folder.", fix="Choose another name with -o.")
    if path.is_dir() and not (path / _JSON).exists() and not (path / ".lock").exists() and any(path.iterdir()):
        raise BadInput(f"{path} is not empty, and not a corpus.", fix="Choose a new folder with -o, or empty this one.")
    try:
        (path / "pages").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be made: {(error.strerror or str(error)).lower()}.",
            fix="Choose a folder you may write to with -o.",
        ) from None


def _skipped_of(path: Path, number: int) -> Path:
    return path / "pages" / f"part-{number:06}.skipped.parquet"


def write_table(table: pa.Table, target: Path) -> None:
    """Write a Parquet file in one step: it is there whole, or as it was before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    pq.write_table(table, temporary, compression="zstd")
    replace_synced(temporary, target)


def write_atomically(target: Path, content: bytes) -> None:
    temporary = target.with_name(target.name + ".tmp")
    temporary.write_bytes(content)
    replace_synced(temporary, target)


def replace_synced(temporary: Path, target: Path) -> None:
    sync(temporary)
    temporary.replace(target)
    sync(target.parent)


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, survive when the power fails."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
