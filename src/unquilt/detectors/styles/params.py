"""The settings of styles, apart from their code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, lgamma, log
from random import Random

from unquilt.errors import BadParameter
from unquilt.params import Params, knob

VARIANTS = ("noise", "tags", "full")
"""What a fingerprint is made of: the source without letters and digits, its tag names, or all of it."""
MOST_PROBES = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkParams(Params):
    """What a page's fingerprint is made of."""

    variant: str = knob(
        "noise", "what of a page counts: its source without letters and digits, its tag names, or all", choices=VARIANTS
    )
    n: int = knob(32, "characters in a part of the noise, or of the full source", least=1, most=1024)
    tags_n: int = knob(8, "tags in a part, for --variant tags", least=1, most=256)
    m: int = knob(128, "cells of a fingerprint", least=8, most=1024)

    @property
    def part_size(self) -> int:
        return self.tags_n if self.variant == "tags" else self.n


@dataclass(frozen=True, kw_only=True, slots=True)
class StyleParams(MarkParams):
    """When pages count as made by one template."""

    t: int = knob(35, "pages with more equal cells than this are of one style", least=0, most=1023)
    p: int = knob(20, "probes: looks for pages that agree in some cells", least=1, most=1024)
    k: int = knob(1, "cells that must agree in one probe", least=1, most=8)
    max_miss: float = knob(
        0.0,
        "take as many probes as miss a pair of t equal cells with at most this chance; 0: take --p",
        least=0,
        most=1,
    )
    second: float = knob(
        0.0,
        "then join groups whose pages have on average at least this many equal cells; 0: do not",
        least=0,
        most=1024,
    )
    min_pages: int = knob(2, "smaller clusters are left out", least=2)
    seed: int = knob(0, "draws the probes", least=0)

    def __post_init__(self) -> None:
        super(StyleParams, self).__post_init__()  # slots make the class anew: super() would not find it
        if self.t >= self.m:
            raise BadParameter(
                f"--t is {self.t}, but a fingerprint has {self.m} cells: no two pages could be of one style.",
                fix=f"Choose --t below {self.m}, or more cells with --m.",
            )
        if not self.max_miss and self.p > comb(self.m, self.k):
            raise BadParameter(
                f"--p is {self.p}, but {self.k} of {self.m} cells can be chosen in {comb(self.m, self.k):,} ways only.",
                fix="Choose fewer probes, or more cells with --m.",
            )

    @property
    def probe_count(self) -> int:
        """How many probes are taken: --p, or as many as --max-miss needs."""
        return probes_needed(self.max_miss, self.t, self.m, self.k) if self.max_miss else self.p

    @property
    def miss(self) -> float:
        """The chance that the probes miss a pair of t equal cells; pairs with more are missed less."""
        return miss_chance(self.probe_count, self.t, self.m, self.k)

    def probes(self) -> list[tuple[int, ...]]:
        """The cells that each probe looks at: different k-subsets of all m."""
        rng = Random(self.seed)
        drawn: dict[tuple[int, ...], None] = {}
        while len(drawn) < self.probe_count:
            drawn[tuple(sorted(rng.sample(range(self.m), self.k)))] = None
        return list(drawn)


def miss_chance(p: int, t: int, m: int, k: int = 1) -> float:
    """The chance that p different k-subsets of m cells all miss a pair of pages that agree in exactly t cells.

    Of C(m, k) subsets C(t, k) find the pair; with k = 1 this is the paper's C(m - p, t) / C(m, t).
    """
    ways, finding = comb(m, k), comb(t, k)
    if p > ways - finding:
        return 0.0
    return exp(_log_comb(ways - finding, p) - _log_comb(ways, p))


def _log_comb(n: int, r: int) -> float:
    if n < 1 << 20:
        return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1)
    return sum(log(n - i) for i in range(r)) - lgamma(r + 1)  # differences of large lgammas would lose everything


def probes_needed(max_miss: float, t: int, m: int, k: int = 1) -> int:
    """The fewest probes that miss a pair of t equal cells with at most that chance."""
    if t < k:
        raise BadParameter(
            f"--t {t} is less than --k {k}: no number of probes is sure to find pages with {t} equal cells.",
            fix="Choose a smaller --k, or a larger --t.",
        )
    for p in range(1, MOST_PROBES + 1):
        if miss_chance(p, t, m, k) <= max_miss:
            return p
    raise BadParameter(
        f"--max-miss {max_miss:g} takes more than {MOST_PROBES:,} probes of {k} cells.",
        fix="Allow more misses, or choose a smaller --k.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class LikeParams(MarkParams):
    """When a page counts as made like given ones."""

    above: int = knob(20, "with --like: pages with more equal cells than this are listed", least=0, most=1023)
    gap: int = knob(8, "with --like: a gap is a fall of the curve by so many cells within 1 % of the pages", least=1)
