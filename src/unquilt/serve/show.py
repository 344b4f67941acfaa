"""Values as a person reads them, and the templates."""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

HOME = Path(str(resources.files("unquilt.serve")))
_COLORS = 10
_TURNS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # turn the reading direction of what follows


def clean(text: object) -> str:
    """One line of crawled text without what could hide or reorder the rest of it."""
    return "".join(
        c if c.isprintable() and c not in _TURNS else "\N{REPLACEMENT CHARACTER}" for c in str(text if text else "")
    )


def clean_text(text: str) -> str:
    """Crawled text with its lines and joiners, without control characters."""
    return "".join(
        c if c == "\n" or (unicodedata.category(c) != "Cc" and c not in _TURNS) else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def count(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def share(number: float | None) -> str:
    return "–" if number is None else f"{number:.1%}" if number < 0.1 else f"{number:.0%}"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.3g}"


def day(time: datetime | str | None) -> str:
    return str(time)[:10] if time else "–"


def cell(value: Any, kind: str) -> str:
    """A value of a table as text."""
    if kind == "share" and isinstance(value, int | float):
        return share(value)
    if kind == "time":
        return day(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return clean(json.dumps(value, default=str, ensure_ascii=False))
    if isinstance(value, list):
        return count(len(value))
    return clean(value) if value is not None else "–"


def address(path: str, **asked: Any) -> str:
    """An address of this server. Nothing in it can leave the query it is put in."""
    return quote(path) + ("?" + urlencode(asked) if asked else "")


def templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HOME / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        clean=clean, clean_text=clean_text, count=count, share=share, number=number, day=day, cell=cell,
        color=lambda source: f"s{(source - 1) % _COLORS}",
    )  # fmt: skip
    environment.globals.update(address=address)
    return environment
