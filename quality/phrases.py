"""Near-duplicates on judged pages."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from quality.agreement import adjusted_rand, area_under_curve, best_f1
from quality.gate import JudgedSet
from unquilt.corpus import Corpus
from unquilt.detectors.phrases.find import find_duplicates
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.phrases.shingles import functions_of
from unquilt.ingest.run import ingest_crawl
from unquilt.sample import sample_files

PARAMS = ClassParams()
SURE, NEAR, FAR = 0.965, 0.9, 0.77
"""Resemblances: found with a chance of .95; what a person would call nearly the same; found with a chance of .01."""


def measure_sample(files: Sequence[Path]) -> dict[str, float]:
    """The bundled pages, judged by the exact resemblance of every pair."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = ingest_crawl([str(file) for file in files], Path(folder) / "corpus").corpus
        kept = find_duplicates(corpus, PARAMS).tables["pages"]["kept"].to_pylist()
        exact = _all_resemblances(corpus)
    found = np.array([kept[i] == kept[j] for i, j in zip(*np.triu_indices(len(kept), 1), strict=True)])
    upper = exact[np.triu_indices(len(kept), 1)]
    return {
        "precision, resemblance above 0.77": float((upper[found] > FAR).mean()),
        "recall, resemblance from 0.965": float(found[upper >= SURE].mean()),
        "ARI with classes of resemblance from 0.9": adjusted_rand(kept, _components(exact >= NEAR)),
    }


def _all_resemblances(corpus: Corpus) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The Jaccard of the phrases of every two pages, by counting."""
    phrases, offsets = functions_of(PARAMS).phrases(corpus.read(["text"])["text"])
    sets = [np.unique(phrases[a:b]) for a, b in pairwise(offsets)]
    _, places, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    shared = np.cumsum(counts > 1) - 1
    matrix = np.zeros((len(sets), int(shared[-1]) + 1), np.float32)
    at = 0
    for row, some in enumerate(sets):
        mine = places[at : at + len(some)]
        matrix[row, shared[mine[counts[mine] > 1]]] = 1
        at += len(some)
    common = (matrix @ matrix.T).astype(np.float64)
    sizes = np.array([len(some) for some in sets], np.float64)
    return common / np.maximum(sizes[:, None] + sizes[None, :] - common, 1)


def _components(edges: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> list[int]:
    labels = list(range(len(edges)))
    for i, j in zip(*np.nonzero(np.triu(edges, 1)), strict=True):
        if labels[i] != labels[j]:
            old, new = labels[j], labels[i]
            labels = [new if label == old else label for label in labels]
    return labels


def _estimates(pairs: Sequence[tuple[str, str]]) -> tuple[list[float], list[bool]]:
    """The share of equal shingles of each pair, and whether it is joined."""
    one, other = (functions_of(PARAMS).sample(pa.chunked_array([[pair[i] for pair in pairs]])) for i in (0, 1))
    equal = one == other
    runs = equal.reshape(len(pairs), PARAMS.runs, PARAMS.run_length).all(axis=2)
    return equal.mean(axis=1).tolist(), (runs.sum(axis=1) >= PARAMS.agree).tolist()


def measure_copycat(files: Sequence[Path]) -> dict[str, float]:
    """Pairs of pages of the web, graded by people from 0.5 to 3, the same."""
    rows = [json.loads(line) for line in gzip.decompress(files[0].read_bytes()).splitlines()]
    rows = [row for row in rows if row["label"] != "unknown"]
    scores, joined = _estimates([(row["src"], row["target"]) for row in rows])
    is_near = [float(row["label"]) >= 2 for row in rows]
    hits = sum(near for near, yes in zip(is_near, joined, strict=True) if yes)
    return {
        "AUC for grade 2 and 3": area_under_curve(scores, is_near),
        "best F1 for grade 2 and 3": best_f1(scores, is_near),
        "precision of joined pairs": hits / max(sum(joined), 1),
        "recall of joined pairs": hits / sum(is_near),
    }


def measure_clough_stevenson(files: Sequence[Path]) -> dict[str, float]:
    """Short answers, written with or without an original at hand."""
    table, *texts = files
    by_name = {file.name: file.read_text("utf-8", "replace") for file in texts}
    rows = [row for row in csv.DictReader(table.open()) if row["Category"] != "orig" and row["File"] in by_name]
    scores, _ = _estimates([(by_name[row["File"]], by_name[f"orig_task{row['Task']}.txt"]) for row in rows])
    return {"AUC, copied against not": area_under_curve(scores, [row["Category"] != "non" for row in rows])}


def _clough_files(folder: Path) -> list[Path]:
    home = folder / "clough_stevenson"
    return [home / "file_information.csv", *sorted(home.glob("*_task*.txt"))] if home.is_dir() else []


SETS = {
    "sample": JudgedSet(lambda _: sample_files(), measure_sample),
    "copycat": JudgedSet(lambda folder: [folder / "copycat_pairs_public.jsonl.gz"], measure_copycat),
    "clough_stevenson": JudgedSet(_clough_files, measure_clough_stevenson),
}
