"""The settings of clean, apart from its code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import Params, knob

FORMATS = ("jsonl", "jsonl.gz", "parquet")


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanParams(Params):
    """What is taken out of a crawl, and what its clean pages are written as."""

    pages: bool = knob(True, "drop pages that are near-duplicates of one that is kept")
    verify: float = knob(
        0.0, "near-duplicates are joined only if at least this share of all their shingles is equal", least=0, most=1
    )
    k: int = knob(10, "words in a gram, the least that can be a copy", least=1, most=64)
    min_words: int = knob(
        50, "fewest words in a row that are a copy if all their grams stand on an earlier page; 0: none is",
        least=0, most=1_000_000,
    )  # fmt: skip
    boilerplate: int = knob(
        100, "a gram on more kept pages than this is boilerplate; 0: none is", least=0, most=2**31 - 1
    )
    min_boilerplate: int = knob(10, "fewest words in a row of boilerplate", least=1, most=1_000_000)
    mark: bool = knob(False, "cut nothing out of the texts, only list where it stands")
    format: str = knob("jsonl", "what the files are", choices=FORMATS)
