"""unquilt clean"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unquilt.clean.params import CleanParams
from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import clean, show_json
from unquilt.progress import size_text

if TYPE_CHECKING:
    from unquilt.clean.run import Cleaned

_PRELOAD = ["unquilt.clean.run", "unquilt.detectors.phrases.find"]


@click.command("clean")
@click.argument("corpus", metavar="CORPUS")
@click.option("-o", "--out", required=True, metavar="OUT", help="The folder to make.")
@options_of(CleanParams)
@engine_options
@output_options
def command(corpus: str, out: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """Write a crawl without its copies, for those who want text that is there once.

    First, pages that are near-duplicates of another are dropped. Then boilerplate is cut out of every page that is
    kept: what stands on very many of them. Then passages that stand on an earlier page, in the order of the corpus: the
    first page that has one keeps it. A line break stands in place of what was cut.

    OUT/pages has the pages, OUT/removed every passage with its place and its source, OUT/dropped every page that was
    dropped with the one that is kept in its place; OUT/clean.json says how it was made. Nothing is lost:
    unquilt.restore_pages, in Python, gives every text as it was.
    """
    from unquilt.corpus import Corpus

    params = params_from(CleanParams, options)
    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json, preload=_PRELOAD) as engine:
        from unquilt.clean.run import clean_corpus

        done = clean_corpus(opened, out, params, engine=engine)
    if as_json:
        show_json({"out": out, **done.counts, "longest": done.examples, "params": params.as_dict()})
        return
    show(done, params)


def show(done: Cleaned, params: CleanParams) -> None:
    counts = done.counts
    dropped = counts["pages"] - counts["kept_pages"]
    verb = "marked" if params.mark else "cut"
    click.echo(f"{counts['pages']:,} pages: {counts['kept_pages']:,} kept, {dropped:,} near-duplicates dropped.")
    for kind, about in (("copy", "passages that stand on an earlier page"), ("boilerplate", "passages of boilerplate")):
        click.echo(f"{counts[f'{kind}_passages']:,} {about} {verb}: {counts[f'{kind}_words']:,} words.")
    share = counts["clean_words"] / max(counts["words"], 1)
    sizes = f"{size_text(counts['bytes'])} → {size_text(counts['clean_bytes'])}"
    click.echo(f"{counts['words']:,} words → {counts['clean_words']:,} ({share:.0%}), {sizes}.")
    if done.examples:
        click.echo("\nThe longest copies:")
    for one in done.examples:
        click.echo(f"  {one['words']:,} words of {clean(one['url'])}\n    stand in {clean(one['source_url'])}")
        click.echo(f"    “{clean(' '.join(one['text'].split())[:90])} …”")
    click.echo(f"\nThe pages are in {done.path}/pages; what was taken out is in {done.path}/removed and /dropped.")
