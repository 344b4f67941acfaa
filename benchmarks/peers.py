"""Peers from PyPI, each in an environment of its own, as what they require conflicts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.figure import Context, NotMeasured
from benchmarks.machine import versions_of

REQUIREMENTS = {
    "datatrove": ("datatrove", "spacy", "tokenizers", "orjson", "xxhash<3.6", "regex"),
    "datasketch": ("datasketch",),
    "rensa": ("rensa",),
    "text-dedup": ("text-dedup",),
}


def python_of(context: Context, peer: str) -> str:
    """The Python of an environment that has the peer, made once."""
    home = _home(context.cache, peer)
    python = home / "bin" / "python"
    if not (home / ".ready").exists():
        context.say("Installing " + ", ".join(REQUIREMENTS[peer]))
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(home)],
            [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[peer]],
        ):
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode:
                context.say(done.stderr.decode(errors="replace"))
                raise NotMeasured(f"{peer} cannot be installed")
        (home / ".ready").touch()
    return str(python)


def peer_versions(cache: Path) -> dict[str, str]:
    """The version of each peer that is installed."""
    found: dict[str, str] = {}
    for peer in REQUIREMENTS:
        packages = [str(folder) for folder in _home(cache, peer).glob("lib/*/site-packages")]
        found |= versions_of([peer], path=packages)
    return found


def _home(cache: Path, peer: str) -> Path:
    return cache / "peers" / peer
