"""What a run will take, told from the sizes of its input before it begins."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unquilt.errors import DiskFull
from unquilt.ingest.inputs import Piece

# Measured on crawls of documentation and of made-up pages: gzip WARC files of 98 MB and 2.5 GB became corpora of 54 MB
# and 1.6 GB, with results of 30 MB at most for each GB. A core reads 10 to 17 MB of gzip a second and takes about as
# long again for the detectors. What is not compressed is read five times as fast and leaves a fifth.
_CORPUS_SHARE = 0.75
_BYTES_PER_CORE_SECOND = 6e6
_SHARE_OF_PLAIN = 0.2
_SPILLED_SHARE = 2.0  # of grams on disk while quilts are found, for each byte of input, beyond memory


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how much a run will take."""

    input_bytes: int
    seconds: float
    corpus_bytes: int
    scratch_bytes: int


def estimate(pieces: Sequence[Piece], *, workers: int, memory: int) -> Estimate:
    """What it takes to read these pieces and to run every detector."""
    given = sum(piece.size for piece in pieces)
    packed = sum(piece.size * (1.0 if _is_packed(piece) else _SHARE_OF_PLAIN) for piece in pieces)
    return Estimate(
        input_bytes=given,
        seconds=packed / _BYTES_PER_CORE_SECOND / max(workers, 1),
        corpus_bytes=int(packed * _CORPUS_SHARE),
        scratch_bytes=max(int(packed * _SPILLED_SHARE) - memory, 0),
    )


def _is_packed(piece: Piece) -> bool:
    return piece.kind in ("wacz", "parquet") or piece.path.endswith((".gz", ".zst"))


def check_room(need: Estimate, out: Path, scratch: Path) -> None:
    """Raise ``DiskFull`` before a run that the disk cannot hold."""
    from unquilt.progress import size_text

    for folder, size, what in ((out, need.corpus_bytes, "corpus"), (scratch, need.scratch_bytes, "scratch files")):
        free = shutil.disk_usage(_existing(folder)).free
        if size > free:
            raise DiskFull(
                f"The {what} will take about {size_text(size)}; {folder} has room for {size_text(free)}.",
                fix="Make room, or choose another disk: -o for the corpus, TMPDIR for scratch files.",
            )


def _existing(folder: Path) -> Path:
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return folder
