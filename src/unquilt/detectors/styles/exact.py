"""How near the estimate is: pairs of pages by their fingerprints, and by all of their parts."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import page_arrays
from unquilt.detectors.styles.marks import read_sources, write_marks
from unquilt.detectors.styles.params import StyleParams
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.kernels.parts import parts_of
from unquilt.kernels.styles import all_pairs
from unquilt.schema import STYLE_PAIRS

_SAMPLE = 400


def compare_exactly(
    corpus: Corpus, params: StyleParams = StyleParams(), *, pairs: int = 2000, engine: Engine | None = None
) -> pa.Table:
    """Pairs of a sample of pages: Sim of their fingerprints beside the exact Dice and Jaccard of their parts.

    Pairs are drawn evenly from all similarities that occur, those without an equal cell apart. The sources are
    read again.
    """
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        arrays = stack.enter_context(page_arrays(corpus))
        marks = write_marks(corpus, params, engine, arrays.path("marks"))
        filled = np.flatnonzero(marks.load().any(axis=1))
        sample = filled[np.unique(np.linspace(0, len(filled) - 1, min(_SAMPLE, len(filled))).astype(int))]
        cells = marks.load()[sample]
        step = partial(read_parts, sample=sample, params=params, settings=corpus.settings)
        parts = [one for some in engine.map(step, corpus.files(), name="Reading sources") for one in some]
    equal = all_pairs(cells)
    chosen = _draw(equal, pairs, Random(params.seed))
    rows = [_compare(parts[a], parts[b], equal[a, b] / params.m) for a, b in chosen]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(STYLE_PAIRS.names)
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, STYLE_PAIRS.types, strict=True)], schema=STYLE_PAIRS
    )


def read_parts(
    file: PartFile, *, sample: npt.NDArray[np.int64], params: StyleParams, settings: dict[str, object]
) -> list[npt.NDArray[np.uint64]]:
    """The parts of the sampled pages of a file, in their order."""
    mine = sample[(sample >= file.first) & (sample < file.first + file.pages)] - file.first
    found = {}
    if len(mine):
        for row, source in read_sources(file, settings, mine):
            found[row] = parts_of(np.frombuffer(source, np.uint8), params.variant, params.part_size)
    return [found[row] for row in mine.tolist()]


def _draw(equal: npt.NDArray[np.uint16], pairs: int, rng: Random) -> list[tuple[int, int]]:
    a, b = np.triu_indices(len(equal), 1)
    values = equal[a, b]
    levels = [np.flatnonzero(values == level) for level in np.unique(values)]
    each = -(-pairs // max(len(levels), 1))
    chosen = [i for level in levels for i in rng.sample(level.tolist(), min(each, len(level)))]
    return [(int(a[i]), int(b[i])) for i in chosen]


def _compare(one: npt.NDArray[np.uint64], other: npt.NDArray[np.uint64], sim: float) -> tuple[float, float, float, int]:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    union = len(one) + len(other) - shared
    return sim, 2 * shared / (len(one) + len(other)), shared / union, min(len(one), len(other))
