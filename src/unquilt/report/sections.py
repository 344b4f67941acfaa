"""A section of the report for each detector: what it found, figures, the top of its tables, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unquilt.corpus import Corpus
from unquilt.errors import CorpusMismatch, NotACorpus
from unquilt.report.against import MOST_FOREIGN, against_facts, against_sentences
from unquilt.report.drawings import Drawn, drawn_figures
from unquilt.report.findings import ask
from unquilt.result import check_result, result_files

_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Listing:
    """The top of a table."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Section:
    """All that the report says of a detector."""

    detector: str
    title: str
    about: str
    params: dict[str, Any] | None  # None: it has not run on these pages
    sentences: Sequence[str] = ()
    listings: Sequence[Listing] = ()
    figures: Sequence[Drawn] = ()


@dataclass(frozen=True, slots=True)
class _Kind:
    title: str
    about: str
    questions: Sequence[tuple[str, str]]  # a title and SQL; its columns become the heads


_KINDS = {
    "phrases": _Kind(
        "Phrases: near-duplicates and what many pages say",
        "Pages of nearly the same words, and phrases of five words that many share (Fetterly, Manasse, Najork 2005).",
        [
            (
                "The largest near-duplicate classes",
                'SELECT url AS page, pages, cohesion AS "mean resemblance", weakest, cross_site AS "across sites" '
                "FROM {classes} WHERE representative ORDER BY pages DESC, url LIMIT {n}",
            ),
            ("The most popular phrases", "SELECT phrase, pages FROM {popular} ORDER BY pages DESC, phrase LIMIT {n}"),
            (
                "Hosts whose pages are full of popular phrases",
                'SELECT host, pages, mean AS "mean popular", deviation FROM {hosts} WHERE suspect '
                "ORDER BY mean DESC, host LIMIT {n}",
            ),
        ],
    ),
    "quilts": _Kind(
        "Quilts: pages stitched together from others",
        "Pages most of which stands on several others, with all of them (Najork 2012).",
        [
            (
                "Those that their sources cover most",
                "SELECT url AS page, len(sources) AS sources, covered_fraction AS covered, "
                'len([s FOR s IN sources IF s.attributed]) AS "linked to", sources[1].url AS "first source" '
                "FROM {quilts} ORDER BY covered_fraction DESC, url LIMIT {n}",
            )
        ],
    ),
    "styles": _Kind(
        "Styles: pages made by the same template",
        "Pages whose markup is alike, whatever they say (Urvoy, Lavergne, Filoche 2006). Short pages score low.",
        [
            (
                "Clusters by similarity and number of domains",
                "SELECT prototype AS page, pages, domains, mean_similarity AS similarity, kind FROM {clusters} "
                "ORDER BY cluster LIMIT {n}",
            )
        ],
    ),
    "mirrors": _Kind(
        "Mirrors: hosts that replicate hosts",
        "Level 1 is the same content at the same paths, 5 the same paths with other content (Bharat, Broder 1999).",
        [
            (
                "Mirrored pairs",
                'SELECT host_a AS host, host_b AS other, level, score, known AS "tests known" FROM {pairs} '
                "WHERE level IN ('1', '2', '3', '4', '5') ORDER BY level, score DESC, host LIMIT {n}",
            ),
            (
                "Groups",
                'SELECT first(canonical) AS "canonical host", count(*) AS hosts, sum(urls)::BIGINT AS URLs '
                'FROM {groups} GROUP BY "group" ORDER BY hosts DESC, 1 LIMIT {n}',
            ),
        ],
    ),
    "reuse": _Kind(
        "Reuse: copied files and chunks, and bad neighborhoods",
        "Pieces of pages that occur unusually often, and places of the web that consist of them (Ardi, Heidemann).",
        [
            (
                "Bad neighborhoods",
                "SELECT prefix, files, badness, low, high FROM {neighborhoods} WHERE bad AND prefix = under "
                "ORDER BY labelled DESC, prefix LIMIT {n}",
            ),
            (
                "The most copied chunks",
                'SELECT example AS "first page", count AS copies, domains, length AS bytes FROM {objects} '
                "WHERE label = 'labelled' AND kind = 'chunk' ORDER BY count DESC, 1 LIMIT {n}",
            ),
        ],
    ),
}

_AGAINST = _Kind(
    "Against: what changed since the earlier crawl",
    "Pages by what became of them, what new and changed pages take from pages of the old crawl that they did not have "
    "before, and groups that are still the same. Shares are of a page's grams without those that are too common.",
    [
        (
            "Pages that take most from old pages of other sites",
            'SELECT url AS page, state, round(100 * foreign_share)::INT AS "% from other sites", '
            'len([s FOR s IN sources IF s.foreign]) AS sources, sources[1].url AS "first source" FROM {copied} '
            "WHERE " + MOST_FOREIGN,
        ),
        (
            "Pages that take most from old pages of their own site",
            'SELECT url AS page, state, round(100 * (share - foreign_share))::INT AS "% taken", '
            "len([s FOR s IN sources IF NOT s.foreign]) AS sources, "
            '[s.url FOR s IN sources IF NOT s.foreign][1] AS "first source" FROM {copied} '
            'WHERE taken > "foreign" ORDER BY (taken - "foreign") * (share - foreign_share) DESC, url LIMIT {n}',
        ),
        (
            "Pages that moved",
            "SELECT url AS page, old_url AS before FROM {pages} WHERE state = 'moved' ORDER BY url LIMIT {n}",
        ),
        (
            "Pages that changed most",
            "SELECT url AS page, resemblance FROM {pages} WHERE state = 'changed' AND resemblance IS NOT NULL "
            "ORDER BY resemblance, url LIMIT {n}",
        ),
        (
            "The largest groups that are not what they were",
            "SELECT example AS member, detector, state, new_members AS members, old_members AS before, overlap "
            "FROM {identities} WHERE state <> 'kept' "
            "ORDER BY greatest(coalesce(new_members, 0), coalesce(old_members, 0)) DESC, detector, 1 LIMIT {n}",
        ),
    ],
)


def make_sections(corpus: Corpus) -> list[Section]:
    """A section for each detector, whether it has run or not; and one for a comparison, if there is one."""
    sections = [_section(corpus, name, kind) for name, kind in _KINDS.items()]
    facts = against_facts(corpus)
    if facts is not None:
        compared = _section(corpus, "against", _AGAINST)
        sections.append(replace(compared, sentences=[f"Compared with {facts['old']}.", *against_sentences(facts)]))
    return sections


def _section(corpus: Corpus, name: str, kind: _Kind) -> Section:
    files = result_files(corpus, name)
    if files is None:
        return Section(name, kind.title, kind.about, None)
    listings = []
    for title, sql in kind.questions:
        rows = ask(sql, files, n=_MOST_ROWS, as_dicts=True)
        if rows:
            listings.append(Listing(title, list(rows[0]), [list(row.values()) for row in rows]))
    try:
        params = check_result(corpus, name)["params"]
        figures = drawn_figures(corpus, name)
    except (NotACorpus, CorpusMismatch, FileNotFoundError):  # it is being written at this moment
        return Section(name, kind.title, kind.about, None)
    return Section(name, kind.title, kind.about, params, listings=listings, figures=figures)
