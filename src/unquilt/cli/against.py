"""unquilt against, and run --against"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import clean, show_json, show_table
from unquilt.detectors.against.params import AgainstParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus


@click.command("against")
@click.argument("new", metavar="NEW")
@click.argument("old", metavar="OLD")
@click.option("--top", type=click.IntRange(1), default=20, help="Copied pages to list.  [default: 20]")
@options_of(AgainstParams)
@engine_options
@output_options
def command(new: str, old: str, top: int, as_json: bool, quiet: bool, **options: Any) -> None:
    """Compare a crawl with an earlier one: what is new, gone, moved, changed, and newly copied from the old crawl.

    NEW and OLD are corpora. A page is the same if its URL is. A gram is K consecutive words. A page that is new or
    changed takes a gram if pages of OLD have it, at most M, and its own old version does not.

    Near-duplicate classes, style clusters and mirror groups are matched if both corpora have them: see `unquilt run`.

    The tables are in NEW/results/against: pages.parquet, copied.parquet and identities.parquet.
    """
    from unquilt.corpus import Corpus
    from unquilt.detectors.against.find import compare_crawls, open_old

    params = params_from(AgainstParams, options)
    opened, before = Corpus(new), open_old(old, new)
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.against.find"]) as engine:
        folder = compare_crawls(opened, before, params, engine=engine).save(opened)
    if as_json:
        show_json(facts_of(opened) | {"results": str(folder)})
        return
    show(opened, top)
    click.echo(f"\nThe tables are in {folder}")


def facts_of(corpus: Corpus) -> dict[str, Any]:
    """The comparison as JSON; nothing if there is none."""
    from unquilt.report.against import against_facts, against_striking

    facts = against_facts(corpus)
    return facts | {"striking": list(map(dataclasses.asdict, against_striking(corpus)))} if facts else {}


def show_summary(corpus: Corpus) -> None:
    """What a comparison found, in sentences; nothing if there is none."""
    from unquilt.report.against import against_facts, against_sentences, against_striking

    facts = against_facts(corpus)
    if facts is None:
        return
    click.echo(f"\nAgainst {clean(facts['old'])}")
    for sentence in against_sentences(facts):
        click.echo(f"  {sentence}")
    for one in against_striking(corpus):
        click.echo(f"  {clean(one.sentence)}\n    {clean(one.url)}")


def show(corpus: Corpus, top: int) -> None:
    from unquilt.report.against import most_taken

    show_summary(corpus)
    rows = most_taken(corpus, top)
    if rows:
        click.echo()
        show_table(
            f"The {len(rows)} pages that take most, those that take from other sites first",
            ["taken", "from other sites", "sources", "state", "page"],
            (
                (f"{row['share']:.0%}", f"{row['foreign_share']:.0%}", row["sources"], row["state"], row["url"])
                for row in rows
            ),
        )
