"""What a comparison with an earlier crawl found, in counts and sentences."""

from __future__ import annotations

from typing import Any

from unquilt.corpus import Corpus
from unquilt.report.findings import Finding, ask
from unquilt.result import check_result, result_files

_MOST_STRIKING = 3
_GROUPS = {"phrases": "near-duplicate classes", "styles": "style clusters", "mirrors": "mirror groups"}
_STATES = ("same", "same-text", "changed", "moved", "new", "gone")
_COPIED = "SELECT count(*), count(*) FILTER (share >= 0.5), count(*) FILTER (foreign_share >= 0.5) FROM {copied}"
MOST_FOREIGN = 'foreign_share >= 0.1 ORDER BY "foreign" * foreign_share DESC, url LIMIT {n}'
"""SQL for the pages that take most from other sites; a phrase here and there is not worth a look."""
_STRIKING = (
    "SELECT url, state, foreign_share AS share, len([s FOR s IN sources IF s.foreign]) AS pages, sources[1].url AS "
    "source FROM {copied} WHERE " + MOST_FOREIGN
)
_MOST = (
    "SELECT url, state, share, foreign_share, len(sources) AS sources FROM {copied} ORDER BY "
    'CASE WHEN foreign_share >= 0.1 THEN "foreign" * foreign_share ELSE 0 END DESC, taken * share DESC, url LIMIT {n}'
)


def against_facts(corpus: Corpus) -> dict[str, Any] | None:
    """What a comparison of these pages found, as counts; None if there is none."""
    files = result_files(corpus, "against")
    if files is None:
        return None
    states = dict(ask("SELECT state, count(*) FROM {pages} GROUP BY state", files))
    copied, half, foreign_half = ask(_COPIED, files)[0]
    groups: dict[str, dict[str, int]] = {}
    for detector, state, count in ask("SELECT detector, state, count(*) FROM {identities} GROUP BY ALL", files):
        groups.setdefault(detector, {})[state] = count
    return {
        "old": check_result(corpus, "against")["params"]["old"],
        "pages": {state: states.get(state, 0) for state in _STATES},
        "copied": {"pages": copied, "half": half, "foreign_half": foreign_half},
        "groups": {
            name: {state: groups[name].get(state, 0) for state in ("kept", "new", "gone", "split", "merged")}
            for name in _GROUPS
            if name in groups
        },
    }


def against_sentences(facts: dict[str, Any]) -> list[str]:
    """The same in words."""
    pages = facts["pages"]
    if pages["same"] == sum(pages.values()):
        told = [f"All {pages['same']:,} pages are the same, byte for byte."]
    else:
        told = [
            f"{pages['new']:,} {'page is' if pages['new'] == 1 else 'pages are'} new, {pages['gone']:,} gone, "
            f"{pages['moved']:,} moved, {pages['changed']:,} changed, {pages['same-text']:,} changed in markup only, "
            f"{pages['same']:,} the same."
        ]
    copied = facts["copied"]
    if copied["half"]:
        across = {0: "none", copied["half"]: "all"}.get(copied["foreign_half"], f"{copied['foreign_half']:,}")
        told.append(
            f"{copied['half']:,} new or changed {'page takes' if copied['half'] == 1 else 'pages take'} at least half "
            f"of the text, common phrases aside, from pages of the old crawl, {across} of them from other sites."
        )
    elif pages["new"] or pages["changed"]:
        told.append("No new or changed page takes half of its text, common phrases aside, from pages of the old crawl.")
    for name, states in facts["groups"].items():
        counts = ", ".join(f"{count:,} {state}" for state, count in states.items() if count)
        told.append(f"{_GROUPS[name][0].upper()}{_GROUPS[name][1:]}: {counts or 'none'}.")
    return told


def most_taken(corpus: Corpus, most: int) -> list[dict[str, Any]]:
    """The pages that take most from the old crawl, those that take from other sites first."""
    files = result_files(corpus, "against")
    return ask(_MOST, files, n=most, as_dicts=True) if files else []


def against_striking(corpus: Corpus) -> list[Finding]:
    """The pages that take most from old pages of other sites."""
    files = result_files(corpus, "against")
    rows = ask(_STRIKING, files, n=_MOST_STRIKING, as_dicts=True) if files else []
    return [Finding("against", _striking_sentence(row), row["url"], row["pages"]) for row in rows]


def _striking_sentence(row: dict[str, Any]) -> str:
    of = (
        "an old page of another site:" if row["pages"] == 1 else f"{row['pages']:,} old pages of other sites, above all"
    )
    return f"A {row['state']} page takes {row['share']:.0%} of its text from {of} {row['source']}"
