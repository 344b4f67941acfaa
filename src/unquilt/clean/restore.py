"""The pages as they were, from a clean crawl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from unquilt.clean.files import read_tables
from unquilt.clean.run import MANIFEST, is_clean
from unquilt.clean.write import FOLDERS
from unquilt.errors import BadInput
from unquilt.schema import CLEAN_PAGES


def restore_pages(out: str | Path) -> Iterator[pa.Table]:
    """The pages of the crawl as they were before it was cleaned, in their order: a table (CLEAN_PAGES) for each part.

    Pages that were dropped are back, and so is every passage that was cut.
    """
    path = Path(out)
    if not is_clean(path):
        raise BadInput(f"{path} is not a clean crawl.", fix=f"Make one:  unquilt clean CORPUS -o {path}")
    known = json.loads((path / MANIFEST).read_bytes())
    if not known["complete"]:
        raise BadInput(f"{path} is not complete: the job that wrote it was stopped.", fix="Run the same command again.")
    for name in known["files"]:
        try:
            yield _restore_part(path, name, is_cut=not known["params"]["mark"])
        except FileNotFoundError as error:
            raise BadInput(
                f"{error.filename} is not there.", fix="Restoring takes all files of a clean crawl: put it back."
            ) from None


def _restore_part(path: Path, name: str, *, is_cut: bool) -> pa.Table:
    pages, removed, dropped = (
        pa.concat_tables([schema.empty_table(), *read_tables(path / folder / name, schema)])
        for folder, schema in FOLDERS.items()
    )
    if is_cut:
        pages = _put_back(pages, removed)
    return pa.concat_tables([pages, dropped.select(CLEAN_PAGES.names)]).sort_by("page")


def _put_back(pages: pa.Table, removed: pa.Table) -> pa.Table:
    """Pages with the passages that were cut out of them."""
    passages: dict[int, list[dict[str, Any]]] = {}
    for one in removed.select(["page", "begin", "end", "words", "text"]).to_pylist():
        passages.setdefault(one["page"], []).append(one)
    rows = pages.select(["page", "text", "words"]).to_pylist()
    for row in rows:
        mine = passages.get(row["page"])
        if not mine:
            continue
        row["text"] = restore_text(row["text"], [(one["begin"], one["end"], one["text"]) for one in mine])
        row["words"] += sum(one["words"] for one in mine)
    for name in ("text", "words"):
        column = pa.array([row[name] for row in rows], CLEAN_PAGES.field(name).type)
        pages = pages.set_column(pages.column_names.index(name), CLEAN_PAGES.field(name), column)
    return pages


def restore_text(text: str, passages: list[tuple[int, int, str]]) -> str:
    """A text with its passages (begin, end, text), in order, where they were.

    A line break stands in place of those that touch, but at the beginning and the end of the text.
    """
    pieces: list[str] = []
    at = taken = 0  # how much there is, and how much of ``text`` is used up
    for number, (begin, end, passage) in enumerate(passages):
        pieces += [text[taken : taken + begin - at], passage]
        taken += begin - at
        at = end
        touches = number + 1 < len(passages) and passages[number + 1][0] == end
        if not touches and 0 < taken < len(text):
            taken += 1
    return "".join([*pieces, text[taken:]])
