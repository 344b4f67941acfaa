"""unquilt serve"""

from __future__ import annotations

import click


@click.command("serve")
@click.argument("corpus", metavar="CORPUS")
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on; any but this machine's own needs --token.  [default: 127.0.0.1]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    help="Port to listen on; 0 takes a free one.  [default: 8000]",
)
@click.option(
    "--token", default="", envvar="UNQUILT_TOKEN", help="Who opens the pages must give this; also from UNQUILT_TOKEN."
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def command(corpus: str, host: str, port: int, token: str, quiet: bool) -> None:
    """Explore a corpus and its results in a browser, and judge samples of what was found.

    Everything stays on this machine; nothing is fetched from the web.
    """
    from unquilt.serve.run import serve_corpus

    serve_corpus(corpus, host=host, port=port, token=token, say=lambda text: None if quiet else click.echo(text))
