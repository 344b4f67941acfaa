"""Informed discovery: the labelled content that a user brings."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile
from unquilt.detectors.reuse.digests import Digests, Words, check_chunks, column_words, lists_of
from unquilt.detectors.reuse.labelled import Exact, Labelled, is_labelled_set
from unquilt.engines import Engine
from unquilt.errors import BadInput, CorpusMismatch
from unquilt.ingest.chunks import Cutter
from unquilt.ingest.params import IngestParams


@dataclass(frozen=True, slots=True)
class Given:
    """Files and chunks to look for, and the domains they came from."""

    chunks: Digests
    files: Digests
    domains: frozenset[str] = frozenset()


def load_given(path: str, cutter: Cutter, engine: Engine, *, min_bytes: int) -> Given:
    """The content of a corpus, a labelled set, or anything that can be ingested."""
    if is_labelled_set(Path(path)):
        return _of_set(path, cutter)
    with ExitStack() as stack:
        if (Path(path) / "corpus.json").exists():
            other = Corpus(path)
        else:
            from unquilt.ingest.run import ingest_crawl

            folder = stack.enter_context(TemporaryDirectory(prefix="unquilt-labelled-"))
            params = IngestParams(cutter=cutter.name, normalize=cutter.normalize)
            other = ingest_crawl([path], Path(folder) / "labelled.corpus", params, engine=engine).corpus
        _check_cut(path, str(other.settings.get("chunks")), cutter)
        check_chunks(other)
        return digests_of_corpus(other, engine, min_bytes=min_bytes)


def digests_of_corpus(corpus: Corpus, engine: Engine, *, min_bytes: int) -> Given:
    """Every file and chunk of a corpus that is long enough."""
    step = partial(digests_of_part, min_bytes=min_bytes)
    chunks, files, domains = [np.empty(0, np.uint32)], [np.empty(0, np.uint32)], set[str]()
    for some, whole, names in engine.map(
        step, corpus.files(), name="Reading labelled pages", label=lambda file: file.label
    ):
        chunks.append(some)
        files.append(whole)
        domains |= set(names)
    return Given(Digests.make(np.concatenate(chunks)), Digests.make(np.concatenate(files)), frozenset(domains))


def digests_of_part(file: PartFile, *, min_bytes: int) -> tuple[Words, Words, list[str]]:
    """The different chunks and files of a part, and its domains."""
    chunks, files, domains = [np.empty(0, np.uint32)], [np.empty(0, np.uint32)], set[str]()
    for table in file.batches(["chunk_sha1s", "chunk_sizes", "file_sha1", "bytes", "domain"]):
        words = column_words(lists_of(table["chunk_sha1s"])[0]).reshape(-1, 5)
        kept = lists_of(table["chunk_sizes"])[0].to_numpy() >= min_bytes
        chunks.append(Digests.make(words[kept].reshape(-1)).words)
        long = table.filter(pc.and_(pc.greater_equal(table["bytes"], min_bytes), pc.is_valid(table["file_sha1"])))
        files.append(column_words(long["file_sha1"]))
        domains |= set(table["domain"].unique().to_pylist())
    return Digests.make(np.concatenate(chunks)).words, np.concatenate(files), sorted(domains - {None})


def _of_set(path: str, cutter: Cutter) -> Given:
    labelled = Labelled.open(path)
    _check_cut(path, labelled.cutter.setting, cutter)
    if not isinstance(labelled.chunks, Exact) or not isinstance(labelled.files, Exact):
        raise BadInput(
            f"{path} is a Bloom filter, which cannot tell what it holds.",
            fix="Give an exact labelled set, or match pages against this one:  unquilt match",
        )
    return Given(labelled.chunks.digests, labelled.files.digests)


def _check_cut(path: str, setting: str, cutter: Cutter) -> None:
    if setting != cutter.setting:
        raise CorpusMismatch(
            f"{path} was cut into chunks by {setting!r}, the corpus by {cutter.setting!r}: they cannot be compared.",
            fix="Ingest one of them again with the --cutter and --normalize of the other.",
        )


def own_pages(corpus: Corpus, own: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which pages are of some domains or hosts."""
    names = pa.array(sorted({name.strip().lower() for name in own} - {""}), pa.string())
    found = [np.empty(0, bool)]
    for file in corpus.files():
        for table in file.batches(["domain", "host"]):
            is_own = pc.or_(pc.is_in(table["domain"], names), pc.is_in(table["host"], names))
            found.append(is_own.to_numpy())
    return np.concatenate(found)
