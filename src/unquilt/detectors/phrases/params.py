"""The settings of phrases, apart from their code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import comb
from typing import Any

from unquilt.errors import BadParameter
from unquilt.params import Params, knob

HASHES = ("mix", "rabin")
MOST_KEYS = 1000
"""Ways to choose the runs that agree; each is a row for each page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassParams(Params):
    """When two pages count as near-duplicates."""

    k: int = knob(5, "words in a phrase", least=1, most=64)
    shingles: int = knob(84, "phrases sampled from each page, its shingles", least=1, most=1024)
    runs: int = knob(6, "runs of shingles that are compared as a whole", least=1, most=64)
    run_length: int = knob(14, "shingles in a run", least=1, most=1024)
    agree: int = knob(2, "fewest equal runs of near-duplicates", least=1, most=64)
    verify: float = knob(
        0.0, "two pages are joined only if at least this share of all their shingles is equal", least=0, most=1
    )
    hash: str = knob("mix", "hash functions: fast mixing ones, or Rabin's fingerprints as in the paper", choices=HASHES)
    seed: int = knob(0, "the same seed samples the same phrases", least=0, most=2**63 - 1)

    def __post_init__(self) -> None:
        Params.__post_init__(self)  # super() does not know a class with slots
        if self.runs * self.run_length > self.shingles:
            raise BadParameter(
                f"{self.runs} runs of {self.run_length} shingles take {self.runs * self.run_length}; "
                f"--shingles is {self.shingles}.",
                fix="Lower --runs or --run-length, or raise --shingles.",
            )
        if self.agree > self.runs or comb(self.runs, self.agree) > MOST_KEYS:
            raise BadParameter(
                f"--agree is {self.agree} of {self.runs} runs; it must be at most --runs, and there must be at most "
                f"{MOST_KEYS:,} ways to choose them.",
                fix="The paper's are 2 of 6.",
            )

    def class_settings(self) -> dict[str, Any]:
        """The settings that classes depend on, those of a detector that has more among them."""
        return {field.name: getattr(self, field.name) for field in fields(ClassParams)}


@dataclass(frozen=True, kw_only=True, slots=True)
class PhraseParams(ClassParams):
    """When a phrase is popular, which pages are covered by others, and which hosts are suspects."""

    popular: int = knob(5, "fewest pages, near-duplicates aside, that have a popular shingle", least=2)
    listed: int = knob(1000, "most popular phrases to list as text", least=0, most=1_000_000)
    min_popular: int = knob(30, "least popular shingles of a page whose covering set is wanted", least=1, most=1024)
    stratum: int = knob(50, "pages to cover for each popular count", least=0, most=100_000)
    uniform: int = knob(1000, "pages to cover, drawn from all that are popular enough", least=0, most=1_000_000)
    host: str = knob("", "a host whose pages are to be covered; without it, the first suspect's are")
    host_pages: int = knob(1000, "pages of that host to cover at most", least=0, most=1_000_000)
    pool: int = knob(100_000, "of the pages that have a shingle, the first so many can be in covering sets", least=2)
    min_pages: int = knob(10, "fewest pages of a suspect host", least=1)
    min_mean: float = knob(30.0, "least mean popular count of a suspect host", least=0, most=1024)
    max_deviation: float = knob(15.0, "a suspect's popular counts deviate less than this", least=0)
    weak: float = knob(0.5, "warn of classes with a page that resembles its representative less", least=0, most=1)
