"""Drawing findings to judge, and what is asked about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unquilt.errors import BadParameter
from unquilt.serve.index import Index
from unquilt.serve.judgments import Drawn, Judgments
from unquilt.serve.listings import listing_of
from unquilt.serve.queries import conditions, read_knobs

METHODS = ("uniform", "by score")
STRATA = 5
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Kind:
    """What a finding of a detector is, and what a person is asked about it."""

    table: str
    finding: str  # SQL of its name
    score: str
    where: str
    question: str
    yes: str
    no: str


KINDS = {
    "quilts": Kind("quilts", "url", "patch_fraction", "true", "Is this page spam?", "Spam", "Not spam"),
    "phrases": Kind("covers", "url", "popular", "true", "Is this page spam?", "Spam", "Not spam"),
    "styles": Kind("clusters", "cluster::VARCHAR", "score", "true", "Is this cluster spam?", "Spam", "Not spam"),
    "mirrors": Kind(
        "pairs", "host_a || ' ' || host_b", "-coalesce(try_cast(level AS INTEGER), 6)",
        "try_cast(level AS INTEGER) IS NOT NULL", "Do these hosts mirror each other?", "Mirrors", "No mirrors",
    ),
    "reuse": Kind("neighborhoods", "prefix", "badness", "bad", "Is this neighborhood spam?", "Spam", "Not spam"),
}  # fmt: skip


def draw_sample(
    index: Index,
    judgments: Judgments,
    detector: str,
    *,
    size: int = 100,
    seed: int = 0,
    method: str = "uniform",
    asked: Mapping[str, str] | None = None,
) -> int:
    """Draw findings of a detector and keep them as a sample; its number.

    Which ones depends on the seed and on the findings, not on their order. ``by score`` draws as many from each fifth
    of the findings by score. ``asked`` moves thresholds, as the sliders do.
    """
    kind = KINDS.get(detector)
    if kind is None or method not in METHODS or not 1 <= size <= _MOST:
        raise BadParameter(
            f"A sample of {size} findings of {detector}, {method}, cannot be drawn.",
            fix=f"Draw 1 to {_MOST:,} findings, {' or '.join(METHODS)}, of {', '.join(KINDS)}.",
        )
    known = index.known[detector]
    if kind.table not in known.tables:
        problem = known.problem or f"Its result has no table {kind.table}."
        raise BadParameter(f"There is no result of {detector}. {problem}", fix=f"Run it:  unquilt {detector} CORPUS")
    listing = listing_of(detector, kind.table, known.tables)
    assert listing is not None
    knobs = read_knobs(index, listing, asked or {})
    parts, values = conditions(knobs)
    where = " AND ".join([kind.where, *parts])
    strata = STRATA if method == "by score" else 1
    rows = index.ask(
        f"WITH every AS (SELECT {kind.finding} AS finding, ({kind.score})::DOUBLE AS score "
        f'FROM {{{detector}}}."{kind.table}" WHERE {where}), '
        f"cut AS (SELECT *, ntile({strata}) OVER (ORDER BY score, finding) AS stratum, md5(? || finding) AS lot "
        "FROM every), "
        "placed AS (SELECT *, row_number() OVER (PARTITION BY stratum ORDER BY lot, finding) AS place, "
        "count(*) OVER (PARTITION BY stratum) AS stratum_size FROM cut) "
        "SELECT finding, score, stratum, stratum_size, (SELECT count(*) FROM every) AS population FROM placed "
        "WHERE place <= ?::DOUBLE / ? + (stratum <= ?::INTEGER % ?)::INTEGER ORDER BY lot, finding LIMIT ?",
        [*values, f"{seed} ", size // strata * strata, strata, size, strata, size],
    )
    drawn = [Drawn(row["finding"], row["score"], row["stratum"], row["stratum_size"]) for row in rows]
    setting = dict(known.params) | {
        knob.slider.param or knob.slider.name: knob.value for knob in knobs if knob.is_moved
    }
    return judgments.add_sample(
        detector, drawn, method=method, seed=seed, setting=setting, corpus_digest=index.corpus.digest,
        population=rows[0]["population"] if rows else 0,
    )  # fmt: skip


def setting_text(detector: str, setting: Mapping[str, Any]) -> str:
    """The settings of a sample in one line, with the letters of the papers."""
    letters = {"sigma": "σ", "min_contribution": "τ", "tau": "τ"}
    first = [name for name in ("k", "m", "c", "sigma", "t", "p") if name in setting]
    names = first + [name for name in setting if name not in first and isinstance(setting[name], int | float | str)]
    shown = [(name, setting[name]) for name in names if not isinstance(setting[name], bool) and setting[name] != ""]
    return ", ".join(f"{letters.get(name, name)} = {value:g}" if isinstance(value, int | float) else f"{name} = {value}"
                     for name, value in shown[:8])  # fmt: skip
