"""unquilt styles"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json, show_table
from unquilt.detectors.styles.params import LikeParams, MarkParams, StyleParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus
    from unquilt.result import Result

SHORT = "Short pages have few parts and empty cells, which equal nothing: they score low by design."


@click.command("styles")
@click.argument("corpus", metavar="CORPUS")
@click.option(
    "--like",
    multiple=True,
    metavar="URL|FILE",
    help="Instead: all pages by similarity to this one, a URL of CORPUS, an HTML file, or a file with a URL a line. "
    "Can be given more than once.",
)
@click.option(
    "--above",
    type=click.IntRange(0),
    default=20,
    help="With --like: list pages with more equal cells than this.  [default: 20]",
)
@click.option(
    "--gap",
    type=click.IntRange(1),
    default=8,
    help="With --like: a gap is a fall of the curve by so many cells within 1 % of the pages.  [default: 8]",
)
@click.option("--export", metavar="FILE", help="With --like: write the URLs of the listed pages to this file.")
@click.option(
    "--plots/--no-plots", default=False, help="Plot the curve, or the sizes of clusters and a sample's graph."
)
@click.option(
    "--check",
    type=click.IntRange(1),
    metavar="PAIRS",
    help="Compare so many pairs of pages exactly as well, and plot that; reads the crawl again.",
)
@click.option("--top", type=click.IntRange(1), default=20, help="Clusters, or pages, to list.  [default: 20]")
@options_of(StyleParams)
@engine_options
@output_options
def command(corpus: str, like: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> None:
    """Find clusters of pages made by the same template or script, whatever their words.

    A page's fingerprint samples the noise of its source: what is left without letters and digits. Pages with more than
    T equal cells of M are of one style (Urvoy, Lavergne and Filoche 2006; their settings are the defaults).
    Short pages have empty cells, which equal nothing, and score low by design.

    The tables are in CORPUS/results/styles: clusters.parquet and members.parquet.
    """
    from unquilt.corpus import Corpus

    opened = Corpus(corpus)
    params = params_from(StyleParams, options)
    given = {name: options.pop(name) for name in ("above", "gap", "export", "plots", "check", "top")}
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.styles.clusters"]) as engine:
        if like:
            _like(opened, like, params, engine, given, as_json=as_json)
        else:
            _clusters(opened, params, engine, given, as_json=as_json)


def _clusters(corpus: Corpus, params: StyleParams, engine: Any, given: dict[str, Any], *, as_json: bool) -> None:
    from unquilt.detectors.styles.find import find_styles

    result = find_styles(corpus, params, engine=engine)
    folder = result.save(corpus)
    files: list[Path] = []
    if given["plots"]:
        from unquilt.report.figures.styles import write_styles

        files += write_styles(result, corpus, folder)
    if given["check"]:
        from unquilt.detectors.styles.exact import compare_exactly
        from unquilt.report.figures.styles import write_exact

        files += write_exact(compare_exactly(corpus, params, pairs=given["check"], engine=engine), folder)
    if as_json:
        show_json(summary(corpus, result) | {"results": str(folder), "files": [str(file) for file in files]})
        return
    show(corpus, result, given["top"])
    click.echo(f"\nThe tables are in {folder}" + "".join(f"\n{file}" for file in files if file.suffix == ".png"))


def _like(
    corpus: Corpus, like: tuple[str, ...], params: StyleParams, engine: Any, given: dict[str, Any], *, as_json: bool
) -> None:
    import pyarrow.compute as pc

    from unquilt.corpus import write_atomically
    from unquilt.detectors.styles.like import find_like

    shared = {name: getattr(params, name) for name in MarkParams.__dataclass_fields__}
    wanted = LikeParams(**shared, above=given["above"], gap=given["gap"])
    result = find_like(corpus, like, wanted, engine=engine)
    folder = result.save(corpus)
    listed = result.tables["like"].filter(pc.greater(result.tables["like"]["cells"], wanted.above))
    files: list[Path] = []
    if given["export"]:
        files.append(Path(given["export"]))
        write_atomically(files[0], "".join(f"{url}\n" for url in listed["url"].to_pylist()).encode())
    if given["plots"]:
        from unquilt.report.figures.styles import write_like

        files += write_like(result, folder)
    gaps = result.tables["gaps"].to_pylist()
    if as_json:
        facts = {"pages": corpus.pages, "similar": len(result.tables["like"]), "listed": len(listed), "gaps": gaps}
        pages = listed.slice(0, given["top"]).to_pylist()
        show_json(facts | {"top": pages, "results": str(folder), "files": [str(file) for file in files]})
        return
    click.echo(
        f"{len(listed):,} of {corpus.pages:,} pages have more than {wanted.above} of {wanted.m} cells in common."
    )
    for gap in gaps:
        click.echo(f"A gap after {gap['rank']:,} pages: from {gap['above']} equal cells to {gap['below']}.")
    click.echo(f"{SHORT}\n")
    rows = ((row["cells"], f"{row['similarity']:.2f}", row["url"]) for row in listed.slice(0, given["top"]).to_pylist())
    show_table("The most similar", ["cells", "similarity", "page"], rows)
    click.echo(f"\nAll are in {folder}" + "".join(f"\n{file}" for file in files if file.suffix not in (".csv", ".svg")))


def summary(corpus: Corpus, result: Result) -> dict[str, Any]:
    from collections import Counter

    clusters = result.tables["clusters"]
    params = StyleParams(**result.params)
    return {
        "pages": corpus.pages,
        "clusters": len(clusters),
        "clustered": len(result.tables["members"]),
        "kinds": dict(Counter(clusters["kind"].to_pylist())),
        "probes": params.probe_count,
        "miss": params.miss,
        "params": dict(result.params),
    }


def show(corpus: Corpus, result: Result, top: int) -> None:
    facts = summary(corpus, result)
    share = f"{facts['clustered'] / max(corpus.pages, 1):.0%}"
    click.echo(f"{facts['clusters']:,} clusters of {facts['clustered']:,} pages ({share} of {corpus.pages:,}).")
    t, m = result.params["t"], result.params["m"]
    click.echo(
        f"{facts['probes']} probes miss a pair with {t} of {m} cells equal with a chance of {facts['miss']:.2g}."
    )
    click.echo(SHORT)
    clusters = result.tables["clusters"].slice(0, top).to_pylist()
    if not clusters:
        click.echo("Lower --t to see pages that are less alike.")
        return
    click.echo()
    rows = (
        (row["pages"], row["domains"], f"{row['mean_similarity']:.2f}", row["kind"], row["prototype"], row["evidence"])
        for row in clusters
    )
    heads = ["pages", "domains", "similarity", "kind", "prototype", "evidence"]
    show_table(f"The {len(clusters)} most similar over most domains", heads, rows)
