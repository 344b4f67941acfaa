"""Settings with a default, a meaning and a range, said once.

The Python API, the command line, the docs and the report all read them from here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unquilt.errors import BadParameter

SITE_LEVELS = ("none", "host", "domain", "ip")
"""What makes pages foreign to each other: nothing (any other page is), their host, registered domain or address."""


@dataclass(frozen=True, slots=True)
class Knob:
    """What a person should know about one setting."""

    meaning: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""  # "bytes" may be given as 16MiB

    def describe_range(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.least is not None and self.most is not None:
            return f"from {self.show(self.least)} to {self.show(self.most)}"
        if self.least is not None:
            return f"at least {self.show(self.least)}"
        if self.most is not None:
            return f"at most {self.show(self.most)}"
        return ""

    def show(self, value: object) -> str:
        """A value as a person would write it."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return str(value)
        if self.unit == "bytes":
            return show_size(int(value))
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"


_SIZES = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?(?:YTES?)?", re.IGNORECASE)


def parse_size(text: str) -> int | None:
    """Bytes of ``16MiB``, ``1.5 GB``, ``4G``, ``65536``; None if it is no size."""
    found = _SIZE.fullmatch(text.strip())
    unit = found[2].upper() if found else "?"
    return int(float(found[1]) * _SIZES[unit]) if found and unit in _SIZES else None


def show_size(size: int) -> str:
    """A size in binary units, as short as is exact."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        factor = _SIZES[unit[:2].upper()]
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size:,} bytes"


def knob(
    default: Any,
    meaning: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
    unit: str = "",
) -> Any:
    """A dataclass field that knows its meaning and range."""
    return dataclasses.field(default=default, metadata={"knob": Knob(meaning, least, most, tuple(choices), unit)})


@dataclass(frozen=True, kw_only=True, slots=True)
class Params:
    """The settings of one job. Out-of-range values are refused with the range in the message."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            known: Knob | None = field.metadata.get("knob")
            if known is not None:
                _check(field.name, getattr(self, field.name), known)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _check(name: str, value: Any, known: Knob) -> None:
    low = known.least is not None and not value >= known.least
    high = known.most is not None and not value <= known.most
    if low or high or (known.choices and value not in known.choices):
        option = "--" + name.replace("_", "-")
        raise BadParameter(
            f"{option} is {value!r}; it must be {known.describe_range()}.",
            fix=f"{option}: {known.meaning}.",
        )
