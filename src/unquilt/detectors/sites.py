"""Which site a page belongs to, for every place that compares sites."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus, PartFile


@dataclass(frozen=True, slots=True)
class PageArray:
    """A number for each page of a corpus, in a file that workers map instead of receiving it with every task."""

    path: str

    def load(self) -> npt.NDArray[np.uint32]:
        return _load(self.path)


@lru_cache(maxsize=4)
def _load(path: str) -> npt.NDArray[np.uint32]:
    array: npt.NDArray[np.uint32] = np.load(path, mmap_mode="r")
    return np.asarray(array)


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """The files of a corpus, for steps whose buckets are files."""

    path: str

    def load(self) -> list[PartFile]:
        return _load_files(self.path)


@lru_cache(maxsize=1)
def _load_files(path: str) -> list[PartFile]:
    files: list[PartFile] = pickle.loads(Path(path).read_bytes())
    return files


@contextmanager
def page_arrays(corpus: Corpus) -> Iterator[PageArrays]:
    """A place next to the corpus for arrays that last as long as a job. Those of killed processes are removed."""
    mine = f".work-{socket.gethostname()}-"  # the corpus may lie where other machines work too
    for old in corpus.path.glob(f"{mine}*"):
        process = old.name.removeprefix(mine).partition("-")[0]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            shutil.rmtree(old, ignore_errors=True)
    with TemporaryDirectory(prefix=f"{mine}{os.getpid()}-", dir=corpus.path) as folder:
        yield PageArrays(Path(folder))


class PageArrays:
    """Writes page arrays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, name: str, values: npt.NDArray[np.uint32]) -> PageArray:
        path = self.path(f"{name}.npy")
        np.save(path, values)
        return PageArray(str(path))

    def save_files(self, files: list[PartFile]) -> SavedFiles:
        path = self.path("files.pickle")
        path.write_bytes(pickle.dumps(files))
        return SavedFiles(str(path))

    def path(self, name: str) -> Path:
        """Where another file of the job can be."""
        return self._folder / name


def site_numbers(corpus: Corpus, level: str) -> npt.NDArray[np.uint32]:
    """A number for the site of each page that counts: pages of one site have the same.

    A page whose address is not known belongs to the site of its domain.
    """
    return number_sites(corpus.files(), level)


def number_sites(files: list[PartFile], level: str) -> npt.NDArray[np.uint32]:
    """The same for the pages of files one after the other, which may be of several corpora."""
    if level == "none":
        return np.arange(sum(file.pages for file in files), dtype=np.uint32)
    known: dict[str, int] = {}
    found = [np.empty(0, np.uint32)]
    for file in files:
        for table in file.batches([level, "domain"] if level == "ip" else [level]):
            names = table[level].combine_chunks()
            if level == "ip":
                names = pc.coalesce(names, table["domain"].combine_chunks())
            encoded = names.fill_null("").dictionary_encode()
            codes = [known.setdefault(name, len(known)) for name in encoded.dictionary.to_pylist()]
            found.append(np.array(codes, np.uint32)[encoded.indices.to_numpy()])
    return np.concatenate(found)


def text_buffers(texts: pa.ChunkedArray) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """A column of texts as bytes and offsets; null is an empty text."""
    column = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if isinstance(column, pa.ChunkedArray):  # of more than 2 GiB
        raise ValueError("a row group holds more than 2 GiB of text")
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), bounds
