"""unquilt mirrors"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.options import engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import clean, show_json, show_table
from unquilt.detectors.mirrors.params import MirrorParams, ProbeParams

if TYPE_CHECKING:
    from unquilt.detectors.mirrors.explain import PairStory
    from unquilt.result import Result

_OUTCOMES = ("FM", "FS", "HS", "TS", "NS", "TF", "SF", "unknown")
_HOSTS: dict[str, Any] = {"nargs": 2, "metavar": "A B"}


@click.command("mirrors")
@click.argument("corpus", metavar="CORPUS")
@click.option("--explain", **_HOSTS, help="Show the features that these two hosts share, with their weights.")
@click.option(
    "--pair", **_HOSTS, multiple=True, help="Test these two hosts, whatever their URLs share. May be repeated."
)
@click.option("--export", metavar="FILE", help="Write host, canonical host and level, for a crawler or a proxy.")
@click.option("--plots/--no-plots", default=False, help="Draw the ranking evaluation and the groups.")
@click.option("--top", type=click.IntRange(1), default=20, help="Pairs, or features of a pair, to list.  [default: 20]")
@options_of(MirrorParams)
@options_of(ProbeParams)
@engine_options
@output_options
def command(
    corpus: str, explain: tuple[str, str] | None, pair: tuple[tuple[str, str], ...], export: str | None, plots: bool,
    top: int, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Find hosts that replicate hosts, from a crawl or from a list of URLs.

    Hosts whose URLs share rare words in the same places are candidates; 19 comparisons of pages then give each pair a
    level: 1 the same bytes, 2 the same text, 3 similar text, 4 similar in part, 5 the same structure, or a mismatch
    (Bharat and Broder 1999; their constants are the defaults).

    The pages come from the crawl, where a path that it does not hold is unknown and no evidence; or, with --pages live,
    from the hosts themselves, as their robots.txt allows. The tables are in CORPUS/results/mirrors.
    """
    from unquilt.corpus import Corpus

    params, probe = params_from(MirrorParams, options), params_from(ProbeParams, options)
    opened = Corpus(corpus)
    with make_engine(options, quiet=quiet or as_json, preload=["unquilt.detectors.mirrors.candidates"]) as engine:
        if explain:
            from unquilt.detectors.mirrors.explain import explain_mirrors

            story = explain_mirrors(opened, *explain, params, engine=engine)
            show_json(asdict(story)) if as_json else show_story(story, top)
            return
        from unquilt.detectors.mirrors.find import find_mirrors

        result = find_mirrors(opened, params, probe=probe, named=pair, engine=engine)
    files = [str(result.save(opened))]
    if plots:
        from unquilt.report.figures import write_csv, write_plots

        files += map(str, write_plots(result, opened, files[0]))
        files.append(str(write_csv(result.tables["domains"], Path(files[0]) / "domains.csv")))
    if export:
        files.append(str(write_equivalents(result, Path(export))))
    if as_json:
        show_json(summary(result) | {"results": files})
        return
    show(result, top)
    click.echo("\nWritten: " + ", ".join(files))


def write_equivalents(result: Result, path: Path) -> Path:
    """Write host, canonical host and level on each line, with tabs."""
    from unquilt.corpus import write_atomically
    from unquilt.detectors.mirrors.outcome import equivalents

    lines = ["\t".join(row) + "\n" for row in equivalents(result.tables["groups"])]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(lines).encode())
    return path


def summary(result: Result) -> dict[str, Any]:
    tables = result.tables
    levels = Counter(tables["pairs"]["level"].to_pylist())
    return {
        "counts": {row["what"]: row["count"] for row in tables["summary"].to_pylist()},
        "levels": dict(sorted(levels.items())),
        "candidates": len(tables["candidates"]),
        "groups": len(set(tables["groups"]["group"].to_pylist())),
        "misspellings": len(tables["misspellings"]),
        "trees": len(tables["trees"]),
        "params": dict(result.params),
    }


def show(result: Result, top: int) -> None:
    facts = summary(result)
    counts = facts["counts"]
    click.echo(
        f"{counts['candidate pairs']:,} candidate pairs of {counts['hosts considered']:,} hosts; "
        f"{counts['pairs tested']:,} tested, {counts['mirrored hosts']:,} hosts are mirrored."
    )
    if not counts["candidate pairs"]:
        click.echo(f"Hosts with fewer than {result.params['min_urls']:,} URLs are not compared: see --min-urls.")
    pairs = result.tables["pairs"]
    if len(pairs):
        _show_pairs(result, top)
    elif len(result.tables["candidates"]):
        _show_candidates(result, top)
    if facts["trees"]:
        click.echo()
        rows = result.tables["trees"].slice(0, top).to_pylist()
        show_table(
            "The same pages under another path", ["pages", "tree", "of", "tree", "of"],
            ((row["pages"], f"{row['host_a']}{row['prefix_a']}/", row["pages_a"],
              f"{row['host_b']}{row['prefix_b']}/", row["pages_b"]) for row in rows),
        )  # fmt: skip
    for row in result.tables["misspellings"].slice(0, top).to_pylist():
        click.echo(clean(f"{row['host']} may be a misspelling of {row['meant']}."))


def _show_pairs(result: Result, top: int) -> None:
    click.echo()
    rows = result.tables["pairs"].slice(0, top).to_pylist()
    show_table(
        f"The first {len(rows)} pairs", ["level", "score", "known", "outcomes", "host", "host"],
        ((row["level"], f"{row['score']:.2f}", row["known"], _outcomes(row["tests"]), row["host_a"], row["host_b"])
         for row in rows),
    )  # fmt: skip


def _outcomes(tests: list[dict[str, Any]]) -> str:
    counts = Counter(test["outcome"] for test in tests)
    return " ".join(f"{counts[name]} {name}" for name in _OUTCOMES if counts[name])


def _show_candidates(result: Result, top: int) -> None:
    click.echo()
    rows = result.tables["candidates"].slice(0, top).to_pylist()
    show_table(
        f"The first {len(rows)} candidates", ["score", "features", "of paths", "host", "host"],
        ((f"{row['score']:.2f}", row["features"], row["path_features"], row["host_a"], row["host_b"]) for row in rows),
    )  # fmt: skip
    if result.params["pages"] == "archive":
        click.echo("\nThe corpus has no pages to compare, only URLs: --pages live asks the hosts.")


def show_story(story: PairStory, top: int) -> None:
    for host, urls, sampled in (
        (story.host_a, story.urls_a, story.sampled_a), (story.host_b, story.urls_b, story.sampled_b)
    ):  # fmt: skip
        click.echo(f"{clean(host)}: {urls:,} URLs, {sampled:,} paths sampled")
    verdict = "a candidate" if story.is_candidate else "no candidate"
    click.echo(f"{len(story.features):,} features shared, normalized score {story.score:.3f}: {verdict}.\n")
    show_table(
        "Features by weight", ["weight", "hosts", "where", "words"],
        ((f"{one.weight:.3f}" if one.weight else "too common", one.hosts,
          "host name" if one.depth is None else f"path, depth {one.depth}", f"{one.first} {one.second}")
         for one in story.features[:top]),
    )  # fmt: skip
