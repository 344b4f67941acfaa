"""unquilt info"""

from __future__ import annotations

from dataclasses import asdict

import click

from unquilt.cli.show import show_json, show_table


@click.command("info")
@click.argument("corpus", metavar="CORPUS")
@click.option("--top", type=click.IntRange(1), default=10, help="Rows of each list.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON on standard output.")
def command(corpus: str, top: int, as_json: bool) -> None:
    """What a corpus holds: pages, hosts, domains, words, bytes, charsets; and what was skipped, by reason."""
    from unquilt.corpus import Corpus
    from unquilt.info import describe
    from unquilt.progress import size_text

    info = describe(Corpus(corpus), top=top)
    if as_json:
        show_json(asdict(info))
        return
    facts = [
        ("pages", info.pages),
        ("superseded captures", info.superseded),
        ("hosts", info.hosts),
        ("domains", info.domains),
        ("IP addresses", info.ips),
        ("words", info.words),
        ("bytes", f"{info.bytes:,} ({size_text(info.bytes)})"),
        ("captured", f"{info.first or '–'} to {info.last or '–'}"),
        ("parts", info.parts),
        ("digest", info.digest[:16]),
    ]
    show_table(
        f"{corpus}",
        ["", ""],
        [(name, f"{value:,}" if isinstance(value, int) else value) for name, value in facts],
    )
    for title, counts in (
        ("Charsets", info.charsets),
        ("Media types", info.media_types),
        (f"Hosts with the most pages (of {info.hosts:,})", info.top_hosts),
        ("Skipped, by reason", info.skipped),
        ("Other records, by kind", info.passed),
    ):
        if counts:
            click.echo()
            show_table(title, ["", "count"], counts.items())
    if not info.is_complete:
        click.echo("\nThe ingest of this corpus was interrupted. Run the same command again to finish it.")
