"""Ingest: inputs in, a corpus out."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from unquilt.corpus import Corpus, CorpusWriter, Part
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.ingest.captures import PartUrls, find_superseded
from unquilt.ingest.http import parse_status
from unquilt.ingest.inputs import Piece, Plan, plan
from unquilt.ingest.params import SETTINGS, IngestParams
from unquilt.ingest.part import PartDone, PartTask, write_part, write_unread
from unquilt.ingest.remote import open_input, size_of

_CORPUS_PARAMS = ("status", "captures", "max_page_bytes", "split_bytes", "seed")
_EDGE_BYTES = 1 << 16
_SECONDS_BETWEEN_SAVES = 1.0


@dataclass(frozen=True, slots=True)
class Ingested:
    """What an ingest did."""

    corpus: Corpus
    parts: int  # that were read now
    known_parts: int  # that an earlier ingest had read
    pages: int  # that were added
    bytes: int
    skipped: dict[str, int]
    seconds: float


def ingest_crawl(
    inputs: Sequence[str] | Plan,
    out: str | Path,
    params: IngestParams = IngestParams(),
    *,
    engine: Engine | None = None,
    stdin: TextIO | None = None,
) -> Ingested:
    """Read crawls into the corpus at ``out``: a new one, or one that is there already and gets what is new.

    Inputs are files, folders and globs, or what ``plan`` made of them. Interrupted at any moment, the same call goes on
    where it stopped. The engine is by default a local one.
    """
    begun = time.monotonic()
    parse_status(params.status)  # before anything is read, so that a slip costs nothing
    planned = inputs if isinstance(inputs, Plan) else plan(inputs, params, stdin=stdin)
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "ingest")
        chunks = params.cutter + (" normalized" if params.normalize else "")
        settings = {name: getattr(params, name) for name in _CORPUS_PARAMS} | SETTINGS | {"chunks": chunks}
        writer = stack.enter_context(CorpusWriter(out, settings))
        before = len(writer.parts)
        reader = _Reader(writer, params, engine)
        reader.read(_name_pieces(planned.pieces, params))
        if planned.skipped:
            key = hashlib.sha256(repr([asdict(skip) for skip in planned.skipped]).encode()).hexdigest()
            reader.add_unread(planned.skipped, key)
        corpus = _finish(writer, params, engine, anything_new=len(writer.parts) > before)
    new = corpus.parts[before:]
    skipped: Counter[str] = Counter()
    for part in new:
        skipped.update(part.skipped)
    return Ingested(
        corpus=corpus,
        parts=len(new),
        known_parts=reader.known,
        pages=sum(part.pages for part in new),
        bytes=sum(part.bytes for part in new),
        skipped=dict(sorted(skipped.items(), key=lambda pair: (-pair[1], pair[0]))),
        seconds=time.monotonic() - begun,
    )


def _finish(writer: CorpusWriter, params: IngestParams, engine: Engine, *, anything_new: bool) -> Corpus:
    corpus = Corpus(writer.path)
    if corpus.is_complete and not anything_new:
        return corpus
    parts = [PartUrls(str(writer.path / part.file), part.source) for part in writer.parts if part.pages]
    return writer.finish(find_superseded(parts, params.captures, engine))


class _Reader:
    """Reads the pieces that the corpus does not have yet, and adds them in order."""

    def __init__(self, writer: CorpusWriter, params: IngestParams, engine: Engine) -> None:
        self._writer = writer
        self._params = params
        self._engine = engine
        self._saved = time.monotonic()
        self._stops = {part.source: part.span[1] for part in writer.parts if part.span}
        self.known = 0

    def read(self, named: list[tuple[str, Piece]]) -> None:
        have = {part.key for part in self._writer.parts}
        todo = [(key, piece) for key, piece in named if key not in have]
        self.known = len(named) - len(todo)
        first = self._next_number()
        tasks = [self._task(first + i, piece) for i, (_, piece) in enumerate(todo)]
        results = self._engine.map(
            write_part,
            tasks,
            name="Reading",
            label=lambda task: task.piece.name,
            size=lambda task: task.piece.size,
        )
        for (key, piece), task, done in zip(todo, tasks, results, strict=True):
            self._add(key, piece.name, self._joined(task, done))
        if todo:
            self._writer.save()

    def add_unread(self, skips: Sequence[Any], key: str) -> None:
        """Input files that could not be read at all make a part of their own, without pages."""
        if any(part.key == key for part in self._writer.parts):
            return
        number = self._next_number()
        paths = self._writer.temporary(number, "pages"), self._writer.temporary(number, "skipped")
        self._add(key, "", write_unread(number, skips, *paths))
        self._writer.save()

    def _next_number(self) -> int:
        return self._writer.parts[-1].number + 1 if self._writer.parts else 0

    def _task(self, number: int, piece: Piece) -> PartTask:
        pages, skipped = (self._writer.temporary(number, kind) for kind in ("pages", "skipped"))
        return PartTask(number, piece, self._params, pages, skipped)

    def _joined(self, task: PartTask, done: PartDone) -> PartDone:
        """A part that begins where the one before it, of the same file, ends; read again if it did not."""
        if done.span is None or task.piece.begin == 0:
            return done
        stop = self._stops.get(task.piece.name, done.span[0])
        if stop == done.span[0]:
            return done
        return write_part(replace(task, piece=replace(task.piece, begin=stop), exact=True))

    def _add(self, key: str, source: str, done: PartDone) -> None:
        if done.span:
            self._stops[source] = done.span[1]
        self._writer.add(
            Part(
                number=done.number,
                source=source,
                key=key,
                pages=done.pages,
                words=done.words,
                bytes=done.bytes,
                digest=done.digest,
                skipped=done.skipped,
                passed=done.passed,
                span=done.span,
            )
        )
        if time.monotonic() - self._saved > _SECONDS_BETWEEN_SAVES:
            self._writer.save()
            self._saved = time.monotonic()


def _name_pieces(pieces: Sequence[Piece], params: IngestParams) -> list[tuple[str, Piece]]:
    """Each piece with a key that stays the same wherever its file lies and whenever it is read."""
    edges: dict[str, str] = {}
    seen: Counter[str] = Counter()
    named = []
    columns = [params.url_column, params.html_column, params.text_column]
    for piece in pieces:
        if piece.path not in edges:
            edges[piece.path] = _edges(piece.path)
        what = (
            piece.kind, Path(piece.path).name, edges[piece.path], piece.begin, piece.end, piece.size,
            [os.fsencode(name) for name in piece.files], params.url_prefix if piece.kind == "html" else "",
            columns if piece.kind in ("jsonl", "parquet") else [],
        )  # fmt: skip
        key = hashlib.sha256(repr(what).encode("utf-8", "backslashreplace")).hexdigest()[:32]
        seen[key] += 1
        named.append((key if seen[key] == 1 else f"{key}-{seen[key]}", piece))
    return named


def _edges(path: str) -> str:
    """Tells a file from others of its name: its length, beginning and end."""
    try:
        with open_input(path) as file:
            size = size_of(file)
            digest = hashlib.sha256(file.read(_EDGE_BYTES))
            file.seek(max(size - _EDGE_BYTES, 0))
            digest.update(file.read(_EDGE_BYTES))
    except OSError:  # a folder, or a file its reader will report
        return ""
    return f"{size} {digest.hexdigest()}"
