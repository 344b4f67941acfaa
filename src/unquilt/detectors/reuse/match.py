"""A stream of pages against a labelled set, without a corpus."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from unquilt.detectors.reuse.labelled import Labelled, Match
from unquilt.ingest.capture import Capture, Skip
from unquilt.ingest.http import HTML_TYPES, sniff
from unquilt.ingest.inputs import plan
from unquilt.ingest.params import IngestParams
from unquilt.ingest.part import PartTask, read_piece


@dataclass(frozen=True, slots=True)
class Matched:
    """A page, and how much of it is labelled."""

    url: str
    match: Match
    bytes: int


def match_pages(
    labelled: Labelled, inputs: Sequence[str], params: IngestParams = IngestParams(), *, stdin: BinaryIO | None = None
) -> Iterator[Matched | Skip]:
    """Match each page of crawls, folders and files, one at a time; records that are no pages come as ``Skip``.

    An input ``-`` is what comes in on ``stdin``, to its end: a crawl, or one page.
    """
    for given in inputs:
        if given == "-" and stdin is not None:
            with tempfile.NamedTemporaryFile(prefix="unquilt-stdin-") as copy:
                shutil.copyfileobj(stdin, copy, 1 << 20)
                copy.flush()
                yield from _match_stdin(labelled, copy.name, params)
        else:
            yield from _match_input(labelled, given, params)


def _match_input(labelled: Labelled, given: str, params: IngestParams) -> Iterator[Matched | Skip]:
    planned = plan([given], params)
    yield from planned.skipped
    for piece in planned.pieces:
        if piece.kind == "urls":
            yield Skip(piece.name, 0, "not-text", detail="a list of URLs has no pages")
            continue
        if piece.kind != "parquet":  # the pieces of a file are for workers; one reader goes through it once
            if piece.begin:
                continue
            piece = replace(piece, end=None)
        for one in read_piece(PartTask(0, piece, params, "", "", exact=True)):
            if isinstance(one, Capture):
                match = labelled.match(one.body, is_html=one.media_type in HTML_TYPES)
                yield Matched(one.url, match, len(one.body))
            elif isinstance(one, Skip):
                yield one


def _match_stdin(labelled: Labelled, path: str, params: IngestParams) -> Iterator[Matched | Skip]:
    """A crawl as any other; anything else that is text is one page."""
    with open(path, "rb") as file:  # noqa: PTH123
        head = file.read(1 << 14)
        is_page = not head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK", b"PAR1", b"WARC/", b"{"))
        body = head + file.read(params.max_page_bytes) if is_page else b""
    if not is_page:
        yield from _match_input(labelled, path, params)
        return
    media_type = sniff(body, "")
    if not media_type or not body.strip():
        yield Skip("-", 0, "empty" if not body.strip() else "not-text")
        return
    yield Matched("-", labelled.match(body, is_html=media_type in HTML_TYPES), len(body))
