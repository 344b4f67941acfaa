"""The settings of mirrors, apart from their code so that the command line has them at once."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import Params, knob

LEVELS = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorParams(Params):
    """When two hosts are candidates, and what makes them mirrors."""

    min_urls: int = knob(100, "a host with fewer URLs is left out", least=1)
    modulus: int = knob(5, "a path is sampled if its hash is 0 modulo this", least=1, most=1_000_000)
    first_sample: int = knob(20, "sampled paths of a host after which the modulus doubles", least=1)
    sample_growth: float = knob(2.0, "each next doubling takes this many times as many sampled paths", least=1.1)
    stop_terms: str = knob("htm,html,txt,main,index,home,bin,cgi", "terms that say nothing, with commas")
    generator_terms: str = knob("nph,dynaweb,zyview", "a path with one of these terms was made by a tool: no features")
    min_count: int = knob(2, "a path feature is on at least so many sampled paths of its host", least=1)
    max_hosts: int = knob(20, "a feature on more hosts than this says nothing", least=2, most=10_000)
    host_significance: float = knob(4.0, "significance of a feature of the host name", least=0)
    path_significance: float = knob(1.0, "significance of a path feature", least=0)
    size_factor: float = knob(0.1, "how much the number of a host's URLs lowers the score", least=0)
    min_features: int = knob(2, "a pair shares at least so many features", least=1)
    min_path_features: int = knob(1, "at least so many of them are path features", least=0)
    max_pairs: int = knob(100_000, "pairs to test, best first", least=0)
    pages: str = knob(
        "archive",
        "what the tests compare: pages of the crawl, pages asked for now, or none",
        choices=("archive", "live", "none"),
    )
    paths: int = knob(10, "paths a host is tested with, the root among them", least=1, most=1000)
    k: int = knob(5, "words in a gram, for resemblance", least=1, most=64)
    high_similarity: float = knob(0.5, "least resemblance of pages that are highly similar", least=0, most=1)
    trace_similarity: float = knob(0.0, "above this resemblance pages show a trace of similarity", least=0, most=1)
    min_tests: int = knob(5, "a pair with fewer tests whose outcome is known is undecided", least=1)
    group_level: str = knob("3", "hosts up to this level are one group", choices=LEVELS)
    trees: bool = knob(True, "look for trees of pages that another host has under another path")
    tree_pages: int = knob(5, "fewest pages of such a tree", least=2)
    seed: int = knob(0, "of the draw of paths to test", least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeParams(Params):
    """How hosts are asked for pages, with --pages live."""

    delay: float = knob(1.0, "seconds between two requests to one host", least=0)
    timeout: float = knob(10.0, "seconds a request may take in all", least=0.1)
    max_redirects: int = knob(5, "redirects to follow, each checked as the first request is", least=0, most=20)
    max_page_bytes: int = knob(1 << 20, "longest page", least=1024, unit="bytes")
    hosts_at_once: int = knob(64, "hosts that are asked at the same time", least=1, most=10_000)
    allow_private: str = knob("", "hosts that may have a private or loopback address, with commas; * for all")
    user_agent: str = knob("unquilt", "the name that is sent, and looked for in robots.txt")
    again: bool = knob(False, "ask again for what an earlier run asked for")
