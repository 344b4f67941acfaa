"""Near-duplicates folded into one page of each class, for detectors that would see copies and nothing else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unquilt.corpus import Corpus
from unquilt.detectors.phrases.classes import find_classes
from unquilt.detectors.phrases.known import known_classes
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.phrases.shingles import share_shingles
from unquilt.engines import Engine


def fold_duplicates(corpus: Corpus, engine: Engine, params: ClassParams = ClassParams()) -> npt.NDArray[np.uint32]:
    """For each page the representative of its near-duplicate class: itself if it has no near-duplicates.

    Pages with the same words are always in one class; pages without words never are.
    """
    if known := known_classes(corpus, params):
        return known[0]
    with share_shingles(corpus, params, engine) as shingles:
        return find_classes(corpus, shingles, params, engine).keepers
