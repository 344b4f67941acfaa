"""Mirrors by asking real HTTP servers, on the loopback addresses of this machine."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unquilt.corpus import Corpus
from unquilt.detectors.mirrors.client import is_public
from unquilt.detectors.mirrors.find import find_mirrors
from unquilt.detectors.mirrors.params import MirrorParams, ProbeParams
from unquilt.detectors.mirrors.robots import matches, read_robots
from unquilt.engines.local import LocalEngine
from unquilt.ingest.run import ingest_crawl

PAGES = 24
PATHS = ["/", *(f"/library/shelf{i % 3}/book{i}.html" for i in range(PAGES))]
PARAMS = MirrorParams(min_urls=5, pages="live", modulus=1)
QUICK = ProbeParams(delay=0, timeout=3, allow_private="*")
WORDS = [a + b for a in ("ba", "ko", "mi", "ne", "tu", "sa", "lo") for b in ("ran", "dil", "mep", "tos", "vik", "gul")]

Answer = Callable[[str], "Reply"]


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    breaks: bool = False


def sentence(seed: object, words: int = 60) -> str:
    return " ".join(Random(str(seed)).choices(WORDS, k=words))


def html(text: str, around: str = "") -> bytes:
    return f"<html><head><title>t</title>{around}</head><body><p>{text}</p></body></html>".encode()


def page(path: str, *, around: str = "") -> Reply:
    return Reply(html(sentence(path), around)) if path in PATHS else Reply(b"<p>not found", 404)


def reworded(path: str) -> Reply:
    return Reply(html(sentence(path) + " seen so often")) if path in PATHS else Reply(b"gone", 404)


def half_own(path: str) -> Reply:
    is_own = path in PATHS and PATHS.index(path) % 2
    return Reply(html(sentence("own" + path))) if is_own else page(path)


def translated(path: str) -> Reply:
    shared = " ".join(sentence(path).split()[:8])
    return Reply(html(shared + " " + sentence("other" + path))) if path in PATHS else Reply(b"gone", 404)


def unrelated(path: str) -> Reply:
    return Reply(html(sentence("unrelated" + path))) if path in PATHS else Reply(b"gone", 404)


def catch_all(path: str) -> Reply:
    """An error page with status 200, and on it a sentence of every page of the original."""
    told = " ".join(" ".join(sentence(known).split()[:8]) for known in PATHS)
    return Reply(html("we have no such page here " + told))


class Site:
    """A server on a loopback address of its own; ``asked`` are the paths it was asked for, and when."""

    def __init__(self, address: str, answer: Answer, robots: bytes | None = None) -> None:
        self.address, self.asked = address, []  # type: str, list[tuple[str, float, float]]
        self.most_at_once = 0
        at_once, lock = 0, threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                nonlocal at_once
                with lock:
                    at_once += 1
                    site.most_at_once = max(site.most_at_once, at_once)
                begun = time.monotonic()
                try:
                    self._answer()
                finally:
                    with lock:
                        at_once -= 1
                    site.asked.append((self.path, begun, time.monotonic()))

            def _answer(self) -> None:
                if self.path == "/robots.txt":
                    reply = Reply(robots) if robots is not None else Reply(b"", 404)
                else:
                    reply = answer(self.path)
                time.sleep(reply.wait)
                if reply.breaks:
                    self.close_connection = True
                    self.connection.close()
                    return
                self.send_response(reply.status)
                for name, value in {"Content-Type": "text/html", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *arguments: object) -> None:
                """A client that went away, or a connection that we broke."""

        self.server = Server((address, 0), Handler)
        self.origin = f"http://{address}:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.asked]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def sites(**answers: Answer | tuple[Answer, bytes]) -> Iterator[dict[str, Site]]:
    """A server for each, on 127.1.0.1, 127.1.0.2 and so on."""
    made: dict[str, Site] = {}
    try:
        for number, (name, answer) in enumerate(answers.items(), 1):
            given = answer if isinstance(answer, tuple) else (answer, None)
            made[name] = Site(f"127.1.0.{number}", *given)
        yield made
    finally:
        for site in made.values():
            site.close()


def corpus_of(folder: Path, engine: LocalEngine, *origins: str) -> Corpus:
    """A list of the same paths on all hosts: what stage I knows."""
    urls = folder / "urls.txt"
    urls.write_text("".join(f"{origin}{path}\n" for origin in origins for path in PATHS))
    return ingest_crawl([str(urls)], folder / "list.corpus", engine=engine).corpus


def levels_of(corpus: Corpus, pairs: list[tuple[Site, Site]], engine: LocalEngine, probe: ProbeParams) -> list[str]:
    named = [(a.address, b.address) for a, b in pairs]
    rows = find_mirrors(corpus, PARAMS, probe=probe, named=named, engine=engine).tables["pairs"].to_pylist()
    found = {frozenset((row["host_a"], row["host_b"])): row["level"] for row in rows}
    return [found[frozenset(pair)] for pair in named]


def test_the_five_levels_and_what_is_none(tmp_path: Path, engine: LocalEngine) -> None:
    with sites(
        original=page, one=page, two=lambda path: page(path, around="<!-- copy -->"), three=reworded, four=half_own,
        five=translated, none=unrelated, gone=lambda path: Reply(b"gone", 404), error=catch_all,
    ) as web:  # fmt: skip
        corpus = corpus_of(tmp_path, engine, *(site.origin for site in web.values()))
        pairs = [(web["original"], site) for name, site in web.items() if name != "original"]
        levels = levels_of(corpus, pairs, engine, QUICK)
    # The last two have no page of their own; each of theirs failed, be it with 404 or with an error page and 200.
    assert levels == ["1", "2", "3", "4", "5", "mismatch", "mismatch", "mismatch"]


def test_hosts_that_cannot_be_reached_are_failures_of_their_own(tmp_path: Path, engine: LocalEngine) -> None:
    with sites(
        original=page, slow=lambda path: Reply(wait=2), broken=lambda path: Reply(status=503),
        cut=lambda path: Reply(breaks=True),
    ) as web:  # fmt: skip
        dead = Site("127.1.0.9", page)
        dead.close()
        nameless = "http://no-such-host.invalid"
        corpus = corpus_of(tmp_path, engine, *(site.origin for site in web.values()), dead.origin, nameless)
        probe = ProbeParams(delay=0, timeout=0.3, allow_private="*")
        pairs = [(web["original"], site) for name, site in web.items() if name != "original"]
        assert levels_of(corpus, [*pairs, (web["original"], dead)], engine, probe) == ["server-failure"] * 4
        named = [(web["original"].address, "no-such-host.invalid")]
        result = find_mirrors(corpus, PARAMS, probe=probe, named=named, engine=engine)
        assert result.tables["pairs"]["level"].to_pylist() == ["dns-failure"]
        slow = [path for path in web["slow"].paths if path != "/robots.txt"]
        assert len(slow) <= 3  # a server that does not answer is not asked for everything


def test_a_server_that_dies_after_a_while_fails_its_tests_only(tmp_path: Path, engine: LocalEngine) -> None:
    left = [8]

    def dying(path: str) -> Reply:
        left[0] -= 1
        return page(path) if left[0] >= 0 else Reply(breaks=True)

    with sites(original=page, dying=dying) as web:
        corpus = corpus_of(tmp_path, engine, *(site.origin for site in web.values()))
        named = [(web["original"].address, web["dying"].address)]
        result = find_mirrors(corpus, PARAMS, probe=QUICK, named=named, engine=engine)
    outcomes = [test["outcome"] for test in result.tables["pairs"]["tests"][0].as_py()]
    assert set(outcomes) == {"FM", "SF", "TF"}
    assert result.tables["pairs"]["level"].to_pylist() == ["4"]


def test_private_addresses_are_refused_unless_named(tmp_path: Path, engine: LocalEngine) -> None:
    with sites(one=page, two=page) as web:
        corpus = corpus_of(tmp_path, engine, web["one"].origin, web["two"].origin)
        pair = [(web["one"], web["two"])]
        assert levels_of(corpus, pair, engine, ProbeParams(delay=0, timeout=3)) == ["undecided"]
        assert web["one"].asked == web["two"].asked == []
        named = ProbeParams(delay=0, timeout=3, again=True, allow_private="127.1.0.1, 127.1.0.2")
        assert levels_of(corpus, pair, engine, named) == ["1"]


def test_a_redirect_into_a_private_network_is_refused(tmp_path: Path, engine: LocalEngine) -> None:
    with sites(secret=page) as inner:
        secret = inner["secret"]

        def lure(path: str) -> Reply:
            return Reply(status=302, headers={"Location": secret.origin + path})

        with sites(unused=page, lure=lure, other=page) as web:
            corpus = corpus_of(tmp_path, engine, web["lure"].origin, web["other"].origin)
            pair = [(web["lure"], web["other"])]
            probe = ProbeParams(delay=0, timeout=3, allow_private="127.1.0.2,127.1.0.3")
            assert levels_of(corpus, pair, engine, probe) == ["undecided"]
            assert secret.asked == []
            followed = ProbeParams(delay=0, timeout=3, allow_private="*", again=True)
            assert levels_of(corpus, pair, engine, followed) == ["1"]
            assert secret.asked


def test_robots_txt_is_obeyed(tmp_path: Path, engine: LocalEngine) -> None:
    closed = b"User-agent: other\nAllow: /\n\nUser-agent: *\nDisallow: /library/\n"
    with sites(open=page, closed=(page, closed)) as web:
        corpus = corpus_of(tmp_path, engine, web["open"].origin, web["closed"].origin)
        assert levels_of(corpus, [(web["open"], web["closed"])], engine, QUICK) == ["undecided"]
        assert web["closed"].paths[0] == "/robots.txt"
        assert not [path for path in web["closed"].paths if path.startswith("/library/")]


def test_a_host_is_asked_one_page_at_a_time_with_a_pause(tmp_path: Path, engine: LocalEngine) -> None:
    with sites(one=page, two=page, three=page) as web:
        corpus = corpus_of(tmp_path, engine, *(site.origin for site in web.values()))
        pairs = [(web["one"], web["two"]), (web["one"], web["three"]), (web["two"], web["three"])]
        probe = ProbeParams(delay=0.05, timeout=3, allow_private="*")
        assert levels_of(corpus, pairs, engine, probe) == ["1", "1", "1"]
        for site in web.values():
            assert site.most_at_once == 1
            begins = [begun for _, begun, _ in site.asked]
            assert min(after - before for before, after in pairwise(begins)) >= 0.045
            assert len(site.paths) == len(set(site.paths))


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, engine: LocalEngine) -> None:
    with sites(one=page, two=page) as web:
        corpus = corpus_of(tmp_path, engine, web["one"].origin, web["two"].origin)
        pair = [(web["one"], web["two"])]
        assert levels_of(corpus, pair, engine, QUICK) == ["1"]
        answers = corpus.path / "probes" / "mirrors.jsonl"
        whole = answers.read_bytes().splitlines(keepends=True)
        cut_off = json.loads(whole[-1])["url"]
        answers.write_bytes(b"".join(whole[:-1]) + whole[-1][:40])
        for site in web.values():
            site.asked.clear()
        assert levels_of(corpus, pair, engine, QUICK) == ["1"]
        asked = [site.origin + path for site in web.values() for path in site.paths if path != "/robots.txt"]
        assert asked == [cut_off]
        assert [json.loads(line)["url"] for line in answers.read_text().splitlines()][-1] == cut_off


def test_bodies_and_redirects_are_bounded(tmp_path: Path, engine: LocalEngine) -> None:
    def huge(path: str) -> Reply:
        return Reply(b"<p>" + b"many words " * 20_000)

    def bomb(path: str) -> Reply:
        return Reply(gzip.compress(b"<p>" + b"many words " * 2_000_000), headers={"Content-Encoding": "gzip"})

    def circle(path: str) -> Reply:
        return Reply(status=301, headers={"Location": path})

    def nonsense(path: str) -> Reply:
        return Reply(status=302, headers={"Location": "http://[bad/x" if len(path) % 2 else "gopher://a/"})

    with sites(huge=huge, bomb=bomb, circle=circle, nonsense=nonsense, fine=page) as web:
        corpus = corpus_of(tmp_path, engine, *(site.origin for site in web.values()))
        probe = ProbeParams(delay=0, timeout=3, allow_private="*", max_page_bytes=100_000, max_redirects=2)
        pairs = [(web["fine"], web[name]) for name in ("huge", "bomb", "circle", "nonsense")]
        # What is too long is not known; what redirects for ever has failed.
        assert levels_of(corpus, pairs, engine, probe) == ["undecided", "undecided", "mismatch", "mismatch"]
        assert all(web["circle"].paths.count(path) <= 3 for path in PATHS)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "2002:7f00:1::",
        "64:ff9b::7f00:1", "64:ff9b::a00:1", "ff02::1", "198.18.0.1", "192.0.2.1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nDisallow: /a/b\nAllow: /a", "/a/b/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Unquilt\nDisallow: /no", "/yes", True),
        ("User-agent: unquilt\nUser-agent: b\nDisallow: /", "/", False),
        ("# nothing\nDisallow: /", "/a", True),
        ("User-agent: *\r\nDisallow: /%7ea # home", "/~a/x", False),
    ],
)
def test_rules_of_robots_txt(rules: str, path: str, allowed: bool) -> None:
    assert read_robots(rules.encode(), "unquilt/1.0").allows(path) == allowed


@given(st.text("ab*$", max_size=8), st.text("ab", max_size=10))
def test_patterns_match_as_a_slow_matcher_does(pattern: str, path: str) -> None:
    def slow(pattern: str, path: str) -> bool:
        if pattern in ("", "$"):
            return not pattern or not path
        if pattern[0] == "*":
            return any(slow(pattern[1:], path[i:]) for i in range(len(path) + 1))
        return bool(path) and path[0] == pattern[0] and slow(pattern[1:], path[1:])

    body = pattern.rstrip("$")
    if "$" not in body:
        pattern = body + pattern[len(body) : len(body) + 1]
        assert matches(pattern, path) == slow(pattern, path)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_robots_txt(body: bytes) -> None:
    assert read_robots(body, "unquilt").allows("/") in (True, False)
