"""unquilt config"""

from __future__ import annotations

import click


@click.command("config")
def command() -> None:
    """Print every setting of a run with its meaning, as a file for --config.

    Save it, change what you like, and give it:  unquilt config > my.toml;  unquilt run ... --config my.toml
    """
    from unquilt.config import default_config

    click.echo(default_config(), nl=False)
