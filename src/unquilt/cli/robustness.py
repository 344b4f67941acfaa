"""unquilt robustness"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json, show_table
from unquilt.detectors.reuse.robustness_params import RobustnessParams


@click.command("robustness")
@click.argument("corpus", metavar="CORPUS")
@click.option("-o", "--out", metavar="OUT", help="The folder to write to.  [default: CORPUS/results/robustness]")
@options_of(RobustnessParams)
@engine_options
@output_options
def command(corpus: str, out: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """How much a copied site must be changed until it is not found any more.

    Chunks are added to, deleted from and changed on every page of --host, for a labelled set of all its chunks (expert)
    and of those that occur often on it (blind). Shown are the multiples of the mean chunks a page at which mean badness
    falls below the threshold, beside those of Ardi and Heidemann for a blog of 4,626 pages.
    """
    from unquilt.corpus import Corpus

    params = params_from(RobustnessParams, options)
    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json) as engine:
        from unquilt.detectors.reuse.robustness import measure_robustness

        result = measure_robustness(opened, params, engine=engine)
    from unquilt.report.figures.reuse import write_robustness

    folder = Path(out) if out else result.save(opened)
    files = write_robustness(result, folder)
    if as_json:
        facts = {name: table.to_pylist() for name, table in result.tables.items()}
        show_json(facts | {"params": dict(result.params), "files": [str(file) for file in files]})
        return
    rows = [
        (row["change"], row["labelled"], row["what"], _times(row["multiple"]), _times(row["paper"]))
        for row in result.tables["lost"].to_pylist()
    ]
    title = f"{params.host}: detection is lost at so many times the mean chunks a page"
    show_table(title, ["chunks", "labelled set", "of", "here", "the paper"], rows)
    click.echo(f"\nThe table and the plots are in {folder}: " + ", ".join(file.name for file in files))


def _times(multiple: float | None) -> str:
    return "–" if multiple is None else f"{multiple:.1f} ×"
