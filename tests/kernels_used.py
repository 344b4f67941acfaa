"""Which kernels a command calls, and with what: run as a program, it writes the list that a first start compiles.

    python tests/kernels_used.py

A kernel that others call is compiled as part of them; only those that Python calls are listed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from numba import typeof, types
from numba.core import event
from numba.core.dispatcher import Dispatcher, OmittedArg

from unquilt import cli, sample
from unquilt.detectors import DETECTORS
from unquilt.engines import first_start

STAGES = ("ingest", *DETECTORS, "report", "clean", "against")
LIST = Path(cli.__file__).parent.parent / "engines" / "kernels.json"
Used = dict[str, list[str]]
"""For each kernel the types of its arguments, as numba writes them, with semicolons; once for each combination."""


def used_by(stage: str, corpus: Path) -> Used:
    """What ``unquilt ingest`` of the sample to a corpus, or another command on it, calls, in a process of its own."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, __file__, stage, corpus], capture_output=True, text=True, check=True, timeout=300
        )
        found: Used
        found, is_compiled = json.loads(done.stdout.splitlines()[-1])
        if not is_compiled:
            break  # else kernels that were compiled as part of others may have been called unnoticed
    return found


def record(stage: str, corpus: str) -> tuple[Used, bool]:
    """The same in this process, and whether anything was compiled."""
    compiled = event.RecordingListener()
    event.register("numba:compile", compiled)
    used: dict[str, set[str]] = defaultdict(set)
    dispatcher: Any = Dispatcher
    compile_for_arguments = dispatcher._compile_for_args

    def note(self: Any, *arguments: Any, **keywords: Any) -> Any:  # called once for each combination of types
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        if name.startswith("unquilt.kernels."):
            kinds = (types.Omitted(one.value) if isinstance(one, OmittedArg) else typeof(one) for one in arguments)
            used[name.removeprefix("unquilt.kernels.")].add("; ".join(map(repr, kinds)))
        return compile_for_arguments(self, *arguments, **keywords)

    dispatcher._compile_for_args = note
    first_start.are_compiled = lambda *_stages: True  # here they are to be compiled when they are called
    crawl = sorted(map(str, Path(sample.__file__).parent.glob("*.warc.gz")))
    workers = ["--workers", "1"]
    arguments = {
        "ingest": ["ingest", *crawl, "-o", corpus, *workers],
        "report": ["report", corpus],
        "clean": ["clean", corpus, "-o", f"{corpus}.clean", "--no-pages", *workers],
        "against": ["against", corpus, f"{corpus}.old", *workers],
    }
    if stage == "against" and not Path(f"{corpus}.old").exists():  # of other pages, so that all of it has work
        subprocess.run([sys.executable, "-m", "unquilt", "ingest", *crawl[:-1], "-o", f"{corpus}.old"], check=True)
    if cli.run(arguments.get(stage, [stage, corpus, *workers])):
        sys.exit(f"{stage} failed")
    return {name: sorted(calls) for name, calls in sorted(used.items())}, bool(compiled.buffer)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        listed = {stage: used_by(stage, Path(folder) / "corpus") for stage in STAGES}
    LIST.write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(record(*sys.argv[1:])))
    else:
        main()
