"""The settings of quilts, apart from their code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import SITE_LEVELS, Params, knob


@dataclass(frozen=True, kw_only=True, slots=True)
class QuiltParams(Params):
    """When a page counts as stitched together from others."""

    k: int = knob(5, "words in a gram", least=1, most=64)
    m: int = knob(50, "a gram on more pages than this is too common to be a patch", least=2, most=1_000_000)
    c: int = knob(4, "fewest source pages of a quilt", least=1)
    sigma: float = knob(0.5, "least share of a page's grams that are patches", least=0, most=1)
    foreign: str = knob("domain", "sources must differ from the page in this", choices=SITE_LEVELS)
    min_contribution: float = knob(
        0.0, "a source counts only if it adds at least this share of the page's patch grams", least=0, most=1
    )
    collapse: bool = knob(False, "fold near-duplicates into one page of each class before anything is compared")
    exact: bool = knob(False, "compare the words of every patch, not only their 64-bit fingerprints")
    patches: bool = knob(True, "find where each patch stands in the page and in its source")
