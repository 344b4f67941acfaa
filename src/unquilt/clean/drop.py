"""Which pages are dropped as near-duplicates, and which are kept in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.clean.params import CleanParams
from unquilt.corpus import Corpus
from unquilt.detectors.phrases.classes import find_classes, measure_classes
from unquilt.detectors.phrases.params import ClassParams
from unquilt.detectors.phrases.shingles import share_shingles
from unquilt.detectors.sites import PageArray, PageArrays
from unquilt.engines import Engine

DROPS = pa.schema(
    [
        ("number", pa.uint32()),
        ("kept_page", pa.int64()),
        ("kept_url", pa.string()),
        ("resemblance", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Drops:
    """keepers: for each page the one kept in its place, or itself; path: those that are dropped, as Arrow file."""

    keepers: PageArray
    path: str

    def load(self) -> pa.Table:
        """DROPS, by page; from a file that workers map."""
        return pa.ipc.open_file(pa.memory_map(self.path)).read_all()


def find_drops(corpus: Corpus, params: CleanParams, engine: Engine, arrays: PageArrays) -> Drops:
    """The pages that are near-duplicates of pages that are kept, if they are to be dropped."""
    if params.pages:
        table, keepers = _drop_duplicates(corpus, ClassParams(verify=params.verify), engine, arrays)
    else:
        table = DROPS.empty_table()
        keepers = arrays.save("keepers", np.arange(corpus.pages, dtype=np.uint32))
    path = str(arrays.path("drops.arrow"))
    with pa.ipc.new_file(path, DROPS) as writer:
        writer.write_table(table)
    return Drops(keepers, path)


def _drop_duplicates(
    corpus: Corpus, params: ClassParams, engine: Engine, arrays: PageArrays
) -> tuple[pa.Table, PageArray]:
    with share_shingles(corpus, params, engine) as shingles:
        classes = find_classes(corpus, shingles, params, engine)
    keepers = arrays.save("keepers", classes.keepers)
    resemblance = measure_classes(corpus, classes, keepers, params, engine)
    members = classes.members
    ids = corpus.read(["page"])["page"]
    urls = members["url"].take(pc.index_in(members["keeper"], members["page"].combine_chunks()))
    table = pa.table([members["page"], ids.take(members["keeper"]), urls, pa.array(resemblance)], schema=DROPS)
    table = table.filter(pc.not_equal(members["page"], members["keeper"]))
    return table.sort_by("number").combine_chunks(), keepers
