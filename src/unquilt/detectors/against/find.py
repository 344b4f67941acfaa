"""A crawl against an earlier one."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from unquilt.corpus import Corpus
from unquilt.detectors.against.copied import find_taken
from unquilt.detectors.against.describe import describe_pages
from unquilt.detectors.against.identities import GROUPS, match_groups
from unquilt.detectors.against.pages import Crawls, match_pages
from unquilt.detectors.against.params import AgainstParams
from unquilt.detectors.sites import page_arrays
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter, CorpusMismatch, NotACorpus
from unquilt.ingest.params import SETTINGS
from unquilt.result import Result, check_result

_WORDS = "words"  # the setting that says what a word is


def compare_crawls(
    new: Corpus,
    old: Corpus,
    params: AgainstParams = AgainstParams(),
    *,
    engine: Engine | None = None,
) -> Result:
    """What became of each page, what new and changed pages take from the old crawl, and which groups are the same."""
    for corpus in (new, old):
        _check_text(corpus)
    if new.settings.get(_WORDS) != old.settings.get(_WORDS):
        raise _other_words(old, new.settings.get(_WORDS))
    made_from = comparison_params(new, old, params)
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        compile_kernels(engine, "against")
        arrays = stack.enter_context(page_arrays(new))
        crawls = Crawls.of(new, old)
        fates = match_pages(crawls, engine)
        taken = find_taken((new, old), crawls, fates, params, engine, arrays)
        pages, copied = describe_pages(crawls, fates, taken, engine)
        identities = match_groups(new, old, pages, arrays.path("groups"))
    tables = {"pages": pages, "copied": copied, "identities": identities}
    return Result("against", tables, made_from, new.digest)


def comparison_params(new: Corpus, old: Corpus, params: AgainstParams) -> dict[str, Any]:
    """All that a comparison is made from but the pages of the new crawl: if any of it differs, it is made again."""
    groups = {name: [_result_digest(corpus, name) for corpus in (new, old)] for name in GROUPS}
    return params.as_dict() | {"old": str(old.path.resolve()), "old_digest": old.digest, "groups": groups}


def open_old(path: str | Path, new: str | Path) -> Corpus:
    """The corpus to compare another with, which need not be there yet; an error if that cannot be."""
    old = Corpus(path)
    if old.path.resolve() == Path(new).resolve():
        raise BadParameter(
            f"{path} cannot be compared with itself.",
            fix="Read the second crawl into a corpus of its own, and name that of the first with --against.",
        )
    if not old.is_complete:
        raise BadInput(
            f"The ingest of {path} was interrupted: pages that it does not have would count as new.",
            fix="Run the same ingest again to finish it.",
        )
    _check_text(old)
    if old.settings.get(_WORDS) != SETTINGS[_WORDS]:
        raise _other_words(old, SETTINGS[_WORDS])
    return old


def _check_text(corpus: Corpus) -> None:
    if not sum(part.words for part in corpus.parts):
        raise BadInput(
            f"{corpus.path} has no text: it was made from a list of URLs, or its pages are empty.",
            fix="Crawls are compared by text. Ingest WARC, HTML, JSONL or Parquet files with the pages themselves.",
        )


def _other_words(old: Corpus, words: object) -> CorpusMismatch:
    return CorpusMismatch(
        f"{old.path} takes words to be {old.settings.get(_WORDS)}; the new corpus takes them to be {words}.",
        fix="Ingest the old crawl again with this version of unquilt.",
    )


def _result_digest(corpus: Corpus, detector: str) -> str | None:
    """Tells a result from others; None if there is none of these pages."""
    try:
        known = check_result(corpus, detector)
    except (NotACorpus, CorpusMismatch):
        return None
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
