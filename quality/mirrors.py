"""Mirrors on real hosts: how well stage I ranks pairs, and whether stage II gives the right level.

``urls_public``: URLs of Debian documentation packages in two suites, a package of a suite standing for a host; a pair
is true if its paths have a Jaccard similarity of at least 0.5. ``mirrors_public``: 22 hosts, 24 pairs with levels;
every other pair is a mismatch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

from quality.gate import JudgedSet
from unquilt.corpus import Corpus
from unquilt.detectors.mirrors.find import find_mirrors
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.engines.local import LocalEngine
from unquilt.ingest.run import ingest_crawl

_RECALLS = (0.86, 0.90, 0.96)
_MIN_URLS = 20
_TRUE_JACCARD = 0.5

Pair = tuple[str, str]


def ranking_figures(files: Sequence[Path]) -> dict[str, float]:
    """Stage I, from a list of URLs and its truth."""
    with TemporaryDirectory() as folder, LocalEngine() as engine:
        corpus = ingest_crawl([str(files[0])], Path(folder) / "urls.corpus", engine=engine).corpus
        return _ranking(corpus, files[1], engine)


def level_figures(files: Sequence[Path]) -> dict[str, float]:
    """Stage II, from a crawl and its truth."""
    with TemporaryDirectory() as folder, LocalEngine() as engine:
        corpus = ingest_crawl([str(files[0])], Path(folder) / "crawl.corpus", engine=engine).corpus
        return _levels(corpus, files[1], engine)


def _rows(path: Path) -> list[list[str]]:
    lines = path.read_text("utf-8").splitlines()[1:]
    return [line.split("\t") for line in lines if not line.startswith("#")]


def _ordered(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


def _ranking(corpus: Corpus, truth: Path, engine: LocalEngine) -> dict[str, float]:
    true = {
        _ordered(row[0], row[1])
        for row in _rows(truth)
        if float(row[6]) >= _TRUE_JACCARD and min(int(row[3]), int(row[4])) >= _MIN_URLS
    }
    found = find_mirrors(corpus, MirrorParams(min_urls=_MIN_URLS, pages="none"), engine=engine).tables["candidates"]
    figures = {f"stage1_precision_at_recall_{recall:.2f}": 0.0 for recall in _RECALLS}
    right = 0
    pairs = zip(found["host_a"].to_pylist(), found["host_b"].to_pylist(), strict=True)
    for seen, pair in enumerate(pairs, 1):
        right += pair in true
        for recall in _RECALLS:
            name = f"stage1_precision_at_recall_{recall:.2f}"
            if not figures[name] and right >= recall * len(true):
                figures[name] = right / seen
    return figures


def _levels(corpus: Corpus, truth: Path, engine: LocalEngine) -> dict[str, float]:
    """The share of candidates, and of the true pairs when all pairs are named, whose level is right.

    A pair that shares no path in the crawl is undecided, which is right: nothing is known against it.
    """
    true = {_ordered(row[0], row[1]): row[2] for row in _rows(truth)}
    own = find_mirrors(corpus, MirrorParams(min_urls=5), engine=engine).tables["pairs"]
    candidates = Counter(level == true.get(pair, "mismatch") for pair, level in _found(own).items())
    hosts = sorted({host for pair in true for host in pair} | set(corpus.read(["host"])["host"].to_pylist()))
    params = MirrorParams(min_urls=1, modulus=1)
    every = _found(find_mirrors(corpus, params, named=list(combinations(hosts, 2)), engine=engine).tables["pairs"])
    right = [every[pair] == level for pair, level in true.items()]
    others = [level in ("mismatch", "undecided") for pair, level in every.items() if pair not in true]
    return {
        "candidate_levels_right": candidates[True] / max(candidates.total(), 1),
        "levels_right": sum(right) / len(right),
        "others_not_called_mirrors": sum(others) / len(others),
    }


def _found(pairs: object) -> dict[Pair, str]:
    columns = (pairs[name].to_pylist() for name in ("host_a", "host_b", "level"))  # type: ignore[index]
    return {(a, b): level for a, b, level in zip(*columns, strict=True)}


SETS = {
    "urls": JudgedSet(
        lambda folder: [folder / "urls_public.tsv.gz", folder / "urls_public.truth.tsv"], ranking_figures
    ),
    "levels": JudgedSet(
        lambda folder: [folder / "mirrors_public.warc.gz", folder / "mirrors_public.truth.tsv"], level_figures
    ),
}
