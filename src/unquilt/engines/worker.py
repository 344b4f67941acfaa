"""A worker process of the local engine, started and ended by it.

It is a program of its own rather than a fork, so that it neither inherits the threads of the calling program
nor runs its main module again: scripts and notebooks need no guard around the call.
"""

from __future__ import annotations

import errno
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
from unquilt.errors import DiskFull, StepFailed, UnquiltError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


def explain(failure: Failure, name: str, at: str) -> UnquiltError:
    """What to tell the user about a step, called ``name``, that raised at an item, called ``at``."""
    error = failure.error
    if isinstance(error, UnquiltError):
        return error
    if isinstance(error, OSError) and error.errno in _FULL:
        where = f" {error.filename}" if error.filename else ""
        return DiskFull(
            f"{name}: the disk is full; it could not take{where} all of what was to be written.",
            fix="Make room, then run the same command again: it goes on where it stopped.",
        )
    at = f"{at}, {failure.work}" if failure.work else at
    failed = StepFailed(
        f"{name} failed at {at}: {type(error).__name__}: {error}",
        fix="This is a fault of unquilt, not of your data: please report it with the lines above.",
    )
    failed.add_note(failure.trace)
    return failed


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
            work.send(portable(Failure(error, "", traceback.format_exc())))
            continue
        result = run_step(step, item)
        work.send(portable(result) if isinstance(result, Failure) else result)


def _end_with_parent(life: int) -> None:
    """The other end of this pipe is open as long as the engine's process lives, however it ends."""
    os.read(life, 1)
    os._exit(1)


def portable(failure: Failure) -> Failure:
    """A failure whose error survives the way to the engine."""
    try:
        pickle.loads(pickle.dumps(failure.error))
    except Exception:
        failure.error = RuntimeError(f"{type(failure.error).__name__}: {failure.error}")
    return failure
