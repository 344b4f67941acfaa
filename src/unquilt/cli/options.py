"""Options that commands share, and options made from the settings of a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import click

from unquilt.errors import BadParameter
from unquilt.params import Knob, Params, parse_size

if TYPE_CHECKING:
    from unquilt.progress import Progress

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
    conf = "For --engine spark: a setting of Spark's, as spark.executor.memory=8g; may be repeated."
    command = click.option("--spark-conf", multiple=True, metavar="NAME=VALUE", help=conf)(command)
    master = "For --engine spark: the cluster, as spark://HOST:7077 or yarn.  [default: this machine]"
    command = click.option("--master", metavar="URL", help=master)(command)
    memory = "Memory for all processes together, as 4GB.  [default: 70 % of what is free]"
    command = click.option("--memory", type=Size(), help=memory)(command)
    command = click.option("--workers", type=int, help="Worker processes.  [default: one a processor]")(command)
    engines = click.Choice(["local", "spark"])
    where = "Where the steps run: on this machine, or on Apache Spark.  [default: local]"
    return click.option("--engine", type=engines, default="local", help=where)(command)


def output_options(command: Command) -> Command:
    """How a command speaks."""
    command = click.option("--quiet", "-q", is_flag=True, help="No progress, only the result.")(command)
    return click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")(command)


def make_engine(given: dict[str, Any], *, quiet: bool, preload: Sequence[str] = ()) -> Any:
    """The engine the options ask for, which are taken out of ``given``; workers begin to import ``preload``."""
    from unquilt.progress import for_stream

    progress = for_stream(quiet=quiet)
    options = {name: given.pop(name) for name in ("workers", "memory", "master", "spark_conf")}
    if given.pop("engine") == "spark":
        return _make_spark(**options, progress=progress)
    for name in ("master", "spark_conf"):
        if options.pop(name):
            option = "--" + name.replace("_", "-")
            raise BadParameter(f"{option} is for Spark, and the engine is local.", fix="Add --engine spark.")
    from unquilt.engines.local import LocalEngine

    return LocalEngine(**options, progress=progress, preload=preload)


def _make_spark(
    *, workers: int | None, memory: int | None, master: str | None, spark_conf: Sequence[str], progress: Progress
) -> Any:
    if workers is not None and (master or workers < 1):
        raise BadParameter(
            f"--workers is {workers}" + (f", but {master} has its own." if master else "; it must be at least 1."),
            fix="Leave it out; on a cluster, --spark-conf spark.cores.max=N bounds the cores.",
        )
    if memory is not None:
        raise BadParameter(
            "--memory is for the local engine; on Spark each process has its own.",
            fix="Use --spark-conf spark.executor.memory=8g, or spark.driver.memory=8g without a cluster.",
        )
    conf = parse_conf(spark_conf)
    try:
        from unquilt.engines.spark import SparkEngine
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise BadParameter(
            "--engine spark needs pyspark, which is not installed.", fix="Install it:  pip install 'unquilt[spark]'"
        ) from None
    return SparkEngine(master=f"local[{workers}]" if workers else master, conf=conf, progress=progress)


def parse_conf(pairs: Sequence[str]) -> dict[str, str]:
    """Settings of Spark's, each as ``spark.executor.memory=8g``."""
    for pair in pairs:
        if not pair.partition("=")[0].startswith("spark.") or "=" not in pair:
            raise BadParameter(
                f"--spark-conf is {pair!r}; it must be a name and a value.",
                fix="Write it as spark.executor.memory=8g; repeat the option for more.",
            )
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
