"""A small crawl with copies and with hostile strings, its results, and a server of it for the tests of serve."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import uvicorn

from conftest import record, write_warc
from unquilt import Corpus, QuiltParams, Result, find_quilts, ingest_crawl
from unquilt.engines.local import LocalEngine
from unquilt.schema import PATCHES, QUILTS
from unquilt.serve.app import make_app
from unquilt.serve.index import Index

QUILT = "http://quilt.example/page"
SCRIPT = "<script>document.documentElement.dataset.hacked='yes'</script><img src=x onerror=alert(1)>"
HOSTILE = "http://hostile.example/\"><script>document.documentElement.dataset.hacked=1</script>?a='onclick=alert(1)"
NEAR = ("http://near.example/a", "http://near.example/b")
MIRROR = ("www.mirror.example", "mirror.example")


def sentence(source: int, number: int) -> str:
    chance = random.Random(source * 100 + number)
    return " ".join("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(12))


def source_url(number: int) -> str:
    return f"http://source{number}.example/article"


def write_crawl(path: Path) -> Path:
    """Six sources, two quilts of five of them (one of them hostile), two near-duplicates, two mirrors."""
    pages = {
        source_url(i): f"<title>Source {i}</title>" + "".join(f"<p>{sentence(i, j)}" for j in range(4))
        for i in range(6)
    }
    taken, others = ("".join(f"<p>{sentence(i, (i + first) % 4)}" for i in range(5)) for first in (0, 1))
    pages[QUILT] = f"<title>The quilt</title><p>my own first words{taken}<p>my own last words"
    escaped = SCRIPT.replace("<", "&lt;").replace(">", "&gt;")
    pages[HOSTILE] = f"<title>{escaped}</title><p>{escaped} &#x202e; javascript:alert(1){others}"
    words = [sentence(50, j) for j in range(9)]
    pages[NEAR[0]] = "<p>" + " ".join(words) + " grey end"
    pages[NEAR[1]] = "<p>" + " ".join(words) + " green end"
    for host in MIRROR:
        pages[f"http://{host}/x/one"] = f"<p>{sentence(70, 1)}"
    records = [
        record(url, body.encode(), date=f"2020-01-{1 + i:02}T00:00:00Z") for i, (url, body) in enumerate(pages.items())
    ]
    return write_warc(path, records)


def make_corpus(folder: Path, engine: LocalEngine) -> Corpus:
    """The corpus with the results of quilts; the other detectors were not run."""
    corpus = ingest_crawl([str(write_crawl(folder / "crawl.warc.gz"))], folder / "crawl.corpus", engine=engine).corpus
    find_quilts(corpus, QuiltParams(), engine=engine).save(corpus)
    return corpus


def add_results(corpus: Corpus) -> None:
    """Results of the other four detectors, with the columns all of them have."""
    near = pa.table({"class": [1, 1], "url": NEAR, "representative": [True, False], "cohesion": [0.97, 0.97]})
    cover = {"url": source_url(0), "shingles": 20, "foreign": True}
    phrases = {
        "classes": near,
        "popular": pa.table(
            {"phrase": ["buy cheap pills now", SCRIPT], "position": [3, 4], "value": [7, 8], "pages": [9, 5]}
        ),
        "pages": pa.table({"url": [QUILT, NEAR[0]], "popular": [60, 2], "originality": [0.29, 0.98]}),
        "covers": pa.table({"url": [QUILT], "popular": [60], "sources": [[cover]], "foreign_contribution": [20]}),
        "popularity": pa.table({"pages": [5, 9], "shingles": [1, 1]}),
        "hosts": pa.table({"host": ["quilt.example"], "pages": [12], "mean": [45.5], "deviation": [3.5]}),
    }
    urls = [source_url(i) for i in range(6)]
    styles = {
        "clusters": pa.table(
            {"cluster": [1, 2], "pages": [6, 2], "domains": [6, 1], "mean_similarity": [0.9, 0.5], "score": [5.4, 0.5],
             "prototype": [urls[0], NEAR[0]], "kind": ["template", SCRIPT]}
        ),
        "members": pa.table(
            {"cluster": [1] * 6 + [2] * 2, "url": [*urls, *NEAR],
             "similarity": [1.0, 0.9, 0.9, 0.9, 0.8, 0.8, 1.0, 0.4]}
        ),
    }  # fmt: skip
    tests = [
        {"path": "/x/one", "source": MIRROR[0], "outcome": "FM"},
        {"path": "/", "source": MIRROR[1], "outcome": "TF"},
    ]
    mirrors = {
        "candidates": pa.table({"host_a": [MIRROR[0]], "host_b": [MIRROR[1]], "score": [2.5], "features": [3]}),
        "pairs": pa.table({"host_a": [MIRROR[0]], "host_b": [MIRROR[1]], "level": ["1"], "tests": [tests]}),
        "groups": pa.table({"group": [1, 1], "host": MIRROR}),
    }
    prefixes = ["quilt.example/", "mirror.example/", "mirror.example/x/"]
    reuse = {
        "objects": pa.table(
            {"sha1": [bytes(20)], "kind": ["chunk"], "length": [80], "count": [12], "domains": [4], "label": ["blind"],
             "example": [SCRIPT]}
        ),
        "files": pa.table(
            {"url": [QUILT, f"http://{MIRROR[1]}/x/one"], "chunks": [10, 2], "labelled": [7, 0], "contains": [0.7, 0.0],
             "target": [True, False]}
        ),
        "neighborhoods": pa.table(
            {"prefix": prefixes, "files": [1, 1, 1], "chunks": [10, 2, 2], "labelled": [7, 0, 1],
             "badness": [0.7, 0.0, 0.5], "bad": [True, False, True]}
        ),
    }  # fmt: skip
    for detector, tables in {"phrases": phrases, "styles": styles, "mirrors": mirrors, "reuse": reuse}.items():
        Result(detector, tables, {"seed": 0}, corpus.digest).save(corpus)


def save_quilts(corpus: Corpus, quilts: list[dict[str, object]]) -> None:
    """A result of quilts with these rows."""
    tables = {"quilts": pa.Table.from_pylist(quilts, schema=QUILTS), "patches": PATCHES.empty_table()}
    Result("quilts", tables, QuiltParams().as_dict(), corpus.digest).save(corpus)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Server:
    """A running server, and how to ask it."""

    port: int
    index: Index
    host: str = "127.0.0.1"
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    def get(self, path: str, asked: dict[str, object] | None = None, **headers: str) -> Answer:
        return self.ask("GET", path + ("?" + urlencode(asked) if asked else ""), None, headers)

    def post(self, path: str, form: dict[str, object], **headers: str) -> Answer:
        return self.ask("POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded", **headers})

    def ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            given["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        finally:
            connection.close()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def form_token(self) -> str:
        return self.get("/judge").text.partition('name="form_token" value="')[2].partition('"')[0]


@contextmanager
def serving(corpus: Path, *, host: str = "127.0.0.1", token: str = "") -> Iterator[Server]:
    """A server of a corpus in a thread of its own."""
    with Index(corpus) as index:
        app = make_app(index, host=host, token=token)
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Server(server.servers[0].sockets[0].getsockname()[1], index)
        finally:
            server.should_exit = True
            thread.join()
