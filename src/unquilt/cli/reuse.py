"""unquilt reuse"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import clean, show_json, show_table
from unquilt.detectors.reuse.params import ReuseParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus
    from unquilt.result import Result

_SNIPPET = 60


@click.command("reuse")
@click.argument("corpus", metavar="CORPUS")
@click.option("--top", type=click.IntRange(1), default=20, help="Rows of each list.  [default: 20]")
@click.option("--plots/--no-plots", default=True, help="Draw the distributions and the badness.  [default: plots]")
@click.option("--chunk", metavar="SHA1", help="Show the bytes of one labelled chunk or file of the last result.")
@click.option("--accept", metavar="SHA1", multiple=True,
              help="Add a proposed stop chunk of the last result, or all, to the file of --stop-chunks.")  # fmt: skip
@options_of(ReuseParams)
@engine_options
@output_options
def command(
    corpus: str, top: int, plots: bool, chunk: str | None, accept: tuple[str, ...], as_json: bool, quiet: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Find copied files and chunks, the pages made of them, and bad neighborhoods.

    A chunk is a piece of a page's HTML from one <p> to the next. Those that occur more often than a threshold are
    labelled, unless they are stop chunks; a neighborhood (every level of the URL tree) is bad if its share of labelled
    chunks is one deviation above the mean (Ardi and Heidemann). With --labelled: who copies a given site?

    The tables are in CORPUS/results/reuse, with plots.
    """
    from unquilt.corpus import Corpus

    params = params_from(ReuseParams, options)
    opened = Corpus(corpus)
    if chunk is not None:
        show_chunk(opened, chunk)
        return
    if accept:
        accept_stop_chunks(opened, accept, params.stop_chunks)
        return
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.reuse.find"]) as engine:
        from unquilt.detectors.reuse.find import find_reuse

        result = find_reuse(opened, params, engine=engine)
    folder = result.save(opened)
    if plots:
        from unquilt.report.figures.reuse import write_reuse

        write_reuse(result, folder)
    if as_json:
        show_json(summary(opened, result) | {"results": str(folder)})
        return
    show(result, top)
    click.echo(f"\nThe tables are in {folder}\nSee a chunk:  unquilt reuse {corpus} --chunk SHA1")


def summary(corpus: Corpus, result: Result) -> dict[str, Any]:
    """Totals and thresholds, for --json and for the main job."""
    facts = {row["name"].replace(" ", "_"): row["value"] for row in result.tables["summary"].to_pylist()}
    whole = {name: int(value) if value == int(value) else value for name, value in facts.items()}
    labels = result.tables["objects"].group_by(["kind", "label"]).aggregate([([], "count_all")]).to_pylist()
    return {
        "pages": corpus.pages,
        **whole,
        "objects": {f"{row['label']} {row['kind']}s": row["count_all"] for row in labels},
        "reasons": {row["name"]: row["why"] for row in result.tables["summary"].to_pylist() if row["why"]},
        "params": dict(result.params),
    }


def show(result: Result, top: int) -> None:
    """The thresholds with their reasons, then what is copied and where."""
    for row in result.tables["summary"].to_pylist():
        value = f"{row['value']:,.0f}" if row["value"] == int(row["value"]) else f"{row['value']:.3f}"
        if row["why"]:
            click.echo(f"{row['name']}: {value} ({row['why']})")
        elif not row["name"].endswith(("mean", "deviation", "candidate domains")):
            click.echo(f"{row['name']}: {value}")
    _show_objects(result, top)
    _show_places(result, top)
    aside = result.tables["set_aside"].slice(0, 3).to_pylist()
    if aside:
        click.echo()
        rows = [(row["components"], row["repeats"], row["url"][:100]) for row in aside]
        show_table("Set aside as crawler loops, for example", ["components", "repeats", "page"], rows)


def _show_objects(result: Result, top: int) -> None:
    objects = result.tables["objects"].to_pylist()
    for kind in ("file", "chunk"):
        rows = [row for row in objects if row["kind"] == kind and row["label"] == "labelled"]
        if rows:
            click.echo()
            show_table(
                f"The most frequent of {len(rows):,} labelled {kind}s",
                ["count", "domains", "bytes", "kind", "SHA-1", "content"],
                [(row["count"], row["domains"], row["length"], row["content_kind"] or "–", row["sha1"].hex()[:12],
                  snippet(row["content"]) or row["example"]) for row in rows[:top]],
            )  # fmt: skip
    kinds: dict[str, tuple[int, int]] = {}
    for row in objects:
        if row["kind"] == "chunk" and row["label"] == "labelled" and row["content_kind"]:
            known = kinds.get(row["content_kind"], (0, 0))
            kinds[row["content_kind"]] = known[0] + 1, known[1] + row["count"]
    if kinds:
        click.echo()
        ranked = sorted(kinds.items(), key=lambda pair: (-pair[1][0], pair[0]))
        show_table("What they are", ["kind", "chunks", "occurrences"], [(name, *counts) for name, counts in ranked])
    proposed = [row for row in objects if row["why"]]
    if proposed:
        click.echo()
        rows = [(row["sha1"].hex()[:12], row["count"], row["why"], snippet(row["content"])) for row in proposed[:top]]
        show_table("These may be stop chunks", ["SHA-1", "count", "why", "content"], rows)
        click.echo("Accept them:  --accept SHA1 --stop-chunks FILE, then run again with --stop-chunks FILE")


def _show_places(result: Result, top: int) -> None:
    sites = result.tables["sites"].slice(0, top).to_pylist()
    if sites:
        click.echo()
        show_table(
            "Sites by labelled chunks",
            ["labelled", "on several sites", "share", "targets", "files", "domain"],
            [(row["labelled"], row["cross_site"], f"{row['share']:.1%}", row["targets"], row["files"], row["domain"])
             for row in sites],
        )  # fmt: skip
    table = result.tables["neighborhoods"]
    bad = table.filter(table["bad"]).to_pylist()
    folded: dict[str, int] = {}
    for row in bad:
        folded[row["under"]] = folded.get(row["under"], 0) + 1
    highest = sorted(
        (row for row in bad if row["under"] == row["prefix"]), key=lambda row: (-row["labelled"], row["prefix"])
    )
    if highest:
        click.echo()
        show_table(
            f"Bad neighborhoods: {len(highest):,}, with {len(bad) - len(highest):,} more inside them",
            ["badness", "95 %", "labelled", "on several sites", "chunks", "files", "inside", "prefix"],
            [(f"{row['badness']:.1%}", f"{row['low']:.0%}–{row['high']:.0%}", row["labelled"], row["cross_site"],
              row["chunks"], row["files"], folded[row["prefix"]] - 1, row["prefix"]) for row in highest[:top]],
        )  # fmt: skip


def snippet(content: bytes | None) -> str:
    """The beginning of a chunk on one line."""
    text = " ".join((content or b"")[: 4 * _SNIPPET].decode("utf-8", "replace").split())
    return text if len(text) <= _SNIPPET else text[: _SNIPPET - 1] + "…"


def show_chunk(corpus: Corpus, digest: str) -> None:
    """Print the bytes of an object, as they are in its example page."""
    from unquilt.detectors.reuse.examples import read_example
    from unquilt.errors import BadInput

    row = _object(corpus, digest)
    content = read_example(row, corpus.settings, Path(corpus.path).parent, most=None)
    if content is None:
        raise BadInput(
            f"{row['source']} is not there any more, or has changed since it was ingested.",
            fix="Put it back where it was, next to the corpus, or run this where it is.",
        )
    where = f"{row['example']}, bytes {row['begin']:,} to {row['begin'] + row['length']:,}"
    click.echo(f"{row['sha1'].hex()}: {row['count']:,} times on {row['domains']:,} domains, here {clean(where)}\n")
    text = content.decode("utf-8", "replace")
    click.echo("\n".join(clean(line) for line in text.replace("\t", " ").replace("\r", "").split("\n")))


def _object(corpus: Corpus, digest: str) -> dict[str, Any]:
    from unquilt.errors import BadInput
    from unquilt.result import load_result

    rows = load_result(corpus, "reuse").tables["objects"].to_pylist()
    found = [row for row in rows if row["sha1"].hex().startswith(digest.lower())] if digest else []
    if len({row["sha1"] for row in found}) != 1:
        many = "several objects" if found else "no object"
        raise BadInput(
            f"{many.capitalize()} of the result begin with {digest!r}.",
            fix="Give more of the SHA-1, as objects.parquet has it.",
        )
    row: dict[str, Any] = found[0]
    return row


def accept_stop_chunks(corpus: Corpus, accept: tuple[str, ...], path: str) -> None:
    """Add proposed stop chunks to a file."""
    from unquilt.detectors.reuse.stop_chunks import add_stop_chunks
    from unquilt.errors import BadParameter
    from unquilt.result import load_result

    if not path:
        raise BadParameter("--accept needs a file to write to.", fix="Name it with --stop-chunks FILE.")
    if "all" in accept:
        rows = [row for row in load_result(corpus, "reuse").tables["objects"].to_pylist() if row["why"]]
    else:
        rows = [_object(corpus, digest) for digest in accept]
    new = add_stop_chunks(
        path, [(row["sha1"], f"{row['why'] or 'accepted'}: {snippet(row['content'])}") for row in rows]
    )
    click.echo(f"{new:,} stop chunks were added to {path}. Run again with --stop-chunks {path}")
