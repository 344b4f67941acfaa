"""A result: a detector's tables, with the parameters and the corpus they were made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.corpus import Corpus, write_atomically, write_table
from unquilt.errors import CorpusMismatch, NotACorpus

RESULT_JSON = "result.json"


@dataclass(frozen=True, slots=True)
class Result:
    """What a detector found."""

    detector: str
    tables: Mapping[str, pa.Table]
    params: Mapping[str, Any]
    corpus_digest: str

    def save(self, corpus: Corpus) -> Path:
        """Write the tables next to the corpus, as results/<detector>/<table>.parquet; the folder."""
        folder = corpus.results / self.detector
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RESULT_JSON).unlink(missing_ok=True)  # until the last table is there, the result is not
        for name, table in self.tables.items():
            write_table(table, folder / f"{name}.parquet")
        known = {"params": dict(self.params), "corpus": self.corpus_digest, "tables": list(self.tables)}
        write_atomically(folder / RESULT_JSON, (json.dumps(known, indent=1) + "\n").encode())
        return folder


def load_result(corpus: Corpus, detector: str, *, params: Mapping[str, Any] | None = None) -> Result:
    """A result saved earlier. One made from other pages, or with other ``params``, is refused."""
    known = check_result(corpus, detector, params=params)
    folder = corpus.results / detector
    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in known["tables"]}
    return Result(detector, tables, known["params"], known["corpus"])


def check_result(corpus: Corpus, detector: str, *, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What is known of a result saved earlier, without reading its tables; refused as by ``load_result``."""
    run = f"Make it:  unquilt {detector} {corpus.path}"
    try:
        known: dict[str, Any] = json.loads((corpus.results / detector / RESULT_JSON).read_bytes())
    except FileNotFoundError:
        raise NotACorpus(f"{corpus.path} has no result of {detector}.", fix=run) from None
    if known["corpus"] != corpus.digest:
        raise CorpusMismatch(f"The result of {detector} was made before {corpus.path} changed.", fix=run)
    if params is not None and known["params"] != dict(params):
        raise CorpusMismatch(f"The result of {detector} was made with other parameters: {known['params']}.", fix=run)
    return known


def result_files(corpus: Corpus, detector: str) -> dict[str, str] | None:
    """The Parquet files of a result by table; None if there is none for the pages the corpus has now."""
    try:
        known = check_result(corpus, detector)
    except (NotACorpus, CorpusMismatch):
        return None
    return {name: str(corpus.results / detector / f"{name}.parquet") for name in known["tables"]}
