"""Near-duplicates, for detectors that would see copies and nothing else, and for those who drop them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unquilt.corpus import Corpus
from unquilt.detectors.phrases.classes import find_classes, measure_classes
from unquilt.detectors.phrases.known import Keepers, known_classes
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.phrases.shingles import share_shingles
from unquilt.detectors.sites import page_arrays
from unquilt.engines import Engine


def fold_duplicates(corpus: Corpus, engine: Engine, params: ClassParams = ClassParams()) -> Keepers:
    """For each page the representative of its near-duplicate class: itself if it has no near-duplicates.

    Pages with the same words are always in one class; pages without words never are.
    """
    if known := known_classes(corpus, params):
        return known[0]
    with share_shingles(corpus, params, engine) as shingles:
        return find_classes(corpus, shingles, params, engine).keepers


def near_duplicates(corpus: Corpus, params: ClassParams, engine: Engine) -> tuple[Keepers, npt.NDArray[np.float64]]:
    """As ``fold_duplicates``, and for each page how much it resembles that representative."""
    if known := known_classes(corpus, params):
        return known
    with page_arrays(corpus) as arrays:
        with share_shingles(corpus, params, engine) as shingles:
            classes = find_classes(corpus, shingles, params, engine)
        measured = measure_classes(corpus, classes, arrays.save("keepers", classes.keepers), params, engine)
    resemblance = np.ones(corpus.pages)
    resemblance[classes.members["page"].to_numpy()] = measured
    return classes.keepers, resemblance
