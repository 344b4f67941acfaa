"""How much a copied site must be changed until it is not found any more: the paper's experiment on any host."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.reuse.detect import share_of
from unquilt.detectors.reuse.digests import Digests, check_chunks, column_words, lists_of, words_of
from unquilt.detectors.reuse.robustness_params import RobustnessParams
from unquilt.detectors.reuse.stop_chunks import stop_digests
from unquilt.detectors.sites import PageArray, page_arrays, text_buffers
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput
from unquilt.ingest.chunks import Cutter
from unquilt.kernels.mutation import mutate
from unquilt.kernels.prefixes import folders
from unquilt.result import Result
from unquilt.schema import ROBUSTNESS

CHANGES = ("add", "delete", "change")
SETS = ("expert", "blind")
PAPER = {
    ("add", "expert", "pages"): 4.5, ("add", "blind", "pages"): 3.4,
    ("change", "expert", "pages"): 2.0, ("change", "blind", "pages"): 1.8,
    ("add", "expert", "neighborhood"): 5.4, ("add", "blind", "neighborhood"): 4.4,
}  # fmt: skip
"""Multiples of the mean chunks a page at which the paper lost blog.archive.org (4,626 pages of 48 chunks)."""

PAGES = pa.schema([("url", pa.string()), ("host", pa.string()), ("chunk_sha1s", pa.list_(pa.binary(20)))])
LOST = pa.schema(
    [
        ("change", pa.string()), ("labelled", pa.string()), ("what", pa.string()), ("multiple", pa.float64()),
        ("paper", pa.float64()),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Site:
    """A site's chunks in files that workers map: bounds of pages, membership in the sets, pages of each folder."""

    offsets: PageArray
    labelled: PageArray  # bit 0: expert, bit 1: blind
    folders: PageArray  # pairs of a page and a neighborhood it is in
    points: tuple[int, ...]


def measure_robustness(corpus: Corpus, params: RobustnessParams, *, engine: Engine | None = None) -> Result:
    """Badness and detection of a host's pages and neighborhoods, as more and more of their chunks are changed."""
    check_chunks(corpus)
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        arrays = stack.enter_context(page_arrays(corpus))
        pages = _pages_of(corpus, engine, params)
        flags, offsets = _chunks_of(pages, corpus, params)
        mean = float(np.diff(offsets).mean())
        points = np.unique(np.linspace(0, params.most * mean, params.steps + 1).round().astype(np.int64))
        pairs = _neighborhoods_of(pages)
        site = Site(
            arrays.save("bounds", offsets.astype(np.uint32)), arrays.save("sets", flags.astype(np.uint32)),
            arrays.save("folders", pairs.astype(np.uint32).reshape(-1)), tuple(points.tolist()),
        )  # fmt: skip
        items = [(change, name, turn) for change in CHANGES for name in SETS for turn in range(params.rounds)]
        found = engine.map(partial(run_round, site=site, params=params), items, name="Changing pages", label=str)
        curves = dict(zip(items, found, strict=True))
    rows = [row for change in CHANGES for name in SETS for row in _rows(curves, change, name, points, mean, params)]
    table = pa.Table.from_pylist(rows, ROBUSTNESS)
    lost = [
        _lost(table, key, params)
        for key in [*PAPER, ("change", "expert", "neighborhood"), ("change", "blind", "neighborhood")]
    ]
    facts = params.as_dict()
    return Result("robustness", {"robustness": table, "lost": pa.Table.from_pylist(lost, LOST)}, facts, corpus.digest)


def _pages_of(corpus: Corpus, engine: Engine, params: RobustnessParams) -> pa.Table:
    step = partial(pages_of_part, host=params.host.lower())
    files = corpus.files()
    found = engine.map(step, files, name="Reading the site", label=lambda file: file.label)
    pages = engine.gather(found, PAGES)
    if not len(pages):
        raise BadInput(
            f"{corpus.path} has no pages of {params.host or 'a host that is not named'} with chunks.",
            fix=f"Name a host with --host; the largest are listed by:  unquilt info {corpus.path}",
        )
    return pages


def pages_of_part(file: PartFile, *, host: str) -> pa.Table:
    tables = [PAGES.empty_table()]
    for table in file.batches(PAGES.names):
        tables.append(table.filter(pc.and_(pc.equal(table["host"], host), pc.is_valid(table["chunk_sha1s"]))))
    return pa.concat_tables([table.select(PAGES.names).cast(PAGES) for table in tables])


def _chunks_of(
    pages: pa.Table, corpus: Corpus, params: RobustnessParams
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Which sets each chunk is in, without stop chunks, and where the chunks of each page begin."""
    values, offsets = lists_of(pages["chunk_sha1s"])
    words = column_words(values)
    cutter = Cutter.of_setting(corpus.settings.get("chunks", "p"))
    stops = Digests.make(words_of(b"".join(stop_digests(params.stop_chunks, cutter))))
    kept = stops.find(words) < 0
    known = Digests.make(words)
    which = known.find(words)
    often = np.bincount(which, minlength=len(known))[which] > params.blind
    before = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    return (1 + 2 * often)[kept], before[offsets]


def _neighborhoods_of(pages: pa.Table) -> npt.NDArray[np.int64]:
    """Pairs of a page and a neighborhood it is in: int64[pairs, 2]; the site itself is number 0."""
    names, cuts = folders(*text_buffers(pages["url"]), *text_buffers(pages["host"]))
    known: dict[bytes, int] = {}
    pairs = []
    data = names.tobytes()
    for page in range(len(pages)):
        name = data[cuts[page] : cuts[page + 1]]
        at = name.find(b"/")
        while at >= 0:
            pairs.append((page, known.setdefault(name[: at + 1], len(known))))
            at = name.find(b"/", at + 1)
    return np.array(pairs, np.int64)


def run_round(item: tuple[str, str, int], *, site: Site, params: RobustnessParams) -> npt.NDArray[np.float64]:
    """One round: for each point page badness, share of pages detected, chunks left, site badness, neighborhoods."""
    change, name, turn = item
    labelled = site.labelled.load() & np.uint32(1 << SETS.index(name)) > 0
    points = np.array(site.points, np.int64)
    seed = (params.seed * 1_000_003 + turn * 31 + CHANGES.index(change)) % 2**32
    hits, totals = mutate(labelled, site.offsets.load().astype(np.int64), CHANGES.index(change), points, seed)
    pairs = site.folders.load().reshape(-1, 2)
    out = np.zeros((len(points), 5))
    for p in range(len(points)):
        alive = totals[p] > 0
        badness = share_of(hits[p], totals[p])
        sums = [np.bincount(pairs[:, 1], weights=some[p][pairs[:, 0]]) for some in (hits, totals)]
        around = share_of(sums[0], sums[1])
        out[p] = (
            badness[alive].mean() if alive.any() else np.nan,
            (badness > params.page_threshold).mean(),
            totals[p][alive].mean() if alive.any() else 0.0,
            around[0] if sums[1][0] else np.nan,
            (around > params.neighborhood_threshold).mean(),
        )
    return out


def _rows(
    curves: dict[tuple[str, str, int], npt.NDArray[np.float64]], change: str, name: str, points: npt.NDArray[np.int64],
    mean: float, params: RobustnessParams,
) -> list[dict[str, Any]]:  # fmt: skip
    rounds = np.stack([curves[change, name, turn] for turn in range(params.rounds)])
    means, errors = rounds.mean(axis=0), rounds.std(axis=0) / np.sqrt(params.rounds)
    columns = ("page_badness", "pages_detected", "chunks_left", "site_badness", "neighborhoods_detected", "page_error")
    measured = np.column_stack([means, errors[:, 0]]).tolist()
    return [
        {"change": change, "labelled": name, "chunks": int(point), "relative": float(point / mean)}
        | {column: None if np.isnan(value) else value for column, value in zip(columns, row, strict=True)}
        for point, row in zip(points, measured, strict=True)
    ]


def _lost(table: pa.Table, key: tuple[str, str, str], params: RobustnessParams) -> dict[str, Any]:
    """The multiple of the mean chunks a page at which mean badness falls to the threshold; null if it never does."""
    change, name, what = key
    rows = [row for row in table.to_pylist() if (row["change"], row["labelled"]) == (change, name)]
    column = "page_badness" if what == "pages" else "site_badness"
    threshold = params.page_threshold if what == "pages" else params.neighborhood_threshold
    multiple = 0.0 if rows[0][column] <= threshold else None
    for before, after in pairwise([row for row in rows if row[column] is not None]):
        if before[column] > threshold >= after[column]:
            share = (before[column] - threshold) / (before[column] - after[column])
            multiple = before["relative"] + share * (after["relative"] - before["relative"])
            break
    return {"change": change, "labelled": name, "what": what, "multiple": multiple, "paper": PAPER.get(key)}
