"""unquilt why"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json
from unquilt.detectors.quilts.params import QuiltParams


@click.command("why")
@click.argument("corpus", metavar="CORPUS")
@click.argument("url", metavar="URL")
@click.option("--top", type=click.IntRange(1), default=20, help="Sources to list.  [default: 20]")
@options_of(QuiltParams)
@engine_options
@output_options
def command(corpus: str, url: str, top: int, as_json: bool, quiet: bool, **options: Any) -> None:
    """What in a page is copied, from where, and the likely cause: the page with each patch in its source's color."""
    show_page(corpus, url, top=top, as_json=as_json, quiet=quiet, **options)


def show_page(corpus: str, url: str, *, top: int, as_json: bool, quiet: bool, **options: Any) -> None:
    from unquilt.cli.cloth import show_story
    from unquilt.corpus import Corpus

    params = params_from(QuiltParams, options)
    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json) as engine:
        from unquilt.detectors.why import explain_page

        story = explain_page(opened, url, params, engine=engine)
    if as_json:
        show_json(asdict(story))
    else:
        show_story(story, most_sources=top)
