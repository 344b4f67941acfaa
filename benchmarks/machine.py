"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
import resource
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

_EXTRA = ("pyspark",)  # measured too, where it is installed


def describe_machine() -> dict[str, Any]:
    """Processor, memory, system, and the versions of Python and of all libraries of ours."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "libraries": _libraries(),
    }


def versions_of(names: Iterable[str], **where: Any) -> dict[str, str]:
    """The versions of those packages that are installed, here or in the folders ``path``."""
    found = {name: next(iter(metadata.distributions(name=name, **where)), None) for name in names}
    return {name: one.version for name, one in found.items() if one}


def _libraries() -> dict[str, str]:
    required = [line for line in metadata.requires("unquilt") or () if "extra ==" not in line]
    return versions_of(["unquilt", *(re.split(r"[^\w.-]", line)[0] for line in required), *_EXTRA])


class Others:
    """How much of the machine other programs take, from when this is made."""

    def __init__(self) -> None:
        self._before = _busy_seconds()

    def share(self) -> float:
        """Their part of all processor time so far, 0 to 1. Processes of ours must have ended."""
        passed, others = (now - then for now, then in zip(_busy_seconds(), self._before, strict=True))
        return min(max(others / passed, 0.0), 1.0) if passed else 0.0


def _busy_seconds() -> tuple[float, float]:
    """Processor seconds since the machine was started: all, and those that others were busy in."""
    times = psutil.cpu_times()
    passed = sum(times) - times.guest - times.guest_nice
    own = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        own += usage.ru_utime + usage.ru_stime
    return passed, passed - times.idle - times.iowait - own


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
