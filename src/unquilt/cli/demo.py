"""unquilt demo"""

from __future__ import annotations

from typing import Any

import click

from unquilt.cli.options import engine_options, options_of, output_options
from unquilt.cli.run import run_all
from unquilt.ingest.params import IngestParams


@click.command("demo")
@click.option("-o", "--out", default="demo.corpus", metavar="OUT", help="The corpus to make.  [default: demo.corpus]")
@options_of(IngestParams)
@engine_options
@output_options
def command(out: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """The main job on a small real crawl that comes with unquilt, to see what comes out."""
    from unquilt.sample import sample_files

    run_all([str(path) for path in sample_files()], out, as_json=as_json, quiet=quiet, **options)
