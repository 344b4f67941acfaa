"""Tables and sentences for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click


def show_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A small table; numbers to the right, with thousands separated."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2), show_header=any(columns))
    for i, column in enumerate(columns):
        is_number = all(isinstance(row[i], int | float) for row in rows) and bool(rows)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(clean(text_of(value))) for value in row))
    console = Console(soft_wrap=False, highlight=False)
    if not console.is_terminal:  # a pipe or a file has no width
        console = Console(width=200, highlight=False)
    console.print(f"[bold]{escape(clean(title))}[/]")
    console.print(table)


def text_of(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if isinstance(value, float) else str(value)


def clean(text: str) -> str:
    """Crawled text without the control characters that could drive a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def counts_sentence(skipped: Mapping[str, int]) -> str:
    """``12 records skipped: 9 truncated, 3 not-text``; the reasons come with the most frequent first."""
    total = sum(skipped.values())
    if not total:
        return "no records skipped"
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items())
    return f"{total:,} record{'s' if total != 1 else ''} skipped: {reasons}"
