"""One page: its text, the patches in it and where they are from, and what every detector says about it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Any

import pyarrow.parquet as pq

from unquilt.errors import BadInput
from unquilt.serve.index import Index

_MOST_CHARACTERS = 300_000  # of a text that are shown
_MOST_DIFF_WORDS = 20_000
_MOST_NEAR = 50
_NEAR_TRIED = 400
_FACTS = ("taken_by", "near", "phrases", "cover", "member", "cluster", "mirrors", "file", "neighborhoods")


@dataclass(frozen=True, slots=True)
class Source:
    """A page another one took from."""

    number: int
    url: str
    grams: int
    share: float  # of the page's patch grams
    is_foreign: bool
    is_attributed: bool
    age: str  # "older", "newer", "same time" or ""


@dataclass(frozen=True, slots=True)
class Patch:
    """A piece of a page that stands in a source; character offsets."""

    begin: int
    end: int
    source: int  # number of the source
    source_begin: int
    source_end: int


@dataclass(frozen=True, slots=True)
class PatchMap:
    """Where a page is from."""

    sources: list[Source] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    cause: str = ""

    def source(self, number: int) -> Source | None:
        return self.sources[number - 1] if 0 < number <= len(self.sources) else None


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a page's text: a patch, by its index, or the page's own."""

    text: str
    patch: int | None = None
    source: int = 0


class NoPage(BadInput):
    """A URL that is not in the corpus; ``similar`` ones are."""

    def __init__(self, url: str, similar: list[str]) -> None:
        super().__init__(f"The corpus has no page {url}", fix="Give the URL as it stands in the corpus.")
        self.similar = similar


def find_page(index: Index, url: str) -> dict[str, Any]:
    """What the index knows of a page; an error that names similar ones if there is none."""
    rows = index.ask("SELECT * FROM {pages}.page WHERE url_hash = hash(?) AND url = ? LIMIT 1", [url, url])
    if rows:
        return rows[0]
    raise NoPage(url, _similar(index, url))


def read_page(index: Index, page: int, columns: list[str]) -> dict[str, Any]:
    """Some columns of a page, of which only its row group is read."""
    part = next(one for one in index.corpus.parts if one.number == page >> 32)
    row = page & 0xFFFFFFFF
    with pq.ParquetFile(index.corpus.path / part.file, memory_map=True) as file:
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if row < count:
                table = file.read_row_group(group, columns=columns, use_threads=False)
                found: dict[str, Any] = table.slice(row, 1).to_pylist()[0]
                return found
            row -= count
    raise BadInput(f"The corpus has no row {page}.", fix="Ingest the crawl again.")


def read_text(index: Index, url: str) -> str:
    return read_page(index, find_page(index, url)["page"], ["text"])["text"] or ""


def _similar(index: Index, url: str) -> list[str]:
    """URLs of the corpus that share a host or the last piece with one that is not in it."""
    host = re.sub(r"^[a-z]+://", "", url.lower()).partition("/")[0]
    piece = url.rstrip("/").rpartition("/")[2].lower() or host
    query = "SELECT url FROM {pages}.page WHERE host = ? OR contains(lower(url), ?) LIMIT ?"
    near = [row["url"] for row in index.ask(query, [host, piece, _NEAR_TRIED])]
    return difflib.get_close_matches(url, near, n=5, cutoff=0.3)


def patches_of(index: Index, page: dict[str, Any]) -> PatchMap | None:
    """The patches of a page as the result of quilts has them; None if it is no quilt there."""
    if not index.has("quilts", "quilts"):
        return None
    rows = index.ask(
        "SELECT patch_grams, [{{'url': s.url, 'grams': s.grams, 'foreign': s.foreign, 'attributed': s.attributed}} "
        "for s in sources] AS sources FROM {quilts}.quilts WHERE url_hash = hash(?) AND url = ?",
        [page["url"], page["url"]],
    )
    if not rows:
        return None
    given = rows[0]["sources"] or []
    times = times_of(index, [one["url"] for one in given])
    sources = [
        Source(
            i + 1, one["url"], one["grams"], one["grams"] / max(rows[0]["patch_grams"], 1), bool(one["foreign"]),
            bool(one["attributed"]), _age(times.get(one["url"]), page["time"]),
        )
        for i, one in enumerate(given)
    ]  # fmt: skip
    return PatchMap(sources, _patches(index, page["url"], sources))


def _patches(index: Index, url: str, sources: list[Source]) -> list[Patch]:
    if not index.has("quilts", "patches"):
        return []
    number = {source.url: source.number for source in sources}
    rows = index.ask(
        'SELECT begin, "end", source_url, source_begin, source_end FROM {quilts}.patches '
        'WHERE url_hash = hash(?) AND url = ? ORDER BY begin, "end"',
        [url, url],
    )
    return [
        Patch(row["begin"], row["end"], number[row["source_url"]], row["source_begin"], row["source_end"])
        for row in rows
        if row["source_url"] in number
    ]


def bands_of(index: Index, urls: list[str]) -> dict[str, list[tuple[float, float, int]]]:
    """For each of some quilts its seam map: begin and width of every patch in thousandths, and its source's rank."""
    if not urls or not index.has("quilts", "patches"):
        return {}
    rows = index.ask(
        'SELECT url, begin, "end", dense_rank() OVER (PARTITION BY url ORDER BY total DESC, source_url) AS rank, '
        'max("end") OVER (PARTITION BY url) AS length FROM (SELECT url, begin, "end", source_url, '
        'sum("end" - begin) OVER (PARTITION BY url, source_url) AS total FROM {quilts}.patches '
        "WHERE url_hash IN (SELECT hash(unnest(?::VARCHAR[])))) ORDER BY url, begin",
        [urls],
    )
    bands: dict[str, list[tuple[float, float, int]]] = {}
    for row in rows:
        scale = 1000 / max(row["length"], 1)
        place = (row["begin"] * scale, max((row["end"] - row["begin"]) * scale, 1.5), row["rank"])
        bands.setdefault(row["url"], []).append(place)
    return bands


def times_of(index: Index, urls: list[str]) -> dict[str, datetime | None]:
    query = "SELECT url, time FROM {pages}.page WHERE url_hash IN (SELECT hash(unnest(?::VARCHAR[])))"
    return {row["url"]: row["time"] for row in index.ask(query, [urls])}


def _age(source: datetime | None, page: datetime | None) -> str:
    if source is None or page is None:
        return ""
    return "older" if source < page else "newer" if source > page else "same time"


def cut_pieces(text: str, patches: list[Patch]) -> list[Piece]:
    """A text cut at the seams. Every character stands in exactly one piece, whatever the patches say."""
    pieces = []
    done = 0
    shown = min(len(text), _MOST_CHARACTERS)
    for i, patch in enumerate(patches):
        begin, end = max(patch.begin, done), min(patch.end, shown)
        if begin < end:
            if done < begin:
                pieces.append(Piece(text[done:begin]))
            pieces.append(Piece(text[begin:end], i, patch.source))
            done = end
    if done < shown:
        pieces.append(Piece(text[done:shown]))
    return pieces


def cut_around(text: str, begin: int, end: int) -> dict[str, str]:
    """A text before, in and after a place; what is far from it is left out of a very long one."""
    begin, end = max(0, min(begin, len(text))), max(0, min(end, len(text)))
    reach = _MOST_CHARACTERS // 2
    first, last = max(0, begin - reach), min(len(text), end + reach)
    return {
        "before": ("… " if first else "") + text[first:begin],
        "copied": text[begin:end],
        "after": text[end:last] + (" …" if last < len(text) else ""),
    }


class Explainer:
    """Runs ``why`` for a page, one at a time: it reads the whole corpus."""

    def __init__(self) -> None:
        self._lock = Lock()

    def explain(self, index: Index, url: str) -> PatchMap:
        with self._lock:
            return _explain(str(index.corpus.path), index.corpus.digest, url)


@lru_cache(maxsize=64)
def _explain(path: str, digest: str, url: str) -> PatchMap:
    from unquilt.corpus import Corpus
    from unquilt.detectors.why import explain_page

    story = explain_page(Corpus(path), url)
    ages = {True: "older", False: "newer", None: ""}
    covered = max(sum(source.grams for source in story.sources), 1)
    sources = [
        Source(i + 1, one.url, one.grams, one.grams / covered, one.is_foreign, one.is_attributed, ages[one.is_older])
        for i, one in enumerate(story.sources)
    ]
    patches = [Patch(one.begin, one.end, one.source + 1, one.source_begin, one.source_end) for one in story.patches]
    return PatchMap(sources, patches, story.cause)


def facts_of(index: Index, page: dict[str, Any]) -> dict[str, Any]:
    """What the detectors other than quilts know about a page, by name; None if a detector was not run."""
    facts: dict[str, Any] = dict.fromkeys(_FACTS)
    url, host = page["url"], page["host"]
    here = "WHERE url_hash = hash(?) AND url = ?"
    if index.has("quilts", "patches"):
        facts["taken_by"] = index.ask(
            'SELECT url, sum("end" - begin)::BIGINT AS characters FROM {quilts}.patches WHERE source_hash = hash(?) '
            "AND source_url = ? GROUP BY url ORDER BY characters DESC, url LIMIT 20",
            [url, url],
        )
    if index.has("phrases", "classes"):
        facts["near"] = index.ask(
            "SELECT url, representative FROM {phrases}.classes WHERE class IN "
            f"(SELECT class FROM {{phrases}}.classes {here}) AND url <> ? ORDER BY url LIMIT {_MOST_NEAR}",
            [url, url, url],
        )
    for name, detector, table in (
        ("phrases", "phrases", "pages"),
        ("cover", "phrases", "covers"),
        ("member", "styles", "members"),
        ("file", "reuse", "files"),
    ):
        if index.has(detector, table):
            facts[name] = index.ask(f"SELECT * FROM {{{detector}}}.{table} {here} LIMIT 1", [url, url])
    if facts.get("member") and index.has("styles", "clusters"):
        query = "SELECT * FROM {styles}.clusters WHERE cluster = ?"
        facts["cluster"] = index.ask(query, [facts["member"][0]["cluster"]])
    if index.has("mirrors", "pairs"):
        facts["mirrors"] = index.ask(
            "SELECT host_a, host_b, level FROM {mirrors}.pairs WHERE (host_a_hash = hash(?) OR host_b_hash = hash(?)) "
            "AND ? IN (host_a, host_b) ORDER BY level, host_a, host_b LIMIT 50",
            [host, host, host],
        )
    if index.has("reuse", "neighborhoods"):
        facts["neighborhoods"] = neighborhoods_of(index, url)
    return facts


def neighborhoods_of(index: Index, url: str) -> list[dict[str, Any]]:
    """The neighborhoods a URL is in, the smallest last."""
    rest = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", url)
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    ends = [i + 1 for i, character in enumerate(rest) if character == "/"][:100]
    prefixes = [rest[:end] for end in ends] or [rest + "/"]
    query = "SELECT * FROM {reuse}.neighborhoods WHERE prefix IN (SELECT unnest(?::VARCHAR[])) ORDER BY depth"
    return index.ask(query, [prefixes])


def word_diff(old: str, new: str) -> list[tuple[str, str]]:
    """Two texts as runs of words: ("same" | "old" | "new", text)."""
    a, b = (re.findall(r"\S+\s+", text + " ")[:_MOST_DIFF_WORDS] for text in (old, new))
    keys = [[word.strip() for word in words] for words in (a, b)]
    runs: list[tuple[str, str]] = []
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, keys[0], keys[1]).get_opcodes():
        if kind == "equal":
            runs.append(("same", "".join(b[b0:b1])))
        else:
            runs += [("old", "".join(a[a0:a1]))] if a0 < a1 else []
            runs += [("new", "".join(b[b0:b1]))] if b0 < b1 else []
    return runs
