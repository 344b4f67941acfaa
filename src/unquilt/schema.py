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
        ("chunk_sha1s", pa.list_(sha1), "SHA-1 of each chunk, in order, with repetitions"),
        ("chunk_sizes", pa.list_(pa.int32()), "length of each chunk in bytes: they lie one behind the other"),
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

_CLEAN_COLUMNS = (
    "page", "url", "host", "domain", "time", "media_type", "title", "text", "words", "bytes", "file_sha1", "canonical",
    "source", "offset",
)  # fmt: skip
CLEAN_PAGES = pa.schema([PAGES.field(name) for name in _CLEAN_COLUMNS])
"""A page as `clean` writes it: its text, and the number of its words, without what was cut out."""

CLEAN_REMOVED = _table(
    [
        ("page", pa.int64(), "the page it was cut out of, or is marked in"),
        ("url", pa.string(), "its URL"),
        ("begin", pa.int64(), "where it begins in the text as it was, in characters"),
        ("end", pa.int64(), "where it ends"),
        ("words", pa.int64(), "its length in words"),
        ("kind", pa.string(), "copy or boilerplate"),
        ("pages", pa.int64(), "of boilerplate: kept pages that have its rarest gram; null for a copy"),
        ("source_url", pa.string(), "of a copy: the page that has it first; null for boilerplate"),
        ("source_begin", pa.int64(), "where it begins in that page's text as it was"),
        ("source_end", pa.int64(), "where it ends there"),
        ("text", pa.string(), "the text from begin to end"),
    ]
)

CLEAN_DROPPED = pa.schema(
    [
        *CLEAN_PAGES,
        *_table(
            [
                ("kept_page", pa.int64(), "the page that is kept in its place"),
                ("kept_url", pa.string(), "its URL"),
                ("resemblance", pa.float64(), "share of the phrases of both that both have"),
            ]
        ),
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

REUSE_OBJECTS = _table(
    [
        ("sha1", sha1, "of its bytes"),
        ("kind", pa.string(), "file or chunk"),
        ("length", pa.int64(), "in bytes, in the example page"),
        ("count", pa.int64(), "how often it occurs"),
        ("domains", pa.int64(), "on how many registered domains"),
        ("label", pa.string(), "labelled, stop (a known stop chunk), or candidate (may be one: see why)"),
        ("why", pa.string(), "why it is proposed as a stop chunk; null for others"),
        ("content_kind", pa.string(), "text, navigation, script, ...; null if its bytes were not looked at"),
        ("content", pa.binary(), "its bytes, at most 4 KiB; null if they were not looked at, or are gone"),
        ("example", pa.string(), "the first page that has it"),
        ("begin", pa.int64(), "where it begins in that page, in bytes"),
        ("source", pa.string(), "the input file that page came from"),
        ("offset", pa.int64(), "where in it"),
        ("file_sha1", sha1, "SHA-1 of that page"),
    ]
)

REUSE_FILES = _table(
    [
        ("url", pa.string(), "a page with labelled chunks, or equal to a labelled file"),
        ("domain", pa.string(), "its registered domain"),
        ("chunks", pa.int64(), "its chunks"),
        ("stop", pa.int64(), "those that are stop chunks"),
        ("labelled", pa.int64(), "those that are labelled"),
        ("cross_site", pa.int64(), "those of the labelled that are on more than one domain"),
        ("contains", pa.float64(), "labelled / chunks"),
        ("target", pa.bool_(), "contains is above the threshold"),
        ("is_labelled_file", pa.bool_(), "the whole file is labelled"),
    ]
)

REUSE_NEIGHBORHOODS = _table(
    [
        ("prefix", pa.string(), "host and path that its pages begin with"),
        ("files", pa.int64(), "its pages with chunks that are no stop chunks"),
        ("chunks", pa.int64(), "their chunks, without stop chunks"),
        ("labelled", pa.int64(), "those that are labelled"),
        ("cross_site", pa.int64(), "those of the labelled that are on more than one domain"),
        ("badness", pa.float64(), "labelled / chunks"),
        ("low", pa.float64(), "lower end of its 95 % interval"),
        ("high", pa.float64(), "upper end"),
        ("bad", pa.bool_(), "badness is above the threshold, and it is large enough"),
        ("under", pa.string(), "of a bad one: the highest bad prefix it lies in, or itself"),
    ]
)

REUSE_SITES = _table(
    [
        ("domain", pa.string(), "a registered domain with labelled content"),
        ("files", pa.int64(), "its pages with chunks"),
        ("targets", pa.int64(), "those that are targets"),
        ("chunks", pa.int64(), "its chunks, without stop chunks"),
        ("labelled", pa.int64(), "those that are labelled"),
        ("cross_site", pa.int64(), "those of the labelled that are on more than one domain"),
        ("share", pa.float64(), "labelled / chunks"),
    ]
)

REUSE_DISTRIBUTION = _table(
    [
        ("kind", pa.string(), "file or chunk"),
        ("duplicates", pa.int64(), "how often an object occurs"),
        ("objects", pa.int64(), "how many do so"),
    ]
)

REUSE_SET_ASIDE = _table(
    [
        ("url", pa.string(), "a page set aside as a crawler's loop"),
        ("components", pa.int64(), "components of its path"),
        ("repeats", pa.int64(), "how often a run of them stands in a row; 0 if there are too many components to look"),
    ]
)

REUSE_SUMMARY = _table(
    [
        ("name", pa.string(), "a threshold or a total"),
        ("value", pa.float64(), "what it is"),
        ("why", pa.string(), "where it comes from; null for totals"),
    ]
)

ROBUSTNESS = _table(
    [
        ("change", pa.string(), "add, delete or change chunks"),
        ("labelled", pa.string(), "expert: all chunks of the site; blind: those that occur often on it"),
        ("chunks", pa.int64(), "chunks changed on each page"),
        ("relative", pa.float64(), "the same as a multiple of the mean number of chunks a page"),
        ("page_badness", pa.float64(), "mean badness of the pages that still have chunks; null if none has"),
        ("page_error", pa.float64(), "standard error of that mean over the rounds"),
        ("pages_detected", pa.float64(), "share of all pages that are above the threshold"),
        ("chunks_left", pa.float64(), "mean number of chunks of a page that has any"),
        ("site_badness", pa.float64(), "badness of the site as one neighborhood; null if nothing is left"),
        ("neighborhoods_detected", pa.float64(), "share of its neighborhoods that are above the threshold"),
    ]
)

CLASSES = _table(
    [
        ("class", pa.int64(), "number of the near-duplicate class; only classes of two pages and more are listed"),
        ("url", pa.string(), "a page of the class"),
        ("representative", pa.bool_(), "whether it stands for the class: the earliest page, then the least URL"),
        ("resemblance", pa.float64(), "Jaccard of its phrases and the representative's, exactly"),
        ("cohesion", pa.float64(), "mean resemblance of the other pages of the class to the representative"),
        ("weakest", pa.float64(), "the least of them; low where pages are only joined through others"),
        ("pages", pa.int64(), "pages of the class"),
        ("cross_site", pa.bool_(), "whether the class has pages of more than one domain"),
        ("number", pa.int64(), "which page of the corpus it is, of those that count, from 0"),
    ]
)

POPULAR = _table(
    [
        ("phrase", pa.string(), "the words, as the page in `url` writes them"),
        ("position", pa.int32(), "which of the sampling functions chose it, from 0"),
        ("value", pa.uint64(), "the shingle"),
        ("pages", pa.int64(), "pages that have it as this shingle, one of each near-duplicate class"),
        ("url", pa.string(), "the first of them"),
    ]
)

POPULARITY = _table(
    [
        ("pages", pa.int64(), "a number of pages"),
        ("shingles", pa.int64(), "popular shingles that so many pages have"),
    ]
)

PHRASE_PAGES = _table(
    [
        ("url", pa.string(), "the page"),
        ("host", pa.string(), "its host"),
        ("popular", pa.int32(), "how many of its shingles are popular"),
        ("originality", pa.float64(), "1 - popular / shingles; null if the page has no words"),
        ("representative", pa.bool_(), "whether it stands for its near-duplicate class, or is alone"),
    ]
)

PHRASE_HOSTS = _table(
    [
        ("host", pa.string(), "the host"),
        ("pages", pa.int64(), "its pages with words, one of each near-duplicate class"),
        ("mean", pa.float64(), "mean popular count of those pages"),
        ("deviation", pa.float64(), "standard deviation of the popular count"),
        ("originality", pa.float64(), "mean originality of those pages"),
        ("suspect", pa.bool_(), "many pages, all of them full of popular phrases"),
    ]
)

COVERS = _table(
    [
        ("url", pa.string(), "the page"),
        ("host", pa.string(), "its host"),
        ("popular", pa.int32(), "its popular shingles"),
        ("samplings", pa.list_(pa.string()), "why it was drawn: stratified, uniform, host"),
        ("size", pa.int32(), "pages in the covering set"),
        ("foreign_contribution", pa.int32(), "popular shingles that pages of other sites cover"),
        (
            "sources",
            pa.list_(pa.struct([("url", pa.string()), ("shingles", pa.int32()), ("foreign", pa.bool_())])),
            "the covering set in the order of greed: what each page adds, and whether it is of another domain and "
            "of no address that served the page's host",
        ),
    ]
)

DEDUP = _table(
    [
        ("url", pa.string(), "the page"),
        ("keep", pa.bool_(), "whether to keep it"),
        ("kept", pa.string(), "the page that is kept in its place; its own URL if it is kept itself"),
        ("resemblance", pa.float64(), "Jaccard of the phrases of the two, exactly; 1 for a page that is kept"),
    ]
)

STYLE_CLUSTERS = _table(
    [
        ("cluster", pa.int64(), "its rank, from 1: by score, then by pages"),
        ("pages", pa.int64(), "pages in it"),
        ("domains", pa.int64(), "registered domains they are on"),
        ("hosts", pa.int64(), "hosts they are on"),
        ("mean_similarity", pa.float64(), "mean similarity of the other members to the prototype"),
        ("score", pa.float64(), "mean_similarity × domains"),
        ("prototype", pa.string(), "the member most similar to all others"),
        ("kind", pa.string(), "mirror, link farm, copy/paste or template"),
        ("foreign_links", pa.float64(), "links of a member to members on other domains, on average"),
        ("linked", pa.float64(), "share of members with at least two such links"),
        ("same_page", pa.float64(), "share of members with the same path and nearly the same text on another host"),
        ("same_text", pa.float64(), "share of members with nearly the same text as one on another host"),
        ("evidence", pa.string(), "what the kind follows from, in words"),
    ]
)

STYLE_MEMBERS = _table(
    [
        ("cluster", pa.int64(), "the cluster's rank"),
        ("url", pa.string(), "a page in it"),
        ("similarity", pa.float64(), "to the prototype: equal cells / m"),
    ]
)

STYLE_LIKE = _table(
    [
        ("url", pa.string(), "a page"),
        ("similarity", pa.float64(), "equal cells / m, with the most similar of the given pages"),
        ("cells", pa.int64(), "equal cells"),
        ("like", pa.string(), "which of the given pages that is"),
    ]
)

STYLE_GAPS = _table(
    [
        ("rank", pa.int64(), "pages before the gap"),
        ("above", pa.int64(), "equal cells of the last page before it"),
        ("below", pa.int64(), "equal cells of the first page after it"),
    ]
)

STYLE_CURVE = _table(
    [
        ("cells", pa.int64(), "equal cells, from m down to 0"),
        ("pages", pa.int64(), "pages with exactly so many"),
    ]
)

STYLE_PAIRS = _table(
    [
        ("sim", pa.float64(), "similarity of two fingerprints: equal cells / m"),
        ("dice", pa.float64(), "2 × shared parts / parts of both, exact"),
        ("jaccard", pa.float64(), "shared parts / parts of either, exact"),
        ("parts", pa.int64(), "distinct parts of the shorter page"),
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

AGAINST_PAGES = _table(
    [
        ("url", pa.string(), "a page of either crawl"),
        ("host", pa.string(), "its host"),
        ("state", pa.string(), "new, gone, same, same-text, changed or moved"),
        ("old_url", pa.string(), "where a moved page was in the old crawl; null for others"),
        ("resemblance", pa.float64(), "of a changed page and its old version: Jaccard of their grams; null for others"),
    ]
)

AGAINST_COPIED = _table(
    [
        ("url", pa.string(), "a page that is new or changed, and takes text from the old crawl"),
        ("host", pa.string(), "its host"),
        ("state", pa.string(), "new or changed"),
        ("grams", pa.int64(), "distinct grams of the page"),
        ("common", pa.int64(), "those on more than m pages of the old crawl, but not in its own old version"),
        ("taken", pa.int64(), "those on 1 to m pages of the old crawl, but not in its own old version"),
        ("foreign", pa.int64(), "those of the taken that no old page of its own site has"),
        ("share", pa.float64(), "taken / (grams - common)"),
        ("foreign_share", pa.float64(), "foreign / (grams - common)"),
        (
            "sources",
            pa.list_(pa.struct([("url", pa.string()), ("grams", pa.int64()), ("foreign", pa.bool_())])),
            "the pages of the old crawl that cover what is taken, those of other sites first, each in the order of "
            "greed: the grams each adds, and whether it is of another site",
        ),
    ]
)

AGAINST_IDENTITIES = _table(
    [
        (
            "detector",
            pa.string(),
            "whose groups: phrases (near-duplicate classes), styles (clusters), mirrors (groups)",
        ),
        ("new", pa.int64(), "number of the group in the new crawl; null if it is gone"),
        ("old", pa.int64(), "number of the group in the old crawl; null if it is new"),
        ("state", pa.string(), "kept, new, gone, split or merged"),
        ("shared", pa.int64(), "members that both have"),
        ("new_members", pa.int64(), "members of the new group"),
        ("old_members", pa.int64(), "members of the old group"),
        ("overlap", pa.float64(), "shared / members of either"),
        ("example", pa.string(), "the first member, by name, of the new group; of the old one if it is gone"),
    ]
)
