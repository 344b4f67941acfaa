"""Pages of tests from the live web.

Every answer is a line of CORPUS/probes/mirrors.jsonl as soon as it is there. A run that was stopped goes on with what
is not in it; a person can see in it what a level rests on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from unquilt.corpus import Corpus
from unquilt.detectors.mirrors.candidates import Ints, Keys, wide
from unquilt.detectors.mirrors.client import Answer, PoliteClient
from unquilt.detectors.mirrors.levels import (
    DNS_FAILED,
    FAILED,
    FINE,
    FM,
    FS,
    HS,
    PAGE,
    SERVER_FAILED,
    Comparisons,
    Outcomes,
    judge_tests,
)
from unquilt.detectors.mirrors.params import MirrorParams, ProbeParams
from unquilt.errors import Cancelled
from unquilt.kernels.mirrors import page_keys
from unquilt.kernels.urls import hash_paths
from unquilt.progress import Progress, Quiet

_STATES = {"fine": FINE, "failed": FAILED, "server": SERVER_FAILED, "dns": DNS_FAILED}
_HOPELESS = 3  # failures of a server in a row after which it is not asked again
_TESTS_AT_ONCE = 2000


def judge_live(
    corpus: Corpus, tests: Comparisons, hosts: pa.Table, params: MirrorParams, probe: ProbeParams,
    progress: Progress | None = None,
) -> Outcomes:  # fmt: skip
    """How the tests end by what the hosts answer now."""
    origins = [_origin(*row) for row in zip(hosts["host"].to_pylist(), hosts["origin"].to_pylist(), strict=True)]
    wanted = _wanted(tests, len(origins))
    answers = Answers(corpus.path / "probes" / "mirrors.jsonl", fresh=probe.again)
    made_up = [_made_up(origin) for origin in origins]
    with answers:
        urls = [
            [origins[host] + path for path in [made_up[host], *paths]] if paths else []
            for host, paths in enumerate(wanted)
        ]
        try:
            _run(_ask_all(urls, answers, probe, progress or Quiet()))
        except KeyboardInterrupt:
            raise Cancelled("Asking hosts was stopped.", fix="Run the same command again to go on.") from None
        keys = hosts["key"].to_numpy()
        found = [
            _judge_some(tests, slice(begin, begin + _TESTS_AT_ONCE), origins, made_up, keys, answers, params)
            for begin in range(0, len(tests.pairs), _TESTS_AT_ONCE)
        ]
    columns = zip(*((one.codes, one.resemblance, one.source_states, one.target_states) for one in found), strict=True)
    return Outcomes(*(np.concatenate(column) for column in columns))


def _origin(host: str, known: str) -> str:
    """Scheme, host and port that a host's URLs in the corpus have."""
    try:
        parts = urlsplit(known)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return f"http://{host}"
    return f"{parts.scheme if parts.scheme in ('http', 'https') else 'http'}://{host}{port}"


def _made_up(origin: str) -> str:
    """A path that no host has: what is answered to it is an error page, whatever its status."""
    return f"/{sha1(origin.encode()).hexdigest()[:20]}.html"


def _wanted(tests: Comparisons, hosts: int) -> list[list[str]]:
    """The paths each host is asked for, in the order of the tests."""
    names = tests.path_names.to_pylist()
    wanted: list[dict[str, None]] = [{} for _ in range(hosts)]
    for source, target, path in zip(tests.sources.tolist(), tests.targets.tolist(), tests.paths.tolist(), strict=True):
        wanted[source][names[path]] = None
        wanted[target][names[path]] = None
    return [list(paths) for paths in wanted]


async def _ask_all(urls: list[list[str]], answers: Answers, probe: ProbeParams, progress: Progress) -> None:
    missing = [[url for url in some if url not in answers] for some in urls]
    meter = progress.start("Asking hosts", sum(map(len, missing)), "pages")
    slots = asyncio.Semaphore(probe.hosts_at_once)
    try:
        async with PoliteClient(probe) as client:

            async def ask_host(some: list[str]) -> None:
                async with slots:
                    await _ask_host(some, client, answers, meter)

            async with asyncio.TaskGroup() as group:
                for some in missing:
                    if some:
                        group.create_task(ask_host(some))
    finally:
        meter.finish()


async def _ask_host(urls: list[str], client: PoliteClient, answers: Answers, meter: Any) -> None:
    """Ask a host for its pages one by one; one that has no name or does not answer is not asked for all of them."""
    failures = 0
    state = ""
    for url in urls:
        if state == "dns" or failures >= _HOPELESS:
            answer = Answer(url, state)
        else:
            answer = await client.ask(url)
            failures = failures + 1 if answer.state == "server" else 0
            state = answer.state
        answers.add(answer)
        meter.advance(1)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, also from a notebook, whose own loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


class Answers:
    """The answers so far, in a file of lines; in memory only where each begins."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w+b" if fresh or not path.exists() else "r+b")
        self._places: dict[str, int] = {}
        at = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break  # the run was stopped while it was written
            with suppress(ValueError, KeyError, TypeError):
                self._places[json.loads(line)["url"]] = at
            at += len(line)
        self._file.seek(at)
        self._file.truncate()

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *stopped_by: object) -> None:
        self._file.close()

    def __contains__(self, url: str) -> bool:
        return url in self._places

    def add(self, answer: Answer) -> None:
        known = asdict(answer)
        del known["body"]
        at = self._file.seek(0, 2)
        self._file.write(json.dumps(known, ensure_ascii=True).encode() + b"\n")
        self._file.flush()
        self._places[answer.url] = at

    def get(self, url: str) -> Mapping[str, Any]:
        self._file.seek(self._places[url])
        known: dict[str, Any] = json.loads(self._file.readline())
        return known


def _judge_some(
    tests: Comparisons, some: slice, origins: list[str], made_up: list[str], keys: Keys, answers: Answers,
    params: MirrorParams,
) -> Outcomes:  # fmt: skip
    """How some of the tests end."""
    names = tests.path_names.take(pa.array(tests.paths[some])).to_pylist()
    asked = {
        (host, path): key
        for hosts, page_keys_ in ((tests.sources, tests.source_keys), (tests.targets, tests.target_keys))
        for host, path, key in zip(hosts[some].tolist(), names, page_keys_[some].tolist(), strict=True)
    }
    pages = _page_table([(key, answers.get(origins[host] + path)) for (host, path), key in asked.items()])
    own = sorted({host for host, _ in asked})
    errors = page_keys(keys[own], hash_paths(*wide(pa.array([made_up[host] for host in own], pa.string()))))
    error_pages = _page_table(
        [(key, answers.get(origins[host] + made_up[host])) for host, key in zip(own, errors.tolist(), strict=True)]
    )
    of_host = dict(zip(own, errors.tolist(), strict=True))
    pages = _without_error_pages(pages, error_pages, {key: of_host[host] for (host, _), key in asked.items()}, params)
    return judge_tests(pages, tests.source_keys[some], tests.target_keys[some], params)


def _page_table(rows: list[tuple[int, Mapping[str, Any]]]) -> pa.Table:
    """Answers as pages; one that tells nothing about the page (robots.txt, a private address) is left out."""
    told = [(key, answer) for key, answer in rows if answer["state"] in _STATES]
    columns = [
        [key for key, _ in told],
        [_STATES[answer["state"]] for _, answer in told],
        [bytes.fromhex(answer["sha1"]) if answer["sha1"] else None for _, answer in told],
        [answer["text"] for _, answer in told],
    ]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, PAGE.types, strict=True)], schema=PAGE)


def _without_error_pages(pages: pa.Table, errors: pa.Table, error_of: dict[int, int], params: MirrorParams) -> pa.Table:
    """Pages that are like what their host answers to a path that cannot exist count as failed."""
    keys: Keys = pages["key"].to_numpy()
    theirs = np.array([error_of[key] for key in keys.tolist()], np.uint64)
    alike = judge_tests(pa.concat_tables([pages, errors]), keys, theirs, params).codes
    states: Ints = pages["state"].to_numpy().copy()
    states[(states == FINE) & np.isin(alike, (FM, FS, HS))] = FAILED
    return pages.set_column(1, PAGE.field("state"), pa.array(states))
