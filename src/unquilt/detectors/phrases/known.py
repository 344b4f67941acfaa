"""Near-duplicate classes as an earlier run of phrases left them, so that nobody looks for them again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from unquilt.corpus import Corpus
from unquilt.detectors.phrases.params import ClassParams
from unquilt.errors import CorpusMismatch, NotACorpus
from unquilt.result import check_result

Keepers = npt.NDArray[np.uint32]


def known_classes(corpus: Corpus, params: ClassParams) -> tuple[Keepers, npt.NDArray[np.float64]] | None:
    """For each page the representative of its class and how much it resembles it; None if that is not known yet.

    A result of phrases knows, if it was made of these pages and its classes with these settings.
    """
    try:
        known = check_result(corpus, "phrases")["params"]
    except (NotACorpus, CorpusMismatch):
        return None
    if any(known[name] != value for name, value in params.class_settings().items()):
        return None
    columns = ["class", "number", "representative", "resemblance"]
    classes = pq.read_table(corpus.results / "phrases" / "classes.parquet", columns=columns)
    numbers, is_keeper = classes["number"].to_numpy(), classes["representative"].to_numpy()
    keepers, resemblance = np.arange(corpus.pages, dtype=np.uint32), np.ones(corpus.pages)
    keepers[numbers] = numbers[is_keeper][classes["class"].to_numpy()]  # classes are numbered in order, from 0
    resemblance[numbers] = classes["resemblance"].to_numpy()
    return keepers, resemblance
