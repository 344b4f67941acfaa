"""Every error a user can meet.

    UnquiltError
    ├── BadParameter      a setting is out of its range
    ├── BadInput          an input cannot be read at all
    │   ├── NoInput       nothing was given, or nothing was found there
    │   └── NotACorpus    a path that should be a corpus is not
    ├── CorpusMismatch    a corpus was made with other settings than asked for
    ├── CorpusBusy        another process is writing to the corpus
    ├── DiskFull          the disk could not take what was to be written
    ├── StepFailed        a step raised; names the file or bucket it was working on
    └── Cancelled         the user pressed Ctrl-C

A message says what is wrong; ``fix`` says what to do. A damaged record is none of these: it becomes a row of
``skipped.parquet`` and the run goes on.
"""

from __future__ import annotations


class UnquiltError(Exception):
    """What is wrong, and what to do about it."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:  # crosses from a worker process with its fix
        return _rebuild, (type(self), self.message, self.fix)


def _rebuild(kind: type[UnquiltError], message: str, fix: str) -> UnquiltError:
    return kind(message, fix=fix)


class BadParameter(UnquiltError):
    pass


class BadInput(UnquiltError):
    pass


class NoInput(BadInput):
    pass


class NotACorpus(BadInput):
    pass


class CorpusMismatch(UnquiltError):
    pass


class CorpusBusy(UnquiltError):
    pass


class DiskFull(UnquiltError):
    pass


class StepFailed(UnquiltError):
    pass


class Cancelled(UnquiltError):
    pass
