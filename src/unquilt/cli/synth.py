"""unquilt synth"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import click

from unquilt.cli.options import options_of, output_options, params_from
from unquilt.cli.show import show_json, show_table
from unquilt.synth.params import SynthParams


@click.command("synth")
@click.argument("out", metavar="OUT")
@options_of(SynthParams)
@click.option("--workers", type=int, help="Worker processes.  [default: one a processor]")
@output_options
def command(out: str, workers: int | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Write a made-up crawl whose copies are known: WARC files, and the truth about them in OUT/truth.

    The same parameters give the same bytes, with any number of workers.
    """
    from unquilt.progress import duration, for_stream, size_text
    from unquilt.synth import write_synth

    params = params_from(SynthParams, options)
    meter = for_stream(quiet=quiet or as_json).start("Writing", params.pages, "pages")
    written = 0

    def advance(pages: int, _total: int) -> None:
        nonlocal written
        meter.advance(pages - written)
        written = pages

    begun = time.monotonic()
    try:
        done = write_synth(out, params, workers=workers, progress=advance)
    finally:
        meter.finish()
    seconds = time.monotonic() - begun
    if as_json:
        known = asdict(done) | {"path": str(done.path), "seconds": round(seconds, 3)}
        show_json(known)
        return
    show_table(f"{done.path}/truth", ["planted", "rows"], done.counts.items())
    for name, why in done.left_out.items():
        click.echo(f"{name} left out: {why}")
    click.echo(
        f"\n{done.pages:,} pages in {done.files} WARC files, {size_text(done.bytes)}, in {duration(seconds)}."
        f"\nRead them:  unquilt run '{done.path}/*.warc.gz' -o {done.path}.corpus"
    )
