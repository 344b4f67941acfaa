"""A page's raw bytes cut into chunks, and their SHA-1s: at ingest, and wherever a page is matched later."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1
from itertools import pairwise

import numpy as np

from unquilt.kernels.chunks import block_cuts, line_cuts, paragraph_cuts

_NORMALIZED = " normalized"


@dataclass(frozen=True, slots=True)
class Cutter:
    """How chunks are made. Corpora, labelled sets and streams must be cut alike to be compared."""

    name: str = "p"  # p, block: HTML before each such tag, other text is one chunk; line: all text after each line
    normalize: bool = False

    @property
    def setting(self) -> str:
        """As it stands in corpus.json and in labelled sets."""
        return self.name + (_NORMALIZED if self.normalize else "")

    @classmethod
    def of_setting(cls, setting: str) -> Cutter:
        return cls(setting.removesuffix(_NORMALIZED), setting.endswith(_NORMALIZED))

    def bounds(self, body: bytes, *, is_html: bool) -> list[int]:
        """Where the chunks of a page begin, from 0, and its length behind the last."""
        if self.name == "line":
            cuts = line_cuts(np.frombuffer(body, np.uint8)).tolist()
        elif is_html:
            cuts = (paragraph_cuts if self.name == "p" else block_cuts)(np.frombuffer(body, np.uint8)).tolist()
        else:
            cuts = []
        if cuts and cuts[0] == 0:
            del cuts[0]
        return [0, *cuts, len(body)]

    def digests(self, body: bytes, bounds: list[int]) -> list[bytes]:
        """The SHA-1 of each chunk."""
        if self.normalize:
            return [sha1(fold_chunk(body[begin:end])).digest() for begin, end in pairwise(bounds)]
        return [sha1(body[begin:end]).digest() for begin, end in pairwise(bounds)]


def fold_chunk(chunk: bytes) -> bytes:
    """A chunk with ASCII case folded, and runs of white space as one space, none at the ends."""
    return b" ".join(chunk.lower().split())
