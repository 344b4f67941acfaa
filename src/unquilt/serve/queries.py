"""Lists: what a person asks for in the address of a page, as SQL, and the rows that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from unquilt.serve.index import Index
from unquilt.serve.listings import Column, Listing, Slider

PAGE_SIZE = 50
_MOST_ROWS = 200
_NUMBERS = ("count", "share", "number")
_EXACT = ("host", "domain", "cluster", "group", "class")  # all rows of one of them


@dataclass(frozen=True, slots=True)
class Knob:
    """A slider with its range and value for this corpus."""

    slider: Slider
    least: float
    most: float
    value: float

    @property
    def default(self) -> float:
        return self.most if self.slider.is_upper else self.least

    @property
    def is_moved(self) -> bool:
        return self.value != self.default


@dataclass(frozen=True, slots=True)
class Bound:
    """A number a column must reach, or not exceed, as it was typed."""

    column: Column
    least: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class Rows:
    """One screen of a list."""

    listing: Listing
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]
    total: int
    all: int
    first: int
    size: int
    sort: str
    is_descending: bool
    text: str
    knobs: list[Knob]
    bounds: list[Bound]
    sums: list[tuple[str, float | None]]
    asked: dict[str, str]

    def address(self, **changes: Any) -> str:
        """The address of this list with some of what was asked changed; None takes it out."""
        asked = {**self.asked, **{name: str(value) for name, value in changes.items() if value is not None}}
        kept = {name: value for name, value in asked.items() if name not in changes or changes[name] is not None}
        return self.listing.path + ("?" + urlencode(kept) if kept else "")


def read_rows(index: Index, listing: Listing, asked: Mapping[str, str], *, size: int = PAGE_SIZE) -> Rows:
    """The rows of a list that are asked for. What makes no sense in the question is left out of it."""
    types = index.known[listing.detector].tables[listing.table]
    columns = tuple(column for column in listing.columns if column.name in types)
    by_name = {column.name: column for column in columns}
    knobs = read_knobs(index, listing, asked)
    bounds = [_bound(column, asked) for column in columns if column.kind in _NUMBERS]
    where, values = _where(columns, types, knobs, bounds, asked)
    source = f'{{{listing.detector}}}."{listing.table}"'
    sums = [f"{sql} AS s{i}" for i, (_, sql) in enumerate(listing.sums)]
    counted = index.ask(f"SELECT {', '.join(['count(*) AS n', *sums])} FROM {source} WHERE {where}", values)[0]
    total = counted["n"]
    everything = total if where == "true" else index.ask(f"SELECT count(*) AS n FROM {source}")[0]["n"]
    sort = asked.get("sort", "") if asked.get("sort", "") in by_name else listing.sort
    default = listing.is_descending if sort == listing.sort else by_name[sort].kind in _NUMBERS
    is_descending = {"desc": True, "asc": False}.get(asked.get("order", ""), default)
    size = min(max(int(_number(asked.get("size")) or size), 1), _MOST_ROWS)
    first = min(max(int(_number(asked.get("from")) or 0), 0), max(total - 1, 0) // size * size)
    names = ", ".join(f'"{column.name}"' for column in columns)
    rows = _slice(index, names, source, where, values, sort, is_descending, first, size, total)
    return Rows(
        listing=listing, columns=columns, rows=rows, total=total, all=everything, first=first, size=size, sort=sort,
        is_descending=is_descending, text=asked.get("q", ""), knobs=knobs, bounds=bounds,
        sums=[(label, counted[f"s{i}"]) for i, (label, _) in enumerate(listing.sums)],
        asked={name: value for name, value in asked.items() if value and name != "part"},
    )  # fmt: skip


def read_knobs(index: Index, listing: Listing, asked: Mapping[str, str]) -> list[Knob]:
    """The sliders of a list, where the person or the result has put them."""
    if not listing.sliders:
        return []
    asks = [slider.most for slider in listing.sliders]
    source = f'{{{listing.detector}}}."{listing.table}"'
    known = [f"{sql} AS m{i}" for i, sql in enumerate(asks) if isinstance(sql, str)]
    found = index.ask(f"SELECT {', '.join(known)} FROM {source}")[0] if known else {}
    params = index.known[listing.detector].params
    knobs = []
    for i, slider in enumerate(listing.sliders):
        given = params.get(slider.param)
        least = float(given) if isinstance(given, int | float) else slider.least
        most = float(found.get(f"m{i}") or 0) if isinstance(asks[i], str) else float(asks[i])
        most = max(most, least)
        value = _number(asked.get(slider.name))
        if value is None:
            value = most if slider.is_upper else least
        knobs.append(Knob(slider, least, most, min(max(value, least), most)))
    return knobs


def conditions(knobs: list[Knob]) -> tuple[list[str], list[Any]]:
    """The sliders that were moved, as SQL."""
    places = {knob.slider.name: int(knob.value) for knob in knobs if knob.slider.step == 1}
    parts, values = [], []
    for knob in knobs:
        if knob.is_moved:
            condition = knob.slider.condition
            for name, value in places.items():
                condition = condition.replace(f"{{{name}}}", str(value))
            parts.append(condition)
            values.append(knob.value)
    return parts, values


def _where(
    columns: tuple[Column, ...],
    types: Mapping[str, str],
    knobs: list[Knob],
    bounds: list[Bound],
    asked: Mapping[str, str],
) -> tuple[str, list[Any]]:
    parts, values = conditions(knobs)
    text = asked.get("q", "")
    words = [f'"{column.name}"' for column in columns if types[column.name] == "VARCHAR"]
    if text and "search" in types:
        parts.append("contains(search, lower(?))")
        values.append(text)
    elif text and words:
        parts.append("(" + " OR ".join(f"contains(lower({name}), lower(?))" for name in words) + ")")
        values += [text] * len(words)
    for bound in bounds:
        for operator, value in ((">=", bound.least), ("<=", bound.most)):
            if value is not None:
                parts.append(f'"{bound.column.name}" {operator} ?')
                values.append(value)
    for name in _EXACT:
        if asked.get(name) and name in types:
            parts.append(f'"{name}"::VARCHAR = ?')
            values.append(asked[name])
    return " AND ".join(parts) or "true", values


def _bound(column: Column, asked: Mapping[str, str]) -> Bound:
    return Bound(column, _number(asked.get(f"{column.name}.min")), _number(asked.get(f"{column.name}.max")))


def _slice(
    index: Index, names: str, source: str, where: str, values: list[Any], sort: str, is_descending: bool,
    first: int, size: int, total: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Some rows of the middle. What is skipped must be sorted: so only row numbers are, and from the nearer end."""
    last = min(first + size, total)
    is_late = first > total // 2
    order = "DESC" if is_descending != is_late else "ASC"
    nulls, ties = ("FIRST", "DESC") if is_late else ("LAST", "ASC")
    rows = index.ask(
        f'WITH found AS (SELECT rowid AS place, "{sort}" AS key FROM {source} WHERE {where} '
        f"ORDER BY key {order} NULLS {nulls}, place {ties} LIMIT ? OFFSET ?) "
        f"SELECT {names} FROM {source} AS whole JOIN found ON whole.rowid = found.place "
        f"ORDER BY key {order} NULLS {nulls}, place {ties}",
        [*values, last - first, total - last if is_late else first],
    )
    return rows[::-1] if is_late else rows


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if abs(value) < 2**53 else None  # refuses nan as well
