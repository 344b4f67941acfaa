"""Styles on real documentation: do clusters keep the tools apart that made the pages, and how many pages do they reach?

The sample, data/styles.parquet, has the fingerprints of 2,085 pages of 24 Debian documentation packages with the
``meta generator`` and the package of each. A page's family is its generator without the version (Docutils and Sphinx
are one); without a generator it is its package.

    python -m quality.styles                      every setting, and the clusters of each tool
    python -m quality.styles make CORPUS LABELS   write the sample anew
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from quality.agreement import adjusted_rand
from quality.gate import JudgedSet
from unquilt.corpus import Corpus
from unquilt.detectors.sites import PageArrays
from unquilt.detectors.styles.find import Groups, link_pages
from unquilt.detectors.styles.marks import Marks, cells_of
from unquilt.detectors.styles.params import StyleParams
from unquilt.detectors.styles.second import join_groups
from unquilt.engines.local import LocalEngine

DATA = Path(__file__).parent / "data"
SAMPLE = "styles.parquet"
SETTINGS = {
    "paper": StyleParams(),
    "t=20": StyleParams(t=20),
    "t=50": StyleParams(t=50),
    "second": StyleParams(second=8),
    "second, t=50": StyleParams(t=50, second=8),
    "second=6": StyleParams(second=6),
}
Names = npt.NDArray[np.str_]


def measure(data: Path = DATA) -> dict[str, float]:
    """Purity, coverage, ARI by generator and the number of clusters at every setting."""
    sample = pq.read_table(data / SAMPLE)
    families, tools = families_of(sample), tools_of(sample)
    found: dict[str, float] = {}
    for name, params in SETTINGS.items():
        groups = cluster(sample, params)
        sizes = np.bincount(groups, minlength=len(groups))[groups]
        inside = np.flatnonzero(sizes > 1)
        pure = sum(max(Counter(families[groups == one].tolist()).values()) for one in np.unique(groups[inside]))
        found |= {
            f"{name} purity": pure / len(inside),
            f"{name} coverage": len(inside) / len(groups),
            f"{name} ari": adjusted_rand(groups.tolist(), tools.tolist()),
            f"{name} clusters": float(len(np.unique(groups[inside]))),
        }
    return found


def cluster(sample: pa.Table, params: StyleParams) -> Groups:
    """For each page of the sample the first page of its group."""
    cells = cells_of(sample["style"], params.m)
    with TemporaryDirectory() as folder, LocalEngine(workers=1) as engine:
        arrays = PageArrays(Path(folder))
        cells.tofile(arrays.path("marks"))
        marks = Marks(str(arrays.path("marks")), len(cells), params.m)
        groups = link_pages(marks, params, engine)
        return join_groups(marks, groups, params.second, arrays, engine) if params.second else groups


def tools_of(sample: pa.Table) -> Names:
    """The generator of each page, with its version; its package where it names none."""
    pairs = zip(sample["generator"].to_pylist(), sample["package"].to_pylist(), strict=True)
    return np.array([generator or package for generator, package in pairs])


def families_of(sample: pa.Table) -> Names:
    """The family of tools that made each page."""
    pairs = zip(sample["generator"].to_pylist(), sample["package"].to_pylist(), strict=True)
    return np.array([_family(generator, package) for generator, package in pairs])


def _family(generator: str, package: str) -> str:
    if not generator:  # libxml2's own stylesheets make all its pages, but only one of them says so
        return {"libxml2-doc": "Libxml2"}.get(package, package)
    return "Sphinx" if generator.startswith("Docutils") else generator.split()[0]


def measure_sample(files: Sequence[Path]) -> dict[str, float]:
    """What the gate watches: purity 1 means that no cluster mixes two families."""
    return {name: value for name, value in measure(files[0].parent).items() if not name.endswith("clusters")}


SETS = {"documentation": JudgedSet(lambda _folder: [DATA / SAMPLE], measure_sample)}


def make_sample(corpus: Corpus, labels: Path, out: Path = DATA / SAMPLE) -> None:
    """Write the sample: the fingerprints of a corpus, with the generators and packages of a table of labels."""
    with labels.open(encoding="utf-8") as file:
        known = {row["url"]: row for row in csv.DictReader(file, delimiter="\t")}
    pages = corpus.read(["url", "style"])
    rows = [known[url] for url in pages["url"].to_pylist()]
    columns = {
        "generator": [row["generator"] for row in rows],
        "package": [row["labels"].removeprefix("pkg=") for row in rows],
        "style": pages["style"].combine_chunks(),
    }
    pq.write_table(pa.table(columns), out, compression="zstd", compression_level=19)


def main() -> None:
    if sys.argv[1:2] == ["make"]:
        make_sample(Corpus(sys.argv[2]), Path(sys.argv[3]))
        return
    found = measure()
    print(f"{'setting':<14}{'clusters':>9}{'coverage':>10}{'purity':>8}{'ARI':>7}")
    for name in SETTINGS:
        clusters, coverage, purity, ari = (
            found[f"{name} {what}"] for what in ("clusters", "coverage", "purity", "ari")
        )
        print(f"{name:<14}{clusters:>9.0f}{coverage:>10.3f}{purity:>8.4f}{ari:>7.3f}")
    sample = pq.read_table(DATA / SAMPLE)
    families = families_of(sample)
    names = ("paper", "second")
    groups = {name: cluster(sample, SETTINGS[name]) for name in names}
    print(f"\n{'family':<24}{'pages':>6}   " + "   ".join(f"{name}: clusters, pages in them" for name in names))
    for family, pages in Counter(families.tolist()).most_common():
        shown = []
        for name in names:
            sizes = Counter(groups[name][families == family].tolist())
            shown.append(f"{sum(size > 1 for size in sizes.values()):>4}{sum(s for s in sizes.values() if s > 1):>6}")
        print(f"{family:<24}{pages:>6}   " + "   ".join(shown))


if __name__ == "__main__":
    main()
