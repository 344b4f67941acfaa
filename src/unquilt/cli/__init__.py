"""The command line: parse, call, show. A file a command."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

import click

from unquilt import __version__
from unquilt.errors import Cancelled, StepFailed, UnquiltError

COMMANDS = {
    "run": "the main job: read a crawl, find what is copied, write a report",
    "ingest": "read a crawl into a corpus",
    "phrases": "find near-duplicates, popular phrases, and hosts made of them",
    "dedup": "list which pages to keep and which to drop as near-duplicates",
    "clean": "write the crawl without its copies, for a corpus of text that is there once",
    "quilts": "find pages stitched together from others, and where each patch came from",
    "styles": "find pages made by the same template, or made like a given page",
    "mirrors": "find hosts that replicate hosts, and to what degree",
    "reuse": "find copied files and chunks, the pages made of them, and bad neighborhoods",
    "against": "compare a crawl with an earlier one: what is new, gone, changed, newly copied",
    "why": "what in a page is copied, from where, and the likely cause",
    "info": "what a corpus holds, and what was skipped",
    "report": "write a corpus's report again",
    "serve": "explore the results in a browser, and judge samples of them",
    "judge": "how often detectors are right, by the judgments made in serve",
    "synth": "write a made-up crawl whose copies are known",
    "sweep": "how many pages are quilts as one parameter moves: a table and plots",
    "config": "print every setting of a run with its meaning, as a file for --config",
    "export": "write what is labelled as a set that a crawler can carry",
    "match": "match pages against such a set, without a corpus",
    "robustness": "how much a copied site must be changed until it is not found any more",
    "demo": "the main job on a small crawl that comes with unquilt",
}
"""Every command and what it does, in the order of --help. Each is a module of this package."""


class _Commands(click.Group):
    """Commands are imported when they are asked for, so that --help is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"unquilt.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="unquilt")
def unquilt() -> None:
    """Shows what in a web crawl is copied, from where, and why.

    Begin with `unquilt demo`, or with your own crawl:  unquilt run CRAWL.warc.gz -o OUT
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command and end the program with its status."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run a command: 0 done, 1 the input or a parameter is wrong, 2 usage, 130 interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill is a Ctrl-C
    try:
        unquilt.main(arguments, prog_name="unquilt", standalone_mode=False)
        sys.stdout.flush()
    except Cancelled as stop:
        return _say(stop, 130)
    except UnquiltError as error:
        return _say(error, 1)
    except click.UsageError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return 1
    except (KeyboardInterrupt, click.Abort):
        print("\nStopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(error: UnquiltError, status: int) -> int:
    notes: list[Any] = getattr(error, "__notes__", []) if isinstance(error, StepFailed) else []
    for note in notes:
        print(note, file=sys.stderr)
    print(f"{'Stopped' if status == 130 else 'Error'}: {error.message}", file=sys.stderr)
    if error.fix:
        print(error.fix, file=sys.stderr)
    return status
