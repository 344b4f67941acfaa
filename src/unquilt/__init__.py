"""unquilt: what in a web crawl is copied, from where, and why."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unquilt.clean.params import CleanParams
    from unquilt.clean.restore import restore_pages
    from unquilt.clean.run import Cleaned, clean_corpus
    from unquilt.corpus import Corpus, Part
    from unquilt.detectors.against.find import compare_crawls
    from unquilt.detectors.against.params import AgainstParams
    from unquilt.detectors.mirrors.explain import PairStory, explain_mirrors
    from unquilt.detectors.mirrors.find import find_mirrors
    from unquilt.detectors.mirrors.params import MirrorParams, ProbeParams
    from unquilt.detectors.phrases.find import find_duplicates, find_phrases, write_duplicates
    from unquilt.detectors.phrases.params import ClassParams, PhraseParams
    from unquilt.detectors.quilts.find import find_quilts
    from unquilt.detectors.quilts.params import QuiltParams
    from unquilt.detectors.quilts.sweep import sweep_quilts
    from unquilt.detectors.quilts.sweep_params import SweepParams
    from unquilt.detectors.reuse.export import export_labelled
    from unquilt.detectors.reuse.find import find_reuse
    from unquilt.detectors.reuse.labelled import Labelled, Match
    from unquilt.detectors.reuse.params import ReuseParams
    from unquilt.detectors.reuse.robustness import measure_robustness
    from unquilt.detectors.reuse.robustness_params import RobustnessParams
    from unquilt.detectors.why import Story, explain_page
    from unquilt.engines.local import LocalEngine
    from unquilt.engines.spark import SparkEngine
    from unquilt.errors import UnquiltError
    from unquilt.info import Info, describe
    from unquilt.ingest.params import IngestParams
    from unquilt.ingest.run import Ingested, ingest_crawl
    from unquilt.report.figures import write_plots
    from unquilt.report.figures.sweep import write_sweep
    from unquilt.report.page import write_report
    from unquilt.result import Result, load_result
    from unquilt.run import Run, run_crawl
    from unquilt.serve.judgments import Judgments
    from unquilt.serve.run import serve_corpus
    from unquilt.synth import SynthParams, SynthSummary, write_synth

_HOMES = {
    "AgainstParams": "detectors.against.params",
    "ClassParams": "detectors.phrases.params",
    "CleanParams": "clean.params",
    "Cleaned": "clean.run",
    "Corpus": "corpus",
    "Info": "info",
    "IngestParams": "ingest.params",
    "Ingested": "ingest.run",
    "Judgments": "serve.judgments",
    "Labelled": "detectors.reuse.labelled",
    "LikeParams": "detectors.styles.params",
    "LocalEngine": "engines.local",
    "Match": "detectors.reuse.labelled",
    "MirrorParams": "detectors.mirrors.params",
    "PairStory": "detectors.mirrors.explain",
    "Part": "corpus",
    "PhraseParams": "detectors.phrases.params",
    "ProbeParams": "detectors.mirrors.params",
    "QuiltParams": "detectors.quilts.params",
    "Result": "result",
    "ReuseParams": "detectors.reuse.params",
    "RobustnessParams": "detectors.reuse.robustness_params",
    "Run": "run",
    "SparkEngine": "engines.spark",
    "Story": "detectors.why",
    "StyleParams": "detectors.styles.params",
    "SweepParams": "detectors.quilts.sweep_params",
    "SynthParams": "synth",
    "SynthSummary": "synth",
    "UnquiltError": "errors",
    "clean_corpus": "clean.run",
    "compare_crawls": "detectors.against.find",
    "compare_exactly": "detectors.styles.exact",
    "describe": "info",
    "explain_mirrors": "detectors.mirrors.explain",
    "explain_page": "detectors.why",
    "export_labelled": "detectors.reuse.export",
    "find_duplicates": "detectors.phrases.find",
    "find_like": "detectors.styles.like",
    "find_mirrors": "detectors.mirrors.find",
    "find_phrases": "detectors.phrases.find",
    "find_quilts": "detectors.quilts.find",
    "find_reuse": "detectors.reuse.find",
    "find_styles": "detectors.styles.find",
    "ingest_crawl": "ingest.run",
    "load_result": "result",
    "measure_robustness": "detectors.reuse.robustness",
    "restore_pages": "clean.restore",
    "run_crawl": "run",
    "serve_corpus": "serve.run",
    "sweep_quilts": "detectors.quilts.sweep",
    "write_duplicates": "detectors.phrases.find",
    "write_plots": "report.figures",
    "write_report": "report.page",
    "write_sweep": "report.figures.sweep",
    "write_synth": "synth",
}

__all__ = [
    "AgainstParams", "ClassParams", "CleanParams", "Cleaned", "Corpus", "Info", "IngestParams", "Ingested", "Judgments",
    "Labelled", "LikeParams", "LocalEngine", "Match", "MirrorParams", "PairStory", "Part", "PhraseParams",
    "ProbeParams", "QuiltParams", "Result", "ReuseParams", "RobustnessParams", "Run", "SparkEngine", "Story",
    "StyleParams", "SweepParams", "SynthParams", "SynthSummary", "UnquiltError", "clean_corpus", "compare_crawls",
    "compare_exactly", "describe", "explain_mirrors", "explain_page", "export_labelled", "find_duplicates", "find_like",
    "find_mirrors", "find_phrases", "find_quilts", "find_reuse", "find_styles", "ingest_crawl", "load_result",
    "measure_robustness", "restore_pages", "run_crawl", "serve_corpus", "sweep_quilts", "write_duplicates",
    "write_plots", "write_report", "write_sweep", "write_synth",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line's --help needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'unquilt' has no attribute {name!r}")
    return getattr(importlib.import_module(f"unquilt.{_HOMES[name]}"), name)
