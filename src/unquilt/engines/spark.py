"""The Spark engine: the same steps as tasks of a cluster, their blocks through its shuffle.

A map is a task for each item. An exchange is a stage whose tasks send, for each block and each range of buckets, one
record of bytes; a reduce is a task for each range. Every record says which task it comes from and in which order, so
that a bucket has its rows in the order of the items, as on one machine.
"""

from __future__ import annotations

import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import RDD
from pyspark.serializers import NoOpSerializer
from pyspark.sql import SparkSession

from unquilt.engines import BUCKET_BITS, Block, Blocks, Bucket, Item, Result
from unquilt.engines.spark_jobs import Running, Verb
from unquilt.engines.spark_session import make_session
from unquilt.engines.spark_tasks import Buckets, Cut, Failed, Items, Note, RunStep, SendBlocks, Source
from unquilt.errors import BadParameter, StepFailed
from unquilt.progress import Progress, Quiet

_PARTITIONS = 4  # of a shuffle for each core, so that they end together
_TASKS = 1000  # of an exchange, or 8 for each core; beyond them a task has several items
_WINDOW = 2  # tasks for each core whose results are on their way together
_WINDOWS = 2


@dataclass(slots=True)
class SparkBlocks:
    """The blocks of an exchange: the files of a shuffle, on the machines that wrote them."""

    buckets: int
    rows: int
    bytes: int
    shuffled: RDD[Any]
    shuffle: int
    source: Buckets

    def close(self) -> None:
        """Remove the files. A machine lost later makes Spark write again what it still needs."""
        with suppress(Py4JError):  # the session may have ended
            cleaner = self.shuffled.ctx._jsc.sc().cleaner()
            if cleaner.isDefined():
                cleaner.get().doCleanupShuffle(self.shuffle, False)

    def __enter__(self) -> SparkBlocks:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        self.close()


class SparkEngine:
    """Runs steps on Apache Spark: in the ``session`` given, else in a new one.

    A new one takes ``master`` (default: what spark-submit or spark-defaults.conf say, else all cores of this machine)
    and ``conf``, Spark's own settings, and ends with the engine. ``partitions`` is the number of tasks that the buckets
    of an exchange are divided among (default: 4 for each core). Use it in a ``with``, or call ``close``.
    """

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        partitions: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if partitions is not None and partitions < 1:
            raise BadParameter(f"partitions is {partitions}; it must be at least 1.", fix="Leave it out.")
        self._is_ours = session is None
        self.session = session or make_session(master, conf or {})
        try:
            self._context = self.session.sparkContext
        except Exception as error:  # PySpark raises one kind in its Connect client and another in Databricks'
            raise BadParameter(
                "This is a session of Spark Connect, which cannot run unquilt's tasks.",
                fix="Use a classic session: on Databricks, a cluster in dedicated access mode.",
            ) from error
        self.progress = progress or Quiet()
        self._partitions = partitions
        self._pool = ThreadPoolExecutor(_WINDOWS, thread_name_prefix="unquilt-spark")
        is_local = self._context.master.startswith("local")
        self._attempts = 1 if is_local else int(self._context.getConf().get("spark.task.maxFailures") or 4)

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session, if it is ours."""
        self._pool.shutdown(cancel_futures=True)
        if self._is_ours:
            self.session.stop()

    def map(
        self,
        step: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        name: str,
        label: Callable[[Item], str] = str,
        size: Callable[[Item], int] | None = None,
    ) -> Iterator[Result]:
        """The result of each item, in order; a few for each core are there before they are asked for."""
        groups = [[item] for item in items]
        with self._named(name):
            rdd = self._tasks(groups).mapPartitionsWithIndex(RunStep(step, Items(), self._attempts))
        return self._results(rdd, _verb_of_items(name, groups, label, size))

    def exchange(
        self,
        step: Callable[[Any], Iterable[Block]],
        items: Sequence[Any] | Blocks,
        *,
        name: str,
        buckets: int = 1 << BUCKET_BITS,
        label: Callable[[Any], str] = str,
        size: Callable[[Any], int] | None = None,
    ) -> SparkBlocks:
        """The blocks a step gives for each item, by bucket."""
        cut = Cut(buckets, self._partitions_of(buckets))
        with self._named(name):
            source: Source = Items()
            if isinstance(items, SparkBlocks):
                tasks, source, verb = items.shuffled, items.source, _verb_of_buckets(name, items)
            else:
                assert isinstance(items, Sequence)
                groups = _grouped(items, max(_TASKS, 8 * self._context.defaultParallelism))
                tasks, verb = self._tasks(groups), _verb_of_items(name, groups, label, size)
            sent = tasks.mapPartitionsWithIndex(SendBlocks(step, source, cut, self._attempts))
            shuffled, shuffle = _shuffle(sent, cut.partitions + 1)
        notes = self._notes(shuffled, cut, verb)
        blocks = SparkBlocks(buckets, 0, 0, shuffled, shuffle, Buckets(cut, _types(notes)))
        for note in notes:
            blocks.rows += note.rows
            blocks.bytes += note.bytes
        return blocks

    def reduce(self, step: Callable[[Bucket], Result], blocks: Blocks, *, name: str) -> Iterator[Result]:
        """The result of each bucket, in order."""
        assert isinstance(blocks, SparkBlocks)
        with self._named(name):
            rdd = blocks.shuffled.mapPartitionsWithIndex(RunStep(step, blocks.source, self._attempts))
        return self._results(rdd, _verb_of_buckets(name, blocks))

    def gather(self, tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
        """Small tables as one."""
        return pa.concat_tables([schema.empty_table(), *tables])

    def _partitions_of(self, buckets: int) -> int:
        return max(min(self._partitions or _PARTITIONS * self._context.defaultParallelism, buckets), 1)

    def _tasks(self, groups: Sequence[Sequence[Any]]) -> RDD[bytes]:
        """A task for each group of items. Spark carries bytes: it need not understand them."""
        pickled = [[pickle.dumps(item) for item in group] for group in groups]
        return self._context.parallelize(pickled, max(len(pickled), 1)).flatMap(_as_it_is)

    def _run(self, verb: Verb) -> Running:
        return Running(self._context, self._pool, verb, self.progress)

    def _notes(self, shuffled: RDD[bytes], cut: Cut, verb: Verb) -> list[Note]:
        """Run the tasks that feed a shuffle, and read the notes they left in its last partition."""
        with self._run(verb) as run:
            records = run.wait(run.start(shuffled, [cut.partitions]), names_tasks=False)
            notes = sorted((pickle.loads(record) for record in records), key=lambda note: note.task)
            for note in notes:
                if note.failed:
                    raise verb.error(note.failed) from note.failed.failure.error
        return notes

    def _results(self, rdd: RDD[Any], verb: Verb) -> Iterator[Any]:
        """What the tasks give, in order. A job of Spark's is a window of them, so that the driver holds little."""
        if not verb.tasks:
            return
        size = _WINDOW * self._context.defaultParallelism
        windows = iter([range(begin, min(begin + size, verb.tasks)) for begin in range(0, verb.tasks, size)])
        with self._run(verb) as run:
            waiting = deque(run.start(rdd, window) for window in itertools.islice(windows, _WINDOWS))
            while waiting:
                results = run.wait(waiting.popleft())
                waiting.extend(run.start(rdd, window) for window in itertools.islice(windows, 1))
                for result in results:
                    if isinstance(result, Failed):
                        raise verb.error(result) from result.failure.error
                    yield result

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """What is made here has this name in Spark's UI."""
        self._context._jsc.setCallSite(name)
        try:
            yield
        finally:
            self._context._jsc.clearCallSite()


def _shuffle(sent: RDD[bytes], partitions: int) -> tuple[RDD[bytes], int]:
    """Records to the partitions whose numbers come before them, and the number of the shuffle.

    As ``partitionBy`` does it, which would collect up to a thousand records before it sends any: more than memory
    holds where one bucket has most of the rows.
    """
    context: Any = sent.ctx
    sent._bypass_serializer = True
    pairs = context._jvm.PairwiseRDD(sent._jrdd.rdd()).asJavaPairRDD()
    shuffled = pairs.partitionBy(context._jvm.PythonPartitioner(partitions, 0))
    records = context._jvm.PythonRDD.valueOfPair(shuffled)
    return RDD(records, context, NoOpSerializer()), shuffled.rdd().dependencies().head().shuffleId()


def _grouped(items: Sequence[Any], most: int) -> list[Sequence[Any]]:
    """Items in at most so many groups of neighbours."""
    groups = min(len(items), most)
    bounds = [len(items) * i // groups for i in range(groups + 1)] if groups else [0]
    return [items[begin:end] for begin, end in itertools.pairwise(bounds)]


def _verb_of_items(
    name: str, groups: Sequence[Sequence[Any]], label: Callable[[Any], str], size: Callable[[Any], int] | None
) -> Verb:
    weigh, unit = (size, "bytes") if size else ((lambda _item: 1), "parts")
    total = sum(weigh(item) for group in groups for item in group)
    return Verb(name, len(groups), total, unit, lambda task, at: label(groups[task][max(at, 0)]))


def _verb_of_buckets(name: str, blocks: SparkBlocks) -> Verb:
    cut = blocks.source.cut

    def label(task: int, at: int) -> str:
        numbers = cut.range(task)
        return f"bucket {at}" if at >= 0 else f"buckets {numbers.start} to {numbers.stop - 1}"

    return Verb(name, cut.partitions, blocks.buckets, "buckets", label)


def _types(notes: Sequence[Note]) -> tuple[str, ...]:
    """The types of the columns that all tasks sent."""
    types = list(dict.fromkeys(note.dtypes for note in notes if note.dtypes))
    if len(types) > 1:
        raise StepFailed(
            f"A step gave columns {types[1]} after {types[0]}.",
            fix="Every block of one exchange must have the same columns.",
        )
    return types[0] if types else ()


def _as_it_is(group: Any) -> Any:
    return group
