"""How far a job is: on a terminal as a bar, elsewhere as lines, in a library call not at all."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

_SECONDS_BETWEEN_LINES = 5.0


class Meter(Protocol):
    """One job under way."""

    def advance(self, amount: int) -> None: ...

    def finish(self) -> None: ...


class Progress(Protocol):
    """Shows jobs. ``unit`` is "bytes" or the plural of a word."""

    def start(self, name: str, total: int, unit: str) -> Meter: ...

    def say(self, text: str) -> None: ...


class Quiet:
    """Shows nothing."""

    def start(self, name: str, total: int, unit: str) -> Meter:
        return _QuietMeter()

    def say(self, text: str) -> None:
        pass


class _QuietMeter:
    def advance(self, amount: int) -> None:
        pass

    def finish(self) -> None:
        pass


class Lines:
    """A line at the beginning, every few seconds and at the end, for logs."""

    def __init__(self, stream: Any = None) -> None:
        self._stream = stream or sys.stderr

    def start(self, name: str, total: int, unit: str) -> Meter:
        return _LinesMeter(name, total, unit, self._stream)

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class _LinesMeter:
    def __init__(self, name: str, total: int, unit: str, stream: Any) -> None:
        self._name, self._total, self._unit, self._stream = name, total, unit, stream
        self._done = 0
        self._begun = self._shown = time.monotonic()

    def advance(self, amount: int) -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._shown >= _SECONDS_BETWEEN_LINES and self._done:
            self._shown = now
            seconds = now - self._begun
            left = seconds * max(self._total - self._done, 0) / self._done
            done, total = amount_text(self._done, self._unit), amount_text(self._total, self._unit)
            rate = amount_text(self._done / seconds, self._unit)
            self._print(f"{done} of {total}, {rate}/s, {duration(left)} left")

    def finish(self) -> None:
        seconds = max(time.monotonic() - self._begun, 1e-9)
        rate = amount_text(self._done / seconds, self._unit)
        self._print(f"{amount_text(self._done, self._unit)} in {duration(seconds)}, {rate}/s")

    def _print(self, text: str) -> None:
        print(f"{self._name}: {text}", file=self._stream, flush=True)


class Bars:
    """A bar for each job with rate and time left, on a terminal."""

    def start(self, name: str, total: int, unit: str) -> Meter:
        return _BarsMeter(name, total, unit)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class _BarsMeter:
    def __init__(self, name: str, total: int, unit: str) -> None:
        from rich import progress
        from rich.console import Console

        amounts = (
            [progress.DownloadColumn(), progress.TransferSpeedColumn()]
            if unit == "bytes"
            else [progress.MofNCompleteColumn(), progress.TextColumn(unit)]
        )
        self._bar = progress.Progress(
            progress.TextColumn("{task.description:>22}"), progress.BarColumn(), *amounts,
            progress.TimeElapsedColumn(), progress.TextColumn("·"), progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )  # fmt: skip
        self._task = self._bar.add_task(name, total=total)
        self._bar.start()

    def advance(self, amount: int) -> None:
        self._bar.advance(self._task, amount)

    def finish(self) -> None:
        self._bar.stop()


def amount_text(amount: float, unit: str) -> str:
    """``1,234 pages``, ``1.2 GB``."""
    return size_text(amount) if unit == "bytes" else f"{amount:,.0f} {unit}"


def size_text(size: float) -> str:
    for name in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or name == "TB":
            break
        size /= 1000
    return f"{size:,.0f} {name}" if name == "bytes" or size >= 100 else f"{size:.1f} {name}"


def duration(seconds: float) -> str:
    """``3.2 s``, ``4 min 05 s``, ``2 h 10 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def for_stream(*, quiet: bool) -> Progress:
    """What suits standard error."""
    if quiet:
        return Quiet()
    return Bars() if sys.stderr.isatty() else Lines()
