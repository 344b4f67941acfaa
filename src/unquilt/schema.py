"""Every Arrow table unquilt reads or writes, each column with its meaning.

A page's id is ``(part << 32) + row``: it depends on the input and the settings, never on which worker was
faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

STYLE_CELLS = 128
SHA1_BYTES = 20

sha1 = pa.binary(SHA1_BYTES)


def _table(columns: Sequence[tuple[str, Any, str]]) -> Any:
    return pa.schema([pa.field(name, kind, metadata={"meaning": meaning}) for name, kind, meaning in columns])


PAGES = _table(
    [
        ("page", pa.int64(), "id: (part << 32) + row"),
        ("url", pa.string(), "the URL that was captured"),
        ("host", pa.string(), "its host, lower case, without port"),
        ("domain", pa.string(), "the host's registered domain, by the public suffix list"),
        ("ip", pa.string(), "the address that served it; null if the crawl does not say"),
        ("time", pa.timestamp("us", "UTC"), "when it was captured; null if the crawl does not say"),
        ("status", pa.int16(), "HTTP status; null where there was no HTTP"),
        ("media_type", pa.string(), "as declared, or as the content shows"),
        ("charset", pa.string(), "the charset the page was really read with"),
        ("title", pa.string(), "content of <title>, white space folded"),
        ("text", pa.string(), "the visible text; null in a list of URLs"),
        ("words", pa.int32(), "words in the text"),
        ("bytes", pa.int64(), "length of the page as captured, encodings undone"),
        ("file_sha1", sha1, "SHA-1 of those bytes"),
        ("chunk_sha1s", pa.list_(sha1), "SHA-1 of each piece between paragraphs, in order, with repetitions"),
        (
            "style",
            pa.binary(2 * STYLE_CELLS),
            "128 cells of the template fingerprint, uint16 each, 0 = empty",
        ),
        ("links", pa.list_(pa.string()), "absolute http(s) URLs of its links, in order, each once"),
        ("canonical", pa.string(), "absolute URL of <link rel=canonical>; null if there is none"),
        ("generator", pa.string(), "content of <meta name=generator>; null if there is none"),
        ("source", pa.string(), "the input file it came from"),
        ("offset", pa.int64(), "where in it: byte offset of the record, or row number"),
    ]
)

SKIPPED = _table(
    [
        ("source", pa.string(), "the input file"),
        ("offset", pa.int64(), "where in it: byte offset or row number"),
        ("url", pa.string(), "the URL, if known"),
        ("reason", pa.string(), "why it became no page"),
        ("detail", pa.string(), "more about it"),
    ]
)

SUPERSEDED = _table(
    [
        ("page", pa.int64(), "a capture that does not count, because another capture of its URL does"),
        ("kept", pa.int64(), "the capture that counts"),
    ]
)

QUILTS = _table(
    [
        ("url", pa.string(), "the quilted page"),
        ("grams", pa.int64(), "distinct grams of the page"),
        ("patch_grams", pa.int64(), "those on 2 to m pages of the corpus"),
        ("patch_fraction", pa.float64(), "patch_grams / grams"),
        ("covered_fraction", pa.float64(), "share of its grams that its sources cover together"),
        ("foreign_fraction", pa.float64(), "share of its grams that some page of another site has, however common"),
        ("time", pa.timestamp("us", "UTC"), "when the page was captured"),
        ("collisions", pa.int64(), "grams that only shared a fingerprint; null unless words were compared"),
        (
            "sources",
            pa.list_(
                pa.struct(
                    [
                        ("url", pa.string()),
                        ("grams", pa.int64()),
                        ("foreign", pa.bool_()),
                        ("attributed", pa.bool_()),
                        ("time", pa.timestamp("us", "UTC")),
                    ]
                )
            ),
            "pages it was stitched from, in the order of the greedy cover: the grams each added, whether it is of "
            "another domain, whether the page links to it or to its domain, and when it was captured",
        ),
    ]
)

PATCHES = _table(
    [
        ("url", pa.string(), "the quilted page"),
        ("begin", pa.int64(), "where the patch begins in its text, in characters"),
        ("end", pa.int64(), "where it ends"),
        ("source_url", pa.string(), "the page it was taken from"),
        ("source_begin", pa.int64(), "where it begins in the source's text"),
        ("source_end", pa.int64(), "where it ends there"),
        ("words", pa.int64(), "its length in words"),
    ]
)

SWEEP = _table(
    [
        ("parameter", pa.string(), "the one that moves: k, m, c or sigma"),
        ("value", pa.float64(), "what it is here"),
        ("k", pa.int64(), "words in a gram"),
        ("m", pa.int64(), "most pages a patch gram is on"),
        ("c", pa.int64(), "fewest sources"),
        ("sigma", pa.float64(), "least share of patch grams"),
        ("quilted", pa.int64(), "quilted pages"),
        ("share", pa.float64(), "quilted / pages of the corpus"),
        ("mean_sources", pa.float64(), "mean number of sources of a quilted page; null if there is none"),
    ]
)

MIRROR_CANDIDATES = _table(
    [
        ("rank", pa.int64(), "place in the ranking, from 1"),
        ("host_a", pa.string(), "one host"),
        ("host_b", pa.string(), "the other; the two are in the order of their names"),
        ("score", pa.float64(), "normalized similarity of their URLs"),
        ("features", pa.int64(), "features they share"),
        ("path_features", pa.int64(), "those of them that are of paths"),
        ("urls_a", pa.int64(), "URLs of host_a in the corpus"),
        ("urls_b", pa.int64(), "URLs of host_b"),
    ]
)

MIRROR_PAIRS = _table(
    [
        ("host_a", pa.string(), "one host"),
        ("host_b", pa.string(), "the other"),
        ("level", pa.string(), "1 to 5, mismatch, dns-failure, server-failure, or undecided: too few tests are known"),
        ("rank", pa.int64(), "place among the candidates"),
        ("score", pa.float64(), "normalized similarity of their URLs"),
        ("known", pa.int64(), "tests that told something: neither unknown nor failed at the source"),
        ("cross_domain", pa.bool_(), "the hosts are of different registered domains"),
        ("shared_ips", pa.list_(pa.string()), "addresses that served both hosts in the crawl"),
        (
            "tests",
            pa.list_(
                pa.struct(
                    [
                        ("path", pa.string()),
                        ("source", pa.string()),
                        ("outcome", pa.string()),
                        ("resemblance", pa.float64()),
                    ]
                )
            ),
            "each comparison: the path, the host it is known on, SF TF FM FS HS TS NS or unknown, and the resemblance "
            "of the two pages; null if they were not both there",
        ),
    ]
)

MIRROR_GROUPS = _table(
    [
        ("group", pa.int64(), "number of the group, the largest first"),
        ("host", pa.string(), "a host of it"),
        ("canonical", pa.string(), "the host of the group with the most URLs, the first by name of equals"),
        ("level", pa.string(), "weakest level on the best way from the host to the canonical one; 1 for itself"),
        ("urls", pa.int64(), "URLs of the host in the corpus"),
    ]
)

MIRROR_SUMMARY = _table([("what", pa.string(), "what was counted"), ("count", pa.int64(), "how many")])

MIRROR_RANKING = _table(
    [
        ("pairs", pa.int64(), "so many of the best candidates whose test succeeded"),
        ("levels_1_3", pa.float64(), "share of them at levels 1 to 3"),
        ("levels_1_4", pa.float64(), "share of them at levels 1 to 4"),
    ]
)

MIRROR_DOMAINS = _table(
    [
        ("levels", pa.string(), "1-3, 4 or 5"),
        ("domains", pa.string(), "top-level domains of the two hosts, in order"),
        ("pairs", pa.int64(), "mirrored pairs of different registered domains"),
        ("share", pa.float64(), "of all such pairs at these levels"),
    ]
)

MIRROR_MISSPELLINGS = _table(
    [
        ("host", pa.string(), "a host name that may be misspelt"),
        ("meant", pa.string(), "the one with more URLs, a letter away"),
        ("urls", pa.int64(), "URLs of host"),
        ("meant_urls", pa.int64(), "URLs of meant"),
        ("level", pa.string(), "what the tests say about the two; null if they were not tested"),
    ]
)

MIRROR_TREES = _table(
    [
        ("host_a", pa.string(), "one host"),
        ("prefix_a", pa.string(), "where the tree stands there"),
        ("host_b", pa.string(), "the other host"),
        ("prefix_b", pa.string(), "where it stands there"),
        ("pages", pa.int64(), "pages of equal text at the same place below both"),
        ("pages_a", pa.int64(), "all pages below prefix_a"),
        ("pages_b", pa.int64(), "all pages below prefix_b"),
        ("example", pa.string(), "the path of one such page below both"),
    ]
)
