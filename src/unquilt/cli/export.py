"""unquilt export"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unquilt.cli.options import Size, engine_options, make_engine, output_options
from unquilt.cli.show import show_json


@click.command("export")
@click.argument("corpus", metavar="CORPUS")
@click.argument("detector", metavar="reuse", type=click.Choice(["reuse"]))
@click.option("--filter", "out", required=True, metavar="OUT", help="The file to write.")
@click.option("--kind", type=click.Choice(["exact", "bloom"]), default="exact",
              help="All digests, or a Bloom filter of them.  [default: exact]")  # fmt: skip
@click.option("--error", type=float, default=0.001,
              help="Of a Bloom filter: the share of false alarms.  [default: 0.001; from 1e-09 to 0.5]")  # fmt: skip
@click.option("--everything", is_flag=True, help="Label all of CORPUS, as for a site of your own; needs no result.")
@click.option("--min-labelled-bytes", type=Size(), default=101,
              help="With --everything: shorter files and chunks are left out.  [default: 101 bytes]")  # fmt: skip
@engine_options
@output_options
def command(
    corpus: str, detector: str, out: str, kind: str, error: float, everything: bool, min_labelled_bytes: int,
    as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Write what `unquilt reuse` labelled in CORPUS as a set that a crawler can carry.

    It is one file with the digests, or a Bloom filter of them, and how pages are cut; it is tested before it gets its
    name. Match pages against it with `unquilt match`, or in Python with unquilt.Labelled.
    """
    from unquilt.corpus import Corpus

    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json) as engine:
        from unquilt.detectors.reuse.export import export_labelled

        made = export_labelled(
            opened, out, kind=kind, error=error, everything=everything, min_labelled_bytes=min_labelled_bytes,
            engine=engine,
        )  # fmt: skip
    size = Path(out).stat().st_size
    if as_json:
        facts = {"filter": out, "kind": kind, "chunks": len(made.chunks), "files": len(made.files), "bytes": size}
        show_json(facts | {"cutter": made.cutter.setting, "min_chunk_bytes": made.min_chunk_bytes})
        return
    what = "exact" if kind == "exact" else f"a Bloom filter with {error:g} false alarms"
    click.echo(f"{out}: {len(made.chunks):,} chunks and {len(made.files):,} files, {what}, {size:,} bytes.")
    click.echo(f"Match pages against it:  unquilt match {out} CRAWL.warc.gz")
