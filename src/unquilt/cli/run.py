"""unquilt run"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.ingest import show, summary
from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.quilts import summary as quilts_summary
from unquilt.cli.show import show_json
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.ingest.params import IngestParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus
    from unquilt.engines import Engine
    from unquilt.result import Result


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
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.ingest.page:warm_up"]) as engine:
        from unquilt.ingest.run import ingest_crawl
        from unquilt.report.page import write_report

        done = ingest_crawl(inputs, out, params, engine=engine)
        quilts = find_or_load(done.corpus, engine)
    report = write_report(done.corpus, done.corpus.path / "report.html")
    if as_json:
        found = quilts_summary(done.corpus, quilts) if quilts else None
        show_json({"ingest": summary(done), "quilts": found, "report": str(report)})
        return
    show(done)
    if quilts:
        found = quilts_summary(done.corpus, quilts)
        click.echo(
            f"{found['quilts']:,} pages ({found['share']:.1%}) are stitched together from pages of other domains."
        )
    click.echo(f"The report is in {report}")


def find_or_load(corpus: Corpus, engine: Engine) -> Result | None:
    """The quilts of a corpus, found now unless they were found before; None if it has no text."""
    from unquilt.detectors.quilts.find import find_quilts
    from unquilt.errors import BadInput, CorpusMismatch, NotACorpus
    from unquilt.result import load_result

    params = QuiltParams()
    try:
        return load_result(corpus, "quilts", params=params.as_dict())
    except (NotACorpus, CorpusMismatch):
        pass
    try:
        found = find_quilts(corpus, params, engine=engine)
    except BadInput:
        return None
    found.save(corpus)
    return found
