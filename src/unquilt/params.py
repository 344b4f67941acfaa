"""Settings with a default, a meaning and a range, said once.

The Python API, the command line, the docs and the report all read them from here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unquilt.errors import BadParameter


@dataclass(frozen=True, slots=True)
class Knob:
    """What a person should know about one setting."""

    meaning: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    def describe_range(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.least is not None and self.most is not None:
            return f"from {self.least:g} to {self.most:g}"
        if self.least is not None:
            return f"at least {self.least:g}"
        if self.most is not None:
            return f"at most {self.most:g}"
        return ""


def knob(
    default: Any,
    meaning: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """A dataclass field that knows its meaning and range."""
    return dataclasses.field(default=default, metadata={"knob": Knob(meaning, least, most, tuple(choices))})


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
