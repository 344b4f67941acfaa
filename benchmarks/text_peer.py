"""The peer of ingest: FastWARC and Lexbor alone, in a pool of processes; only the text is taken, none kept.

python -m benchmarks.text_peer CRAWL.warc.gz PROCESSES [visible]

With "visible" it takes the text a reader sees: without scripts and styles, and words of different elements apart.
"""

from __future__ import annotations

import io
import itertools
import json
import mmap
import multiprocessing
import sys
import zlib
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType
from selectolax.lexbor import LexborHTMLParser

_GZIP = b"\x1f\x8b\x08"
_PIECES = 8  # for each process, so that they end together


def main() -> None:
    path, processes, visible = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["visible"]
    with multiprocessing.Pool(processes) as pool:
        found = pool.starmap(extract, [(*one, visible) for one in cut(path, processes * _PIECES)], chunksize=1)
    print(json.dumps({"pages": sum(one[0] for one in found), "characters": sum(one[1] for one in found)}))


def extract(path: str, begin: int, end: int, visible: bool) -> tuple[int, int]:
    """Pages and characters of text in a range of whole gzip members."""
    with Path(path).open("rb") as file:
        file.seek(begin)
        piece = io.BytesIO(file.read(end - begin))
    pages = characters = 0
    for record in ArchiveIterator(piece, parse_http=True, record_types=WarcRecordType.response):
        tree = LexborHTMLParser(record.reader.read())
        if visible:
            tree.strip_tags(["script", "style"])
        body = tree.body
        characters += len(body.text(separator=" " if visible else "")) if body else 0
        pages += 1
    return pages, characters


def cut(path: str, pieces: int) -> list[tuple[str, int, int]]:
    """Ranges of about equal size that begin where records begin."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        size = len(data)
        bounds = sorted({_next_record(data, size * i // pieces) for i in range(pieces)} | {size})
    return [(path, begin, end) for begin, end in itertools.pairwise(bounds)]


def _next_record(data: mmap.mmap, at: int) -> int:
    while (at := data.find(_GZIP, at)) >= 0:
        try:
            if zlib.decompressobj(31).decompress(data[at : at + 512], 5) == b"WARC/":
                return at
        except zlib.error:
            pass
        at += 1
    return len(data)


if __name__ == "__main__":
    main()
