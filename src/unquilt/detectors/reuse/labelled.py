"""A labelled set that a crawler can carry: a file of digests, or a Bloom filter of them, and how to match a page.

The file begins with a line that names it and a line of JSON, padded to 4 KiB; behind them lie arrays that are mapped
into memory. It is read back and tested before it gets its name.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.corpus import replace_synced
from unquilt.detectors.reuse.digests import Digests, Words, words_of
from unquilt.errors import BadInput, BadParameter
from unquilt.ingest.chunks import Cutter
from unquilt.kernels.digests import WORDS, add_to_bloom, find_in_bloom

MAGIC = b"unquilt labelled set\n"
VERSION = 1
KINDS = ("exact", "bloom")
_PAGE = 4096
_TRIALS = 200_000
_SIGMAS = 5  # of the trials, before a filter is refused
_LEAST_BITS = 8192  # a smaller filter errs by chance more or less often than it should


@dataclass(frozen=True, slots=True)
class Bloom:
    """Digests that are surely not in a set, and others that are with a known chance of error."""

    bits: npt.NDArray[np.uint8]
    size: int
    hashes: int
    count: int

    @classmethod
    def make(cls, digests: Digests, error: float) -> Bloom:
        """Sized for a share of false alarms, ``error``."""
        size = max(math.ceil(-len(digests) * math.log(error) / math.log(2) ** 2), _LEAST_BITS)
        hashes = max(round(size / max(len(digests), 1) * math.log(2)), 1) if len(digests) else 1
        bits = np.zeros((size + 7) // 8, np.uint8)
        add_to_bloom(bits, size, hashes, digests.words)
        return cls(bits, size, hashes, len(digests))

    def has(self, words: Words) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = find_in_bloom(self.bits, self.size, self.hashes, words)
        return found

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class Exact:
    """Digests themselves."""

    digests: Digests

    def has(self, words: Words) -> npt.NDArray[np.bool_]:
        return self.digests.find(words) >= 0

    def __len__(self) -> int:
        return len(self.digests)


@dataclass(frozen=True, slots=True)
class Match:
    """How much of a page is labelled."""

    chunks: int
    labelled: int
    is_labelled_file: bool

    @property
    def contains(self) -> float:
        """contains(L, f): labelled chunks / all chunks."""
        return self.labelled / self.chunks if self.chunks else 0.0


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled set: what to look for, and how pages are cut for it."""

    chunks: Exact | Bloom
    files: Exact | Bloom
    cutter: Cutter = Cutter()
    min_chunk_bytes: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path) -> Labelled:
        """A labelled set from its file."""
        header, data = _read(Path(path))
        made = {name: _open_part(header, data, name) for name in ("chunks", "files")}
        cutter = Cutter.of_setting(header["cutter"])
        return cls(made["chunks"], made["files"], cutter, header["min_chunk_bytes"], header)

    def match(self, page: bytes, *, is_html: bool = True) -> Match:
        """How much of a page, its raw bytes, is labelled. Text that is no HTML is one chunk, or lines."""
        bounds = self.cutter.bounds(page, is_html=is_html)
        digests = self.cutter.digests(page, bounds)
        if self.min_chunk_bytes:
            digests = [
                one for one, a, b in zip(digests, bounds, bounds[1:], strict=False) if b - a >= self.min_chunk_bytes
            ]
        labelled = int(np.count_nonzero(self.chunks.has(words_of(b"".join(digests))))) if digests else 0
        is_file = bool(len(self.files)) and bool(self.files.has(words_of(sha1(page).digest()))[0])
        return Match(len(digests), labelled, is_file)


def write_labelled(
    path: str | Path,
    *,
    chunks: Digests,
    files: Digests,
    cutter: Cutter,
    min_chunk_bytes: int = 0,
    kind: str = "exact",
    error: float = 0.001,
    made_from: str = "",
) -> Labelled:
    """Write a labelled set, read it back and test it, and only then give it its name; the set."""
    if kind not in KINDS:
        raise BadParameter(f"A labelled set is {' or '.join(KINDS)}, not {kind!r}.", fix="Choose one of them.")
    if not 1e-9 <= error <= 0.5:
        raise BadParameter(
            f"--error is {error}; it must be from 1e-09 to 0.5.", fix="0.001 is one false alarm in 1,000."
        )
    parts = {name: _part(made, kind, error) for name, made in (("chunks", chunks), ("files", files))}
    arrays = [(f"{name}.{key}", array) for name, (_, some) in parts.items() for key, array in some.items()]
    header: dict[str, Any] = {
        "version": VERSION, "kind": kind, "cutter": cutter.setting, "min_chunk_bytes": min_chunk_bytes,
        "chunks": parts["chunks"][0], "files": parts["files"][0], "made_from": made_from,
        **({"error": error} if kind == "bloom" else {}),
    }  # fmt: skip
    sections, at = {}, 0
    for name, array in arrays:
        sections[name] = [at, array.nbytes, array.dtype.str]
        at += array.nbytes + -array.nbytes % 8
    text = json.dumps(header | {"sections": sections, "bytes": at}).encode()
    head = MAGIC + text + b" " * (-(len(MAGIC) + len(text) + 1) % _PAGE) + b"\n"
    target = Path(path)
    temporary = target.with_name(target.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(head)
            for _, array in arrays:
                file.write(np.ascontiguousarray(array).view(np.uint8).data)
                file.write(bytes(-array.nbytes % 8))
        made = Labelled.open(temporary)
        for part, digests in ((made.chunks, chunks), (made.files, files)):
            _test(part, digests, error if kind == "bloom" else 0.0)
        replace_synced(temporary, target)
    except OSError as wrong:
        raise BadInput(f"{path} cannot be written: {wrong.strerror}.", fix="Choose another place.") from None
    finally:
        temporary.unlink(missing_ok=True)
    return Labelled.open(target)


def _part(digests: Digests, kind: str, error: float) -> tuple[dict[str, int], dict[str, npt.NDArray[Any]]]:
    if kind == "bloom":
        bloom = Bloom.make(digests, error)
        return {"count": len(digests), "size": bloom.size, "hashes": bloom.hashes}, {"bits": bloom.bits}
    return {"count": len(digests), "bits": digests.bits}, {"starts": digests.starts, "digests": digests.words}


def _test(part: Exact | Bloom, digests: Digests, error: float) -> None:
    """Every digest must be found, and of others no more than the error allows."""
    trials = np.random.default_rng(0).integers(0, 1 << 32, _TRIALS * WORDS, np.uint32, endpoint=False)
    alarms = int((part.has(trials) & (digests.find(trials) < 0)).sum())
    most = 1.1 * _TRIALS * error + _SIGMAS * math.sqrt(_TRIALS * error)
    if not part.has(digests.words).all() or alarms > most:
        raise BadInput(
            f"The labelled set failed its test: {alarms:,} false alarms in {_TRIALS:,}, at most {most:,.0f} expected.",
            fix="Nothing was written. Please report this.",
        )


def _read(path: Path) -> tuple[dict[str, Any], mmap.mmap]:
    wrong = BadInput(
        f"{path} is no labelled set, or is damaged.", fix="Write it again:  unquilt export CORPUS reuse --filter OUT"
    )
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise wrong
            line = file.readline()
            header = json.loads(line)
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}.", fix="Check the path."
        ) from None
    except ValueError:
        raise wrong from None
    if header.get("version") != VERSION:
        raise BadInput(
            f"{path} is a labelled set of version {header.get('version')}; this unquilt reads version {VERSION}.",
            fix="Write it again with this version.",
        )
    begin = len(MAGIC) + len(line)
    if len(data) != begin + header.get("bytes", -1):
        raise wrong
    header["begin"] = begin
    return header, data


def _open_part(header: dict[str, Any], data: mmap.mmap, name: str) -> Exact | Bloom:
    def array(key: str) -> npt.NDArray[Any]:
        at, size, dtype = header["sections"][f"{name}.{key}"]
        return np.frombuffer(data, dtype, size // np.dtype(dtype).itemsize, header["begin"] + at)

    known = header[name]
    if header["kind"] == "bloom":
        return Bloom(array("bits"), known["size"], known["hashes"], known["count"])
    return Exact(Digests(array("digests"), np.ones(known["count"], np.uint32), array("starts"), known["bits"]))


def is_labelled_set(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
