"""What was given on the command line, as pieces of work: found, told apart by content, and cut."""

from __future__ import annotations

import difflib
import glob
import json
import os
import re
import stat
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.errors import BadInput, NoInput, UnquiltError
from unquilt.ingest.capture import Reason, Skip
from unquilt.ingest.files import (
    HTML_ENDINGS,
    ZSTD_DICTIONARY,
    compression_of,
    display,
    read_head,
    why,
)
from unquilt.ingest.http import sniff
from unquilt.ingest.members import GZIP_MAGIC
from unquilt.ingest.params import IngestParams
from unquilt.ingest.remote import expand_remote, is_remote, local_path, open_input, size_of
from unquilt.ingest.tables import missing_columns, raise_missing
from unquilt.ingest.warc import is_splittable

Kind = Literal["warc", "wacz", "html", "jsonl", "parquet", "urls"]

UNDERSTOOD = "Understood are WARC, WET, ARC, WACZ, HTML, JSONL, Parquet and lists of URLs."
_HEAD = 1 << 14
_FOLDER_FILES = 2000
_URL_LIST_BYTES = 64 << 20
_PIECES = 16  # at least, of a file large enough for pieces of _SMALL_PIECE bytes
_SMALL_PIECE = 4 << 20
_WARC_NAME = re.compile(r"\.(?:warc|arc|wet|wat)(?:\.|$)", re.IGNORECASE)
_REMOTE = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://")
_URL_LINE = re.compile(rb"https?://[^\s/]+[^\t]*|[^\s/:]+\.[^\s/:]+\t/[^\t]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """The unit of work: what becomes one part of the corpus."""

    kind: Kind
    path: str  # what to open; of an HTML folder, the folder
    name: str  # how to call it
    begin: int = 0  # byte offset in the file (in the WARC of a WACZ); row group of a Parquet file
    end: int | None = None
    files: tuple[str, ...] = ()  # HTML: names relative to path; WACZ: the WARC inside
    size: int = 0  # bytes to read, about


@dataclass(frozen=True, slots=True)
class Plan:
    """The pieces in order, and the files that belong to none."""

    pieces: list[Piece] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)


def plan(inputs: Sequence[str], params: IngestParams, *, stdin: TextIO | None = None) -> Plan:
    """Cut files, folders and globs into pieces; ``-`` reads paths from ``stdin``, one a line.

    The plan depends on the inputs and ``params`` only. A file that cannot be read is skipped if others can.
    """
    planner = _Planner(params)
    for path in _expand(inputs, stdin or sys.stdin):
        planner.add(path)
    planner.add_pages_given_by_name()
    if planner.plan.pieces:
        return planner.plan
    if len(planner.refused) == 1:
        raise planner.refused[0]
    first = planner.refused[0]
    raise NoInput(f"None of the {len(planner.refused)} inputs can be read. {first.message}", fix=first.fix)


def _expand(inputs: Sequence[str], stdin: TextIO) -> Iterator[str]:
    if not inputs:
        raise NoInput("No input was given.", fix="Name WARC files, folders, globs, or - to read paths from stdin.")
    for given in map(local_path, inputs):
        if is_remote(given):
            yield from expand_remote(given)
        elif given == "-":
            paths = [line.strip("\r\n") for line in stdin]
            if not any(path.strip() for path in paths):
                raise NoInput("No paths came in on stdin.", fix="Pipe them in, one a line:  ls *.warc.gz | unquilt …")
            for path in filter(str.strip, paths):
                yield from expand_remote(path) if is_remote(path) else [_existing(local_path(path))]
        elif not os.path.lexists(given) and glob.has_magic(given) and not _REMOTE.match(given):
            matches = sorted(glob.glob(given, recursive=True), key=os.fsencode)  # noqa: PTH207
            if not matches:
                raise NoInput(
                    f"No file matches {display(given)}.", fix="Check the pattern; ** also matches subfolders."
                )
            yield from matches
        else:
            yield _existing(given)


def _existing(given: str) -> str:
    shown = display(given)
    if "\0" in given or not given.strip():
        raise NoInput(f"{given!r} is not a path.", fix="Name a file or a folder.")
    if os.path.lexists(given):
        return given
    if remote := _REMOTE.match(given):
        fix = f"Download it first and name the file; unquilt reads local files, not {remote[1].lower()}://."
        raise BadInput(f"{shown} is not on this machine.", fix=fix)
    parent = Path(given).parent
    if not parent.is_dir():
        raise NoInput(f"{shown} does not exist: there is no folder {display(str(parent))}.", fix="Check the path.")
    try:
        near = difflib.get_close_matches(Path(given).name, sorted(os.listdir(parent)), n=3)  # noqa: PTH208
    except OSError:
        near = []
    fix = (
        "Did you mean " + " or ".join(display(str(parent / name)) for name in near) + "?" if near else "Check the path."
    )
    raise NoInput(f"{shown} does not exist.", fix=fix)


@dataclass(slots=True)
class _Look:
    """What a first look at a file tells."""

    kind: Kind | Literal["empty", "other"]
    size: int
    head: bytes  # as it is on disk
    text: bytes  # inflated


class _Planner:
    def __init__(self, params: IngestParams) -> None:
        self.params = params
        self.plan = Plan()
        self.refused: list[UnquiltError] = []
        self._taken: set[str] = set()
        self._pages: list[tuple[Path, int]] = []

    def add(self, given: str) -> None:
        path = Path(given)
        before = len(self.plan.pieces), len(self._pages)
        try:
            if is_remote(given):
                self._add_remote(given)
            elif path.is_dir():
                self._add_folder(path)
            elif path.is_symlink() and not path.exists():
                raise BadInput(
                    f"{display(given)} is a link to {display(os.readlink(path))}, which does not exist.",  # noqa: PTH115
                    fix="Mend the link, or name another file.",
                )
            else:
                self._add_file(path)
        except OSError as error:
            self._refuse(
                path,
                BadInput(f"{display(given)} cannot be read: {why(error)}.", fix="Check its permissions."),
            )
        except _AlreadyCorpusError as error:
            raise BadInput(str(error), fix="Name the crawl it was made from, or open the corpus instead.") from None
        except UnquiltError as error:
            if (len(self.plan.pieces), len(self._pages)) == before:
                self._refuse(path, error)

    def _refuse(self, path: Path, error: UnquiltError) -> None:
        self.refused.append(error)
        self._skip(path, "unreadable", error.message)

    def _skip(self, path: Path, reason: Reason, detail: str) -> None:
        self.plan.skipped.append(Skip(display(str(path)), 0, reason, detail=detail))

    def _add_file(self, path: Path) -> None:
        if not self._is_new(path):
            return
        shown = display(str(path))
        look = _look(path)
        if look.kind == "empty":
            raise NoInput(f"{shown} is an empty file.", fix="Check that the crawl or the download has finished.")
        if look.kind == "html" or (look.kind in ("other", "urls") and _is_named_html(path)):
            self._pages.append((path, look.size))
        elif look.kind == "other":
            raise BadInput(f"{shown} is not a crawl.", fix=UNDERSTOOD)
        else:
            self.plan.pieces.extend(self._cut(str(path), look))

    def _add_remote(self, url: str) -> None:
        if url in self._taken:
            return
        self._taken.add(url)
        with open_input(url) as file:
            look = _look_into(file, url, size_of(file))
        if look.kind == "empty":
            raise NoInput(f"{url} is an empty file.", fix="Check that the crawl or the upload has finished.")
        if look.kind in ("html", "other"):
            kind = "a single page" if look.kind == "html" else "not a crawl"
            raise BadInput(f"{url} is {kind}.", fix="From elsewhere are read WARC, WET, ARC, WACZ, JSONL and Parquet.")
        self.plan.pieces.extend(self._cut(url, look))

    def _is_new(self, path: Path) -> bool:
        """A file that was already given, under whatever name, counts once."""
        real = os.path.realpath(path)
        is_new = real not in self._taken
        self._taken.add(real)
        return is_new

    def _add_folder(self, folder: Path) -> None:
        shown = display(str(folder))
        if (folder / "corpus.json").exists():
            raise _AlreadyCorpusError(f"{shown} is already a corpus.")
        pages: list[tuple[str, int]] = []
        pieces: list[Piece] = []
        names = 0
        for name, unreadable in _walk(folder):
            names += 1
            path = folder / name
            try:
                if unreadable is not None:
                    raise unreadable
                look = _look(path)
                if look.kind == "html" or (look.kind in ("other", "urls", "empty") and _is_named_html(path)):
                    pages.append((name, look.size))
                elif look.kind in ("warc", "wacz", "jsonl", "parquet"):
                    self._check_columns(look, path)
                    if self._is_new(path):
                        pieces.extend(self._cut(str(path), look))
                elif look.kind == "urls":
                    self._skip(path, "not-text", "a list of URLs is only read if it is named itself")
                elif look.kind == "empty":
                    self._skip(path, "unreadable", "empty file")
                else:
                    self._skip(path, "not-text", "neither a page nor a crawl")
            except OSError as error:
                self._skip(path, "unreadable", why(error))
            except UnquiltError as error:
                self._skip(path, "unreadable", error.message)
        self.plan.pieces.extend(pieces)
        self.plan.pieces.extend(self._grouped(str(folder), pages))
        if not pieces and not pages:
            found = f"none of its {names:,} files is a page or a crawl" if names else "it is empty"
            raise NoInput(f"There are no pages in {shown}: {found}.", fix=UNDERSTOOD)

    def add_pages_given_by_name(self) -> None:
        """HTML files named one by one are read like the folder they all lie in."""
        if self._pages:
            parents = [os.path.abspath(path.parent) for path, _ in self._pages]  # noqa: PTH100
            root = os.path.commonpath(parents)
            names = [(os.path.relpath(os.path.abspath(path), root), size) for path, size in self._pages]  # noqa: PTH100
            shown = os.path.relpath(root) if not self._pages[0][0].is_absolute() else root
            self.plan.pieces.extend(self._grouped(shown, sorted(names, key=lambda page: os.fsencode(page[0]))))

    def _grouped(self, folder: str, pages: Sequence[tuple[str, int]]) -> Iterator[Piece]:
        group: list[str] = []
        total = 0
        for name, size in pages:
            if group and (len(group) == _FOLDER_FILES or total + size > self.params.split_bytes):
                yield Piece("html", folder, display(folder), files=tuple(group), size=total)
                group, total = [], 0
            group.append(name)
            total += size
        if group:
            yield Piece("html", folder, display(folder), files=tuple(group), size=total)

    def _check_columns(self, look: _Look, path: Path) -> None:
        """Many folders hold a stats.json: it must not stop the run."""
        if look.kind == "jsonl":
            names = {name for row in _json_objects(look.text) for name in row}
            if names and missing_columns(names, self.params):
                raise_missing(display(str(path)), sorted(names), self.params)

    def _cut(self, path: str, look: _Look) -> list[Piece]:
        name = display(path)
        split = self.params.split_bytes
        if look.kind == "wacz":
            return self._cut_wacz(path, name)
        if look.kind == "parquet":
            return _cut_parquet(path, name, self.params)
        is_cut = is_splittable(look.head) if look.kind == "warc" else not compression_of(look.head)
        target = _URL_LIST_BYTES if look.kind == "urls" else split
        ranges = _ranges(look.size, target) if is_cut else [(0, None)]
        assert look.kind in ("warc", "jsonl", "urls")
        return [
            Piece(look.kind, path, name, begin, end, size=(look.size if end is None else end) - begin)
            for begin, end in ranges
        ]

    def _cut_wacz(self, path: str, name: str) -> list[Piece]:
        pieces = []
        with open_input(path) as zipped, zipfile.ZipFile(zipped) as archive:
            members = [info for info in archive.infolist() if info.filename.startswith("archive/")]
            for info in sorted(members, key=lambda info: info.filename):
                if info.is_dir():
                    continue
                where = f"{name}/{info.filename}"
                try:
                    with archive.open(info) as file:
                        head = file.read(16)
                except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
                    self._skip(Path(where), "unreadable", why(error))
                    continue
                is_cut = is_splittable(head) and info.compress_type == zipfile.ZIP_STORED
                for begin, end in _ranges(info.file_size, self.params.split_bytes) if is_cut else [(0, None)]:
                    size = (info.file_size if end is None else end) - begin
                    pieces.append(Piece("wacz", path, where, begin, end, (info.filename,), size))
        if not pieces:
            raise BadInput(f"{name} is a WACZ without a WARC in it.", fix="Check that it was written to its end.")
        return pieces


class _AlreadyCorpusError(Exception):
    """Given as input what ingest makes."""


def _cut_parquet(path: str, name: str, params: IngestParams) -> list[Piece]:
    try:
        with open_input(path) as opened, pq.ParquetFile(opened) as file:
            metadata, columns = file.metadata, file.schema_arrow.names
    except pa.ArrowException as error:
        raise BadInput(
            f"{name} is a damaged Parquet file: {why(error)}", fix="Check that it was written to its end."
        ) from None
    if missing_columns(columns, params):
        raise_missing(name, columns, params)
    if not metadata.num_rows:
        raise NoInput(f"{name} has no rows.", fix="Name a table with pages.")
    pieces: list[Piece] = []
    begin = size = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        size += sum(row_group.column(i).total_compressed_size for i in range(row_group.num_columns))
        if size >= params.split_bytes or group == metadata.num_row_groups - 1:
            pieces.append(Piece("parquet", path, name, begin, group + 1, size=size))
            begin, size = group + 1, 0
    return pieces


def _ranges(size: int, target: int) -> list[tuple[int, int | None]]:
    """Equal ranges of about ``target`` bytes; what is not much larger stays whole. The last has no end.

    A file of medium size is cut into smaller ones, so that two or eight workers end at the same time.
    """
    target = min(target, max(size // _PIECES, _SMALL_PIECE))
    count = round(size / target) if size > 1.5 * target else 1
    bounds = [size * i // count for i in range(count)]
    return list(zip(bounds, [*bounds[1:], None], strict=True))


def _walk(folder: Path) -> Iterator[tuple[str, OSError | None]]:
    """Every file below a folder, by name, sorted; with the error for a folder that cannot be listed.

    Each folder is visited once, whatever links lead to it, and under its own name rather than a link's. A
    corpus inside is left out.
    """
    found: list[tuple[str, OSError | None]] = []
    visited: set[str] = set()
    root = os.path.realpath(folder)
    waiting = [""]
    links: list[str] = []
    while waiting or links:
        name = waiting.pop() if waiting else links.pop()
        real = os.path.realpath(folder / name)
        if real in visited or (name and os.path.commonpath([real, root]) == real):
            continue
        visited.add(real)
        try:
            entries = sorted(os.scandir(folder / name), key=lambda entry: os.fsencode(entry.name), reverse=True)
        except OSError as error:
            found.append((name, error))
            continue
        if any(entry.name == "corpus.json" for entry in entries):
            continue
        for entry in entries:
            below = f"{name}/{entry.name}" if name else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(below)
            elif os.path.isdir(folder / below):  # noqa: PTH112 - unlike entry.is_dir() it bears a circle
                links.append(below)
            else:
                found.append((below, None))
        links.sort(key=os.fsencode, reverse=True)
    return iter(sorted(found, key=lambda one: os.fsencode(one[0])))


def kind_of_file(path: Path) -> Kind:
    """What a file holds, by its content; a page if it is nothing else."""
    kind = _look(path).kind
    return "html" if kind == "empty" or kind == "other" or kind == "urls" else kind


def _look(path: Path) -> _Look:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its other end
        raise OSError("it is not a regular file")
    with path.open("rb") as file:
        return _look_into(file, str(path), status.st_size)


def _look_into(file: BinaryIO, path: str, size: int) -> _Look:
    head = file.read(_HEAD)
    file.seek(0)
    text = read_head(file, _HEAD) if compression_of(head) else head
    if not head:
        return _Look("empty", 0, head, text)
    return _Look(_kind(path, head, text), size, head, text)


def _kind(path: str, head: bytes, text: bytes) -> Kind | Literal["empty", "other"]:
    name = path.rpartition("/")[2]
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK"):
        return "wacz" if _is_wacz(path) else "other"
    if head.startswith(ZSTD_DICTIONARY) or text.lstrip(b"\r\n \0").startswith((b"WARC/", b"filedesc://")):
        return "warc"
    if _WARC_NAME.search(name) and (GZIP_MAGIC in head or b"WARC/" in text):
        return "warc"  # behind garbage
    kind = "other" if not sniff(text, "") else _text_kind(text.removeprefix(b"\xef\xbb\xbf"), len(text) < _HEAD)
    if kind == "other" and compression_of(head) and not text.strip():
        # Nothing at all can be inflated: the reader will say what is wrong, if the name tells which.
        return "warc" if _WARC_NAME.search(name) else "other"
    if kind == "other" and _WARC_NAME.search(name) and sniff(text, ""):
        return "warc"
    return kind


def _text_kind(text: bytes, is_whole: bool) -> Kind | Literal["other"]:
    if text.lstrip()[:1] == b"<":
        return "html" if sniff(text, "") == "text/html" else "other"
    lines = [line.strip() for line in text.split(b"\n", 100)]
    last = lines.pop() if len(lines) > (1 if not is_whole else 100) else b""
    lines = [line for line in lines if line]
    objects = sum(_is_object(line) for line in lines)
    if lines and (_is_object(lines[0]) or objects * 2 > len(lines)):
        return "jsonl"
    if re.match(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:', (lines or [last])[0]) and not is_whole and len(lines) < 2:
        return "jsonl"  # a page can be longer than the look
    urls = [line for line in lines if not line.startswith(b"#")][:50]
    if urls and _URL_LINE.fullmatch(urls[0]) and sum(map(_is_url, urls)) * 4 >= len(urls) * 3:
        return "urls"
    return "html" if sniff(text, "") == "text/html" else "other"


def _is_url(line: bytes) -> bool:
    return _URL_LINE.fullmatch(line) is not None


def _json_objects(text: bytes) -> Iterator[dict[str, object]]:
    for line in text.split(b"\n"):
        try:
            row = json.loads(line) if line.lstrip().startswith(b"{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def _is_object(line: bytes) -> bool:
    return any(True for _ in _json_objects(line))


def _is_wacz(path: str) -> bool:
    try:
        with open_input(path) as zipped, zipfile.ZipFile(zipped) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        if path.lower().endswith(".wacz"):
            raise BadInput(
                f"{display(path)} is a damaged WACZ: {why(error)}.",
                fix="Check that it was written to its end.",
            ) from None
        return False
    return "datapackage.json" in names or any(name.startswith("archive/") for name in names)


def _is_named_html(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith(HTML_ENDINGS)
