"""The figures of results as pictures. They are kept next to the result, for the report and for the explorer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unquilt.corpus import Corpus, write_atomically
from unquilt.report.figures import Figure, draw_svg, figures_of
from unquilt.result import RESULT_JSON, load_result

_JSON = "figures.json"
_SHOWN_ROWS = 40  # of the table under a figure


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as a picture, and its data."""

    name: str
    svg: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: int  # rows that are not shown


def drawn_figures(corpus: Corpus, detector: str) -> list[Drawn]:
    """The figures of a result: as they were drawn for it earlier, else drawn now."""
    folder = corpus.results / detector
    drawn_from = hashlib.sha256((folder / RESULT_JSON).read_bytes()).hexdigest()
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads((folder / _JSON).read_bytes())
        if known["result"] == drawn_from:
            return [Drawn(svg=(folder / f"{one['name']}.svg").read_text("utf-8"), **one) for one in known["figures"]]
    drawn = [_draw(one) for one in figures_of(load_result(corpus, detector), corpus)]
    with suppress(OSError):  # a corpus that may only be read has a report as well
        _keep(drawn, folder, drawn_from)
    return drawn


def _draw(figure: Figure) -> Drawn:
    shown = figure.table.slice(0, _SHOWN_ROWS)
    rows = [list(row.values()) for row in shown.to_pylist()]
    svg = draw_svg(figure.chart)
    return Drawn(figure.name, svg, figure.table.column_names, rows, len(figure.table) - len(shown))


def _keep(drawn: list[Drawn], folder: Path, drawn_from: str) -> None:
    for old in (folder / _JSON, *folder.glob("*.svg")):
        old.unlink(missing_ok=True)
    for one in drawn:
        write_atomically(folder / f"{one.name}.svg", one.svg.encode())
    known = [{"name": one.name, "heads": one.heads, "rows": one.rows, "more": one.more} for one in drawn]
    write_atomically(folder / _JSON, json.dumps({"result": drawn_from, "figures": known}).encode())
