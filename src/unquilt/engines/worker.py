"""A worker process of the local engine, started and ended by it.

It is a program of its own rather than a fork, so that it neither inherits the threads of the calling program
nor runs its main module again: scripts and notebooks need no guard around the call.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from unquilt.engines import current_work, working_on


@dataclass(slots=True)
class Failure:
    """How a step ended that did not end well."""

    error: BaseException
    work: str
    trace: str


def run_step(step: Callable[[Any], Any], item: Any) -> Any:
    """The result of a step, or its ``Failure``."""
    working_on("")
    try:
        return step(item)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Failure(error, current_work(), traceback.format_exc())


def main() -> None:
    # Ctrl-C reaches the whole group of processes; the engine decides what it means for this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work, life = Connection(int(sys.argv[1])), int(sys.argv[2])
    threading.Thread(target=_end_with_parent, args=(life,), daemon=True).start()
    for name in sys.argv[3:]:
        module, _, function = name.partition(":")
        loaded = importlib.import_module(module)
        if function:
            getattr(loaded, function)()
    work.send_bytes(b"")
    while True:
        try:
            step, item = work.recv()
        except EOFError:
            return
        except Exception as error:  # the step cannot be imported here
            work.send(_portable(Failure(error, "", traceback.format_exc())))
            continue
        result = run_step(step, item)
        work.send(_portable(result) if isinstance(result, Failure) else result)


def _end_with_parent(life: int) -> None:
    """The other end of this pipe is open as long as the engine's process lives, however it ends."""
    os.read(life, 1)
    os._exit(1)


def _portable(failure: Failure) -> Failure:
    """A failure whose error survives the way to the engine."""
    try:
        pickle.loads(pickle.dumps(failure.error))
    except Exception:
        failure.error = RuntimeError(f"{type(failure.error).__name__}: {failure.error}")
    return failure
