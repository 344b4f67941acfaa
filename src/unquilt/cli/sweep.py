"""unquilt sweep"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import Command, engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json, show_table
from unquilt.detectors.quilts.sweep_params import SWEPT, SweepParams, range_of

if TYPE_CHECKING:
    from unquilt.result import Result

_HEADS = ["k", "m", "c", "σ", "quilts", "of pages", "mean sources", ""]
_NAMES = {"host": "host", "domain": "domain", "ip": "IP address"}


class Values(click.ParamType[tuple[float, ...]]):
    """Numbers with commas between them, as 3,4,5."""

    name = "values"

    def __init__(self, kind: Callable[[str], float]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if not isinstance(value, str):
            return tuple(value)
        try:
            return tuple(self._kind(one) for one in value.split(",") if one.strip())
        except ValueError:
            what = "whole numbers" if self._kind is int else "numbers"
            self.fail(f"{value!r} is no list of {what}; write them with commas, as 1,2.", param, ctx)


def values_options(command: Command) -> Command:
    """An option for the values of each parameter that moves."""
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(SweepParams)}
    for name in reversed(SWEPT):
        default = ",".join(f"{value:g}" for value in defaults[f"{name}_values"])
        limits = range_of(name).describe_range()
        about = f"Values of {name} to try; the pivot is always one of them.  [default: {default}; {limits}]"
        kind = float if name == "sigma" else int
        command = click.option(
            f"--{name}-values", type=Values(kind), default=defaults[f"{name}_values"], help=about, metavar="LIST"
        )(command)
    return command


@click.command("sweep")
@click.argument("corpus", metavar="CORPUS")
@click.option("-o", "--out", metavar="OUT", help="The folder to write to.  [default: CORPUS/results/sweep]")
@values_options
@options_of(SweepParams)
@engine_options
@output_options
def command(corpus: str, out: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """How many pages are quilts, and of how many sources, as one parameter moves and the others stay at the pivot.

    This is Table 1 and Figure 3 of Najork (2012) for a corpus of your own; his pivot, 5, 50, 4 and 0.5, is the default
    of --k, --m, --c and --sigma; the values tried around it are ours. His pages could be stitched from their own site:
    --foreign none.

    Written to OUT: sweep.csv, sweep.parquet, sweep.png and sweep.svg.
    """
    from unquilt.corpus import Corpus

    params = params_from(SweepParams, options)
    opened = Corpus(corpus)
    begun = time.monotonic()
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.quilts.sweep"]) as engine:
        from unquilt.detectors.quilts.sweep import sweep_quilts

        result = sweep_quilts(opened, params, engine=engine)
    from unquilt.report.figures.sweep import write_sweep

    folder = Path(out) if out else result.save(opened)
    files = write_sweep(result, folder)
    if as_json:
        facts = {"pages": opened.pages, "params": dict(result.params), "sweep": result.tables["sweep"].to_pylist()}
        show_json(facts | {"files": [str(file) for file in files], "seconds": round(time.monotonic() - begun, 3)})
        return
    show(result, params, opened.pages)
    click.echo(f"\nThe table and the plots are in {folder}: " + ", ".join(file.name for file in files))


def show(result: Result, params: SweepParams, pages: int) -> None:
    """The sweep as the paper's Table 1: a group of rows for each parameter."""
    rows: list[list[str]] = []
    for name, group in groupby(result.tables["sweep"].to_pylist(), key=lambda row: row["parameter"]):
        if rows:
            rows.append([""] * len(_HEADS))
        for row in group:
            mean = "–" if row["mean_sources"] is None else f"{row['mean_sources']:,.2f}"
            pivot = "pivot" if row["value"] == getattr(params, name) else ""
            settings = [f"{row['k']}", f"{row['m']:,}", f"{row['c']:,}", f"{row['sigma']:g}"]
            rows.append([*settings, f"{row['quilted']:,}", f"{row['share']:.2%}", mean, pivot])
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    heads, *rows = ([f"{text:>{width}}" for text, width in zip(row, widths, strict=True)] for row in [_HEADS, *rows])
    whose = "any other page" if params.foreign == "none" else f"a page of another {_NAMES[params.foreign]}"
    show_table(f"Quilts among {pages:,} pages; a source is {whose}", heads, rows)
