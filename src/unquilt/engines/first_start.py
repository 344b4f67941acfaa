"""First start: kernels are compiled before they are needed, each once, by all workers together.

numba keeps what it has compiled. A note beside it tells which stages of a run are ready, so that a later start need not
look. A kernel that is not in the list, as settings other than the defaults may call it, is compiled when it is called.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.metadata
import json
import os
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unquilt.engines import Engine
from unquilt.engines.local import LocalEngine

_KERNELS = Path(__file__).parent.parent / "kernels"
_LIST = Path(__file__).with_name("kernels.json")
_SECONDS_A_BYTE = 200e-6  # of a kernel's source, measured

_is_told = False


@dataclass(frozen=True, slots=True)
class Kernels:
    """Kernels of one module, each with the types of its arguments; ``bytes`` is the size of their source."""

    module: str
    kernels: tuple[tuple[str, tuple[str, ...]], ...]
    bytes: int


def compile_kernels(engine: Engine, *stages: str) -> None:
    """Have all kernels of some stages ("ingest" or a detector) compiled, and say that it takes its time.

    On Spark it does nothing: workers there may be on other machines.
    """
    if not isinstance(engine, LocalEngine) or are_compiled(*stages):
        return
    if _note() is None:
        _tell_once(engine, "Compiled kernels cannot be kept: set NUMBA_CACHE_DIR to a folder that can be written to.")
        return
    work = kernels_of(*stages)
    seconds = sum(some.bytes for some in work) * _SECONDS_A_BYTE / engine.workers
    engine.progress.say(f"Compiling kernels for this machine, once: about {max(seconds, 1):.0f} s")
    deque(
        engine.map(
            _compile, work, name="Compiling kernels", label=lambda some: some.module, size=lambda some: some.bytes
        ),
        maxlen=0,
    )
    _write_note(stages)


def are_compiled(*stages: str) -> bool:
    """Whether all kernels of these stages were compiled before, on a machine like this and from these sources."""
    return set(stages) <= _ready()


def kernels_of(*stages: str) -> list[Kernels]:
    """What these stages call, by module, the largest first: so workers end together, and none does another's work."""
    listed: dict[str, dict[str, list[str]]] = json.loads(_LIST.read_text())
    modules: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for stage in stages:
        for kernel, calls in listed[stage].items():
            module, _, name = kernel.partition(".")
            modules.setdefault(module, set()).update((name, tuple(call.split("; "))) for call in calls)
    work = [
        Kernels(module, tuple(sorted(kernels)), (_KERNELS / f"{module}.py").stat().st_size)
        for module, kernels in modules.items()
    ]
    return sorted(work, key=lambda some: (-some.bytes, some.module))


def _compile(some: Kernels) -> None:
    from numba import types

    names = {**vars(types), "bool": types.boolean, "omitted": types.Omitted}
    module = importlib.import_module(f"unquilt.kernels.{some.module}")
    gc.disable()  # a compiler makes much that lives on, and looking through it again and again is a tenth of its time
    for name, arguments in some.kernels:
        with suppress(Exception):  # what is wrong shows, with a better message, when the kernel is called
            getattr(module, name).compile(tuple(eval(text, names) for text in arguments))
    gc.enable()


def _tell_once(engine: LocalEngine, text: str) -> None:
    global _is_told
    if not _is_told:
        engine.progress.say(text)
    _is_told = True


def _ready() -> set[str]:
    """The stages that are noted."""
    path = _note()
    with suppress(OSError):
        sources, *stages = path.read_text().split() if path else [""]
        return set(stages) if sources == _sources() else set()
    return set()


def _write_note(stages: Sequence[str]) -> None:
    path = _note()
    if path is None:
        return
    ready = sorted(_ready().union(stages))
    temporary = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):  # then it is looked for again
        temporary.write_text("\n".join([_sources(), *ready]))
        temporary.replace(path)


@cache
def _note() -> Path | None:
    """The note for this kind of processor, in the folder that numba takes or, where that has none, our own."""
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unquilt"
    for folder in (os.environ.get("NUMBA_CACHE_DIR"), _KERNELS / "__pycache__", own):
        if folder:
            with suppress(OSError):
                Path(folder).mkdir(parents=True, exist_ok=True)
                if os.access(folder, os.W_OK):
                    return Path(folder) / f"unquilt-{_processor()}.txt"
    return None


@cache
def _sources() -> str:
    """What is compiled, and by what: it changes when numba would compile anew."""
    about = [importlib.metadata.version("numba"), sys.version, _LIST.read_text()]
    for path in sorted(_KERNELS.glob("*.py")):
        status = path.stat()
        about.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return _short("\n".join(about))


def _processor() -> str:
    """Compiled code is for a kind of processor, and a home folder may be shared by several."""
    about = " ".join(os.uname()[4:])
    with suppress(OSError), Path("/proc/cpuinfo").open() as lines:
        first = [line for line, _ in zip(lines, range(64), strict=False)]
        about += "".join(line for line in first if line.startswith(("model name", "flags", "Features")))
    return _short(about)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
