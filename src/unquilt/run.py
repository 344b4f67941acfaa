"""The main job: a crawl read into a corpus, what is copied in it, and a report. Nothing is done twice."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from unquilt.corpus import Corpus
from unquilt.detectors import DETECTORS
from unquilt.detectors.against.params import AgainstParams
from unquilt.engines import Engine
from unquilt.engines.first_start import compile_kernels
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, CorpusMismatch, NotACorpus
from unquilt.ingest.inputs import Plan
from unquilt.ingest.params import PRELOAD, IngestParams
from unquilt.ingest.run import Ingested, ingest_crawl
from unquilt.params import Params
from unquilt.result import Result, check_result


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a run."""

    name: str
    seconds: float
    is_new: bool  # something was done
    nothing: str = ""  # why nothing could be


@dataclass(frozen=True, slots=True)
class Run:
    """What a run did."""

    ingested: Ingested
    stages: list[Stage]
    report: Path
    seconds: float

    @property
    def corpus(self) -> Corpus:
        return self.ingested.corpus


def run_crawl(
    inputs: Sequence[str] | Plan,
    out: str | Path,
    params: IngestParams = IngestParams(),
    *,
    detectors: Sequence[str] = tuple(DETECTORS),
    settings: Mapping[str, Params] | None = None,
    against: Corpus | None = None,
    engine: Engine | None = None,
) -> Run:
    """Read crawls into the corpus at ``out``, run the detectors, and write ``out/report.html``.

    ``settings`` are those of the detectors by name, the defaults where there are none. With ``against``, an earlier
    crawl, it is told what has become of that. Interrupted at any moment, the same call goes on where it was; what is
    there already, from the same pages and settings, is not made again.
    """
    begun = time.monotonic()
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine(preload=PRELOAD))
        stages_to_come = ("ingest", *detectors, "report", *(["against"] if against is not None else []))
        compile_kernels(engine, *stages_to_come)  # of all at once: so no worker waits for another
        Thread(target=_import_ahead, args=(detectors,), daemon=True).start()
        done = ingest_crawl(inputs, out, params, engine=engine)
        stages = [Stage("ingest", done.seconds, bool(done.parts))]
        for name in detectors:
            chosen = (settings or {}).get(name) or DETECTORS[name].params_type()()
            find = partial(DETECTORS[name].finder(), done.corpus, chosen, engine=engine)
            stages.append(_detect(name, done.corpus, chosen.as_dict(), find))
        if against is not None:
            from unquilt.detectors.against.find import compare_crawls, comparison_params

            compared = (settings or {}).get("against") or AgainstParams()
            assert isinstance(compared, AgainstParams)
            find = partial(compare_crawls, done.corpus, against, compared, engine=engine)
            wanted = comparison_params(done.corpus, against, compared)
            stages.append(_detect("against", done.corpus, wanted, find))
    report = done.corpus.path / "report.html"
    if any(stage.is_new for stage in stages) or not report.exists():
        from unquilt.report.page import write_report

        write_report(done.corpus, report)
    return Run(done, stages, report, time.monotonic() - begun)


def _import_ahead(detectors: Sequence[str]) -> None:
    """Import what comes next, while the workers read and this process has nothing to do but to wait for them."""
    for name in detectors:
        DETECTORS[name].finder()
    for module in ("unquilt.report.page", "altair"):
        importlib.import_module(module)


def _detect(name: str, corpus: Corpus, wanted: Mapping[str, Any], find: Callable[[], Result]) -> Stage:
    """Find a result, unless one made with the wanted parameters is there."""
    begun = time.monotonic()
    is_new, nothing = False, ""
    try:
        check_result(corpus, name, params=wanted)
    except (NotACorpus, CorpusMismatch):
        try:
            find().save(corpus)
            is_new = True
        except BadInput as error:  # a list of URLs has no text, and that is no fault
            nothing = error.message
    return Stage(name, time.monotonic() - begun, is_new, nothing)
