"""Which pages are dropped as near-duplicates, and which are kept in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unquilt.clean.params import CleanParams
from unquilt.corpus import Corpus
from unquilt.detectors.duplicates import near_duplicates
from unquilt.detectors.phrases.params import ClassParams
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
    keepers, table = np.arange(corpus.pages, dtype=np.uint32), DROPS.empty_table()
    if params.pages:
        keepers, resemblance = near_duplicates(corpus, ClassParams(verify=params.verify), engine)
        dropped = np.flatnonzero(keepers != np.arange(corpus.pages))
        kept = corpus.read(["page", "url"]).take(pa.array(keepers[dropped]))
        table = pa.table([dropped, kept["page"], kept["url"], resemblance[dropped]], schema=DROPS)
    path = str(arrays.path("drops.arrow"))
    with pa.ipc.new_file(path, DROPS) as writer:
        writer.write_table(table)
    return Drops(arrays.save("keepers", keepers), path)
