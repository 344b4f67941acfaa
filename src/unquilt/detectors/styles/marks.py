"""The fingerprints of all pages in one file that every step maps: a row of cells for each page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.styles.params import MarkParams
from unquilt.engines import Engine, working_on
from unquilt.errors import BadInput
from unquilt.ingest.params import STYLE_GRAM, IngestParams
from unquilt.schema import STYLE_CELLS

Cells = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Marks:
    """uint16[pages, m], in a file that workers map; a page that is not HTML has empty cells only."""

    path: str
    pages: int
    m: int

    def load(self) -> Cells:
        return _load(self.path, self.pages, self.m)


@lru_cache(maxsize=2)
def _load(path: str, pages: int, m: int) -> Cells:
    if not pages:
        return np.empty((0, m), np.uint16)
    return np.asarray(np.memmap(path, np.uint16, "r", shape=(pages, m)))


def are_kept(params: MarkParams) -> bool:
    """Whether a corpus holds these fingerprints, so that nothing needs to be read again."""
    return (params.variant, params.n, params.m) == ("noise", STYLE_GRAM, STYLE_CELLS)


def write_marks(corpus: Corpus, params: MarkParams, engine: Engine, path: Path) -> Marks:
    """Write the fingerprints of all pages to a file."""
    files = corpus.files()
    has_style = False
    step = kept_marks if are_kept(params) else partial(make_marks, params=params, settings=corpus.settings)
    with path.open("wb") as out:
        for cells in engine.map(step, files, name="Reading fingerprints", label=lambda file: file.label):
            has_style = has_style or bool(cells.any())
            out.write(cells.tobytes())
    if files and not has_style:
        raise BadInput(
            f"{corpus.path} has no HTML: it was made from texts or from a list of URLs, or its pages are too short.",
            fix="Styles are found in the source of pages. Ingest WARC, HTML, JSONL or Parquet files that hold it.",
        )
    return Marks(str(path), sum(file.pages for file in files), params.m)


def kept_marks(file: PartFile) -> Cells:
    """The fingerprints that ingest made, of the pages of a part."""
    return np.concatenate([cells_of(table["style"], STYLE_CELLS) for table in file.batches(["style"])])


def cells_of(column: pa.ChunkedArray, m: int) -> Cells:
    """uint16[rows, m] of a column of fingerprints; null is a page without any."""
    cells = np.zeros((len(column), m), np.uint16)
    at = 0
    for chunk in column.chunks:
        data = chunk.buffers()[1]
        if data is not None:
            rows = np.frombuffer(data, np.uint16).reshape(-1, m)[chunk.offset : chunk.offset + len(chunk)]
            is_known = chunk.is_valid().to_numpy(zero_copy_only=False)
            cells[at : at + len(chunk)] = np.where(is_known[:, None], rows, 0)
        at += len(chunk)
    return cells


def make_marks(file: PartFile, *, params: MarkParams, settings: Mapping[str, Any]) -> Cells:
    """Other fingerprints of the pages of a part, from the crawl they came from."""
    from unquilt.kernels.noise import cell_permutations
    from unquilt.kernels.parts import fingerprint_of

    cells = np.zeros((file.pages, params.m), np.uint16)
    shifts, masks = cell_permutations(settings["seed"], params.m)
    for row, source in read_sources(file, settings):
        cells[row] = fingerprint_of(np.frombuffer(source, np.uint8), params.variant, params.part_size, shifts, masks)
    return cells


def read_sources(
    file: PartFile, settings: Mapping[str, Any], only: npt.NDArray[np.int64] | None = None
) -> Iterator[tuple[int, bytes]]:
    """The source of each HTML page of a part in UTF-8, with its row; of ``only`` some rows."""
    from unquilt.ingest.again import COLUMNS, read_again

    wanted: list[dict[str, Any]] = []
    places: list[int] = []
    first = 0
    for table in file.batches([*COLUMNS, "style"]):
        is_html = table["style"].is_valid().to_numpy()
        rows = np.flatnonzero(is_html) if only is None else only[(only >= first) & (only < first + len(table))] - first
        places += (rows + first).tolist()
        wanted += table.select(COLUMNS).take(pa.array(rows)).to_pylist()
        first += len(table)
    params = IngestParams(status=settings["status"], max_page_bytes=settings["max_page_bytes"], seed=settings["seed"])
    for i, source in read_again(wanted, params):
        working_on(wanted[i]["url"])
        yield places[i], source
