"""unquilt run"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unquilt.cli.against import facts_of, show_summary
from unquilt.cli.ingest import show, summary
from unquilt.cli.options import Command, engine_options, make_engine, options_of, output_options, params_from
from unquilt.cli.show import clean, show_json, show_table
from unquilt.detectors import DETECTORS
from unquilt.errors import BadParameter
from unquilt.ingest.params import PRELOAD, IngestParams

if TYPE_CHECKING:
    from unquilt.corpus import Corpus
    from unquilt.params import Params
    from unquilt.run import Run


def run_options(command: Command) -> Command:
    """What is run, and how."""
    names = ", ".join(DETECTORS)
    parts: list[Callable[[Command], Command]] = [
        click.option("--only", metavar="LIST", default="", help=f"Only these detectors, with commas: {names}."),
        click.option("--skip", metavar="LIST", default="", help="All detectors but these."),
        click.option("--against", metavar="OLD", help="Compare with this corpus, of an earlier crawl."),
        click.option("--config", metavar="FILE", help="Settings of every part, as `unquilt config` prints them."),
        click.option("--estimate/--no-estimate", default=True, help="Say before what it will take.  [default: say it]"),
        options_of(IngestParams),
        engine_options,
        output_options,
    ]
    for add in reversed(parts):
        command = add(command)
    return command


@click.command("run")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", required=True, metavar="OUT", help="The corpus: a folder to make, or one to add to.")
@run_options
def command(inputs: tuple[str, ...], out: str, **options: Any) -> None:
    """The main job: read a crawl into a corpus, find what is copied, and write OUT/report.html.

    INPUT is all that `unquilt ingest` reads. Stopped at any moment, the same command goes on where it was. Run again,
    it does only what is new: inputs that are not in the corpus yet, detectors whose settings have changed.
    """
    run_all(inputs, out, **options)


def run_all(
    inputs: Sequence[str], out: str, *, only: str, skip: str, against: str | None, config: str | None,
    estimate: bool, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    chosen = _chosen(only, skip)
    params, settings = _settings(config, options)
    old = _open_old(against, out) if against is not None else None
    with make_engine(options, quiet=quiet or as_json, preload=PRELOAD) as engine:
        from unquilt.ingest.inputs import plan
        from unquilt.run import run_crawl

        planned = plan(inputs, params)
        if estimate:
            _tell_estimate(planned.pieces, out, engine, is_silent=quiet or as_json)
        done = run_crawl(planned, out, params, detectors=chosen, settings=settings, against=old, engine=engine)
    for stage in done.stages:
        if stage.nothing:
            what = "comparison" if stage.name == "against" else stage.name
            click.echo(f"No {what}: {stage.nothing}", err=True)
    took = {stage.name: round(stage.seconds, 3) for stage in done.stages}
    _show(done) if not as_json else show_json(
        {"ingest": summary(done.ingested), **_facts(done.corpus), "report": str(done.report), "seconds": took}
    )


def _open_old(path: str, out: str) -> Corpus:
    from unquilt.detectors.against.find import open_old

    return open_old(path, out)


def _chosen(only: str, skip: str) -> list[str]:
    """The detectors to run, in their order."""
    asked = {"--only": _names(only), "--skip": _names(skip)}
    for option, names in asked.items():
        for name in names:
            if name not in DETECTORS:
                raise BadParameter(
                    f"{option} names {name}, which is no detector.", fix=f"There are {', '.join(DETECTORS)}."
                )
    return [name for name in DETECTORS if name in (asked["--only"] or DETECTORS) and name not in asked["--skip"]]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _settings(config: str | None, options: dict[str, Any]) -> tuple[IngestParams, dict[str, Params]]:
    """The settings of ingest and of the detectors; an option of the command line is stronger than the file."""
    params = params_from(IngestParams, options)
    if config is None:
        return params, {}
    from unquilt.config import read_config, sections

    settings = read_config(config)
    context = click.get_current_context()
    typed = {
        field.name
        for field in dataclasses.fields(IngestParams)
        if context.get_parameter_source(field.name) is click.core.ParameterSource.COMMANDLINE
    }
    given = {name: value for name, value in settings.get("ingest", {}).items() if name not in typed}
    others = {name: kind(**settings[name]) for name, kind in sections().items() if name in settings}
    return dataclasses.replace(params, **given), others


def _tell_estimate(pieces: Sequence[Any], out: str, engine: Any, *, is_silent: bool) -> None:
    from unquilt.estimate import check_room, estimate
    from unquilt.progress import duration, size_text

    need = estimate(pieces, workers=engine.workers, memory=engine.memory)
    check_room(need, Path(out), Path(tempfile.gettempdir()))
    if not is_silent:
        scratch = f" and up to {size_text(need.scratch_bytes)} of scratch files" if need.scratch_bytes else ""
        click.echo(
            f"{size_text(need.input_bytes)} to read: about {duration(max(need.seconds, 1))}, "
            f"{size_text(need.corpus_bytes)} on disk{scratch}, within {size_text(engine.memory)} of memory.",
            err=True,
        )


def _facts(corpus: Corpus) -> dict[str, Any]:
    from unquilt.report.findings import five_numbers, striking

    return {
        "numbers": [dataclasses.asdict(number) for number in five_numbers(corpus)],
        "striking": [dataclasses.asdict(one) for one in striking(corpus)],
        "against": facts_of(corpus),
    }


def _show(done: Run) -> None:
    """What a person should know after a run."""
    from unquilt.progress import duration
    from unquilt.report.findings import five_numbers, striking

    show(done.ingested)
    if not any(stage.is_new for stage in done.stages):
        click.echo("Nothing was to be done: every result is there, made from these pages with these settings.")
    rows = [
        (number.name, f"{number.share:.1%}", f"{number.pages:,}", f"{number.same_site:,}", f"{number.cross_site:,}")
        for number in five_numbers(done.corpus)
    ]
    if rows:
        click.echo()
        show_table("Of all pages", ["", "share", "pages", "within a site", "across sites"], rows)
    found = striking(done.corpus)
    if found:
        click.echo("\nMost striking")
        for one in found:
            click.echo(f"  {clean(one.sentence)}")
            click.echo(f"    {clean(one.url)}")
    show_summary(done.corpus)
    times = ", ".join(f"{stage.name} {duration(stage.seconds)}" for stage in done.stages if stage.is_new)
    if times:
        click.echo(f"\n{times}; {duration(done.seconds)} in all.")
    if rows:
        click.echo(f"See a page:  unquilt why {done.corpus.path} URL")
    click.echo(f"The report is in {done.report}")
