"""Jobs of Spark's under way: their results, how far they are, and their end if something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException

from unquilt.engines.spark_session import explain_spark, failed_task
from unquilt.engines.spark_tasks import Failed
from unquilt.engines.worker import explain
from unquilt.errors import Cancelled, UnquiltError
from unquilt.progress import Progress

_SECONDS = 0.2  # between two looks at how far a job is


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the engine: what it is called, how much it is, and what its tasks and their items are called."""

    name: str
    tasks: int
    total: int
    unit: str
    label: Callable[[int, int], str]

    def error(self, failed: Failed) -> UnquiltError:
        return explain(failed.failure, self.name, self.label(failed.task, failed.at))


@dataclass(frozen=True, slots=True)
class Window:
    """Some partitions on their way."""

    partitions: Sequence[int]
    results: Future[list[Any]]


class Running:
    """A verb under way, as one or more jobs of Spark's in a group of their own. Use it in a ``with``."""

    def __init__(self, context: SparkContext, pool: ThreadPoolExecutor, verb: Verb, progress: Progress) -> None:
        self._context = context
        self._pool = pool
        self._verb = verb
        self._group = f"unquilt-{uuid4()}"
        self._meter = progress.start(verb.name, verb.total, verb.unit)
        self._shown = 0
        self._windows: list[Window] = []

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, *stopped_by: object) -> None:
        if kind is None:
            self._show(self._verb.total)
        else:
            for window in self._windows:
                window.results.cancel()
            with suppress(Py4JError, OSError):  # the session may have ended
                self._context.cancelJobGroup(self._group)
        self._meter.finish()
        if kind is KeyboardInterrupt:
            raise Cancelled(f"{self._verb.name} was stopped.", fix="Run the same command again to go on.") from None

    def start(self, rdd: RDD[Any], partitions: Sequence[int]) -> Window:
        window = Window(partitions, self._pool.submit(self._run, rdd, partitions))
        self._windows.append(window)
        return window

    def wait(self, window: Window, *, names_tasks: bool = True) -> list[Any]:
        """What a window gives. ``names_tasks`` says that Spark counts tasks from the first of the window."""
        while True:
            try:
                results = window.results.result(_SECONDS)
            except StillRunning:
                self._show(self._done())
                continue
            except (Py4JError, PySparkException) as error:
                raise explain_spark(error, self._verb.name, self._place(error, window, names_tasks)) from error
            self._windows.remove(window)
            self._show(self._done())
            return results

    def _run(self, rdd: RDD[Any], partitions: Sequence[int]) -> list[Any]:
        self._context.setJobGroup(self._group, self._verb.name)
        self._context._jsc.setCallSite(self._verb.name)
        results: list[Any] = self._context.runJob(rdd, _as_they_are, partitions)
        return results

    def _place(self, error: BaseException, window: Window, names_tasks: bool) -> str:
        number = failed_task(error)
        if number is None:
            return ""
        task = window.partitions[number] if names_tasks and number < len(window.partitions) else number
        return self._verb.label(task, -1) if task < self._verb.tasks else ""

    def _done(self) -> int:
        """How much is done, by the tasks that have ended."""
        tracker = self._context.statusTracker()
        ended = 0
        for job in tracker.getJobIdsForGroup(self._group):
            info = tracker.getJobInfo(job)
            stages = (tracker.getStageInfo(stage) for stage in (info.stageIds if info else []))
            ended += sum(stage.numCompletedTasks for stage in stages if stage)
        return self._verb.total * min(ended, self._verb.tasks) // max(self._verb.tasks, 1)

    def _show(self, done: int) -> None:
        if done > self._shown:
            self._meter.advance(done - self._shown)
            self._shown = done


def _as_they_are(records: Iterable[Any]) -> Iterable[Any]:
    return records
