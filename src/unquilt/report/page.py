"""The report: one page that opens in any browser, from disk and without a network.

Everything crawled is escaped, and the page's own policy forbids scripts, whatever slips into it.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from unquilt import __version__
from unquilt.corpus import Corpus, write_atomically
from unquilt.info import describe
from unquilt.progress import size_text
from unquilt.report.findings import five_numbers, striking
from unquilt.report.sections import make_sections

_TOP = 15


def write_report(corpus: Corpus, out: Path) -> Path:
    """Write the report of a corpus to a file; its path."""
    write_atomically(out, render_report(corpus).encode("utf-8", "replace"))
    return out


def render_report(corpus: Corpus) -> str:
    """The report as HTML."""
    info = describe(corpus, top=_TOP)
    style = _read("report.css")
    lists = [
        ("Hosts with the most pages", info.top_hosts, info.pages),
        ("Charsets the pages were read with", info.charsets, info.pages),
        ("Media types", info.media_types, info.pages),
        ("Records skipped, by reason", info.skipped, sum(info.skipped.values())),
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["size"] = size_text
    environment.filters["base64"] = lambda text: base64.b64encode(text.encode()).decode()
    environment.filters["cell"] = _cell
    environment.filters["count"] = lambda number: f"{number:,}"
    page = environment.from_string(_read("report.html"))
    return page.render(
        info=info,
        lists=[(title, counts, total) for title, counts, total in lists if counts],
        numbers=five_numbers(corpus),
        striking=striking(corpus),
        sections=make_sections(corpus),
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        version=__version__,
    )


def _cell(value: Any) -> str:
    """A value of a table as a person reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _read(name: str) -> str:
    return resources.files("unquilt.report").joinpath("templates", name).read_text("utf-8")
