"""What the server asks: the pages and the results of a corpus as DuckDB tables that answer in milliseconds.

Parquet results are copied once into files of the folder ``serve`` of the corpus, each under a name that tells what it
was made from. They are only read after that: a detector that writes a new result, or a second server, disturbs nobody.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import duckdb

from unquilt.corpus import Corpus
from unquilt.info import open_pages

DETECTORS = ("quilts", "phrases", "styles", "mirrors", "reuse")
_LAYOUT = 3  # raised when the tables made here change
_MEMORY = "160MB"
_ATTEMPTS = 3
_OFFLINE: dict[str, Any] = {"autoinstall_known_extensions": False}  # DuckDB would fetch what it lacks

# Columns made once so that a list of sources, a link or a level of a tree costs nothing to ask for.
_EXTRA = {
    ("quilts", "quilts"): (
        "len(sources) AS source_count, len([s for s in sources if s.foreign]) AS foreign_count, "
        "len([s for s in sources if s.attributed]) AS attributed_count, "
        "coalesce(list_sum([s.grams for s in sources]), 0) / greatest(grams, 1) AS covered, "
        "list_reverse_sort([s.grams / greatest(patch_grams, 1) for s in sources]) AS shares"
    ),
    ("quilts", "patches"): "hash(source_url) AS source_hash",
    ("phrases", "covers"): "len(sources) AS source_count",
    ("mirrors", "pairs"): "len(tests) AS test_count",
    ("reuse", "neighborhoods"): (
        "len(prefix) - len(replace(prefix, '/', '')) AS depth, regexp_replace(prefix, '[^/]*/?$', '') AS parent"
    ),
}


@dataclass(frozen=True, slots=True)
class Known:
    """A detector's result as the server has it, or why it has none."""

    detector: str
    problem: str = ""  # empty if it is there
    params: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, dict[str, str]] = field(default_factory=dict)  # table -> column -> DuckDB type
    rows: dict[str, int] = field(default_factory=dict)
    key: str = ""

    @property
    def is_there(self) -> bool:
        return not self.problem


class Index:
    """The pages and results of one corpus, as they are now. Safe to use from several threads."""

    def __init__(self, path: str | Path, *, say: Callable[[str], None] = lambda text: None) -> None:
        self._path = Path(path)
        self._say = say
        self._lock = RLock()
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self.corpus = Corpus(path)
        self._folder = self._make_folder()
        spill = str(self._folder / f".spill-{os.getpid()}")
        self._database = duckdb.connect(
            config=_OFFLINE | {"memory_limit": _MEMORY, "threads": 2, "temp_directory": spill}
        )
        self._aliases: dict[str, str] = {}
        self._count = 0
        self._stamps: dict[str, object] = {}
        self.known: dict[str, Known] = {}
        self.refresh()

    def close(self) -> None:
        self._database.close()
        if self._own is not None:
            self._own.cleanup()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        self.close()

    def ask(self, sql: str, values: list[Any] | None = None) -> list[dict[str, Any]]:
        """The rows of a query. ``{pages}`` or ``{quilts}`` in it stand for the database of these tables."""
        with self._database.cursor() as cursor:
            cursor.execute(sql.format(**self._aliases), values or [])
            names = [column[0] for column in cursor.description or []]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def has(self, detector: str, table: str) -> bool:
        return table in self.known[detector].tables

    def refresh(self) -> None:
        """Take in what changed on disk since it was last looked at."""
        stamps = {name: _stamp(self._path / "results" / name / "result.json") for name in DETECTORS}
        stamps["pages"] = _stamp(self._path / "corpus.json")
        if stamps == self._stamps:
            return
        with self._lock:
            if stamps == self._stamps:
                return  # another thread was faster
            if stamps["pages"] != self._stamps.get("pages"):
                corpus = Corpus(self._path)
                if corpus.is_complete or not self._stamps:  # while pages are added, those from before are shown
                    self.corpus = corpus
                    self._open_pages()
            for name in DETECTORS:
                if stamps[name] != self._stamps.get(name) or stamps["pages"] != self._stamps.get("pages"):
                    self.known[name] = self._open_result(name)
            self._stamps = stamps

    def _make_folder(self) -> Path:
        folder = self._path / "serve"
        try:
            folder.mkdir(exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            pass
        self._own = tempfile.TemporaryDirectory(prefix="unquilt-serve-")  # a corpus that may only be read
        return Path(self._own.name)

    def _open_pages(self) -> None:
        def fill(database: duckdb.DuckDBPyConnection) -> None:
            self._say(f"Indexing {self.corpus.pages:,} pages, once …")
            open_pages(self.corpus, database)
            database.execute(
                "CREATE TABLE page AS SELECT page, url, host, domain, ip, coalesce(title, '') AS title, "
                "coalesce(words, 0) AS words, bytes, make_timestamp(epoch_us(time)) AS time, "
                "hash(url) AS url_hash, lower(url || ' ' || coalesce(title, '')) AS search FROM pages"
            )
            database.execute("DROP VIEW IF EXISTS pages")
            database.execute(
                "CREATE TABLE host AS SELECT host, any_value(domain) AS domain, count(*) AS pages, "
                "sum(words)::BIGINT AS words, hash(host) AS host_hash FROM page GROUP BY host ORDER BY host"
            )

        alias = self._attach("pages", self.corpus.digest, fill)
        self.known["pages"] = self._describe("pages", alias, {}, self.corpus.digest)

    def _open_result(self, detector: str) -> Known:
        folder = self._path / "results" / detector
        for _ in range(_ATTEMPTS):
            before = _stamp(folder / "result.json")
            known = self._read_result(detector, folder)
            if _stamp(folder / "result.json") == before:
                return known
        return Known(detector, "It is being written at this moment. Reload the page when the detector is done.")

    def _read_result(self, detector: str, folder: Path) -> Known:
        try:
            content = (folder / "result.json").read_bytes()
            result = json.loads(content)
            files = {name: folder / f"{name}.parquet" for name in result["tables"]}
        except FileNotFoundError:
            return Known(detector, "It was not run on this corpus.")
        except (OSError, ValueError, KeyError, TypeError):
            return Known(detector, "Its result.json cannot be read.")
        if result.get("corpus") != self.corpus.digest:
            return Known(detector, "Its result was made before the corpus changed.")

        def fill(database: duckdb.DuckDBPyConnection) -> None:
            for name, file in files.items():
                _copy_table(database, detector, name, file)

        key = hashlib.sha256(content + repr(_stamp(folder / "result.json")).encode()).hexdigest()
        try:
            alias = self._attach(detector, key, fill)
        except (duckdb.Error, OSError) as error:
            return Known(detector, f"Its tables cannot be read: {str(error).splitlines()[0]}")
        return self._describe(detector, alias, result.get("params", {}), key)

    def _describe(self, name: str, alias: str, params: dict[str, Any], key: str) -> Known:
        tables: dict[str, dict[str, str]] = {}
        query = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = ?"
        for row in self.ask(query, [alias]):
            tables.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"]
        rows = {table: self.ask(f'SELECT count(*) AS n FROM {alias}."{table}"')[0]["n"] for table in tables}
        return Known(name, "", params, tables, rows, key)

    def _attach(self, name: str, key: str, fill: Callable[[duckdb.DuckDBPyConnection], None]) -> str:
        """Open the file that was made from what ``key`` tells; make it first if it is not there."""
        made_by = hashlib.sha256(f"{key} {_LAYOUT} {duckdb.__version__}".encode()).hexdigest()
        target = self._folder / f"{name}-{made_by[:20]}.duckdb"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=self._folder, prefix=".new-") as scratch:
                temporary = Path(scratch) / "index.duckdb"
                with duckdb.connect(str(temporary), config=_OFFLINE | {"memory_limit": "400MB"}) as database:
                    fill(database)
                temporary.replace(target)
            for old in self._folder.glob(f"{name}-*.duckdb"):
                if old != target:
                    old.unlink(missing_ok=True)  # a server that has it open keeps it until it is done
        self._count += 1
        alias = f"{name}_{self._count}"
        place = str(target).replace("'", "''")
        self._database.execute(f"ATTACH '{place}' AS {alias} (READ_ONLY)")
        self._aliases = self._aliases | {name: alias}
        return alias


def _copy_table(database: duckdb.DuckDBPyConnection, detector: str, name: str, file: Path) -> None:
    place = str(file).replace("'", "''")
    quoted = name.replace('"', '""')
    has = {row[0] for row in database.execute(f"DESCRIBE SELECT * FROM read_parquet('{place}')").fetchall()}
    extra = [_EXTRA[detector, name]] if (detector, name) in _EXTRA else []
    extra += [f"hash({column}) AS {column}_hash" for column in ("url", "host_a", "host_b", "host") if column in has]
    columns = ", ".join(["*", *extra])
    database.execute(f"CREATE TABLE \"{quoted}\" AS SELECT {columns} FROM read_parquet('{place}')")


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
