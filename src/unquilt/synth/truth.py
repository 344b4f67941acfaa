"""The truth tables: their columns, the rows of one WARC file, and joining the files' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.synth.hosts import Host, Hosts
from unquilt.synth.plan import Kind, Plan

_SOURCE = pa.struct([("url", pa.string()), ("sentences", pa.int32()), ("foreign", pa.bool_())])
SCHEMAS: dict[str, pa.Schema] = {
    "pages": pa.schema(
        [
            ("url", pa.string()),
            ("host", pa.string()),
            ("domain", pa.string()),
            ("language", pa.string()),
            ("kind", pa.string()),
            ("template", pa.string()),
            ("origin", pa.string()),
        ]
    ),
    "near_duplicates": pa.schema([("class", pa.int64()), ("url", pa.string()), ("resemblance", pa.float64())]),
    "quilts": pa.schema(
        [
            ("url", pa.string()),
            ("sources", pa.list_(_SOURCE)),
            ("foreign", pa.bool_()),
            ("attributed", pa.bool_()),
            ("patch_fraction", pa.float64()),
        ]
    ),
    "templates": pa.schema([("family", pa.int64()), ("url", pa.string()), ("kind", pa.string())]),
    "chunks": pa.schema([("sha1", pa.string()), ("url", pa.string()), ("kind", pa.string())]),
    "traps": pa.schema([("url", pa.string()), ("components", pa.int32())]),
    "mirrors": pa.schema(
        [("host_a", pa.string()), ("host_b", pa.string()), ("level", pa.string()), ("trap", pa.string())]
    ),
    "spam_hosts": pa.schema([("host", pa.string()), ("pages", pa.int64()), ("sentences", pa.int64())]),
    "neighborhoods": pa.schema([("prefix", pa.string()), ("urls", pa.int64()), ("kind", pa.string())]),
}
FILE_TABLES = ("pages", "near_duplicates", "quilts", "templates", "chunks", "traps")
_TRAPS = {
    "machine-names": "machine-made file names on both hosts, unrelated text",
    "same-cms": "one content management system on both hosts, unrelated text",
    "renamed": "the same content under another path prefix; only the root path is shared, and differs",
}


class Rows:
    """The truth about the pages of one WARC file, column by column."""

    def __init__(self) -> None:
        self.columns: dict[str, list[list[Any]]] = {name: [[] for _ in SCHEMAS[name].names] for name in FILE_TABLES}

    def _add(self, table: str, *values: Any) -> None:
        for column, value in zip(self.columns[table], values, strict=True):
            column.append(value)

    def page(self, url: str, host: Host, language: str, kind: str, template: str, origin: str | None) -> None:
        self._add("pages", url, host.name, host.domain, language, kind, template, origin)

    def near_duplicate(self, number: int, url: str, resemblance: float) -> None:
        self._add("near_duplicates", number, url, resemblance)

    def quilt(
        self, url: str, sources: list[dict[str, Any]], foreign: bool, attributed: bool, patch_fraction: float
    ) -> None:
        self._add("quilts", url, sources, foreign, attributed, patch_fraction)

    def template(self, family: int, url: str, kind: str) -> None:
        self._add("templates", family, url, kind)

    def chunk(self, sha1: str, url: str, kind: str) -> None:
        self._add("chunks", sha1, url, kind)

    def trap(self, url: str) -> None:
        self._add("traps", url, url.count("/") - 3)

    def write(self, folder: Path, shard: int) -> None:
        """Leave the rows where ``join_tables`` finds them."""
        for name, columns in self.columns.items():
            schema = SCHEMAS[name]
            arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
            pq.write_table(pa.table(arrays, schema=schema), folder / part_name(name, shard), compression="zstd")


def part_name(table: str, shard: int) -> str:
    return f".{table}-{shard:05}.parquet.tmp"


def join_tables(folder: Path, shards: int) -> dict[str, int]:
    """One table from the files' tables, in their order; gives the rows of each."""
    counts = {}
    for name in FILE_TABLES:
        temporary = folder / f"{name}.parquet.tmp"
        counts[name] = 0
        with pq.ParquetWriter(temporary, SCHEMAS[name], compression="zstd") as writer:
            for shard in range(shards):
                table = pq.read_table(folder / part_name(name, shard), schema=SCHEMAS[name])
                counts[name] += table.num_rows
                writer.write_table(table)
        temporary.rename(folder / f"{name}.parquet")
        for shard in range(shards):
            (folder / part_name(name, shard)).unlink()
    return counts


def write_plan_tables(folder: Path, plan: Plan) -> dict[str, int]:
    """The tables about hosts, which the plan knows."""
    hosts, table = Hosts(plan), plan.hosts
    mirrors = []
    for a, b, what in plan.mirror_units:
        level = "mismatch" if what in _TRAPS else what
        mirrors.append((hosts.get(a).name, hosts.get(b).name, level, _TRAPS.get(what)))
    spam = [(hosts.get(host).name, table.size[host], sentences) for host, sentences, _ in plan.spam]
    sections = []
    if plan.wiki is not None:
        source, copied = plan.wiki
        sections.append((hosts.get(source).name + "/", copied, "original"))
        for host, kind in enumerate(table.kind):
            if kind == Kind.WIKI_COPY:
                known = hosts.get(host)
                sections.append((f"{known.name}/{known.folders[0]}/{known.folders[1]}/", copied, "copy"))
    counts = {}
    for name, rows in (("mirrors", mirrors), ("spam_hosts", spam), ("neighborhoods", sections)):
        schema = SCHEMAS[name]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema.names]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        temporary = folder / f"{name}.parquet.tmp"
        pq.write_table(pa.table(arrays, schema=schema), temporary, compression="zstd")
        temporary.rename(folder / f"{name}.parquet")
        counts[name] = len(rows)
    return counts
