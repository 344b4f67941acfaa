"""The compressed members of a file (of gzip, of Zstandard, or the plain file as the only one), as windows.

FastWARC inflates what is whole. Whatever it stumbles on is inflated a second time, piece by piece and with
the position known, so that damage costs one member and a bomb costs no memory.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import zstandard
from fastwarc.stream_io import GzipReader

from unquilt.ingest.remote import open_input, size_of

_MAX_REREADS = 16  # of one member: wrong lengths in it are not to cost the square of its length
_PIECE = 1 << 16
_LOOK = 1 << 20
_OVERLAP = 1 << 12
_BATCH = 1 << 16
_MAX_BATCH = 1 << 22
_HEAD = 1 << 12  # what of a member is inflated to see whether it holds a record

GZIP_MAGIC = b"\x1f\x8b\x08"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = 0x184D2A5D
_ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_GZIP_START = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_ZSTD_START = re.compile(re.escape(ZSTD_MAGIC))
_MAX_DICTIONARY = 16 << 20

IsRecord = Callable[[bytes], bool]
# Inflated members one after the other; where each begins in the file and in them, and last where they end.
Batch = tuple[bytes, list[tuple[int, int]]]


class File:
    """A file read at any place through one buffer. (A mapped file would end the process on a bad disk.)"""

    def __init__(self, path: str) -> None:
        self._handle = open_input(path, buffering=0)
        self.size = size_of(self._handle)
        self._data = b""
        self._at = 0

    def close(self) -> None:
        self._handle.close()

    def read(self, at: int, size: int) -> bytes:
        """``size`` bytes from ``at`` on; fewer at the end of the file."""
        begin = at - self._at
        if begin < 0 or begin + size > len(self._data):
            self._load(at, size)
            begin = 0
        return self._data[begin : begin + size]

    def until(self, start: bytes, at: int, most: int) -> bytes | None:
        """The bytes from ``at`` to the next ``start`` or the end of the file; None if ``most`` or more."""
        size = _PIECE
        while True:
            begin = at - self._at
            if begin < 0 or begin >= len(self._data):
                self._load(at, size)
                begin = 0
            found = self._data.find(start, begin + 1)
            if found >= 0:
                return self._data[begin:found] if found - begin < most else None
            have = len(self._data) - begin
            if have >= most:
                return None
            if self._at + len(self._data) >= self.size:
                return self._data[begin:]
            size = have * 2
            self._load(at, size)

    def search(self, pattern: re.Pattern[bytes], at: int) -> int:
        """Where ``pattern`` (at most a few bytes) is next, or the size of the file."""
        while at < self.size:
            data = self.read(at, min(_LOOK, self.size - at))
            if found := pattern.search(data):
                return at + found.start()
            if at + len(data) >= self.size or len(data) < 8:
                break
            at += len(data) - 7
        return self.size

    def _load(self, at: int, size: int) -> None:
        want = max(size, _LOOK)
        parts = []
        got = 0
        self._handle.seek(at)
        while got < want and (more := self._handle.read(want - got)):
            parts.append(more)
            got += len(more)
        if got < min(want, self.size - at):
            self.size = at + got  # cut while it was read
        self._data, self._at = b"".join(parts), at


class Source(Protocol):
    """Bytes that come one after the other."""

    is_cheap: bool  # to read again
    damage: str  # why they ended too early, if they did
    end: int  # where in the file they ended; -1 if that is not known

    def pull(self, size: int) -> bytes:
        """Some bytes, at most ``size``; none at the end."""

    def jump(self, size: int) -> int:
        """Leave out ``size`` bytes; how many there were to leave out."""

    def again(self) -> Source:
        """The same bytes from the beginning."""


class Window:
    """The inflated bytes of one member, of which only what is needed is held."""

    __slots__ = ("_base", "_rereads", "data", "pos", "source")

    def __init__(self, data: bytes = b"", source: Source | None = None) -> None:
        self.data = data
        self.pos = 0
        self.source = source
        self._base = 0
        self._rereads = 0

    @property
    def damage(self) -> str:
        return self.source.damage if self.source else ""

    def tell(self) -> int:
        return self._base + self.pos

    def has(self, size: int) -> bool:
        """Whether there are ``size`` bytes at ``pos``; they are then in ``data``; ``pos`` may have moved."""
        have = len(self.data) - self.pos
        if have >= size or self.source is None:
            return have >= size
        parts = [self.data[self.pos :]]
        while have < size and (more := self.source.pull(max(size - have, _PIECE))):
            parts.append(more)
            have += len(more)
        self._base += self.pos
        self.pos = 0
        self.data = b"".join(parts)
        return have >= size

    def skip(self, size: int) -> bool:
        """Go ``size`` bytes on; False if there are not so many."""
        have = len(self.data) - self.pos
        if size <= have or self.source is None:
            self.pos += min(size, have)
            return size <= have
        jumped = self.source.jump(size - have)
        self._base += len(self.data) + jumped
        self.data, self.pos = b"", 0
        return have + jumped == size

    def rewind(self, at: int) -> None:
        """Back to where ``tell`` was ``at``, unless that was done too often."""
        if self._base <= at:
            self.pos = at - self._base
        elif self.source is not None and (self.source.is_cheap or self._rereads < _MAX_REREADS):
            self._rereads += 1
            self.source = self.source.again()
            self.source.jump(at)
            self.data, self.pos, self._base = b"", 0, at

    def search(self, find: Callable[[bytes, int], int]) -> bool:
        """Go to the next place that ``find`` tells by at most 4 KiB there, or to the end."""
        while (found := find(self.data, self.pos)) < 0:
            have = len(self.data) - self.pos
            self.pos += max(0, have - _OVERLAP)
            have = len(self.data) - self.pos
            if not self.has(have + 1):
                self.pos = len(self.data)
                return False
        self.pos = found
        return True


class _Inflating(ABC):
    """What the sources of compressed data have in common."""

    is_cheap = False

    def __init__(self, file: File, at: int) -> None:
        self._file = file
        self._at = at
        self._begin = at
        self.damage = ""
        self.end = -1

    @abstractmethod
    def pull(self, size: int) -> bytes:
        """Up to ``size`` more bytes; none at the end, and where the data is damaged."""

    def jump(self, size: int) -> int:
        left = size
        while left > 0 and (more := self.pull(min(left, _LOOK))):
            left -= len(more)
        return size - left


def _damage(error: Exception) -> str:
    return f"the compressed data is damaged: {str(error).rsplit(': ', 1)[-1]}"


class _GzipMember(_Inflating):
    def __init__(self, file: File, at: int) -> None:
        super().__init__(file, at)
        self._inflater = zlib.decompressobj(31)
        self._input = b""

    def pull(self, size: int) -> bytes:
        while self.end < 0 and not self.damage:
            if not self._input:
                self._input = self._file.read(self._at, _PIECE)
                self._at += len(self._input)
            if not self._input:
                self.damage = "the compressed data ends too early"
                break
            try:
                data = self._inflater.decompress(self._input, size)
            except zlib.error as error:
                self.damage = _damage(error)
                break
            self._input = self._inflater.unconsumed_tail
            if self._inflater.eof:
                self.end = self._at - len(self._inflater.unused_data)
            if data:
                return data
        return b""

    def again(self) -> _GzipMember:
        return _GzipMember(self._file, self._begin)


def inflate_head(data: bytes) -> bytes:
    """What the first bytes of a gzip member inflate to, as far as can be told, at most 64 KiB."""
    try:
        return zlib.decompressobj(31).decompress(data, _PIECE)
    except zlib.error:
        return b""


class Gzip:
    """The members of a gzip file."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._no_batch_before = 0

    def batch(self, at: int) -> Batch | None:
        """Some members from ``at`` on that are small and sound; None if they are not."""
        if at < self._no_batch_before:
            return None
        packed = self._file.read(at, _BATCH)
        places, total = [(at, 0)], 0
        found = packed.find(GZIP_MAGIC, 1)
        while found > 0:
            total += int.from_bytes(packed[found - 4 : found], "little")
            if total > _MAX_BATCH:
                break
            places.append((at + found, total))
            found = packed.find(GZIP_MAGIC, found + 1)
        after, size = places[-1]
        try:
            data: bytes = GzipReader(io.BytesIO(packed[: after - at])).read(size + 1) if size else b""
        except Exception:  # whatever it is, the slower way finds out
            data = b""
        if not data or len(data) != size:
            self._no_batch_before = at + len(packed)
            return None
        return data, places

    def whole(self, at: int, most: int) -> tuple[bytes, int] | None:
        """A member's inflated bytes and its end; None unless it is sound and at most ``most`` long."""
        member = self._file.until(GZIP_MAGIC, at, most)
        if member is None or len(member) < 18:
            return None
        size = int.from_bytes(member[-4:], "little")
        if size > most:
            return None
        try:
            data: bytes = GzipReader(io.BytesIO(member)).read(size + 1)
        except Exception:  # whatever it is, the slower way finds out
            return None
        return (data, at + len(member)) if len(data) == size else None

    def open(self, at: int) -> Source:
        return _GzipMember(self._file, at)

    def starts(self, at: int) -> bool:
        return _GZIP_START.match(self._file.read(at, 4)) is not None

    def find(self, at: int, is_record: IsRecord) -> int:
        """The first member at ``at`` or later that holds a record, or the size of the file."""
        while (at := self._file.search(_GZIP_START, at)) < self._file.size:
            if is_record(inflate_head(self._file.read(at, _HEAD))):
                return at
            at += 1
        return self._file.size


def is_zstd(head: bytes) -> bool:
    """Whether these are the first bytes of a frame, or of one that is to be skipped, as a dictionary is."""
    return head.startswith(ZSTD_MAGIC) or _ZSTD_SKIPPABLE.match(head) is not None


class _ZstdFrame(_Inflating):
    def __init__(self, file: File, at: int, inflater: zstandard.ZstdDecompressor) -> None:
        super().__init__(file, at)
        self._inflater = inflater
        self._stop = _frame_end(file, at)
        is_skippable = _ZSTD_SKIPPABLE.match(file.read(at, 4)) is not None
        if is_skippable and self._stop <= file.size:
            self.end = self._stop
        self._reader: Any = inflater.stream_reader(self, read_size=_PIECE)  # type: ignore[arg-type]

    def read(self, size: int) -> bytes:
        """Compressed bytes, for the inflater."""
        data = self._file.read(self._at, min(size, max(0, self._stop - self._at)))
        self._at += len(data)
        return data

    def pull(self, size: int) -> bytes:
        if self.end >= 0 or self.damage:
            return b""
        try:
            data: bytes = self._reader.read(size)
        except zstandard.ZstdError as error:
            self.damage = _damage(error)
            return b""
        if not data:
            if self._stop > self._file.size or self._at < self._stop:
                self.damage = "the compressed data ends too early"
            else:
                self.end = self._stop
        return data

    def again(self) -> _ZstdFrame:
        return _ZstdFrame(self._file, self._begin, self._inflater)


def _frame_end(file: File, at: int) -> int:
    """Where a Zstandard frame ends by its block headers; beyond the end of the file if it is cut."""
    beyond = file.size + 1
    head = file.read(at, 18)
    if _ZSTD_SKIPPABLE.match(head):
        return at + 8 + int.from_bytes(head[4:8], "little") if len(head) >= 8 else beyond
    try:
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
        at += zstandard.frame_header_size(head)
    except zstandard.ZstdError:
        return beyond
    while len(block := file.read(at, 3)) == 3:
        word = int.from_bytes(block, "little")
        at += 3 + (1 if (word >> 1) & 3 == 1 else word >> 3)
        if word & 1:
            return at + (4 if has_checksum else 0)
    return beyond


class Zstd:
    """The frames of a Zstandard file, with the dictionary that its first frame may hold."""

    def __init__(self, file: File) -> None:
        self._file = file
        dictionary = _dictionary(file)
        self._inflater = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=1 << 27)

    def batch(self, at: int) -> Batch | None:
        return None

    def whole(self, at: int, most: int) -> tuple[bytes, int] | None:
        return None

    def open(self, at: int) -> Source:
        return _ZstdFrame(self._file, at, self._inflater)

    def starts(self, at: int) -> bool:
        return is_zstd(self._file.read(at, 4))

    def find(self, at: int, is_record: IsRecord) -> int:
        while (at := self._file.search(_ZSTD_START, at)) < self._file.size:
            if is_record(self.open(at).pull(_HEAD)):
                return at
            at += 1
        return self._file.size


def _dictionary(file: File) -> zstandard.ZstdCompressionDict | None:
    head = file.read(0, 8)
    if len(head) < 8:
        return None
    magic, size = struct.unpack("<II", head)
    if magic != _ZSTD_DICTIONARY or size > _MAX_DICTIONARY:
        return None
    data = file.read(8, size)
    try:
        if data.startswith(ZSTD_MAGIC):
            data = zstandard.ZstdDecompressor().stream_reader(data).read(_MAX_DICTIONARY)
        return zstandard.ZstdCompressionDict(data)
    except zstandard.ZstdError:
        return None


class _PlainBytes:
    is_cheap = True

    def __init__(self, file: File, at: int) -> None:
        self._file = file
        self._at = at
        self._begin = at
        self.damage = ""
        self.end = -1

    def pull(self, size: int) -> bytes:
        data = self._file.read(self._at, size)
        self._at += len(data)
        if not data:
            self.end = self._file.size
        return data

    def jump(self, size: int) -> int:
        jumped = min(size, max(0, self._file.size - self._at))
        self._at += jumped
        return jumped

    def again(self) -> _PlainBytes:
        return _PlainBytes(self._file, self._begin)


def plain_window(file: File, at: int) -> Window:
    """A file that is not compressed, from ``at`` to its end."""
    return Window(source=_PlainBytes(file, at))
