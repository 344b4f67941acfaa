"""unquilt demo"""

from __future__ import annotations

from typing import Any

import click

from unquilt.cli.run import run_all, run_options


@click.command("demo")
@click.option("-o", "--out", default="demo.corpus", metavar="OUT", help="The corpus to make.  [default: demo.corpus]")
@run_options
def command(out: str, **options: Any) -> None:
    """The main job on a small real crawl that comes with unquilt, to see what comes out."""
    from unquilt.sample import sample_files

    run_all([str(path) for path in sample_files()], out, **options)
