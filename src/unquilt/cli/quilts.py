"""unquilt quilts"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json, show_table
from unquilt.cli.why import show_page
from unquilt.detectors.quilts.params import QuiltParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus
    from unquilt.result import Result


@click.command("quilts")
@click.argument("corpus", metavar="CORPUS")
@click.option("--page", metavar="URL", help="Show this page only, with each patch in its source's color.")
@click.option("--top", type=click.IntRange(1), default=20, help="Quilts, or sources of a page, to list.  [default: 20]")
@options_of(QuiltParams)
@engine_options
@output_options
def command(corpus: str, page: str | None, top: int, as_json: bool, quiet: bool, **options: Any) -> None:
    """Find every page stitched together from patches of other pages, with all its sources.

    A gram is K consecutive words; one on 2 to M pages is a patch. A page is a quilt if at least SIGMA of its grams are
    patches and it takes at least C other pages to cover them (Najork 2012; his 5, 50, 4 and 0.5 are the defaults).

    The tables are in CORPUS/results/quilts: quilts.parquet and patches.parquet.
    """
    if page is not None:
        show_page(corpus, page, top=top, as_json=as_json, quiet=quiet, **options)
        return
    from unquilt.corpus import Corpus

    params = params_from(QuiltParams, options)
    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.quilts.find"]) as engine:
        from unquilt.detectors.quilts.find import find_quilts

        result = find_quilts(opened, params, engine=engine)
    folder = result.save(opened)
    if as_json:
        show_json(summary(opened, result) | {"results": str(folder)})
        return
    show(opened, result, top)
    click.echo(f"\nThe tables are in {folder}\nSee one:  unquilt quilts {corpus} --page URL")


def summary(corpus: Corpus, result: Result) -> dict[str, Any]:
    import pyarrow.compute as pc

    quilts = result.tables["quilts"]
    sources = pc.sum(pc.list_value_length(quilts["sources"]), min_count=0).as_py()
    return {
        "pages": corpus.pages,
        "quilts": len(quilts),
        "share": len(quilts) / corpus.pages if corpus.pages else 0.0,
        "mean_sources": sources / max(len(quilts), 1),
        "patches": len(result.tables["patches"]),
        "params": dict(result.params),
    }


def show(corpus: Corpus, result: Result, top: int) -> None:
    facts = summary(corpus, result)
    share = f"{facts['share']:.2%}"
    sources = f"{facts['mean_sources']:.1f} sources on average"
    click.echo(f"{facts['quilts']:,} of {facts['pages']:,} pages are quilts ({share}), of {sources}.")
    quilts = result.tables["quilts"]
    if not len(quilts):
        click.echo("Lower --sigma or --c, or try --foreign none to see pages stitched from their own site.")
        return
    rows = quilts.sort_by([("covered_fraction", "descending"), ("url", "ascending")]).slice(0, top).to_pylist()
    click.echo()
    show_table(
        f"The {len(rows)} that their sources cover most",
        ["covered", "sources", "linked to", "patches", "page"],
        (
            (
                f"{quilt['covered_fraction']:.0%}",
                len(quilt["sources"]),
                sum(source["attributed"] for source in quilt["sources"]),
                f"{quilt['patch_fraction']:.0%}",
                quilt["url"],
            )
            for quilt in rows
        ),
    )  # fmt: skip
