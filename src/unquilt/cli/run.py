"""unquilt run"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from unquilt.cli.ingest import show, summary
from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json
from unquilt.ingest.params import IngestParams


@click.command("run")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", required=True, metavar="OUT", help="The corpus: a folder to make, or one to add to.")
@options_of(IngestParams)
@engine_options
@output_options
def command(inputs: tuple[str, ...], out: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """The main job: read a crawl into a corpus, find what is copied, and write OUT/report.html.

    INPUT is all that `unquilt ingest` reads. Stopped at any moment, the same command goes on where it was.
    """
    run_all(inputs, out, as_json=as_json, quiet=quiet, **options)


def run_all(inputs: Sequence[str], out: str, *, as_json: bool, quiet: bool, **options: Any) -> None:
    params = params_from(IngestParams, options)
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.ingest.part"]) as engine:
        from unquilt.ingest.run import ingest_crawl
        from unquilt.report.page import write_report

        done = ingest_crawl(inputs, out, params, engine=engine)
    report = write_report(done.corpus, done.corpus.path / "report.html")
    if as_json:
        show_json({"ingest": summary(done), "report": str(report)})
        return
    show(done)
    click.echo(f"The report is in {report}")
