"""The settings of the robustness experiment, apart from its code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import Params, knob


@dataclass(frozen=True, kw_only=True, slots=True)
class RobustnessParams(Params):
    """A site that is copied and changed, until it is not found any more."""

    host: str = knob("", "the host whose pages are changed")
    blind: int = knob(
        20,
        "the blind labelled set has the chunks that occur more often than this on the site: the paper's 100,000 "
        "duplicates of a site copied 5,000 times",
        least=0,
    )
    page_threshold: float = knob(0.144, "badness above which a page is detected", least=0, most=1)
    neighborhood_threshold: float = knob(0.163, "badness above which a neighborhood is detected", least=0, most=1)
    most: float = knob(8.0, "changes on each page, up to this multiple of the mean chunks a page", least=0.1, most=100)
    steps: int = knob(32, "points of each curve", least=2, most=1000)
    rounds: int = knob(10, "times that random changes are made anew", least=1, most=1000)
    stop_chunks: str = knob("", "a file with further stop chunks, which are removed first")
    seed: int = knob(0, "draws the changes", least=0, most=2**31)
