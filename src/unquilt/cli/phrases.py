"""unquilt phrases"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import show_json, show_table
from unquilt.detectors.phrases.params import PhraseParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus
    from unquilt.result import Result


@click.command("phrases")
@click.argument("corpus", metavar="CORPUS")
@click.option("--top", type=click.IntRange(1), default=20, help="Phrases and hosts to list.  [default: 20]")
@click.option("--figures", metavar="FOLDER", help="Write the paper's figures there, as PNG, SVG and CSV.")
@options_of(PhraseParams)
@engine_options
@output_options
def command(corpus: str, top: int, figures: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Find near-duplicates, popular phrases, and the pages and hosts that are made of them.

    A page is read as a circle of words; SHINGLES of its phrases are sampled. Pages that agree in AGREE of their RUNS
    of shingles are near-duplicates, and so are pages that share one. A shingle of POPULAR pages is popular, and a host
    whose pages all have many of them is a suspect (Fetterly, Manasse and Najork 2005; all defaults are theirs).

    The tables are in CORPUS/results/phrases: classes, popular, popularity, pages, covers and hosts.
    """
    from unquilt.corpus import Corpus

    params = params_from(PhraseParams, options)
    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.phrases.find"]) as engine:
        from unquilt.detectors.phrases.find import find_phrases

        result = find_phrases(opened, params, engine=engine)
    folder = result.save(opened)
    drawn: list[Path] = []
    if figures:
        from unquilt.report.figures.phrases import write_phrases

        drawn = write_phrases(result, Path(figures))
    if as_json:
        show_json(summary(opened, result, top) | {"results": str(folder), "files": [str(file) for file in drawn]})
        return
    show(opened, result, top)
    click.echo(f"\nThe tables are in {folder}" + (f"; the figures are in {figures}" if figures else ""))


def summary(corpus: Corpus, result: Result, top: int = 20) -> dict[str, Any]:
    """What was found, in numbers."""
    import pyarrow.compute as pc

    tables = result.tables
    classes = tables["classes"].filter(tables["classes"]["representative"])  # a row for each
    across = pc.sum(classes["cross_site"], min_count=0).as_py()
    weak = classes.filter(pc.less(classes["weakest"], result.params["weak"]))
    hosts = tables["hosts"]
    suspects = hosts.filter(hosts["suspect"])
    return {
        "pages": corpus.pages,
        "near_duplicates": len(tables["classes"]) - len(classes),
        "classes": {"same_site": len(classes) - across, "cross_site": across, "weak": len(weak)},
        "weakest_classes": weak.sort_by("weakest")
        .select(["url", "pages", "cohesion", "weakest"])
        .slice(0, top)
        .to_pylist(),
        "popular_shingles": pc.sum(tables["popularity"]["shingles"], min_count=0).as_py(),
        "popular": tables["popular"].slice(0, top).to_pylist(),
        "mean_originality": pc.mean(tables["pages"]["originality"]).as_py(),
        "covers": len(tables["covers"]),
        "suspects": suspects.slice(0, top).to_pylist(),
        "params": dict(result.params),
    }


def show(corpus: Corpus, result: Result, top: int) -> None:
    facts = summary(corpus, result, top)
    classes = facts["classes"]
    share = facts["near_duplicates"] / max(facts["pages"], 1)
    click.echo(
        f"{facts['near_duplicates']:,} of {facts['pages']:,} pages ({share:.1%}) are near-duplicates of another page: "
        f"{classes['same_site']:,} classes within one site, {classes['cross_site']:,} across sites."
    )
    if classes["weak"]:
        bound = f"{result.params['weak']:g}"
        click.echo(
            f"Warning: {classes['weak']:,} classes have a page that resembles its representative less than {bound}: "
            "they are only joined through other pages. Try --verify 0.8 to part them."
        )
        rows = (
            (f"{one['weakest']:.2f}", f"{one['cohesion']:.2f}", one["pages"], one["url"])
            for one in facts["weakest_classes"]
        )
        show_table("The weakest classes", ["weakest", "mean", "pages", "representative"], rows)
    click.echo()
    show_table(
        f"The most popular of {facts['popular_shingles']:,} popular shingles",
        ["pages", "phrase"],
        ((one["pages"], one["phrase"]) for one in facts["popular"]),
    )
    click.echo()
    if not facts["suspects"]:
        click.echo("No host is suspect of being made of popular phrases.")
        return
    show_table(
        "Hosts made of popular phrases", ["pages", "popular phrases", "deviation", "original", "host"],
        (
            (one["pages"], f"{one['mean']:.1f} of {result.params['shingles']}", f"{one['deviation']:.1f}",
             f"{one['originality']:.0%}", one["host"])
            for one in facts["suspects"]
        ),
    )  # fmt: skip
