"""The bundled sample: a small real crawl, described in README.md beside this file."""

from __future__ import annotations

from pathlib import Path


def sample_files() -> list[Path]:
    """The WARC files of the sample, in order."""
    return sorted(Path(__file__).parent.glob("sample-*.warc.gz"))
