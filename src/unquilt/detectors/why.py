"""Why a page looks as it does: what in it is copied, from where, and the likely cause."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus
from unquilt.detectors.context import Context, context_of
from unquilt.detectors.quilts.describe import plain_url
from unquilt.detectors.quilts.find import QUILTED, describe_all, find_quilted, pages_with_text, share_grams
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.detectors.sites import page_arrays, site_numbers
from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput
from unquilt.ingest.again import COLUMNS, read_again
from unquilt.ingest.html import place_links
from unquilt.ingest.params import IngestParams
from unquilt.ingest.sites import domain_of, host_of
from unquilt.kernels.grams import hash_grams
from unquilt.kernels.words import hash_words

_NEAR = 200  # of the URLs that are suggested, how many are compared
_MOSTLY = 0.5
NEAR_CHARACTERS = 300
"""A link this near to a patch, not counting white space, is taken to name its source."""


@dataclass(frozen=True, slots=True)
class Source:
    """A page that another one took from."""

    url: str
    grams: int
    share: float  # of the page's grams
    is_foreign: bool
    is_attributed: bool  # the page links to it, or to its domain
    link_distance: int | None  # characters from its patches to the nearest such link; None if not known
    time: datetime | None
    is_older: bool | None  # than the page; None if one of them has no date


@dataclass(frozen=True, slots=True)
class Patch:
    """A piece of a page that stands in one of its sources."""

    begin: int
    end: int
    source: int  # index of the source
    source_begin: int
    source_end: int


@dataclass(frozen=True, slots=True)
class Story:
    """What is known about one page."""

    url: str
    text: str
    time: datetime | None
    words: int
    grams: int
    patch_fraction: float
    foreign_fraction: float
    is_quilt: bool
    sources: list[Source]
    patches: list[Patch]
    original_fraction: float  # of its characters that are words, the share in no patch
    context: Context  # what the other detectors found
    cause: str


def explain_page(
    corpus: Corpus,
    url: str,
    params: QuiltParams = QuiltParams(),
    *,
    engine: Engine | None = None,
) -> Story:
    """What in a page is copied, from which pages, whether it is a quilt or not."""
    pages_with_text(corpus)
    number, row = find_page(corpus, url)
    grams = np.unique(hash_grams(hash_words(np.frombuffer((row["text"] or "").encode(), np.uint8)), params.k))
    every = replace(params, c=1, sigma=0.0, patches=True, collapse=False)
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(LocalEngine())
        arrays = stack.enter_context(page_arrays(corpus))
        sites = arrays.save("sites", site_numbers(corpus, params.foreign))
        with share_grams(
            corpus, engine, k=params.k, m=params.m, sites=sites, only=grams | np.uint64(1), foreign=True
        ) as shared:
            step = partial(find_quilted, params=every, pages=corpus.pages, sites=sites)
            found = engine.gather(engine.reduce(step, shared.ranges, name="Covering the page"), QUILTED)
            mine = found.filter(pc.equal(found["number"], number))
            tables = describe_all(corpus, mine, shared.foreign, every, engine, arrays) if len(mine) else {}
    return _tell(row, len(grams), tables, params, context_of(corpus, url))


def find_page(corpus: Corpus, url: str) -> tuple[int, dict[str, Any]]:
    """The number and the row of a page by its URL; an error that names similar ones if there is none."""
    near: list[str] = []
    for file in corpus.files():
        first = file.first
        for table in file.batches([*COLUMNS, "time", "words", "text"]):
            at = pc.index(table["url"], url).as_py()
            if at >= 0:
                return first + at, table.slice(at, 1).to_pylist()[0]
            near += _similar(table["url"], url)[: _NEAR - len(near)]
            first += len(table)
    raise _no_page(corpus, url, near)


def _similar(urls: pa.ChunkedArray, url: str) -> list[str]:
    piece = url.rstrip("/").rpartition("/")[2] or url
    found: list[str] = urls.filter(pc.match_substring(urls, piece, ignore_case=True)).to_pylist()
    return found


def _no_page(corpus: Corpus, url: str, near: Sequence[str]) -> BadInput:
    import difflib

    close = difflib.get_close_matches(url, near, n=3, cutoff=0.3)
    fix = "Did you mean " + " or ".join(close) + "?" if close else "Give the URL as it stands in the corpus."
    return BadInput(f"{corpus.path} has no page {url}", fix=fix)


def _tell(row: dict[str, Any], grams: int, tables: dict[str, pa.Table], params: QuiltParams, context: Context) -> Story:
    quilt: dict[str, Any] = tables["quilts"].to_pylist()[0] if tables else {}
    given: list[dict[str, Any]] = quilt.get("sources") or []
    sources = [_source(one, row["time"], grams) for one in given]
    index = {source.url: i for i, source in enumerate(sources)}
    patches = [
        Patch(one["begin"], one["end"], index[one["source_url"]], one["source_begin"], one["source_end"])
        for one in (tables["patches"].to_pylist() if tables else [])
    ]
    fraction = quilt.get("patch_fraction", 0.0)
    letters = sum(character.isalnum() for character in row["text"] or "")
    copied = sum(character.isalnum() for patch in patches for character in row["text"][patch.begin : patch.end])
    sources = _with_link_distances(row, sources, patches)
    story = Story(
        url=row["url"],
        text=row["text"] or "",
        time=row["time"],
        words=row["words"] or 0,
        grams=grams,
        patch_fraction=fraction,
        foreign_fraction=quilt.get("foreign_fraction", 0.0),
        is_quilt=fraction >= params.sigma and len(sources) >= params.c,
        sources=sources,
        patches=patches,
        original_fraction=1 - copied / letters if letters else 1.0,
        context=context,
        cause="",
    )
    return replace(story, cause=likely_cause(story, params))


def _source(one: dict[str, Any], time: datetime | None, grams: int) -> Source:
    return Source(
        url=one["url"],
        grams=one["grams"],
        share=one["grams"] / grams,
        is_foreign=one["foreign"],
        is_attributed=one["attributed"],
        link_distance=None,
        time=one["time"],
        is_older=one["time"] < time if one["time"] and time else None,
    )


def _with_link_distances(row: dict[str, Any], sources: list[Source], patches: list[Patch]) -> list[Source]:
    """The sources, each linked to with how near to its patches a link to it stands."""
    if row["file_sha1"] is None or not any(source.is_attributed for source in sources):
        return sources
    try:
        ((_, html),) = read_again([row], IngestParams(max_page_bytes=1 << 30, status="any"))
    except (BadInput, OSError):
        return sources  # the crawl is not there any more
    links = place_links(html, row["url"])
    pages: dict[str, list[int]] = {}
    domains: dict[str, list[int]] = {}
    for link, place in links:
        pages.setdefault(plain_url(link), []).append(place)
        domains.setdefault(domain_of(host_of(link)), []).append(place)
    space_before = np.cumsum([0, *(character.isspace() for character in row["text"])])
    spans: dict[int, list[tuple[int, int]]] = {}
    for patch in patches:
        begin, end = (int(at - space_before[at]) for at in (patch.begin, patch.end))
        spans.setdefault(patch.source, []).append((begin, end))
    measured = []
    for i, source in enumerate(sources):
        near = pages.get(plain_url(source.url)) or domains.get(domain_of(host_of(source.url)), [])
        away = [max(begin - at, at - end, 0) for at in near for begin, end in spans.get(i, [])]
        measured.append(replace(source, link_distance=min(away) if source.is_attributed and away else None))
    return measured


def likely_cause(story: Story, params: QuiltParams) -> str:
    """One sentence that names the likely cause of what was found."""
    style, mirrors = story.context.style, story.context.mirrors
    if style and style.kind == "link farm":
        return (
            f"Part of a link farm: {style.pages:,} pages on {style.domains:,} domains, made alike, link to each other."
        )
    if mirrors and (story.context.near_duplicates or story.original_fraction < _MOSTLY):
        return f"A page of a mirrored host: {mirrors[0].host} has the same pages (level {mirrors[0].level})."
    if story.grams == 0:
        return f"Too short to tell: it has fewer than {params.k} words."
    if not story.sources:
        template = f" Its template is shared by {style.pages:,} pages." if style else ""
        own = "Original, as far as this corpus knows: no passage of it stands on a page it could have been taken from."
        return own + template
    first = story.sources[0]
    where = "another site" if first.is_foreign else "its own site"
    if first.share >= _MOSTLY and first.grams >= 0.9 * sum(source.grams for source in story.sources):
        return f"A copy of one page of {where}, or the original of it: {first.url}"
    if not story.is_quilt:
        share = f"{1 - story.original_fraction:.0%}"
        return (
            f"Mostly its own, with {share} that also stands elsewhere."
            if story.original_fraction > _MOSTLY
            else (f"Stitched from few pages: {share} of it stands on {len(story.sources)} others.")
        )
    foreign = sum(source.grams for source in story.sources if source.is_foreign)
    covered = sum(source.grams for source in story.sources)
    attributed = sum(source.grams for source in story.sources if source.is_attributed)
    if foreign < _MOSTLY * covered:
        return f"Assembled from {len(story.sources)} pages of its own site: an overview, a feed or a page for printing."
    if attributed >= _MOSTLY * covered:
        return f"Syndication or aggregation: it links to most of the {len(story.sources)} pages it takes from."
    return (
        f"A scraped quilt: stitched from {len(story.sources)} pages, most of them of other sites it does not link to."
    )
