"""unquilt dedup"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json
from unquilt.detectors.phrases.params import ClassParams


@click.command("dedup")
@click.argument("corpus", metavar="CORPUS")
@click.option("-o", "--out", metavar="FILE", help="Also write the list there, as .parquet or .jsonl.")
@options_of(ClassParams)
@engine_options
@output_options
def command(corpus: str, out: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """List which pages to keep and which to drop as near-duplicates.

    Of each class of near-duplicates the earliest page is kept, of those the one with the least URL. Each page that is
    dropped
    has the page that is kept in its place, and how much the two resemble each other.

    The table is CORPUS/results/dedup/pages.parquet.
    """
    from unquilt.corpus import Corpus

    params = params_from(ClassParams, options)
    opened = Corpus(corpus)
    if out is not None and Path(out).suffix not in (".parquet", ".jsonl"):
        raise click.UsageError(f"-o {out}: its name must end in .parquet or .jsonl.")
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.phrases.find"]) as engine:
        from unquilt.detectors.phrases.find import find_duplicates, write_duplicates

        result = find_duplicates(opened, params, engine=engine)
    folder = result.save(opened)
    files = [folder / "pages.parquet"] + ([write_duplicates(result, Path(out))] if out is not None else [])
    kept = sum(result.tables["pages"]["keep"].to_pylist())
    facts = {"pages": opened.pages, "kept": kept, "dropped": opened.pages - kept}
    if as_json:
        show_json(facts | {"params": dict(result.params), "files": list(map(str, files))})
        return
    share = facts["dropped"] / max(opened.pages, 1)
    click.echo(
        f"{kept:,} of {opened.pages:,} pages to keep; {facts['dropped']:,} near-duplicates to drop ({share:.1%})."
    )
    click.echo("The list is in " + " and ".join(map(str, files)))
