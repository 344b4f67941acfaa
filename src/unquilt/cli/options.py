"""Options that commands share, and options made from the settings of a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_type_hints

import click

from unquilt.params import Knob, Params, parse_size

Command = TypeVar("Command", bound=Callable[..., Any])
SomeParams = TypeVar("SomeParams", bound=Params)


class Size(click.ParamType[int]):
    """Bytes, as 16MiB or 4GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        size = value if isinstance(value, int) else parse_size(value)
        if size is None:
            self.fail(f"{value!r} is no size; write it as 512MiB or 4GB.", param, ctx)
        return size


def options_of(params: type[Params]) -> Callable[[Command], Command]:
    """An option for every knob, with its meaning, default and range in --help."""
    hints = get_type_hints(params)

    def add(command: Command) -> Command:
        for field in reversed(dataclasses.fields(params)):
            known: Knob | None = field.metadata.get("knob")
            if known is not None:
                command = _option(field, known, hints[field.name])(command)
        return command

    return add


def _option(field: dataclasses.Field[Any], known: Knob, hint: Any) -> Callable[[Command], Command]:
    name = "--" + field.name.replace("_", "-")
    kind: Any = Size() if known.unit == "bytes" else click.Choice(known.choices) if known.choices else hint
    facts = [f"default: {known.show(field.default)}" if field.default != "" else "", ""]
    if not known.choices:
        facts[1] = known.describe_range()
    about = "; ".join(fact for fact in facts if fact)
    text = f"{known.meaning[0].upper()}{known.meaning[1:]}." + (f"  [{about}]" if about else "")
    if hint is bool:
        return click.option(f"{name}/--no-{name[2:]}", default=field.default, help=text)
    return click.option(name, type=kind, default=field.default, help=text)


def params_from(params: type[SomeParams], given: dict[str, Any]) -> SomeParams:
    """The settings among the options of a command, which they are taken out of."""
    return params(**{field.name: given.pop(field.name) for field in dataclasses.fields(params) if field.name in given})


def engine_options(command: Command) -> Command:
    """Where and with how much a job runs."""
    memory = "Memory for all processes together, as 4GB.  [default: 70 % of what is free]"
    command = click.option("--memory", type=Size(), help=memory)(command)
    command = click.option("--workers", type=int, help="Worker processes.  [default: one a processor]")(command)
    engines = click.Choice(["local"])
    where = "Where the steps run.  [default: local]"
    return click.option("--engine", type=engines, default="local", help=where)(command)


def output_options(command: Command) -> Command:
    """How a command speaks."""
    command = click.option("--quiet", "-q", is_flag=True, help="No progress, only the result.")(command)
    return click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")(command)


def make_engine(given: dict[str, Any], *, quiet: bool, preload: Sequence[str] = ()) -> Any:
    """The engine the options ask for, which are taken out of ``given``; workers begin to import ``preload``."""
    from unquilt.engines.local import LocalEngine
    from unquilt.progress import for_stream

    given.pop("engine")
    progress = for_stream(quiet=quiet)
    return LocalEngine(workers=given.pop("workers"), memory=given.pop("memory"), progress=progress, preload=preload)
