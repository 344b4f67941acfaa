"""The explorer: milliseconds to the first view of a list and of a page, and the server's memory.

UNQUILT_SERVE_CORPUS names a corpus to serve, with the results it has; else a planted one is made, with its quilts.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import psutil

from benchmarks.figure import Context, Figure, Limit, expect_equal
from benchmarks.processes import run_python

LISTS = ("/pages/page", "/quilts/quilts", "/quilts/patches", "/pages/host")
PAGES = 25


def figures(context: Context) -> list[Figure]:
    corpus = _corpus(context)
    lists: list[float] = []
    pages: list[float] = []
    memory: list[float] = []
    for _ in range(context.repeat):
        with _serving(corpus) as (process, port):
            shown = [_ask(port, path) for path in LISTS]
            lists.append(max(milliseconds for milliseconds, _ in shown))
            links = [unescape(link) for _, text in shown for link in re.findall(r'href="(/page\?url=[^"]*)"', text)]
            drawn = random.Random(0).sample(sorted(set(links)), min(PAGES, len(set(links))))
            pages.append(max(_ask(port, link)[0] for link in drawn))
            memory.append(psutil.Process(process.pid).memory_info().rss / 2**20)
        context.say(f"  lists {lists[-1]:.0f} ms, pages {pages[-1]:.0f} ms, {memory[-1]:.0f} MB")
    count = _pages(corpus)
    slowest = f"the slowest of {len(LISTS)} lists, each asked once of a fresh server"
    return [
        Figure(name=f"serve, first view of a list, {count:,} pages", unit="ms", ours=tuple(lists),
               limit=Limit("ours", "at most", 300), note=slowest),
        Figure(name=f"serve, view of a page, {count:,} pages", unit="ms", ours=tuple(pages),
               limit=Limit("ours", "at most", 500), note=f"the slowest of {PAGES} pages, each asked once"),
        Figure(name=f"serve, memory, {count:,} pages", unit="MB", ours=tuple(memory),
               limit=Limit("ours", "at most", 500), note="resident, after these views"),
    ]  # fmt: skip


def _corpus(context: Context) -> Path:
    given = os.environ.get("UNQUILT_SERVE_CORPUS")
    if given:
        return Path(given)
    pages = 2_000 if context.small else 100_000
    corpus = context.cache / f"serve-{pages}.corpus"
    if not (corpus / "results" / "quilts" / "result.json").exists():
        context.say(f"serve: making a corpus of {pages:,} pages, once")
        shutil.rmtree(corpus, ignore_errors=True)
        crawl = context.scratch / "serve-crawl"
        run_python("unquilt", "synth", str(crawl), "--pages", str(pages), "--json")
        run_python("unquilt", "ingest", str(crawl), "-o", str(corpus), "--json")
        run_python("unquilt", "quilts", str(corpus), "--json")
    return corpus


def _pages(corpus: Path) -> int:
    from unquilt import Corpus

    return Corpus(corpus).pages


@contextmanager
def _serving(corpus: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "unquilt", "serve", str(corpus), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "http://" in line)
            yield process, int(line.rpartition(":")[2].strip().rstrip("/"))
        finally:
            process.terminate()


def _ask(port: int, path: str) -> tuple[float, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begun = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    milliseconds = 1000 * (time.perf_counter() - begun)
    connection.close()
    expect_equal(f"status of {path}", answer.status, 200)
    return milliseconds, text
