"""How large the planted web is, and how much of it is copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unquilt.params import Params, knob


@dataclass(frozen=True, kw_only=True, slots=True)
class SynthParams(Params):
    """How large the planted web is, and how much of it is copied."""

    pages: int = knob(10_000, "pages to write", least=50, most=200_000_000)
    seed: int = knob(0, "the same seed gives the same bytes", least=0, most=2**63 - 1)
    hosts: float = knob(0.02, "hosts for each page of the ordinary web", least=0.001, most=0.5)
    near_duplicates: float = knob(0.06, "share of pages in near-duplicate classes", least=0, most=0.2)
    quilts: float = knob(0.03, "share of pages stitched from the sentences of others", least=0, most=0.1)
    same_site: float = knob(0.3, "share of quilts stitched from pages of their own host", least=0, most=1)
    attributed: float = knob(0.4, "share of quilts that link to each page they took from", least=0, most=1)
    spam: float = knob(0.02, "share of pages on slice-and-dice spam hosts", least=0, most=0.1)
    templates: float = knob(0.04, "share of pages in template families and link farms", least=0, most=0.2)
    mirrors: float = knob(0.17, "share of pages on mirrored hosts and on look-alikes", least=0, most=0.4)
    reuse: float = knob(0.03, "share of pages with copied chunks", least=0, most=0.2)
    traps: float = knob(0.003, "share of pages in crawler traps", least=0, most=0.1)
    extras: float = knob(
        0.04, "redirects, errors, images and revisits for each page, beside the pages", least=0, most=1
    )
    damaged: float = knob(0.0, "records with a broken HTTP message for each page", least=0, most=0.5)
    file_pages: int = knob(12_500, "pages in one WARC file", least=50, most=1_000_000)


@dataclass(frozen=True, kw_only=True, slots=True)
class SynthSummary:
    """What was written."""

    path: Path
    pages: int
    records: int
    files: int
    bytes: int
    counts: dict[str, int]  # rows of each truth table
    left_out: dict[str, str]  # plants that did not fit, and why
