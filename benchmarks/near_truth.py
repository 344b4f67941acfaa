"""How good classes of near-duplicates are, by the exact resemblance of pages: the Jaccard of their 5-word phrases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unquilt.corpus import Corpus
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.phrases.shingles import functions_of
from unquilt.kernels.near import resemblances
from unquilt.kernels.postings import distinct_grams

Numbers = npt.NDArray[np.int64]

SURE = 0.965
"""Pages so alike should be in one class: two of six runs of 14 then agree with a chance of .95, one with .996."""
HALF = 0.5
"""Who drops a page that is not half the same as the one kept loses text."""


class Truth:
    """The phrases of the pages of a corpus, and all pairs of pages that resemble each other from SURE."""

    def __init__(self, corpus: Path) -> None:
        phrases, lengths = [], []
        for file in Corpus(corpus).files():
            for table in file.batches(["text"]):
                found, offsets = distinct_grams(*functions_of(ClassParams()).phrases(table["text"]))
                phrases.append(found)
                lengths.append(np.diff(offsets))
        self._phrases = np.concatenate(phrases)
        self._lengths = np.concatenate(lengths)
        self._begins = np.concatenate([[0], np.cumsum(self._lengths)])
        one, other = self._candidates()
        is_sure = self._resemblances(one, other) >= SURE
        self.one, self.other = one[is_sure], other[is_sure]

    def measure(self, labels: Sequence[int | str]) -> tuple[float | None, float | None]:
        """Of classes, given by a label for each page: the share of the sure pairs that is in one class, and the share
        of the pages dropped that are at least half the same as the first of their class. None if there are none."""
        _, first, places = np.unique(np.array(labels), return_index=True, return_inverse=True)
        kept = first[places]
        dropped = np.flatnonzero((kept != np.arange(len(kept))) & (self._lengths > 0))
        dropped = dropped[np.argsort(kept[dropped], kind="stable")]
        sound = self._resemblances(kept[dropped], dropped) >= HALF
        return _share(kept[self.one] == kept[self.other]), _share(sound)

    def _resemblances(self, one: Numbers, other: Numbers) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = resemblances(self._phrases, self._begins, other, one)
        return found

    def _candidates(self) -> tuple[Numbers, Numbers]:
        """All pairs that can be sure, and some more.

        If the phrases of every page are put in one order, rarest first, two pages that share so much of them share
        one of their first few.
        """
        pages = np.repeat(np.arange(len(self._lengths)), self._lengths)
        _, phrases, counts = np.unique(self._phrases, return_inverse=True, return_counts=True)
        ranked = np.lexsort((phrases, counts[phrases], pages))
        few = self._lengths - np.ceil(SURE * self._lengths - 1e-9).astype(np.int64) + 1
        is_first = np.arange(len(pages)) - np.repeat(self._begins[:-1], self._lengths) < np.repeat(few, self._lengths)
        phrases, pages = phrases[ranked][is_first], pages[is_first]
        order = np.argsort(phrases, kind="stable")
        phrases, pages = phrases[order], pages[order]
        pairs = [np.empty(0, np.int64)]
        for step in range(1, len(pages)):
            is_same = phrases[step:] == phrases[:-step]
            if not is_same.any():
                break
            pairs.append(np.unique(pages[:-step][is_same] << 32 | pages[step:][is_same]))
        found = np.unique(np.concatenate(pairs))
        return found >> 32, found & 0xFFFFFFFF


def _share(of: npt.NDArray[np.bool_]) -> float | None:
    return float(of.mean()) if len(of) else None
