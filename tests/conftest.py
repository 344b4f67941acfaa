"""What several tests need: small crawls, and the command line as a user runs it."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

from unquilt.engines.local import LocalEngine

if TYPE_CHECKING:
    from unquilt.engines.spark import SparkEngine

# The first example may compile a kernel; timings never decide a test.
settings.register_profile("unquilt", deadline=None)
settings.load_profile("unquilt")

Unquilt = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def engine() -> Iterator[LocalEngine]:
    """One local engine with two workers for all tests: starting workers takes a second."""
    with LocalEngine(workers=2, memory=2 << 30) as one:
        yield one


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[SparkEngine]:
    """One session of Spark, on two cores, for all tests: starting it takes seconds."""
    from unquilt.engines.spark import SparkEngine

    with SparkEngine(master="local[2]", conf={"spark.ui.enabled": "false"}) as one:
        yield one


@pytest.fixture(scope="session")
def unquilt() -> Unquilt:
    """Runs ``unquilt ARGUMENTS`` as a program of its own."""

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "unquilt", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload, no-any-return]

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, Debian's chromium; as long as it is there, so is its event loop."""
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or "/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield one
        one.close()


def heed_ctrl_c() -> None:
    """For a program that is started: a shell makes what it runs in the background deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def record(url: str, body: bytes, *, date: str = "2020-01-01T00:00:00Z", head: bytes = b"") -> bytes:
    """A WARC response record."""
    http = b"HTTP/1.1 200 OK\r\n" + (head or b"Content-Type: text/html; charset=utf-8") + b"\r\n\r\n" + body
    fields = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WARC-IP-Address: 192.0.2.7\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(http)}\r\n\r\n"
    )
    return fields.encode() + http + b"\r\n\r\n"


def write_warc(path: Path, records: Sequence[bytes]) -> Path:
    """A gzip WARC with a member for each record."""
    path.write_bytes(b"".join(gzip.compress(one, 1, mtime=0) for one in records))
    return path


def page(number: int, words: int = 40) -> bytes:
    """A small page that differs from every other."""
    text = " ".join(f"word{number * 7919 + i}" for i in range(words))
    links = f"<a href='/{number + 1}'>next</a><a href='http://other.example/{number}'>other</a>"
    return f"<html><title>Page {number}</title><body><p>{text}<p>shared end {links}</body></html>".encode()


@pytest.fixture(scope="session")
def small_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 pages of 30 hosts, in a file that is cut into several pieces by ``--split-bytes 65536``."""
    path = tmp_path_factory.mktemp("crawl") / "small.warc.gz"
    records = [record(f"http://host{i % 30}.example/{i}", page(i, 120)) for i in range(1500)]
    return write_warc(path, records)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder that belongs to a corpus."""
    return {
        os.path.relpath(path, folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
