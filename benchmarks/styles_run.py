"""Fingerprints of a made-up crawl, and clustering them, each in a process of its own whose memory can be measured.

python -m benchmarks.styles_run make FILE PAGES LARGEST    families of Zipf's sizes, the first of LARGEST pages
python -m benchmarks.styles_run link FILE PAGES MEMORY     probes, edges, components, prototypes
python -m benchmarks.styles_run loss CORPUS                what shortcuts and shorter cells cost on real pages
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unquilt.corpus import Corpus
from unquilt.detectors.styles.clusters import collect, find_centers
from unquilt.detectors.styles.find import link_pages
from unquilt.detectors.styles.marks import Marks, kept_marks
from unquilt.detectors.styles.params import StyleParams
from unquilt.engines.local import LocalEngine
from unquilt.kernels.components import components
from unquilt.kernels.noise import mix_all
from unquilt.kernels.styles import all_pairs

WORKERS = 2
CELLS = 128
_BATCH = 100_000
_SAMPLE = 6_000


def make(path: str, pages: int, largest: int) -> dict[str, Any]:
    """Pages of families that have 80 to 115 cells of a template each; one page in five is like no other."""
    rng = np.random.default_rng(1)
    owners = np.zeros(pages, np.int64)
    at, family = 0, 0
    while at < pages * 0.8:
        family += 1
        size = min(max(int(largest / family), 2), int(pages * 0.8) - at + 1)
        owners[at : at + size] = family
        at += size
    rng.shuffle(owners)
    shared = rng.integers(80, 116, family + 1) / CELLS
    np.save(f"{path}.owners.npy", np.where(owners > 0, owners, -np.arange(pages)))
    with Path(path).open("wb") as out:
        for first in range(0, pages, _BATCH):
            mine = owners[first : first + _BATCH]
            own = rng.integers(1, 65536, (len(mine), CELLS), np.uint16)
            drawn = mix_all((mine[:, None] * CELLS + np.arange(CELLS)).astype(np.uint64).ravel())
            template = drawn.reshape(-1, CELLS) % np.uint64(65535) + np.uint64(1)
            is_shared = (rng.random((len(mine), CELLS), np.float32) < shared[mine][:, None]) & (mine > 0)[:, None]
            out.write(np.where(is_shared, template, own).astype(np.uint16).tobytes())
    return {"families": family, "largest": largest}


def link(path: str, pages: int, memory: int) -> dict[str, Any]:
    marks = Marks(path, pages, CELLS)
    with LocalEngine(workers=WORKERS, memory=memory or None, scratch=Path(path).parent) as engine:
        link_pages(Marks(path, min(pages, 2_000), CELLS), StyleParams(), engine)  # workers start, kernels load
        begun = time.perf_counter()
        groups = link_pages(marks, StyleParams(), engine)
        linked = time.perf_counter()
        clusters = collect(groups, 2)
        for _ in engine.map(partial(find_centers, marks=marks), clusters.cut(), name="prototypes"):
            pass
    sizes = clusters.sizes
    seconds = time.perf_counter() - begun
    owners = np.load(f"{path}.owners.npy")
    right = _joined(owners, groups)
    return {
        "clusters": len(sizes), "largest": int(sizes.max(initial=0)), "recall": right / _joined(owners, owners),
        "precision": right / max(_joined(groups, groups), 1), "link_seconds": linked - begun, "seconds": seconds,
    }  # fmt: skip


def loss(corpus: str) -> dict[str, Any]:
    """Pairs of one cluster that the shortcuts still join, and the clusters of shorter cells, on a sample."""
    cells = np.concatenate([kept_marks(file) for file in Corpus(corpus).files()])
    cells = cells[:: max(1, len(cells) // _SAMPLE)]
    exact = _exact(cells)
    path = Path(corpus) / ".bench-marks"
    cells.tofile(path)
    try:
        with LocalEngine(workers=1) as engine:
            found = link_pages(Marks(str(path), len(cells), CELLS), StyleParams(), engine)
    finally:
        path.unlink()
    answer: dict[str, Any] = {"pages": len(cells), "recall": _joined(exact, found) / _joined(exact, exact)}
    equal = all_pairs(cells).astype(np.int32)
    for bits in (8, 5, 4):
        short = np.where(cells != 0, cells % (2**bits - 1) + 1, 0).astype(np.uint16)
        others = _exact(short)
        answer[f"bits {bits}"] = {
            "bytes": CELLS * bits // 8,
            "extra cells": float((all_pairs(short).astype(np.int32) - equal).mean()),
            "pairs kept": _joined(exact, others) / _joined(exact, exact),
            "pairs wrong": 1 - _joined(exact, others) / _joined(others, others),
        }
    return answer


def _exact(cells: npt.NDArray[np.uint16]) -> npt.NDArray[np.int64]:
    a, b = np.nonzero(np.triu(all_pairs(cells) > StyleParams().t, 1))
    groups: npt.NDArray[np.int64] = components(len(cells), a, b)
    return groups


def _joined(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> int:
    """Pairs of pages that both partitions join."""
    counts = np.unique(np.stack([one, other]), axis=1, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


if __name__ == "__main__":
    command, path, *numbers = sys.argv[1:]
    run: dict[str, Any] = {"make": make, "link": link, "loss": loss}
    print(json.dumps(run[command](path, *map(int, numbers))))
