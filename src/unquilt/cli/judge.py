"""unquilt judge"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from unquilt.cli.options import output_options
from unquilt.cli.show import show_json, show_table


@click.command("judge")
@click.argument("corpus", metavar="CORPUS")
@click.option("--export", "export", metavar="FILE", help="Write every judgment to this file, .csv or .parquet.")
@output_options
def command(corpus: str, export: str | None, as_json: bool, quiet: bool) -> None:
    """How often detectors are right, by the judgments made in `unquilt serve`.

    For each sample and judge: the share of findings judged to be what they were taken for, with Wilson's 95 % interval;
    for every two judges of a sample, Cohen's kappa.
    """
    from unquilt.corpus import Corpus
    from unquilt.serve.judgments import Judgments

    judgments = Judgments(Corpus(corpus).path)
    if export is not None:
        judgments.export(Path(export))
    figures = judgments.figures()
    if as_json:
        show_json(
            [one | {"judges": {judge: asdict(right) for judge, right in one["judges"].items()}} for one in figures]
        )
        return
    if not figures:
        click.echo(f"No samples were drawn yet. Draw one:  unquilt serve {corpus}")
    for one in figures:
        _show(one)
    if export is not None and not quiet:
        click.echo(f"The judgments are in {export}")


def _show(one: dict[str, Any]) -> None:
    from unquilt.serve.judge import setting_text

    show_table(
        f"Sample {one['sample']}: {one['size']} of {one['population']:,} {one['detector']}, {one['method']}, seed "
        f"{one['seed']}; {setting_text(one['detector'], one['setting'])}",
        ["judge", "judged", "yes", "no", "unsure", "precision", "95 % interval"],
        [
            (
                judge, right.judged, right.yes, right.no, right.unsure,
                "–" if right.share is None else f"{right.share:.1%}", f"{right.low:.1%} to {right.high:.1%}",
            )
            for judge, right in one["judges"].items()
        ],
    )  # fmt: skip
    for pair in one["agreement"]:
        value = "not defined" if pair["kappa"] is None else f"{pair['kappa']:.2f}"
        click.echo(
            f"{' and '.join(pair['judges'])} agree on {pair['agreed']} of {pair['both']}; Cohen's kappa {value}."
        )
    click.echo()
