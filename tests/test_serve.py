"""The explorer: what it shows, how it finds it, and whom it refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Unquilt, record, write_warc
from explorer import (
    HOSTILE,
    MIRROR,
    NEAR,
    QUILT,
    Server,
    add_results,
    make_corpus,
    save_quilts,
    sentence,
    serving,
    source_url,
)
from unquilt import Corpus, ingest_crawl
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadParameter
from unquilt.serve.index import Index
from unquilt.serve.listings import LISTINGS
from unquilt.serve.pages import Patch, cut_pieces, read_text, word_diff
from unquilt.serve.queries import read_rows
from unquilt.serve.security import check_address, is_loopback


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, engine: LocalEngine) -> Path:
    """A corpus of which only quilts were found."""
    return make_corpus(tmp_path_factory.mktemp("serve"), engine).path


@pytest.fixture(scope="module")
def corpus(bare: Path) -> Path:
    """The same with the results of all detectors."""
    whole = bare.with_name("whole.corpus")
    shutil.copytree(bare, whole)
    add_results(Corpus(whole))
    return whole


@pytest.fixture(scope="module")
def server(corpus: Path) -> Iterator[Server]:
    with serving(corpus) as one:
        yield one


def test_a_page_shows_every_patch_of_its_text(server: Server) -> None:
    shown = server.get("/page", {"url": QUILT})
    assert shown.status == 200
    for i in range(5):
        assert f">{sentence(i, i % 4)}</a>" in shown.text
    assert "<span>my own first words\n</span>" in shown.text
    assert "a quilt of 5 sources" in shown.text


def test_a_patch_opens_its_source_at_the_place_it_was_taken_from(server: Server) -> None:
    shown = server.get("/page", {"url": QUILT, "patch": 3})
    assert f'<mark class="s3">{sentence(3, 3)}</mark>' in shown.text
    place = shown.text.partition('id="patch-3"')[2].partition('data-text="')[2].partition('"')[0].replace("&amp;", "&")
    found = json.loads(server.get(place).text)
    assert found["url"] == source_url(3)
    assert found["copied"] == sentence(3, 3)
    assert found["before"].strip().endswith(sentence(3, 2))


def test_a_source_names_the_quilts_that_took_from_it(server: Server) -> None:
    shown = server.get("/page", {"url": source_url(0)}).text
    assert "Quilts that took from it" in shown
    assert QUILT in shown


def test_a_page_that_is_no_quilt_can_be_looked_at_for_copies(server: Server) -> None:
    assert "no quilt" in server.get("/page", {"url": source_url(0)}).text
    looked = server.get("/page", {"url": source_url(0), "look": 1}).text
    assert 'class="patch' in looked
    cause = json.loads(server.get("/why", {"url": QUILT}).text)["cause"]
    assert cause.startswith("A scraped quilt")


def test_near_duplicates_are_compared_word_by_word(server: Server) -> None:
    assert NEAR[1] in server.get("/page", {"url": NEAR[0]}).text
    shown = server.get("/diff", {"a": NEAR[0], "b": NEAR[1]}).text
    assert "<del>grey </del><ins>green </ins>" in shown


@given(st.text("ab \n", max_size=60), st.text("ab \n", max_size=60))
def test_a_diff_holds_both_texts(old: str, new: str) -> None:
    runs = word_diff(old, new)
    assert "".join(text for kind, text in runs if kind != "new").split() == old.split()
    assert "".join(text for kind, text in runs if kind != "old").split() == new.split()


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(-5, 50), st.integers(-5, 50)), max_size=6))
def test_every_character_is_in_one_piece_whatever_the_patches_say(text: str, spans: list[tuple[int, int]]) -> None:
    patches = [Patch(begin, end, 1, 0, 1) for begin, end in sorted(spans)]
    assert "".join(piece.text for piece in cut_pieces(text, patches)) == text


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda one: one.path)
def test_every_list_sorts_both_ways_by_every_column(server: Server, listing: object) -> None:
    path = listing.path  # type: ignore[attr-defined]
    assert server.get(path).status == 200
    for column in listing.columns:  # type: ignore[attr-defined]
        for order in ("asc", "desc"):
            answer = server.get(path, {"sort": column.name, "order": order, "q": "e"})
            assert answer.status == 200, (column.name, order)


def test_sorting_paging_and_filters_agree_with_plain_python(corpus: Path) -> None:
    listing = next(one for one in LISTINGS if one.path == "/pages/page")
    every = sorted(Corpus(corpus).read(["url", "words"]).to_pylist(), key=lambda row: row["url"])
    with Index(corpus) as index:
        for first in range(0, len(every), 4):
            rows = read_rows(index, listing, {"sort": "url", "order": "asc", "from": str(first), "size": "4"})
            assert [row["url"] for row in rows.rows] == [row["url"] for row in every[first : first + 4]]
        found = read_rows(index, listing, {"q": "SOURCE", "words.min": "48", "words.max": "48"})
        assert found.total == sum("source" in row["url"] and row["words"] == 48 for row in every) == 6
        assert read_rows(index, listing, {"host": "near.example"}).total == 2
        assert read_rows(index, listing, {"sort": "; DROP TABLE", "from": "-3", "size": "nan"}).total == len(every)


def test_thresholds_of_quilts_count_as_a_new_run_would(bare: Path, tmp_path: Path, engine: LocalEngine) -> None:
    """sigma, c and tau by slider find what the detector finds when it is run with them."""
    from unquilt import QuiltParams, find_quilts

    listing = next(one for one in LISTINGS if one.path == "/quilts/quilts")
    loose = tmp_path / "loose.corpus"
    shutil.copytree(bare, loose)
    opened = Corpus(loose)
    find_quilts(opened, QuiltParams(c=1, sigma=0.0), engine=engine).save(opened)
    with Index(loose) as index:
        for sigma, c, tau in [(0.5, 4, 0.0), (0.9, 1, 0.0), (0.3, 5, 0.0), (0.2, 2, 0.1), (0.0, 5, 0.2), (0.1, 1, 0.5)]:
            run = find_quilts(opened, QuiltParams(c=c, sigma=sigma, min_contribution=tau), engine=engine)
            moved = read_rows(index, listing, {"sigma": str(sigma), "c": str(c), "tau": str(tau), "size": "200"})
            assert {row["url"] for row in moved.rows} == set(run.tables["quilts"]["url"].to_pylist()), (sigma, c, tau)


def test_a_slider_cannot_go_below_what_the_run_knows(server: Server) -> None:
    shown = server.get("/quilts/quilts", {"sigma": "0.1"}).text
    assert 'name="sigma" type="range" min="0.5"' in shown
    assert "<b>2</b> quilted pages" in shown


def test_the_rows_alone_are_given_for_a_slider(server: Server) -> None:
    shown = server.get("/reuse/neighborhoods", {"badness": "0.6", "part": "rows"}).text
    assert "<html" not in shown
    assert "<b>1</b> of 3 neighborhoods" in shown


def test_clusters_mirrors_and_neighborhoods_are_shown(server: Server) -> None:
    cluster = server.get("/styles/cluster", {"cluster": 1}).text
    assert cluster.count('class="same') > 0
    assert source_url(5) in cluster
    assert "<line" in server.get("/mirrors/group", {"group": 1}).text
    assert ">FM<" in server.get("/mirrors/pair", {"a": MIRROR[1], "b": MIRROR[0]}).text
    tree = server.get("/reuse/tree").text
    assert tree.index("quilt.example/") < tree.index("mirror.example/")
    assert "mirror.example/x/" not in tree
    assert ">x/<" in server.get("/reuse/tree", {"prefix": "mirror.example/", "part": "rows"}).text
    facts = server.get("/page", {"url": QUILT}).text
    assert "60 of its 84" in facts
    assert "badness 70%" in facts
    assert "level 1" in server.get("/page", {"url": f"http://{MIRROR[0]}/x/one"}).text
    assert "cluster 1" in server.get("/page", {"url": source_url(2)}).text


def test_a_table_that_has_no_list_of_its_own_is_shown_as_it_is(server: Server) -> None:
    shown = server.get("/phrases/popularity", {"sort": "pages", "order": "desc"})
    assert shown.status == 200
    assert "<b>2</b> popularity" in shown.text
    assert server.get("/phrases/nothing").status == 404


def test_what_was_not_run_is_said_how_to_run(bare: Path) -> None:
    with serving(bare) as server:
        for detector in ("phrases", "styles", "mirrors", "reuse"):
            shown = server.get(f"/{detector}")
            assert f"unquilt {detector} {bare}" in shown.text
            assert f"unquilt {detector} {bare}" in server.get("/").text
        assert f"unquilt styles {bare}" in server.get("/page", {"url": QUILT}).text
        for path in ("/styles/cluster?cluster=1", "/mirrors/pair?a=a&b=b", "/mirrors/group?group=1", "/reuse/tree"):
            assert server.get(path).status in (200, 400)


def test_corpora_without_results_without_text_and_without_pages_are_served(bare: Path, tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("http://a.example/x\nhttp://b.example/y\n")
    nothing = write_warc(tmp_path / "nothing.warc.gz", [record("http://a.example/", b"")])
    shutil.copytree(bare, tmp_path / "bare.corpus", ignore=shutil.ignore_patterns("results"))
    ingest_crawl([str(urls)], tmp_path / "urls.corpus")
    ingest_crawl([str(nothing)], tmp_path / "empty.corpus")
    for name, url in [("bare", QUILT), ("urls", "http://a.example/x"), ("empty", "")]:
        with serving(tmp_path / f"{name}.corpus") as server:
            for path in ("/", "/pages/page", "/pages/host", "/quilts", "/judge", "/pages/page?q=x&from=7"):
                assert server.get(path).status in (200, 303), path
            assert server.get("/page", {"url": url}).status == (200 if url else 404)


def test_an_unknown_url_is_answered_with_similar_ones(server: Server) -> None:
    shown = server.get("/page", {"url": "http://source1.example/artikle"})
    assert shown.status == 404
    assert source_url(1) in shown.text
    assert server.get("/page").status == 404


def test_a_new_result_is_shown_without_a_restart_and_a_stale_one_is_not(bare: Path, tmp_path: Path) -> None:
    path = tmp_path / "moving.corpus"
    shutil.copytree(bare, path)
    with serving(path) as server, serving(path) as second:
        assert "<b>2</b> quilted pages" in server.get("/quilts/quilts").text
        save_quilts(Corpus(path), [])
        for one in (server, second):
            assert "<b>0</b> quilted pages" in one.get("/quilts/quilts").text
        (path / "results" / "quilts" / "result.json").unlink()  # as a detector does while it writes
        assert "It was not run" in server.get("/quilts").text
        known = json.loads((bare / "results" / "quilts" / "result.json").read_text())
        (path / "results" / "quilts" / "result.json").write_text(json.dumps(known | {"corpus": "another"}))
        assert "before the corpus changed" in server.get("/quilts").text
        (path / "results" / "quilts" / "result.json").write_text("{")
        assert "cannot be read" in server.get("/quilts").text


def test_hostile_strings_are_text_everywhere(server: Server) -> None:
    paths = ["/", "/pages/page", "/quilts/quilts", "/phrases/popular", "/styles/clusters", "/reuse/objects"]
    answers = [server.get(path) for path in paths]
    answers += [server.get("/page", {"url": HOSTILE}), server.get("/page", {"url": "<script>alert(1)</script>"})]
    answers += [
        server.get("/pages/page", {"q": '"><script>alert(1)</script>'}),
        server.get("/styles/cluster", {"cluster": 2}),
    ]
    for answer in answers:
        body = answer.text.replace('<script src="/static/serve.js?', "")
        assert "<script" not in body
        assert "<img src=x" not in body
        assert 'href="http' not in body, "no crawled URL can be clicked"
        assert "\u202e" not in body
    assert "&lt;script&gt;" in answers[6].text


def test_every_answer_carries_a_policy_that_allows_no_inline_script(server: Server) -> None:
    for path in ("/", "/static/serve.js", "/page?url=x", "/judge/export", "/nowhere/at/all"):
        policy = server.get(path).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert server.get(path).headers["x-content-type-options"] == "nosniff"
    for listing in LISTINGS:
        text = server.get(listing.path).text
        assert " style=" not in text
        assert "<style" not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1"])
def test_a_name_that_is_not_ours_is_refused(server: Server, host: str) -> None:
    assert server.get("/", Host=host).status == 421


@pytest.mark.parametrize("host", ["localhost:{}", "127.0.0.1:{}", "[::1]:{}", "LOCALHOST"])
def test_our_names_are_known(server: Server, host: str) -> None:
    assert server.get("/", Host=host.format(server.port)).status == 200


def test_other_sites_can_neither_post_nor_read(server: Server) -> None:
    form: dict[str, object] = {"form_token": server.form_token(), "judge": "x"}
    assert server.post("/judge/name", form, Origin="http://evil.example").status == 403
    assert server.post("/judge/name", form, Origin="null").status == 403
    assert server.post("/judge/name", form, Sec_Fetch_Site="cross-site").status == 403
    assert server.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
    assert server.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert server.post("/judge/name", {"form_token": "guess", "judge": "x"}).status == 400
    assert server.post("/judge/name", {}).status == 400
    assert server.post("/judge/name", form, Origin=server.origin, Sec_Fetch_Site="same-origin").status == 303


def test_paths_cannot_leave_the_corpus(server: Server, corpus: Path) -> None:
    (corpus / "results" / "quilts" / "map.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (corpus / "secret.svg").write_text("secret")
    assert server.get("/figures/quilts/map.svg").headers["content-type"].startswith("image/svg")
    for path in ("/figures/../secret.svg", "/figures/quilts/..%2f..%2fsecret.svg", "/figures/quilts/result.json",
                 "/static/../app.py", "/static/..%2fapp.py", "/figures/..%2f/secret.svg"):  # fmt: skip
        answer = server.get(path)
        assert answer.status in (400, 404), path
        assert "secret" not in answer.text.replace("secret.svg", "")


def test_other_addresses_need_a_token() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.1.2", "example.org", ""]))
    with pytest.raises(BadParameter, match="token"):
        check_address("0.0.0.0", "")
    check_address("0.0.0.0", "long enough")
    check_address("127.0.0.1", "")


def test_the_token_lets_in_and_nothing_else_does(bare: Path) -> None:
    with serving(bare, host="0.0.0.0", token="correct horse") as server:
        assert server.get("/").status == 401
        assert server.get("/static/serve.js").status == 401
        assert server.get("/", {"token": "wrong"}).status == 401
        assert server.get("/", Host="evil.example").status == 421
        entered = server.get("//evil.example", {"token": "correct horse", "q": "x"})
        assert (entered.status, entered.headers["location"]) == (303, "/evil.example?q=x")
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert "correct horse" not in entered.headers["set-cookie"]
        assert server.get("/").status == 200


def test_text_is_read_of_the_right_row_whatever_the_row_groups(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "groups.corpus"
    shutil.copytree(corpus, path)
    for part in Corpus(path).parts:
        pq.write_table(pq.read_table(path / part.file), path / part.file, row_group_size=3)
    with Index(path) as index:
        for row in Corpus(corpus).read(["url", "text"]).to_pylist():
            assert read_text(index, row["url"]) == row["text"]


def test_the_command_serves_until_it_is_stopped(bare: Path, unquilt: Unquilt) -> None:
    command = [sys.executable, "-m", "unquilt", "serve", str(bare), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "http://" in line)
        port = int(line.rpartition(":")[2].strip().rstrip("/"))
        with Index(bare) as index:
            assert "quilted pages" in Server(port, index).get("/").text
        process.terminate()
        assert process.wait(20) in (0, 130)
    refused = unquilt("serve", bare, "--host", "0.0.0.0")
    assert refused.returncode == 1
    assert "needs a token" in refused.stderr
    assert unquilt("serve", bare.parent).returncode == 1
