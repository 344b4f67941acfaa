"""The planted web's truth, derived again from the WARC by slow code that shares nothing with the writer."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

from unquilt.errors import BadInput, BadParameter
from unquilt.synth import SynthParams, SynthSummary, write_synth

PARAMS = SynthParams(pages=3000, seed=7, mirrors=0.25, file_pages=1000, traps=0.01, damaged=0.005)
INLINE = {"a", "b", "i", "em", "font", "span"}
Gram = tuple[str, ...]


class BodyText(HTMLParser):
    """The text a reader sees, with a space wherever an element that is not inline begins or ends."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.links: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("head", "script", "style")
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]
        if tag not in INLINE:
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("head", "script", "style")
        if tag not in INLINE:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.pieces.append(data)


@dataclass
class Read:
    """A page as read back."""

    url: str
    ip: str
    charset: str
    body: bytes
    date: str

    @cached_property
    def parsed(self) -> BodyText:
        parser = BodyText()
        parser.feed(self.body.decode(self.charset))
        parser.close()
        return parser

    @cached_property
    def words(self) -> list[str]:
        found, word = [], ""
        for character in "".join(self.parsed.pieces).lower() + " ":
            alone = "\u4e00" <= character <= "\u9fff"
            if character.isalnum() and not alone:
                word += character
                continue
            if word:
                found.append(word)
            word = ""
            if alone:
                found.append(character)
        return found

    @cached_property
    def grams(self) -> set[Gram]:
        return {tuple(self.words[at : at + 5]) for at in range(len(self.words) - 4)}

    @cached_property
    def circle(self) -> set[Gram]:
        count = len(self.words)
        return {tuple(self.words[(at + step) % count] for step in range(5)) for at in range(count)}

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def path(self) -> str:
        return self.url.split(self.host, 1)[1]


def records(path: Path) -> list[tuple[dict[str, str], bytes]]:
    data, out, at = gzip.decompress(path.read_bytes()), [], 0
    while at < len(data):
        end = data.index(b"\r\n\r\n", at)
        lines = data[at:end].decode().split("\r\n")
        assert lines[0] == "WARC/1.0"
        fields = dict(line.split(": ", 1) for line in lines[1:])
        length = int(fields["Content-Length"])
        out.append((fields, data[end + 4 : end + 4 + length]))
        assert data[end + 4 + length : end + 8 + length] == b"\r\n\r\n"
        at = end + 8 + length
    return out


def read_pages(folder: Path) -> dict[str, Read]:
    found = {}
    for path in sorted(folder.glob("*.warc.gz")):
        for fields, message in records(path):
            if fields["WARC-Type"] != "response" or not message.startswith(b"HTTP/1.1 200"):
                continue
            head, _, body = message.partition(b"\r\n\r\n")
            kind = re.search(rb"Content-Type: (text/\w+)(?:; charset=(\S+))?\r\n", head + b"\r\n")
            url = fields["WARC-Target-URI"]
            if kind is None or re.fullmatch(r"http://[^/]+/damaged/\d+", url):
                continue
            charset = (kind.group(2) or b"ascii").decode()
            assert url not in found
            found[url] = Read(url, fields["WARC-IP-Address"], charset, body, fields["WARC-Date"])
    return found


class Web:
    """A planted web read back."""

    def __init__(self, folder: Path, summary: SynthSummary) -> None:
        self.folder, self.summary = folder, summary
        self.pages = read_pages(folder)

    def truth(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.folder / "truth" / f"{table}.parquet").to_pylist()
        return rows

    @cached_property
    def kinds(self) -> dict[str, str]:
        return {row["url"]: row["kind"] for row in self.truth("pages")}

    @cached_property
    def docs(self) -> dict[Gram, list[str]]:
        found = defaultdict(list)
        for url, page in self.pages.items():
            for gram in page.grams:
                found[gram].append(url)
        return found

    def patches(self, url: str) -> set[Gram]:
        return {gram for gram in self.pages[url].grams if 2 <= len(self.docs[gram]) <= 50}

    def same_site(self, one: str, other: str) -> bool:
        a, b = self.pages[one], self.pages[other]
        return a.host == b.host or a.ip == b.ip or self.domains[a.host] == self.domains[b.host]

    @cached_property
    def domains(self) -> dict[str, str]:
        return {row["host"]: row["domain"] for row in self.truth("pages")}

    def cover(self, url: str, *, foreign: bool = False) -> list[str]:
        left, sources = self.patches(url), []
        while left:
            gives: dict[str, int] = defaultdict(int)
            for gram in left:
                for other in self.docs[gram]:
                    if other != url and not (foreign and self.same_site(url, other)):
                        gives[other] += 1
            if not gives:
                break
            best = min(gives, key=lambda other: (-gives[other], other))
            sources.append(best)
            left -= self.pages[best].grams
        return sources

    def is_quilted(self, url: str, *, foreign: bool = False) -> bool:
        grams = self.pages[url].grams
        enough = bool(grams) and len(self.patches(url)) >= 0.5 * len(grams)
        return enough and len(self.cover(url, foreign=foreign)) >= 4


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Web:
    folder = tmp_path_factory.mktemp("synth") / "web"
    return Web(folder, write_synth(folder, PARAMS, workers=1))


def jaccard(one: set[Gram], other: set[Gram]) -> float:
    return len(one & other) / len(one | other)


def test_every_page_of_the_truth_is_in_the_crawl_and_no_other(web: Web) -> None:
    assert sorted(web.pages) == sorted(row["url"] for row in web.truth("pages"))
    assert len(web.pages) == PARAMS.pages == web.summary.pages
    assert not web.summary.left_out
    said = json.loads((web.folder / "synth.json").read_text())
    assert said["complete"]
    assert said["truth"] == {name: len(web.truth(name)) for name in said["truth"]}
    assert all(said["truth"].values())


def test_the_bytes_do_not_depend_on_the_number_of_workers(web: Web, tmp_path: Path) -> None:
    write_synth(tmp_path / "again", PARAMS, workers=2)
    files = sorted(path.relative_to(web.folder) for path in web.folder.rglob("*") if path.is_file())
    again = sorted(path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*") if path.is_file())
    assert files == again
    assert all((web.folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in files)


def test_another_seed_gives_another_web(web: Web, tmp_path: Path) -> None:
    write_synth(tmp_path / "other", replace(PARAMS, pages=200, seed=8), workers=1)
    assert not set(read_pages(tmp_path / "other")) & set(web.pages)


def test_the_crawl_has_more_than_pages_in_it(web: Web) -> None:
    fields = [fields for path in sorted(web.folder.glob("*.warc.gz")) for fields, _ in records(path)]
    kinds = {row["WARC-Type"] for row in fields}
    assert kinds == {"warcinfo", "response", "revisit"}
    assert len({row["WARC-Record-ID"] for row in fields}) == len(fields)
    assert len(fields) == web.summary.records + web.summary.files
    statuses = {m[9:12] for path in web.folder.glob("*.gz") for f, m in records(path) if f["WARC-Type"] == "response"}
    assert {b"200", b"301", b"404"} <= statuses


def test_pages_are_varied(web: Web) -> None:
    rows = web.truth("pages")
    assert {row["language"] for row in rows} == {"en", "de", "es", "ru", "zh", "ar"}
    assert len({page.charset for page in web.pages.values()}) >= 6
    assert any(row["domain"].endswith(".co.uk") for row in rows)
    lengths = sorted(len(web.pages[row["url"]].words) for row in rows if row["kind"] == "ordinary")
    assert lengths[len(lengths) // 20] >= 140
    assert lengths[-len(lengths) // 20] <= 700


def test_resemblances_are_those_of_the_written_pages(web: Web) -> None:
    classes = defaultdict(list)
    for row in web.truth("near_duplicates"):
        classes[row["class"]].append(row)
    assert all(2 <= len(rows) <= 20 for rows in classes.values())
    measured = []
    for rows in classes.values():
        (original,) = [row["url"] for row in rows if web.kinds[row["url"]] == "original"]
        for row in rows:
            alike = jaccard(web.pages[row["url"]].circle, web.pages[original].circle)
            assert alike == pytest.approx(row["resemblance"], abs=1e-9)
            assert web.pages[original].date <= web.pages[row["url"]].date
            measured.append(alike)
    assert min(measured) < 0.6
    assert sum(0.6 <= alike < 0.99 for alike in measured) > 20
    languages = {row["url"]: row["language"] for row in web.truth("pages")}
    assert all(len({languages[row["url"]] for row in rows}) == 1 for rows in classes.values())
    sites = [len({web.pages[row["url"]].host for row in rows}) for rows in classes.values()]
    assert min(sites) == 1 < max(sites)


def test_quilts_are_quilted_and_their_sources_are_the_stated_ones(web: Web) -> None:
    rows = web.truth("quilts")
    assert {(row["foreign"], row["attributed"]) for row in rows} == {
        (a, b) for a in (True, False) for b in (True, False)
    }
    for row in rows:
        page, sources = web.pages[row["url"]], [web.pages[source["url"]] for source in row["sources"]]
        assert len(sources) >= 6
        assert web.is_quilted(row["url"], foreign=row["foreign"])
        apart = [source["url"] for source in row["sources"] if not web.same_site(row["url"], source["url"])]
        assert apart == [source["url"] for source in row["sources"] if source["foreign"]]
        assert row["foreign"] == (len(apart) == len(sources))
        shared = page.grams & set().union(*(source.grams for source in sources))
        assert len(shared) / len(page.grams) == pytest.approx(row["patch_fraction"], abs=1e-9)
        assert row["patch_fraction"] >= 0.5
        assert all(page.grams & source.grams for source in sources)
        assert all(source.date <= page.date for source in sources)
        assert row["attributed"] == ({source.url for source in sources} <= set(page.parsed.links))


def test_nothing_is_quilted_that_was_not_stitched(web: Web) -> None:
    stitched = {row["url"] for row in web.truth("quilts")}
    sources = {source["url"] for row in web.truth("quilts") for source in row["sources"]}
    quilted = {url for url in web.pages if web.is_quilted(url)}
    assert stitched <= quilted
    assert {web.kinds[url] for url in quilted - stitched} <= {"spam"}
    ordinary = [url for url, kind in web.kinds.items() if kind == "ordinary" and url not in sources]
    assert all(len(web.patches(url)) < 0.2 * len(web.pages[url].grams) for url in ordinary)


def test_spam_pages_are_made_of_phrases_popular_elsewhere(web: Web) -> None:
    for row in web.truth("spam_hosts"):
        mine = [page for page in web.pages.values() if page.host == row["host"]]
        assert len(mine) == row["pages"] >= 30
        popular = []
        for page in mine:
            elsewhere = [
                gram for gram in page.grams if sum(web.pages[u].host != row["host"] for u in web.docs[gram]) >= 5
            ]
            assert len(elsewhere) >= 0.5 * len(page.grams)
            popular.append(popular_shingles(page, mine))
        mean = sum(popular) / len(popular)
        assert mean >= 30
        assert (sum((count - mean) ** 2 for count in popular) / len(popular)) ** 0.5 < 15


def popular_shingles(page: Read, pages: list[Read]) -> int:
    """How many of 84 smallest phrases are the smallest of five of these pages or more."""
    minima = [smallest(other) for other in pages]
    return sum(sum(mine == other[at] for other in minima) >= 5 for at, mine in enumerate(smallest(page)))


def smallest(page: Read) -> list[int]:
    known: list[int] | None = page.__dict__.get("smallest")
    if known is None:
        hashes = [hashlib.shake_128(" ".join(gram).encode()).digest(84 * 4) for gram in page.circle]
        columns = ([int.from_bytes(h[at : at + 4]) for h in hashes] for at in range(0, 84 * 4, 4))
        known = page.__dict__["smallest"] = [min(column) for column in columns]
    return known


def test_families_share_their_noise_and_farms_their_links(web: Web) -> None:
    families = defaultdict(list)
    for row in web.truth("templates"):
        families[row["family"]].append(row)
    assert {row["kind"] for rows in families.values() for row in rows} == {"template", "link-farm"}
    noises = {}
    for family, rows in families.items():
        urls = {row["url"] for row in rows}
        assert len({web.pages[url].host for url in urls}) >= 3
        parts = [noise_parts(web.pages[url]) for url in sorted(urls)]
        noises[family] = parts
        assert all(len(parts[0] & other) / len(parts[0] | other) > 0.3 for other in parts)
        within = [sum(link in urls for link in web.pages[url].parsed.links) for url in urls]
        assert min(within) >= 10 if rows[0]["kind"] == "link-farm" else sum(within) < len(urls)
    first, second = noises[0][0], noises[1][0]
    assert len(first & second) / len(first | second) < 0.2


def noise_parts(page: Read) -> set[str]:
    noise = "".join(c for c in page.body.decode(page.charset) if not c.isalnum())
    return {noise[at : at + 32] for at in range(len(noise) - 31)}


def outcome(one: Read, other: Read) -> str:
    if one.body == other.body:
        return "FM"
    if "".join(one.words) == "".join(other.words):
        return "FS"
    alike = jaccard(one.circle, other.circle)
    return "HS" if alike >= 0.5 else "TS" if alike > 0 else "NS"


def level(outcomes: set[str]) -> str:
    for name, allowed in (("1", {"FM"}), ("2", {"FM", "FS"}), ("3", {"FM", "FS", "HS"})):
        if outcomes <= allowed:
            return name
    return "4" if outcomes & {"FM", "FS", "HS"} else "5" if "TS" in outcomes else "mismatch"


def test_mirrors_are_of_their_level_over_all_shared_paths(web: Web) -> None:
    rows = web.truth("mirrors")
    assert {row["level"] for row in rows} == {"1", "2", "3", "4", "5", "mismatch"}
    for row in rows:
        a, b = ({p.path: p for p in web.pages.values() if p.host == row[side]} for side in ("host_a", "host_b"))
        assert len(a) == len(b) >= 20
        shared = a.keys() & b.keys()
        outcomes = {outcome(a[path], b[path]) for path in shared}
        assert level(outcomes) == row["level"], row
        if row["trap"] and "prefix" in row["trap"]:
            assert shared == {"/"}
            assert {hash(p.body) for p in a.values()} & {hash(p.body) for p in b.values()} or len(
                {tuple(p.words[:50]) for p in a.values()} & {tuple(p.words[:50]) for p in b.values()}
            ) >= len(a) - 1
        else:
            assert shared == a.keys()


def chunks_of(body: bytes) -> list[bytes]:
    cuts = [0, *(found.start() for found in re.finditer(rb"(?i)<p(?=[ \t\n\r/>])", body)), len(body)]
    return [body[a:b] for a, b in pairwise(cuts)]


def test_copied_and_empty_chunks_are_in_the_raw_bytes(web: Web) -> None:
    rows = web.truth("chunks")
    hashes = {url: {hashlib.sha1(c).hexdigest() for c in chunks_of(page.body)} for url, page in web.pages.items()}
    assert all(row["sha1"] in hashes[row["url"]] for row in rows)
    stops = {hashlib.sha1(chunk).hexdigest() for chunk in (b"<p></p>", b"<p>&nbsp;</p>")}
    assert {row["sha1"] for row in rows if row["kind"] == "stop"} <= stops
    copies = defaultdict(set)
    for row in rows:
        if row["kind"] == "copied":
            copies[row["sha1"]].add(row["url"])
    assert min(len(urls) for urls in copies.values()) >= 4
    for row in web.truth("neighborhoods"):
        members = [url for url, kind in web.kinds.items() if kind.startswith("wiki") and row["prefix"] in url]
        assert len(members) == row["urls"]
        assert all(len(hashes[url] & copies.keys()) >= 2 for url in members)


def test_traps_repeat_their_folders_up_to_97_times_and_more(web: Web) -> None:
    rows = web.truth("traps")
    assert min(row["components"] for row in rows) < 97 <= max(row["components"] for row in rows)
    for row in rows:
        components = [part for part in web.pages[row["url"]].path.split("/") if part]
        assert len(components) == row["components"] >= 12
        assert len(set(components)) <= 3


@pytest.mark.parametrize("pages", [50, 200, 701])
def test_a_small_web_has_the_plants_that_fit_and_says_which_do_not(tmp_path: Path, pages: int) -> None:
    summary = write_synth(tmp_path / "web", SynthParams(pages=pages), workers=1)
    assert summary.pages == len(read_pages(tmp_path / "web")) == pages
    assert "mirrors" in summary.left_out
    assert summary.counts["near_duplicates"] >= 2
    assert json.loads((tmp_path / "web" / "synth.json").read_text())["left_out"] == summary.left_out


def test_a_web_without_plants_has_empty_tables_and_misses_nothing(tmp_path: Path) -> None:
    params = SynthParams(pages=400, near_duplicates=0, quilts=0, spam=0, templates=0, mirrors=0, reuse=0, traps=0)
    summary = write_synth(tmp_path / "web", params, workers=1)
    stray = pq.read_table(tmp_path / "web/truth/chunks.parquet").to_pylist()
    assert {row["kind"] for row in stray} <= {"stop"}
    assert sum(summary.counts.values()) == 400 + len(stray)
    assert not summary.left_out


def test_progress_ends_with_all_pages(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_synth(
        tmp_path / "web",
        SynthParams(pages=600, file_pages=200),
        workers=2,
        progress=lambda *n: seen.append(n),
    )
    assert seen[-1] == (600, 600)
    assert seen == sorted(seen)


def test_bad_parameters_and_folders_are_refused_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="--pages is 3"):
        SynthParams(pages=3)
    with pytest.raises(BadParameter, match="--workers is 0"):
        write_synth(tmp_path / "web", SynthParams(pages=50), workers=0)
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(BadInput, match="not empty") as caught:
        write_synth(tmp_path, SynthParams(pages=50))
    assert "new folder" in caught.value.fix
    with pytest.raises(BadInput, match="is a file"):
        write_synth(tmp_path / "letter.txt", SynthParams(pages=50))


def test_a_planted_web_is_replaced_by_the_next_and_other_files_stay(tmp_path: Path) -> None:
    write_synth(tmp_path / "web", SynthParams(pages=200, file_pages=50), workers=1)
    (tmp_path / "web" / "notes.txt").write_text("mine")
    write_synth(tmp_path / "web", SynthParams(pages=60), workers=1)
    assert len(read_pages(tmp_path / "web")) == 60
    assert (tmp_path / "web" / "notes.txt").exists()
    assert len(list((tmp_path / "web").glob("*.warc.gz"))) == 1
