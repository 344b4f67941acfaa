"""unquilt: what in a web crawl is copied, from where, and why."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unquilt.corpus import Corpus, Part
    from unquilt.detectors.quilts.find import find_quilts
    from unquilt.detectors.quilts.params import QuiltParams
    from unquilt.detectors.quilts.sweep import sweep_quilts
    from unquilt.detectors.quilts.sweep_params import SweepParams
    from unquilt.detectors.why import Story, explain_page
    from unquilt.engines.local import LocalEngine
    from unquilt.errors import UnquiltError
    from unquilt.info import Info, describe
    from unquilt.ingest.params import IngestParams
    from unquilt.ingest.run import Ingested, ingest_crawl
    from unquilt.report.figures.sweep import write_sweep
    from unquilt.report.page import write_report
    from unquilt.result import Result, load_result
    from unquilt.serve.judgments import Judgments
    from unquilt.serve.run import serve_corpus
    from unquilt.synth import SynthParams, SynthSummary, write_synth

_HOMES = {
    "Corpus": "corpus",
    "Info": "info",
    "IngestParams": "ingest.params",
    "Ingested": "ingest.run",
    "Judgments": "serve.judgments",
    "LocalEngine": "engines.local",
    "Part": "corpus",
    "QuiltParams": "detectors.quilts.params",
    "Result": "result",
    "Story": "detectors.why",
    "SweepParams": "detectors.quilts.sweep_params",
    "SynthParams": "synth",
    "SynthSummary": "synth",
    "UnquiltError": "errors",
    "describe": "info",
    "explain_page": "detectors.why",
    "find_quilts": "detectors.quilts.find",
    "ingest_crawl": "ingest.run",
    "load_result": "result",
    "serve_corpus": "serve.run",
    "sweep_quilts": "detectors.quilts.sweep",
    "write_report": "report.page",
    "write_sweep": "report.figures.sweep",
    "write_synth": "synth",
}

__all__ = [
    "Corpus", "Info", "IngestParams", "Ingested", "Judgments", "LocalEngine", "Part", "QuiltParams", "Result", "Story",
    "SweepParams", "SynthParams", "SynthSummary", "UnquiltError", "describe", "explain_page", "find_quilts",
    "ingest_crawl", "load_result", "serve_corpus", "sweep_quilts", "write_report", "write_sweep", "write_synth",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line's --help needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'unquilt' has no attribute {name!r}")
    return getattr(importlib.import_module(f"unquilt.{_HOMES[name]}"), name)
