"""The first start compiles what a run calls, once; later ones, nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Unquilt, page, record, write_warc
from kernels_used import LIST, STAGES, used_by

COMPILED = """
import sys
from numba.core import event
from unquilt import cli
compiled = []
class Note(event.Listener):
    def on_start(self, one):
        compiled.append(str(one.data["dispatcher"]))
    def on_end(self, one):
        pass
event.register("numba:compile", Note())
status = cli.run(sys.argv[1:])
sys.exit(status or "".join(compiled) or 0)
"""


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpora")


@pytest.mark.parametrize("stage", STAGES)
def test_the_list_of_kernels_is_what_a_run_of_the_sample_calls(stage: str, corpora: Path) -> None:
    if stage != "ingest" and not (corpora / "corpus").exists():
        used_by("ingest", corpora / "corpus")
    listed = json.loads(LIST.read_text())[stage]
    assert used_by(stage, corpora / "corpus") == listed, "remake it:  python tests/kernels_used.py"


def test_after_the_first_start_nothing_is_compiled(tmp_path: Path, unquilt: Unquilt) -> None:
    write_warc(tmp_path / "crawl.warc.gz", [record(f"http://a{i}.example/", page(i)) for i in range(3)])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    arguments = ["ingest", str(tmp_path / "crawl.warc.gz"), "--workers", "2", "-o"]
    first = unquilt(*arguments, tmp_path / "first", env=environment)
    assert first.returncode == 0, first.stderr
    assert "Compiling kernels for this machine, once: about " in first.stderr
    again = subprocess.run(
        [sys.executable, "-c", COMPILED, *arguments, tmp_path / "again", "--workers", "1"],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "Compiling" not in again.stderr


def test_help_imports_nothing_large() -> None:
    code = (
        "import sys; from unquilt import cli; cli.run(sys.argv[1:]); "
        "sys.exit(','.join({'numpy', 'pyarrow', 'numba', 'duckdb', 'rich'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout
