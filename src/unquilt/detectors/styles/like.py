"""One to all: every page by its similarity to given ones, and the gaps in that curve, where templates end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.sites import page_arrays
from unquilt.detectors.styles.marks import Cells, Marks, write_marks
from unquilt.detectors.styles.params import LikeParams
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, NoInput
from unquilt.result import Result
from unquilt.schema import STYLE_CURVE, STYLE_GAPS, STYLE_LIKE

_WINDOW = 0.01  # of the pages before it: how soon a gap must fall
_FOUND = pa.schema([("page", pa.uint32()), ("url", pa.string()), ("cells", pa.uint32()), ("like", pa.uint32())])


def find_like(
    corpus: Corpus, given: Sequence[str], params: LikeParams = LikeParams(), *, engine: Engine | None = None
) -> Result:
    """Every page by decreasing similarity to the given ones.

    Each of ``given`` is the URL of a page in the corpus, an HTML file, or a file with a URL on each line. Pages
    without an equal cell are only counted, in the curve.
    """
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        arrays = stack.enter_context(page_arrays(corpus))
        marks = write_marks(corpus, params, engine, arrays.path("marks"))
        names, references = read_references(corpus, given, marks, params, engine)
        step = partial(similar_pages, marks=marks, references=references)
        found = list(engine.map(step, corpus.files(), name="Comparing pages", label=lambda file: file.label))
    table = engine.gather((one[0] for one in found), _FOUND)
    counts = sum((one[1] for one in found), np.zeros(params.m + 1, np.int64))
    cells = table["cells"].to_numpy().astype(np.int64)
    order = pa.array(np.lexsort((table["page"].to_numpy(), -cells)))
    like = pa.array(names, pa.string()).take(table["like"]) if len(table) else pa.array([], pa.string())
    rows = pa.table([table["url"], cells / params.m, cells, like], schema=STYLE_LIKE).take(order)
    curve = pa.table([np.arange(params.m, -1, -1), counts[::-1]], schema=STYLE_CURVE)
    tables = {"like": rows, "gaps": find_gaps(counts, params.gap), "curve": curve}
    return Result("styles-like", tables, params.as_dict() | {"given": list(given)}, corpus.digest)


def similar_pages(file: PartFile, *, marks: Marks, references: Cells) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """The pages of a part that have a cell in common with a reference, and how many have how many."""
    from unquilt.kernels.styles import most_similar

    best, which = most_similar(marks.load()[file.first : file.first + file.pages], references)
    rows = np.flatnonzero(best)
    urls = pa.concat_tables(file.batches(["url"]))["url"].take(pa.array(rows))
    found = pa.table([(rows + file.first).astype(np.uint32), urls, best[rows], which[rows]], schema=_FOUND)
    return found, np.bincount(best, minlength=marks.m + 1)


def find_gaps(counts: npt.NDArray[np.int64], gap: int) -> pa.Table:
    """Where the curve falls by at least ``gap`` cells while the pages before it grow by at most a hundredth, or one.

    counts: int64[m + 1], how many pages have how many equal cells. Of gaps that overlap the deepest is one.
    """
    reached = np.cumsum(counts[::-1])[::-1]  # pages with at least so many
    found: list[tuple[int, int, int]] = []
    for above in np.flatnonzero(counts)[::-1].tolist():
        rank = int(reached[above])
        if rank == reached[0]:
            break
        next_rank = min(rank + max(1, int(rank * _WINDOW)), int(reached[0]))
        below = int(np.flatnonzero(reached >= next_rank)[-1])
        if above - below < gap:
            continue
        if found and above > found[-1][2]:
            if above - below > found[-1][1] - found[-1][2]:
                found[-1] = (rank, above, below)
        else:
            found.append((rank, above, below))
    columns = list(zip(*found, strict=True)) if found else [(), (), ()]
    return pa.table([pa.array(column, pa.int64()) for column in columns], schema=STYLE_GAPS)


def read_references(
    corpus: Corpus, given: Sequence[str], marks: Marks, params: LikeParams, engine: Engine
) -> tuple[list[str], Cells]:
    """The names and the fingerprints of the given pages."""
    if not given:
        raise NoInput("No page was given to compare with.", fix="Name a URL of the corpus or an HTML file:  --like URL")
    files: dict[str, bytes] = {}
    urls: list[str] = []
    for one in given:
        source = Path(one).read_bytes() if "://" not in one and Path(one).is_file() else None
        if source is None:
            urls.append(one)
        elif source.lstrip()[:1] == b"<":
            files[one] = source
        else:
            urls += _listed(source)
    urls = list(dict.fromkeys(urls))
    places = _find_urls(corpus, urls, engine)
    cells = [_cells_of_file(source, corpus, params) for source in files.values()]
    known = marks.load()
    names = [*files, *(url for url in urls if url in places)]
    references = np.array([*cells, *(known[places[url]] for url in urls if url in places)], np.uint16)
    if not references.any():
        raise BadInput(
            "The given pages have no fingerprint: they are too short, or not HTML.", fix="Name longer pages."
        )
    return names, references.reshape(len(names), params.m)


def _listed(source: bytes) -> Iterator[str]:
    lines = (line.strip() for line in source.decode("utf-8", "replace").splitlines())
    return (line for line in lines if line and not line.startswith("#"))


def _find_urls(corpus: Corpus, urls: list[str], engine: Engine) -> dict[str, int]:
    """The page of each URL that is in the corpus; at least one must be."""
    places: dict[str, int] = {}
    for found in engine.map(
        partial(pages_of_urls, urls=urls), corpus.files() if urls else [], name="Looking for URLs",
        label=lambda file: file.label,
    ):  # fmt: skip
        places |= found
    if urls and not places:
        some = f"None of the {len(urls):,} given URLs is" if len(urls) > 1 else f"{urls[0]} is not"
        raise BadInput(
            f"{some} in {corpus.path}.", fix="Give a URL as the corpus has it, or the page itself as an HTML file."
        )
    return places


def pages_of_urls(file: PartFile, *, urls: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    first = file.first
    for table in file.batches(["url"]):
        rows = np.flatnonzero(pc.is_in(table["url"], pa.array(urls)).to_numpy())
        found |= zip(table["url"].take(pa.array(rows)).to_pylist(), (rows + first).tolist(), strict=True)
        first += len(table)
    return found


def _cells_of_file(source: bytes, corpus: Corpus, params: LikeParams) -> npt.NDArray[np.uint16]:
    from unquilt.ingest.charset import to_utf8
    from unquilt.kernels.noise import cell_permutations
    from unquilt.kernels.parts import fingerprint_of

    utf8, _ = to_utf8(source, "")
    permutations = cell_permutations(corpus.settings["seed"], params.m)
    return fingerprint_of(np.frombuffer(utf8, np.uint8), params.variant, params.part_size, *permutations)
