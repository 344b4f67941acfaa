"""unquilt match"""

from __future__ import annotations

import json
import sys
import time

import click

from unquilt.cli.show import clean, counts_sentence


@click.command("match")
@click.argument("labelled", metavar="FILTER")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.0,
              help="Only pages with a larger share of labelled chunks, or labelled files.  [default: 0]")  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="All pages, whatever they contain.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each page.")
@click.option("--quiet", "-q", is_flag=True, help="No summary.")
def command(
    labelled: str, inputs: tuple[str, ...], threshold: float, show_all: bool, as_json: bool, quiet: bool
) -> None:
    """Match pages against a labelled set, one at a time and without a corpus.

    FILTER was written by `unquilt export`. INPUT is all that `unquilt ingest` reads; - is a crawl or a page on standard
    input. Each line has contains(L, f), the labelled and all chunks of the page, and its URL.
    """
    from collections import Counter

    from unquilt.detectors.reuse.labelled import Labelled
    from unquilt.detectors.reuse.match import Matched, match_pages

    opened = Labelled.open(labelled)
    begun = time.monotonic()
    pages = found = size = 0
    skipped: Counter[str] = Counter()
    for one in match_pages(opened, inputs, stdin=sys.stdin.buffer):
        if not isinstance(one, Matched):
            skipped[one.reason] += 1
            continue
        pages += 1
        size += one.bytes
        match = one.match
        if not (show_all or match.contains > threshold or match.is_labelled_file):
            continue
        found += 1
        if as_json:
            facts = {"url": one.url, "contains": match.contains, "labelled": match.labelled, "chunks": match.chunks}
            click.echo(json.dumps(facts | {"is_labelled_file": match.is_labelled_file}, ensure_ascii=False))
        else:
            mark = "  (a labelled file)" if match.is_labelled_file else ""
            click.echo(f"{match.contains:6.1%}  {match.labelled:5,} of {match.chunks:5,}  {clean(one.url)}{mark}")
    if not quiet:
        seconds = max(time.monotonic() - begun, 1e-9)
        reasons = counts_sentence(dict(skipped.most_common()))
        click.echo(
            f"{found:,} of {pages:,} pages; {reasons}. {size / 1e6:,.1f} MB at {size / 1e6 / seconds:,.0f} MB/s.",
            err=True,
        )
