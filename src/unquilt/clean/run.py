"""Clean a crawl: drop near-duplicates, cut copies and boilerplate, and write what is left and what is not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from unquilt import __version__
from unquilt.clean.drop import find_drops
from unquilt.clean.find import share_passages
from unquilt.clean.params import CleanParams
from unquilt.clean.write import FOLDERS, take_examples, write_part
from unquilt.corpus import Corpus, sync, write_atomically
from unquilt.detectors.sites import page_arrays
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput

FORMAT = 1
MANIFEST = "clean.json"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A clean crawl: where it is, what is in it, and the longest copies that were found."""

    path: Path
    counts: Mapping[str, int]
    examples: list[dict[str, Any]]


def clean_corpus(
    corpus: Corpus,
    out: str | Path,
    params: CleanParams = CleanParams(),
    *,
    engine: Engine | None = None,
) -> Cleaned:
    """Write the pages of a corpus without near-duplicates, copied passages and boilerplate; and all of these, apart."""
    if not sum(part.words for part in corpus.parts):
        raise BadInput(
            f"{corpus.path} has no text: it was made from a list of URLs, or its pages are empty.",
            fix="Copies are found in text. Ingest WARC, HTML, JSONL or Parquet files with the pages themselves.",
        )
    target = Path(out)
    known = {"format": FORMAT, "unquilt": __version__, "corpus": corpus.digest, "params": params.as_dict()}
    _prepare(target)
    _save(target, known | {"complete": False})
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "clean", *(["phrases"] if params.pages else []))
        arrays = stack.enter_context(page_arrays(corpus))
        drops = find_drops(corpus, params, engine, arrays)
        files = arrays.save_files(corpus.files())
        passages = stack.enter_context(share_passages(corpus, drops.keepers, files, params, engine))
        step = partial(write_part, files=files, drops=drops, out=target.absolute(), params=params)
        written = list(engine.reduce(step, passages, name="Writing pages"))
    for folder in FOLDERS:
        for one in written:
            sync(target / folder / one.name)
        sync(target / folder)
    counts = sum((one.counts for one in written), Counter[str]())
    facts = {name: counts[name] for name in written[0].counts}
    _save(target, known | {"complete": True, "counts": facts, "files": [one.name for one in written]})
    return Cleaned(target, facts, take_examples([example for one in written for example in one.examples]))


def _prepare(out: Path) -> None:
    """A folder for the files, without those of an earlier run; any other folder that is not empty is refused."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file; a clean crawl is a folder.", fix="Choose another name with -o.")
    if out.is_dir() and any(out.iterdir()) and not is_clean(out):
        raise BadInput(
            f"{out} is not empty, and not a clean crawl.", fix="Choose a new folder with -o, or empty this one."
        )
    try:
        for folder in FOLDERS:
            (out / folder).mkdir(parents=True, exist_ok=True)
            for old in (out / folder).glob("part-*"):
                old.unlink()
    except OSError as error:
        raise BadInput(
            f"{out} cannot be made: {(error.strerror or str(error)).lower()}.",
            fix="Choose a folder you may write to with -o.",
        ) from None


def is_clean(out: Path) -> bool:
    """Whether a folder is a clean crawl, whole or not."""
    try:
        known = json.loads((out / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(known, dict) and known.get("format") == FORMAT and "complete" in known


def _save(out: Path, known: dict[str, Any]) -> None:
    write_atomically(out / MANIFEST, (json.dumps(known, indent=1) + "\n").encode())
