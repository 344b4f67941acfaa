"""The lists of the explorer: which columns of which table, in which order, and the thresholds that need no new run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unquilt.detectors.quilts.params import QuiltParams

TITLES = {
    "pages": "Pages",
    "quilts": "Quilts",
    "phrases": "Phrases",
    "styles": "Styles",
    "mirrors": "Mirrors",
    "reuse": "Reuse",
}
ABOUT = {
    "pages": "Every page of the crawl, and the hosts they are on.",
    "quilts": "Pages stitched together from patches of other pages.",
    "phrases": "Near-duplicates, popular phrases, and the pages made of them.",
    "styles": "Pages made by the same template or script.",
    "mirrors": "Hosts that hold the same pages under another name.",
    "reuse": "Copied files and chunks, and the neighborhoods full of them.",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is shown. ``kind`` says how: text, url, host, count, share, number, time, flag or hex."""

    name: str
    label: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Slider:
    """A threshold that moves without a new run.

    ``condition`` has one ``?`` for its value. ``most`` is a number, or the SQL of one. ``param`` names the setting of
    the detector below which its result knows nothing.
    """

    name: str
    label: str
    meaning: str
    condition: str
    least: float
    most: float | str
    step: float
    param: str = ""
    is_upper: bool = False  # keeps what is at most the value; others keep what is at least it


@dataclass(frozen=True, slots=True)
class Listing:
    """One list of the explorer."""

    detector: str
    table: str
    title: str
    columns: tuple[Column, ...]
    sort: str
    is_descending: bool = True
    sliders: tuple[Slider, ...] = ()
    sums: tuple[tuple[str, str], ...] = ()  # label and SQL of what is told about all rows that match
    note: str = ""

    @property
    def path(self) -> str:
        return f"/{self.detector}/{self.table}"


def _c(name: str, label: str, kind: str = "count") -> Column:
    return Column(name, label, kind)


URL = Column("url", "page", "url")
_PAPER = QuiltParams()

LISTINGS = (
    Listing(
        "pages", "page", "Pages",
        (URL, _c("title", "title", "text"), _c("words", "words"), _c("bytes", "bytes"), _c("time", "captured", "time")),
        sort="page", is_descending=False,
    ),
    Listing(
        "pages", "host", "Hosts",
        (_c("host", "host", "host"), _c("domain", "domain", "domain"), _c("pages", "pages"), _c("words", "words")),
        sort="pages",
    ),
    Listing(
        "quilts", "quilts", "Quilted pages",
        (URL, _c("covered", "covered", "share"), _c("patch_fraction", "patches", "share"),
         _c("source_count", "sources"), _c("foreign_count", "foreign"),
         _c("attributed_count", "linked to"), _c("grams", "grams"), _c("patch_grams", "patch grams")),
        sort="covered",
        sliders=(
            Slider("sigma", "σ, share of patches", "least share of a page's grams that are patches",
                   "patch_fraction >= ?", 0, 1, 0.01, "sigma"),
            Slider("c", "c, sources", "fewest sources of a quilt", "source_count >= ?", _PAPER.c, 50, 1, "c"),
            Slider("tau", "τ, contribution", "a source counts only if it adds this share of the page's patch grams",
                   "coalesce(list_extract(shares, {c}), 0) >= ?", 0, 0.5, 0.005, "min_contribution"),
        ),
        sums=(("sources on average", "avg(source_count)"), ("of them linked to", "avg(attributed_count)")),
    ),
    Listing(
        "quilts", "patches", "Patches",
        (URL, Column("source_url", "source", "url"), _c("begin", "begin"), _c("end", "end"),
         _c("source_begin", "begin in source"), _c("source_end", "end in source")),
        sort="rowid", is_descending=False,
    ),
    Listing(
        "phrases", "popular", "Popular phrases",
        (_c("phrase", "phrase", "text"), _c("pages", "pages"), _c("position", "position")),
        sort="pages",
        sliders=(Slider("pages", "pages", "fewest pages a phrase is on", "pages >= ?", 0, "max(pages)", 1),),
    ),
    Listing(
        "phrases", "covers", "Covering sets",
        (URL, _c("popular", "popular of 84"), _c("source_count", "covered by"),
         _c("foreign_contribution", "covered by other sites")),
        sort="popular",
        sliders=(Slider("popular", "popular phrases", "fewest of a page's 84 sampled phrases that are popular",
                        "popular >= ?", 0, 84, 1),),
    ),
    Listing(
        "phrases", "classes", "Near-duplicates",
        (URL, _c("class", "class"), Column("representative", "representative", "url"),
         _c("cohesion", "cohesion", "share")),
        sort="class", is_descending=False,
        sliders=(Slider("cohesion", "cohesion", "least resemblance of the pages of a class",
                        "coalesce(cohesion, 0) >= ?", 0, 1, 0.01),),
        sums=(("classes", "count(DISTINCT class)"),),
    ),
    Listing(
        "phrases", "pages", "Originality of pages",
        (URL, _c("popular", "popular of 84"), _c("originality", "originality", "share")),
        sort="popular",
        sliders=(Slider("popular", "popular phrases", "fewest popular phrases of 84", "popular >= ?", 0, 84, 1),),
    ),
    Listing(
        "phrases", "hosts", "Hosts",
        (_c("host", "host", "host"), _c("pages", "pages"), _c("mean", "mean popular", "number"),
         _c("deviation", "deviation", "number")),
        sort="pages",
        sliders=(
            Slider("mean", "mean", "least mean number of popular phrases", "mean >= ?", 0, 84, 0.5),
            Slider("deviation", "deviation", "largest standard deviation", "deviation <= ?", 0, 42, 0.5, is_upper=True),
        ),
    ),
    Listing(
        "styles", "clusters", "Template clusters",
        (_c("cluster", "cluster", "cluster"), _c("kind", "kind", "text"), _c("pages", "pages"),
         _c("domains", "domains"), _c("mean_similarity", "similarity", "number"), _c("score", "score", "number"),
         Column("prototype", "prototype", "url")),
        sort="score",
        sliders=(
            Slider("t", "t, similarity", "clusters that keep two members at least this like their prototype",
                   "cluster IN (SELECT cluster FROM {styles}.members WHERE similarity >= ? "
                   "GROUP BY cluster HAVING count(*) > 1)",
                   0, "greatest(1, max(mean_similarity))", 0.01),
            Slider("domains", "domains", "fewest domains", "domains >= ?", 0, "max(domains)", 1),
            Slider("pages", "pages", "fewest pages", "pages >= ?", 0, "max(pages)", 1),
        ),
        sums=(("pages in them", "sum(pages)"),),
        note="Members are compared with the prototype of their cluster; a run with another t may join them otherwise.",
    ),
    Listing(
        "styles", "members", "Members",
        (URL, _c("cluster", "cluster", "cluster"), _c("similarity", "similarity", "number")),
        sort="similarity",
        sliders=(Slider("t", "t, similarity", "least similarity to the prototype", "similarity >= ?", 0,
                        "greatest(1, max(similarity))", 0.01),),
    ),
    Listing(
        "mirrors", "pairs", "Classified pairs",
        (_c("host_a", "host", "pair"), _c("host_b", "other host", "text"), _c("level", "level", "text"),
         _c("test_count", "tests")),
        sort="level", is_descending=False,
        sliders=(Slider("level", "level", "the weakest level that counts: 1 is an exact mirror, 5 hardly one, 6 none",
                        "coalesce(try_cast(level AS INTEGER), 6) <= ?", 1, 6, 1, is_upper=True),),
    ),
    Listing(
        "mirrors", "candidates", "Candidates",
        (_c("host_a", "host", "host"), _c("host_b", "other host", "host"), _c("score", "score", "number"),
         _c("features", "shared features")),
        sort="score",
        sliders=(Slider("score", "score", "least score", "score >= ?", 0, "max(score)", 0.01),),
    ),
    Listing(
        "mirrors", "groups", "Groups",
        (_c("group", "group", "group"), _c("host", "host", "host")),
        sort="group", is_descending=False, sums=(("groups", 'count(DISTINCT "group")'),),
    ),
    Listing(
        "reuse", "neighborhoods", "Neighborhoods",
        (_c("prefix", "neighborhood", "prefix"), _c("badness", "badness", "share"), _c("files", "files"),
         _c("chunks", "chunks"), _c("labelled", "copied chunks"), _c("bad", "bad", "flag")),
        sort="badness",
        sliders=(
            Slider("badness", "badness", "least share of copied chunks", "badness >= ?", 0, 1, 0.01),
            Slider("files", "files", "fewest files", "files >= ?", 0, "max(files)", 1),
        ),
        sums=(("files in them, nested ones counted again", "sum(files)"),),
    ),
    Listing(
        "reuse", "objects", "Copied objects",
        (_c("sha1", "SHA-1", "hex"), _c("kind", "kind", "text"), _c("length", "bytes"), _c("count", "copies"),
         _c("domains", "domains"), _c("label", "label", "text"), _c("example", "example", "text")),
        sort="count",
        sliders=(Slider("count", "copies", "fewest copies", '"count" >= ?', 0, 'max("count")', 1),
                 Slider("domains", "domains", "fewest domains", "domains >= ?", 0, "max(domains)", 1)),
    ),
    Listing(
        "reuse", "files", "Files",
        (URL, _c("chunks", "chunks"), _c("labelled", "copied chunks"), _c("contains", "share copied", "share"),
         _c("target", "target", "flag")),
        sort="contains",
        sliders=(Slider("contains", "share copied", "least share of copied chunks", "contains >= ?", 0, 1, 0.01),),
    ),
)  # fmt: skip


def listings_of(detector: str, tables: Mapping[str, Mapping[str, str]]) -> list[Listing]:
    """The lists of the tables a detector has; one that is not known above is shown as it is."""
    known = [one for one in LISTINGS if one.detector == detector and one.table in tables]
    names = {one.table for one in known}
    return known + [_as_it_is(detector, name, types) for name, types in tables.items() if name not in names]


def listing_of(detector: str, table: str, tables: Mapping[str, Mapping[str, str]]) -> Listing | None:
    return next((one for one in listings_of(detector, tables) if one.table == table), None)


_KINDS = {"DOUBLE": "number", "FLOAT": "number", "BOOLEAN": "flag", "VARCHAR": "text", "BLOB": "hex"}


def _as_it_is(detector: str, table: str, types: Mapping[str, str]) -> Listing:
    columns = []
    for name, type_ in types.items():
        if name.endswith("_hash") or "[" in type_ or "(" in type_:
            continue
        kind = _KINDS.get(type_, "count" if "INT" in type_ else "text")
        columns.append(Column(name, name.replace("_", " "), name if name in ("url", "host", "domain") else kind))
    return Listing(detector, table, table.replace("_", " ").capitalize(), tuple(columns), "rowid", is_descending=False)
