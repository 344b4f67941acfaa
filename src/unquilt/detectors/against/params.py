"""The settings of a comparison, apart from its code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import SITE_LEVELS, Params, knob


@dataclass(frozen=True, kw_only=True, slots=True)
class AgainstParams(Params):
    """When a page counts as copied from an earlier crawl."""

    k: int = knob(5, "words in a gram", least=1, most=64)
    m: int = knob(
        50, "a gram on more pages of the old crawl than this is too common to be taken", least=1, most=1_000_000
    )
    share: float = knob(
        0.1, "least share of a page's grams, common ones aside, that it takes from the old crawl", least=0, most=1
    )
    min_grams: int = knob(10, "fewest grams that a page takes from the old crawl", least=1)
    foreign: str = knob("domain", "pages are of different sites if they differ in this", choices=SITE_LEVELS[1:])
