"""Phrases: near-duplicates, popular phrases, and pages and hosts made of them (Fetterly, Manasse, Najork 2005).

Each page is read once, for its shingles; all that follows is a matter of shingles, but for the text of what is
shown and the exact resemblance of near-duplicates.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile, write_table
from unquilt.detectors.duplicates import near_duplicates
from unquilt.detectors.phrases.classes import Classes, find_classes, measure_classes
from unquilt.detectors.phrases.covers import draw_pages, find_covers
from unquilt.detectors.phrases.params import ClassParams, PhraseParams
from unquilt.detectors.phrases.popular import count_popular, exchange_shingles, list_popular, name_phrases
from unquilt.detectors.phrases.shingles import share_shingles
from unquilt.detectors.sites import PageArray, page_arrays
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.result import Result
from unquilt.schema import CLASSES, DEDUP, PHRASE_HOSTS, PHRASE_PAGES, POPULARITY


def find_phrases(
    corpus: Corpus,
    params: PhraseParams = PhraseParams(),
    *,
    engine: Engine | None = None,
) -> Result:
    """Near-duplicate classes, popular phrases, what pages full of them are made of, and the hosts that have them."""
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "phrases")
        arrays = stack.enter_context(page_arrays(corpus))
        shingles = stack.enter_context(share_shingles(corpus, params, engine))
        classes = find_classes(corpus, shingles, params, engine)
        keepers = arrays.save("keepers", classes.keepers)
        resemblance = measure_classes(corpus, classes, keepers, params, engine)
        by_value = stack.enter_context(exchange_shingles(corpus.pages, shingles, params, engine))
        counts = arrays.save("popular", count_popular(corpus, by_value, keepers, params, engine))
        pages = describe_pages(corpus, counts, keepers, params, engine)
        hosts = rank_hosts(pages, params)
        suspects = hosts.filter(hosts["suspect"])["host"].to_pylist()
        drawn = draw_pages(pages, params.host or next(iter(suspects), ""), params)
        covers = find_covers(corpus, (shingles, by_value), drawn, pages, keepers, arrays, params, engine)
        ranked, popularity = list_popular(corpus.pages, by_value, keepers, params, engine)
        tables = {
            "classes": describe_classes(classes, resemblance),
            "popular": name_phrases(corpus, ranked, params, engine),
            "popularity": popularity.cast(POPULARITY),
            "pages": pages,
            "covers": covers,
            "hosts": hosts,
        }
    return Result("phrases", tables, params.as_dict(), corpus.digest)


def find_duplicates(
    corpus: Corpus,
    params: ClassParams = ClassParams(),
    *,
    engine: Engine | None = None,
) -> Result:
    """Which pages to keep and which to drop as near-duplicates, each with the page that is kept in its place."""
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "phrases")
        keepers, resemblance = near_duplicates(corpus, params, engine)
        pages = engine.gather(
            engine.map(name_pages, corpus.files(), name="Naming pages", label=lambda file: file.label),
            pa.schema([DEDUP.field("url")]),
        )
    is_kept = keepers == np.arange(corpus.pages, dtype=np.uint32)
    kept = pages["url"].take(pa.array(keepers))
    table = pa.table([pages["url"], pa.array(is_kept), kept, resemblance], schema=DEDUP)
    return Result("dedup", {"pages": table}, params.as_dict(), corpus.digest)


def write_duplicates(result: Result, path: Path) -> Path:
    """Write the list of pages to keep and to drop as the file's ending says, .parquet or .jsonl."""
    table = result.tables["pages"]
    if path.suffix == ".parquet":
        write_table(table, path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        for batch in table.to_batches(max_chunksize=1 << 14):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
    temporary.replace(path)
    return path


def name_pages(file: PartFile) -> pa.Table:
    return pa.concat_tables(file.batches(["url"])).cast(pa.schema([DEDUP.field("url")]))


def describe_classes(classes: Classes, resemblance: npt.NDArray[np.float64]) -> pa.Table:
    """The classes with how well they hold together."""
    members = classes.members
    keepers = members["keeper"].to_numpy()
    if not len(keepers):
        return CLASSES.empty_table()
    is_new = np.diff(keepers.astype(np.int64), prepend=-1) != 0  # pages of one class follow each other
    numbers = np.cumsum(is_new) - 1
    is_keeper = members["page"].to_numpy() == keepers
    sizes = np.bincount(numbers)
    others = np.where(is_keeper, 0.0, resemblance)
    means = np.bincount(numbers, weights=others) / (sizes - 1)
    weakest = np.minimum.reduceat(resemblance, np.flatnonzero(is_new))
    domains = members["domain"].combine_chunks().fill_null("").dictionary_encode().indices.to_numpy()
    cross_site = np.bincount(numbers, weights=domains != domains[np.flatnonzero(is_new)][numbers]) > 0
    return pa.table(
        [
            numbers, members["url"], pa.array(is_keeper), resemblance, means[numbers], weakest[numbers], sizes[numbers],
            pa.array(cross_site[numbers]), members["page"].cast(pa.int64()),
        ],
        schema=CLASSES,
    )  # fmt: skip


def describe_pages(
    corpus: Corpus, counts: PageArray, keepers: PageArray, params: PhraseParams, engine: Engine
) -> pa.Table:
    """Every page with its popular count."""
    step = partial(describe_part, counts=counts, keepers=keepers, shingles=params.shingles)
    found = engine.map(step, corpus.files(), name="Describing pages", label=lambda file: file.label)
    return engine.gather(found, PHRASE_PAGES)


def describe_part(file: PartFile, *, counts: PageArray, keepers: PageArray, shingles: int) -> pa.Table:
    table = pa.concat_tables(file.batches(["url", "host", "words"]))
    here = slice(file.first, file.first + file.pages)
    popular = np.asarray(counts.load())[here]
    is_keeper = np.asarray(keepers.load())[here] == np.arange(here.start, here.stop, dtype=np.uint32)
    has_words = pc.greater(table["words"].fill_null(0), 0)
    originality = pc.if_else(has_words, pa.array(1 - popular.astype(np.float64) / shingles), None)
    return pa.table(
        [table["url"], table["host"], popular.astype(np.int32), originality, pa.array(is_keeper)], schema=PHRASE_PAGES
    )


def rank_hosts(pages: pa.Table, params: PhraseParams) -> pa.Table:
    """Hosts with their popular counts; suspects first, then the others, each by the number of their pages."""
    counted = pages.filter(pc.and_(pages["representative"], pages["originality"].is_valid()))
    popular = counted["popular"].cast(pa.int64())
    squares = pa.table([counted["host"], popular, pc.multiply(popular, popular)], names=["host", "popular", "square"])
    grouped = squares.group_by("host").aggregate([("popular", "count"), ("popular", "sum"), ("square", "sum")])
    # Of whole numbers the sums do not depend on their order, so neither do the means.
    count, total, square = (grouped[name].to_numpy() for name in ("popular_count", "popular_sum", "square_sum"))
    mean, deviation = total / count, np.sqrt((count * square - total * total) / (count * count))
    originality = 1 - mean / params.shingles
    is_suspect = (count >= params.min_pages) & (mean >= params.min_mean) & (deviation < params.max_deviation)
    hosts = pa.table([grouped["host"], count, mean, deviation, originality, is_suspect], schema=PHRASE_HOSTS)
    return hosts.sort_by([("suspect", "descending"), ("pages", "descending"), ("host", "ascending")])
