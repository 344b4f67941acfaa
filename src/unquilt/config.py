"""The settings of a whole run, as a TOML file: a section for ingest, one for each detector, one for a comparison."""

from __future__ import annotations

import dataclasses
import difflib
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from unquilt.detectors import DETECTORS
from unquilt.detectors.against.params import AgainstParams
from unquilt.errors import BadParameter
from unquilt.ingest.params import IngestParams
from unquilt.params import Knob, Params, parse_size

_WIDTH = 100


def sections() -> dict[str, type[Params]]:
    """The classes of settings by the section they stand in."""
    return (
        {"ingest": IngestParams}
        | {name: one.params_type() for name, one in DETECTORS.items()}
        | {"against": AgainstParams}
    )


def default_config() -> str:
    """A file with every setting at its default, each with its meaning."""
    lines = [
        "# Settings of unquilt run. Change what you like and leave out the rest:",
        "#     unquilt run ... --config FILE",
    ]
    for name, kind in sections().items():
        lines += ["", f"[{name}]", *_section(kind)]
    return "\n".join(lines) + "\n"


def _section(kind: type[Params]) -> Iterator[str]:
    for field in dataclasses.fields(kind):
        known: Knob | None = field.metadata.get("knob")
        if known is not None:
            limits = known.describe_range()
            about = f"{known.meaning}{f' ({limits})' if limits else ''}"
            yield from textwrap.wrap(about, _WIDTH, initial_indent="# ", subsequent_indent="# ")
            yield f"{field.name} = {_value(field.default, known)}"


def _value(value: Any, known: Knob) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and known.unit == "bytes":
        return f'"{known.show(value)}"'
    if isinstance(value, int | float):
        return repr(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_config(path: str | Path) -> dict[str, dict[str, Any]]:
    """The settings a file gives, by section; each is checked here, so that a slip costs nothing."""
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadParameter(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}.", fix="Write one:  unquilt config > FILE"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadParameter(f"{path} is no TOML file: {error}.", fix="Compare it with  unquilt config") from None
    known = sections()
    settings: dict[str, dict[str, Any]] = {}
    for name, values in given.items():
        if name not in known or not isinstance(values, Mapping):
            raise _unknown(f"{path}: section [{name}]", name, list(known))
        settings[name] = _checked(f"{path}: [{name}]", known[name], values)
    return settings


def _checked(where: str, kind: type[Params], values: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    hints = get_type_hints(kind)
    checked = {}
    for name, value in values.items():
        if name not in fields:
            raise _unknown(f"{where} {name}", name, list(fields))
        unit = fields[name].metadata["knob"].unit
        if unit == "bytes" and isinstance(value, str):
            value = parse_size(value)
        elif hints[name] is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not hints[name]:
            wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
            raise BadParameter(
                f"{where} {name} is {values[name]!r}; it must be {wanted.get(hints[name], 'of another kind')}.",
                fix="Compare it with  unquilt config",
            )
        checked[name] = value
    kind(**checked)
    return checked


def _unknown(what: str, name: str, names: list[str]) -> BadParameter:
    close = difflib.get_close_matches(name, names, n=1)
    fix = f"Did you mean {close[0]}?" if close else f"There are {', '.join(names)}."
    return BadParameter(f"{what} is unknown.", fix=fix)
