"""The local engine: order, exchange, memory, failures, cancellation."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest

from conftest import heed_ctrl_c
from engine_steps import (
    BITS,
    collect,
    count_keys,
    die,
    fail_at_three,
    fail_unportably,
    fill_disk,
    multiples,
    refuse,
    square,
    swap,
    wrong_blocks,
)
from unquilt.engines import Block
from unquilt.engines.blocks import LocalBlocks, ReadBuckets, WriteBlocks, read_buckets
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter, DiskFull, StepFailed
from unquilt.progress import Lines

COUNTS = pa.schema([("key", pa.uint64()), ("count", pa.int64())])


def counted_one_by_one(items: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for number in range(items):
        for n in range(1000):
            key = n * (number + 1) * 0x9E3779B97F4A7C15 % 2**64
            counts[key] = counts.get(key, 0) + 1
    return counts


def test_results_come_in_the_order_of_the_items(engine: LocalEngine) -> None:
    assert list(engine.map(square, range(30), name="Squaring")) == [n * n for n in range(30)]


def test_no_items_give_no_results(engine: LocalEngine) -> None:
    assert list(engine.map(square, [], name="Squaring")) == []


def test_an_exchange_brings_equal_keys_together(engine: LocalEngine) -> None:
    with engine.exchange(multiples, range(7), name="Multiplying", buckets=1 << BITS) as blocks:
        table = engine.gather(engine.reduce(count_keys, blocks, name="Counting"), COUNTS)
    assert dict(zip(table["key"].to_pylist(), table["count"].to_pylist(), strict=True)) == counted_one_by_one(7)


@pytest.mark.parametrize("workers", [1, 3])
def test_tables_do_not_depend_on_the_number_of_workers(engine: LocalEngine, workers: int) -> None:
    def run(one: LocalEngine) -> pa.Table:
        with one.exchange(multiples, range(9), name="Multiplying", buckets=1 << BITS) as blocks:
            return one.gather(one.reduce(count_keys, blocks, name="Counting"), COUNTS)

    with LocalEngine(workers=workers) as other:
        assert run(other).equals(run(engine))


def test_an_exchange_of_an_exchange(engine: LocalEngine) -> None:
    with (
        engine.exchange(multiples, range(5), name="Multiplying", buckets=1 << BITS) as by_key,
        engine.exchange(swap, by_key, name="Swapping", buckets=1 << BITS) as by_value,
    ):
        found = {number: (values, keys) for number, values, keys in engine.reduce(collect, by_value, name="Looking")}
    for number in range(5):
        expected = sorted(n * (number + 1) * 0x9E3779B97F4A7C15 % 2**64 for n in range(1000))
        assert found[number] == ([number] * 1000, expected)
    assert all(found[number] == ([], []) for number in range(5, 1 << BITS))


def test_blocks_beyond_the_budget_go_to_disk_and_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unquilt.engines.blocks._BLOCK_BYTES", 1)  # so that blocks are not joined
    block = next(iter(multiples(3)))
    size = block.bytes + block.offsets.nbytes
    in_memory, on_disk = tmp_path / "memory", tmp_path / "disk"
    written = WriteBlocks(multiples, str(in_memory), str(on_disk), size, 1 << BITS)(3)
    assert (written.memory_bytes, written.disk_bytes) == (size, size)
    assert [Path(segment.path) for segment in written.segments] == [in_memory, on_disk]
    blocks = LocalBlocks(1 << BITS)
    blocks.add(written)
    read = ReadBuckets(collect, tuple(blocks.segments), blocks.dtypes, blocks.buckets)
    keys = np.concatenate([bucket.columns[0] for bucket in read_buckets(read, range(1 << BITS))])
    assert sorted(keys.tolist()) == sorted(np.concatenate([one.columns[0] for one in multiples(3)]).tolist())
    blocks.close()
    assert not in_memory.exists()
    assert not on_disk.exists()


def test_a_small_budget_gives_the_same_tables(engine: LocalEngine, tmp_path: Path) -> None:
    with LocalEngine(workers=2, memory=512 << 20, scratch=tmp_path) as small:
        blocks = small.exchange(multiples, range(9), name="Multiplying", buckets=1 << BITS)
        assert blocks.memory_bytes == 0
        assert blocks.disk_bytes > 0
        table = small.gather(small.reduce(count_keys, blocks, name="Counting"), COUNTS)
    assert list(tmp_path.iterdir()) == []
    assert dict(zip(table["key"].to_pylist(), table["count"].to_pylist(), strict=True)) == counted_one_by_one(9)


def test_an_error_names_the_item_and_the_page_and_the_engine_can_go_on() -> None:
    with LocalEngine(workers=2) as one:
        with pytest.raises(
            StepFailed, match=r"Reading failed at part 3, page http://a\.example/3: ZeroDivision"
        ) as failed:
            list(one.map(fail_at_three, range(10), name="Reading", label=lambda n: f"part {n}"))
        assert "in fail_at_three" in failed.value.__notes__[0]
        assert list(one.map(square, range(4), name="Squaring")) == [0, 1, 4, 9]


def test_an_error_meant_for_the_user_comes_as_it_is(engine: LocalEngine) -> None:
    with pytest.raises(BadInput) as refused:
        list(engine.map(refuse, [5, 5], name="Reading"))
    assert (refused.value.message, refused.value.fix) == ("5 is no good.", "Take another.")


def test_an_error_that_cannot_be_sent_is_told_all_the_same(engine: LocalEngine) -> None:
    with pytest.raises(StepFailed, match="UnportableError: cannot be rebuilt"):
        list(engine.map(fail_unportably, [1, 2], name="Reading"))


def test_a_full_disk_is_said_to_be_full(engine: LocalEngine) -> None:
    with pytest.raises(DiskFull, match="disk is full"):
        list(engine.map(fill_disk, [1, 2], name="Writing"))


def test_a_worker_that_dies_is_named_with_its_item(engine: LocalEngine) -> None:
    with pytest.raises(StepFailed, match="died \\(SIGKILL\\) at 2"):
        list(engine.map(die, range(6), name="Reading"))


def test_blocks_of_the_wrong_shape_are_refused(engine: LocalEngine) -> None:
    with pytest.raises(StepFailed, match="a block of 1 buckets where 16 were asked for"):
        engine.exchange(wrong_blocks, [1, 2], name="Cutting", buckets=16)


@pytest.mark.parametrize("bad", [{"workers": 0}, {"memory": 1 << 20}])
def test_settings_that_cannot_work_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(BadParameter):
        LocalEngine(workers=bad.get("workers"), memory=bad.get("memory"))


def test_too_little_memory_means_fewer_workers() -> None:
    assert LocalEngine(workers=8, memory=1 << 30).workers == 1


def test_progress_is_told_in_lines() -> None:
    log = io.StringIO()
    with LocalEngine(workers=1, progress=Lines(log)) as one:
        list(one.map(square, [1, 2, 3], name="Squaring", size=lambda n: n * 1000))
    assert log.getvalue().startswith("Squaring: 6.0 kB in ")


SLEEPER = """
import sys
sys.path[:0] = sys.argv[2:]
from engine_steps import sleep
from unquilt.cli import run
from unquilt.engines.local import LocalEngine
from unquilt.errors import Cancelled
try:
    with LocalEngine(workers=2) as engine:
        list(engine.map(sleep, [sys.argv[1]] * 5, name="Sleeping"))
except Cancelled as stop:
    print(stop.message)
    sys.exit(130)
"""


def start_sleeper(folder: Path) -> tuple[subprocess.Popen[str], set[int]]:
    """A program that keeps two workers busy for a minute, and the workers."""
    program = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(folder), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    )
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    return program, {int(path.name) for path in folder.iterdir()}


def wait_for_end(processes: set[int]) -> set[int]:
    deadline = time.monotonic() + 120
    while (left := {pid for pid in processes if psutil.pid_exists(pid)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    program, workers = start_sleeper(tmp_path)
    program.send_signal(signal.SIGINT)
    output, _ = program.communicate(timeout=120)
    assert (program.returncode, output) == (130, "Sleeping was stopped.\n")
    assert len(workers) == 2
    assert not wait_for_end(workers)


def test_a_killed_program_leaves_no_process_behind(tmp_path: Path) -> None:
    program, workers = start_sleeper(tmp_path)
    program.kill()
    program.communicate(timeout=120)
    assert len(workers) == 2
    assert not wait_for_end(workers)


def test_blocks_of_a_killed_program_are_removed_by_the_next(tmp_path: Path) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    left = tmp_path / f"unquilt-blocks-{int(dead.stdout)}-x"
    ours = tmp_path / f"unquilt-blocks-{os.getpid()}-x"
    for folder in (left, ours):
        folder.mkdir()
        (folder / "1").write_bytes(b"blocks")
    with LocalEngine(workers=1, scratch=tmp_path) as one:
        one.exchange(multiples, [1], name="Multiplying", buckets=1 << BITS)
        assert not left.exists()
        assert ours.exists()


def test_the_columns_of_a_block_have_the_bytes_they_have() -> None:
    assert Block(np.zeros(2, np.int64), (np.zeros(3, np.uint64), np.zeros(3, np.uint32))).bytes == 36
