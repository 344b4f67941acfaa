"""unquilt ingest"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import counts_sentence, show_json
from unquilt.ingest.params import PRELOAD, IngestParams

if TYPE_CHECKING:
    from unquilt.ingest.run import Ingested


@click.command("ingest")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", required=True, metavar="CORPUS", help="The corpus: a folder to make, or one to add to.")
@options_of(IngestParams)
@engine_options
@output_options
def command(inputs: tuple[str, ...], out: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Read a crawl into a corpus.

    INPUT is a file, a folder or a pattern: WARC, ARC and WET (gzip, Zstandard or plain), WACZ, HTML files,
    JSONL, Parquet, or a list of URLs; - reads paths from standard input. The kind is told by the content.

    Stopped at any moment, the same command goes on where it was. Files that are already in the corpus are not
    read again; others are added.
    """
    params = params_from(IngestParams, options)
    with make_engine(options, quiet=quiet or as_json, preload=PRELOAD) as engine:
        from unquilt.ingest.run import ingest_crawl

        done = ingest_crawl(inputs, out, params, engine=engine)
    if as_json:
        show_json(summary(done))
    else:
        show(done)


def show(done: Ingested) -> None:
    """What an ingest did, in two or three sentences."""
    from unquilt.progress import duration, size_text

    corpus = done.corpus
    if not done.parts:
        click.echo(f"Nothing new: {corpus.path} already has all of it.")
    elif done.seconds:
        rate = size_text(done.bytes / done.seconds)
        click.echo(
            f"{done.pages:,} pages; {counts_sentence(done.skipped)}. {size_text(done.bytes)} "
            f"in {duration(done.seconds)}, {rate}/s."
        )
    superseded = corpus.rows - corpus.pages
    twice = f", after {superseded:,} other captures of the same URLs" if superseded else ""
    click.echo(f"{corpus.path}: {corpus.pages:,} pages{twice}.")


def summary(done: Ingested) -> dict[str, Any]:
    return {
        "corpus": str(done.corpus.path),
        "pages": done.corpus.pages,
        "added": done.pages,
        "bytes": done.bytes,
        "skipped": done.skipped,
        "parts": done.parts,
        "known_parts": done.known_parts,
        "seconds": round(done.seconds, 3),
    }
