"""The settings of reuse, apart from its code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import Params, knob

DERIVED = -1.0
"""A threshold that is taken from the corpus: mean and deviations."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReuseParams(Params):
    """What counts as copied, and where it is too much."""

    labelled: str = knob(
        "",
        "look for the content of this instead of what is copied most: a corpus, a labelled set, or anything "
        "that `unquilt ingest` reads",
    )
    own: str = knob(
        "", "domains and hosts, with commas, that may have the labelled content; if not given, those it came from"
    )
    file_threshold: int = knob(
        0, "a file that occurs more often than this is labelled; 0: proposed from the distribution", least=0
    )
    chunk_threshold: int = knob(
        0, "a chunk that occurs more often than this is labelled; 0: proposed from the distribution", least=0
    )
    min_domains: int = knob(1, "a file or chunk is labelled only if it is on at least so many domains", least=1)
    min_chunk_bytes: int = knob(0, "chunks shorter than this do not count at all", least=0, unit="bytes")
    min_labelled_bytes: int = knob(101, "with --labelled: shorter chunks of it are not labelled", least=0, unit="bytes")
    stop_chunks: str = knob("", "a file with further stop chunks: common and benign, never labelled")
    contains_threshold: float = knob(
        DERIVED, "a page is a target if a larger share of its chunks is labelled; -1: mean + --deviations",
        least=DERIVED, most=1,
    )  # fmt: skip
    badness_threshold: float = knob(
        DERIVED, "a neighborhood is bad if a larger share of its chunks is labelled; -1: mean + --deviations",
        least=DERIVED, most=1,
    )  # fmt: skip
    deviations: float = knob(1.0, "standard deviations above the mean that make a threshold", least=0)
    min_files: int = knob(1, "a neighborhood of fewer files is never bad", least=1)
    min_chunks: int = knob(1, "a neighborhood of fewer chunks is never bad", least=1)
    max_components: int = knob(
        96, "a URL whose path has more components is a crawler's loop and set aside", least=1, most=10_000
    )
    max_repeats: int = knob(
        3, "a URL whose path has a run of components more often than this in a row is set aside", least=1
    )
    candidate_bytes: int = knob(100, "a chunk longer than this is not proposed as a stop chunk", least=0, unit="bytes")
    candidate_domains: int = knob(
        0, "a chunk on fewer domains is not proposed as a stop chunk; 0: 1 % of all domains, at least 5", least=0
    )
