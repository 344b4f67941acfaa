"""unquilt report"""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("corpus", metavar="CORPUS")
@click.option("-o", "--out", metavar="FILE", help="The page to write.  [default: CORPUS/report.html]")
def command(corpus: str, out: str | None) -> None:
    """Write a corpus's report: one page that opens in any browser, from disk and without a network."""
    from unquilt.corpus import Corpus
    from unquilt.report.page import write_report

    opened = Corpus(corpus)
    click.echo(f"The report is in {write_report(opened, Path(out) if out else opened.path / 'report.html')}")
