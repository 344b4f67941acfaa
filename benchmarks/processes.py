"""Fresh processes: how long one takes, and how much memory it and its children take."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

_SHARED_MEMORY = Path("/dev/shm")
_PAUSE = 0.01
_ORPHAN_SECONDS = 2.0
_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


class RunFailed(Exception):
    """A process that was measured did not end well."""


@dataclass(slots=True)
class Peak:
    """The most memory, in bytes, that a process and its children had.

    ``resident`` is the kernel's own high-water mark of each process (VmHWM), so no peak is missed; it counts
    libraries and shared pages in full. ``tree`` is sampled: the proportional set size of all processes
    together, anonymous and mapped files, and what the engine's blocks take in shared memory, mapped or not.
    """

    resident: dict[int, int] = field(default_factory=dict)
    tree: int = 0
    private: int = 0  # of tree: anonymous
    mapped: int = 0  # of tree: files, libraries and blocks on disk, which the kernel can take back
    shared: int = 0  # of tree: blocks in shared memory

    def of_children(self, parent: int) -> int:
        return max((size for process, size in self.resident.items() if process != parent), default=0)


@dataclass(frozen=True, slots=True)
class Run:
    """A process from start to end."""

    seconds: float  # on the wall
    processor_seconds: float  # of it and its children: what others do counts less
    answer: Any  # what it printed, as JSON unless it is read otherwise


def run_python(
    module: str,
    *arguments: str,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    read: Callable[[bytes], Any] = json.loads,
) -> Run:
    """Run a module in a fresh interpreter, with more environment variables than there are."""
    used, begun = _used_by_children(), time.perf_counter()
    done = subprocess.run(
        [python, "-m", module, *arguments], env=os.environ | (environment or {}), capture_output=True, check=False
    )
    seconds = time.perf_counter() - begun
    _wait_for_orphans()
    answer = _answer(module, done.returncode, done.stdout, done.stderr, read)
    return Run(seconds, _used_by_children() - used, answer)


def watch_python(module: str, *arguments: str) -> tuple[Peak, int, Any]:
    """Run a module in a fresh interpreter: peak memory, its process id, and the JSON that it prints."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        peak = Peak()
        while process.poll() is None:
            _sample(process.pid, peak)
            time.sleep(_PAUSE)
        out, errors = process.communicate()
    _wait_for_orphans()
    return peak, process.pid, _answer(module, process.returncode, out, errors, json.loads)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end first, so that their time can be counted."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for_orphans() -> None:
    given_up = time.monotonic() + _ORPHAN_SECONDS
    with suppress(ChildProcessError):  # there are none, or no more
        while time.monotonic() < given_up:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(_PAUSE)


def _used_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _answer(module: str, status: int, out: bytes, errors: bytes, read: Callable[[bytes], Any]) -> Any:
    if status:
        last = errors.decode(errors="replace").strip().splitlines()[-8:]
        raise RunFailed(f"{module} ended with status {status}:\n" + "\n".join(last))
    return read(out)


def _sample(pid: int, peak: Peak) -> None:
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        processes = [pid, *(child.pid for child in root.children(recursive=True))]
        private = mapped = 0
        for process in processes:
            status = _fields(process, "status")
            peak.resident[process] = max(peak.resident.get(process, 0), status.get("VmHWM", 0))
            sizes = _fields(process, "smaps_rollup")
            private += sizes.get("Pss_Anon", 0)
            mapped += sizes.get("Pss_File", 0)
        shared = _blocks_in_shared_memory(pid)
        if private + mapped + shared > peak.tree:
            peak.tree = private + mapped + shared
            peak.private, peak.mapped, peak.shared = private, mapped, shared


def _fields(pid: int, name: str) -> dict[str, int]:
    """The sizes, in bytes, in a file of /proc; none if the process has ended."""
    found = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/{name}").read_text().splitlines():
            if line.endswith(" kB"):
                key, value = line.split(":", 1)
                found[key] = int(value.removesuffix(" kB")) << 10
    return found


def _blocks_in_shared_memory(pid: int) -> int:
    size = 0
    for path in _SHARED_MEMORY.glob(f"unquilt-blocks-{pid}-*/*"):
        with suppress(OSError):
            size += path.stat().st_blocks * 512
    return size
