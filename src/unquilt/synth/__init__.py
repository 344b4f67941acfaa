"""The planted web: a made-up crawl whose copies are known."""

from unquilt.synth.params import SynthParams, SynthSummary
from unquilt.synth.write import write_synth

__all__ = ["SynthParams", "SynthSummary", "write_synth"]
