"""Judging: samples by lot, judgments that are never lost, and the figures made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Unquilt, page, record, write_warc
from explorer import QUILT, Server, add_results, make_corpus, save_quilts, serving
from unquilt import Corpus, ingest_crawl
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadInput, BadParameter
from unquilt.serve.index import Index
from unquilt.serve.judge import KINDS, draw_sample
from unquilt.serve.judgments import Drawn, Judgments, kappa, precision, wilson

COUNT = 1000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a thousand quilts of rising score."""
    folder = tmp_path_factory.mktemp("judge")
    crawl = write_warc(folder / "c.warc.gz", [record("http://a.example/", page(1))])
    corpus = ingest_crawl([str(crawl)], folder / "many.corpus").corpus
    source = {"url": "http://s.example/", "grams": 1, "foreign": True, "attributed": False, "time": None}
    save_quilts(
        corpus,
        [
            {"url": f"http://q.example/{i}", "grams": 100, "patch_grams": 50, "patch_fraction": 0.5 + i / 2 / COUNT,
             "sources": [source] * (4 + i % 7)}
            for i in range(COUNT)
        ],
    )  # fmt: skip
    return corpus.path


@pytest.fixture
def kept(tmp_path: Path) -> Judgments:
    return Judgments(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, engine: LocalEngine) -> Iterator[Server]:
    corpus = make_corpus(tmp_path_factory.mktemp("judging"), engine)
    add_results(corpus)
    with serving(corpus.path) as one:
        yield one


def some(count: int) -> list[Drawn]:
    return [Drawn(f"http://x.example/{i}", i / 10, 1, count) for i in range(count)]


def add(kept: Judgments, drawn: list[Drawn]) -> int:
    return kept.add_sample(
        "quilts", drawn, method="uniform", seed=1, setting={"k": 5}, corpus_digest="d", population=len(drawn)
    )


def test_wilson_is_the_solution_of_its_equation() -> None:
    """The bounds are the shares p from which the seen share is exactly z standard errors away."""
    for yes, count in [(34, 100), (1, 7), (0, 20), (20, 20), (9999, 10000)]:
        for bound in wilson(yes, count):
            if 0 < bound < 1:
                away = abs(yes / count - bound) / math.sqrt(bound * (1 - bound) / count)
                assert away == pytest.approx(1.959963984540054)
    assert wilson(34, 100) == pytest.approx((0.2546, 0.4372), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)


def test_kappa_of_a_textbook_table() -> None:
    """Two people, 50 proposals: both yes 20, both no 15, one yes 5 and 10; kappa is 0.4."""
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([("yes", "yes"), ("no", "no")]) == 1
    assert kappa([]) is None
    assert kappa([("yes", "yes")]) is None


def test_a_stratum_counts_with_its_size() -> None:
    rows = [{"verdict": v, "stratum": 1, "stratum_size": 900} for v in ["no"] * 8 + ["yes"] * 2]
    rows += [{"verdict": v, "stratum": 2, "stratum_size": 100} for v in ["yes"] * 5 + ["no"] * 5 + ["unsure"]]
    right = precision(rows)
    assert right.share == pytest.approx(0.9 * 0.2 + 0.1 * 0.5)
    variance = 0.81 * 0.2 * 0.8 / 10 + 0.01 * 0.25 / 10
    alike = 0.23 * 0.77 / variance
    assert (right.low, right.high) == pytest.approx(wilson(0.23 * alike, alike))
    assert (right.yes, right.no, right.unsure, right.judged) == (7, 13, 1, 21)


@given(st.lists(st.sampled_from(["yes", "no", "unsure"]), max_size=30))
def test_precision_of_a_uniform_sample_is_counted(verdicts: list[str]) -> None:
    right = precision([{"verdict": verdict, "stratum": 1, "stratum_size": 99} for verdict in verdicts])
    decided = verdicts.count("yes") + verdicts.count("no")
    assert right.share == (verdicts.count("yes") / decided if decided else None)
    assert right.low <= (right.share if decided else 0.5) <= right.high  # type: ignore[operator]


def test_the_last_word_counts_and_nothing_is_lost(kept: Judgments) -> None:
    sample = add(kept, some(3))
    kept.judge(sample, 0, "ada", "yes", tags=["farm", "né"], note="why, 'so'")
    kept.judge(sample, 0, "ada", "no")
    kept.judge(sample, 1, "ada", "yes")
    assert kept.next_position(sample, "ada") == 2
    assert kept.undo(sample, "ada") == 1
    assert kept.next_position(sample, "ada") == 1
    assert kept.undo(sample, "ada") == 0
    assert kept.undo(sample, "ada") is None
    kept.judge(sample, 0, "ada", "unsure")
    assert [(row["position"], row["verdict"]) for row in kept.rows()] == [(0, "unsure")]
    import sqlite3

    with sqlite3.connect(kept.path) as database:
        said = [row[0] for row in database.execute("SELECT verdict FROM judgments ORDER BY judgment")]
    assert said == ["yes", "no", "yes", None, None, "unsure"]


def test_figures_of_two_judges(kept: Judgments) -> None:
    sample = add(kept, some(4))
    for position, (ada, bob) in enumerate([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")]):
        kept.judge(sample, position, "ada", ada)
        kept.judge(sample, position, "bob", bob)
    (figures,) = kept.figures()
    assert figures["judges"]["ada"].share == 0.5
    assert figures["judges"]["bob"].share == 0.25
    assert figures["agreement"] == [{"judges": ("ada", "bob"), "both": 4, "agreed": 3, "kappa": pytest.approx(0.5)}]


def test_nonsense_is_refused(kept: Judgments, tmp_path: Path) -> None:
    sample = add(kept, some(1))
    for verdict, judge in [("spam", "ada"), ("", "ada"), ("yes", " ")]:
        with pytest.raises(BadParameter):
            kept.judge(sample, 0, judge, verdict)
    with pytest.raises(BadInput):
        kept.judge(sample, 7, "ada", "yes")  # no such finding
    with pytest.raises(BadParameter):
        add(kept, [])
    with pytest.raises(BadParameter):
        kept.export(tmp_path / "judgments.xls")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "judgments.sqlite").write_bytes(b"not a database at all" * 99)
    with pytest.raises(BadInput):
        Judgments(tmp_path / "bad").rows()


def test_a_sample_depends_on_its_seed_alone(many: Path, kept: Judgments) -> None:
    with Index(many) as index:
        first = draw_sample(index, kept, "quilts", size=50, seed=3)
        assert draw_sample(index, kept, "quilts", size=50, seed=3) == first
        other = draw_sample(index, kept, "quilts", size=50, seed=4)
        drawn = {one: {kept.finding(one, i)["finding"] for i in range(50)} for one in (first, other)}  # type: ignore[index]
        assert len(drawn[first]) == 50
        assert drawn[first] != drawn[other]
        save_quilts(Corpus(many), pq.read_table(many / "results/quilts/quilts.parquet").to_pylist()[::-1])
        index.refresh()
        assert draw_sample(index, kept, "quilts", size=50, seed=3) == first


def test_lots_are_uniform(many: Path, tmp_path: Path) -> None:
    """Over 100 seeds each tenth of the findings is drawn about as often: chi squared of 9 degrees under its 99.9 %."""
    kept = Judgments(tmp_path)
    tenths = [0] * 10
    with Index(many) as index:
        for seed in range(100):
            sample = draw_sample(index, kept, "quilts", size=20, seed=seed)
            for i in range(20):
                found = kept.finding(sample, i)
                assert found is not None
                tenths[int(found["finding"].rpartition("/")[2]) * 10 // COUNT] += 1
    assert sum((count - 200) ** 2 / 200 for count in tenths) < 27.88


def test_a_sample_by_score_takes_as_many_of_each_fifth(many: Path, kept: Judgments) -> None:
    with Index(many) as index:
        sample = draw_sample(index, kept, "quilts", size=52, method="by score")
    found = [kept.finding(sample, i) for i in range(52)]
    strata = [one["stratum"] for one in found if one]
    assert [strata.count(i) for i in range(1, 6)] == [11, 11, 10, 10, 10]
    for one in found:
        assert one is not None
        assert one["stratum_size"] == COUNT // 5
        assert int(one["finding"].rpartition("/")[2]) * 5 // COUNT == one["stratum"] - 1


def test_thresholds_decide_what_is_drawn_and_are_kept_as_its_setting(many: Path, kept: Judgments) -> None:
    with Index(many) as index:
        sample = draw_sample(index, kept, "quilts", size=2000 // 4, asked={"sigma": "0.9", "c": "10"})
        known = kept.sample(sample)
        assert known is not None
        assert (known["setting"]["sigma"], known["setting"]["c"], known["setting"]["k"]) == (0.9, 10, 5)
        expected = sum(0.5 + i / 2 / COUNT >= 0.9 and 4 + i % 7 >= 10 for i in range(COUNT))
        assert known["size"] == known["population"] == expected
        with pytest.raises(BadParameter):
            draw_sample(index, kept, "quilts", size=0)
        with pytest.raises(BadParameter, match="styles"):
            draw_sample(index, kept, "styles")


@pytest.mark.parametrize("detector", KINDS)
def test_findings_of_every_detector_are_judged_with_their_evidence(server: Server, detector: str) -> None:
    form: dict[str, object] = {
        "form_token": server.form_token(),
        "detector": detector,
        "size": 5,
        "seed": 0,
        "judge": "ada",
    }
    drawn = server.post("/judge/draw", form)
    assert drawn.status == 303, drawn.text
    shown = server.get(drawn.headers["location"]).text
    assert KINDS[detector].question in shown
    evidence = {"quilts": "Where it is from", "phrases": "cover its popular", "styles": "Their noise",
                "mirrors": "same bytes", "reuse": "copied share"}  # fmt: skip
    assert evidence[detector] in shown


def test_a_judgment_is_kept_before_the_next_finding_is_shown(server: Server) -> None:
    token = server.form_token()
    form: dict[str, object] = {"form_token": token, "detector": "quilts", "size": 2, "seed": 5, "judge": "eve"}
    where = server.post("/judge/draw", form).headers["location"]
    sample = int(where.rpartition("=")[2])
    kept = Judgments(server.index.corpus.path)
    verdict = {"form_token": token, "sample": sample, "position": 0, "verdict": "yes", "tags": "a, b,", "note": "n"}
    assert server.post("/judge/verdict", verdict).headers["location"] == where
    (row,) = [row for row in kept.rows() if row["sample"] == sample]
    assert (row["judge"], row["verdict"], json.loads(row["tags"]), row["note"]) == ("eve", "yes", ["a", "b"], "n")
    assert '<b id="done">1</b> of 2' in server.get(where).text
    assert server.post("/judge/undo", {"form_token": token, "sample": sample}).headers["location"].endswith("&at=0")
    for bad in ({"position": 99}, {"sample": 999}, {"verdict": "maybe"}, {"position": "x"}, {"sample": ""}):
        assert server.post("/judge/verdict", verdict | bad).status == 400
    for position in (0, 1):
        server.post("/judge/verdict", verdict | {"position": position})
    assert "Every finding of this sample is judged" in server.get(where).text


def test_the_command_prints_the_figures_and_exports(many: Path, unquilt: Unquilt, tmp_path: Path) -> None:
    assert "No samples" in unquilt("judge", many).stdout
    kept = Judgments(many)
    with Index(many) as index:
        sample = draw_sample(index, kept, "quilts", size=10)
    for position in range(10):
        kept.judge(sample, position, "ada", "yes" if position < 3 else "no", note='=a,"b"')
        kept.judge(sample, position, "bob", "yes" if position < 4 else "no")
    shown = unquilt("judge", many, "--export", tmp_path / "j.csv").stdout
    assert "30.0%" in shown
    assert "10.8% to 60.3%" in shown
    assert "kappa 0.78" in shown
    (figures,) = json.loads(unquilt("judge", many, "--json", "--export", tmp_path / "j.parquet").stdout)
    assert figures["judges"]["ada"]["share"] == 0.3
    assert figures["setting"]["sigma"] == 0.5
    table = pq.read_table(tmp_path / "j.parquet")
    assert len(table) == 20
    assert pa_csv.read_csv(tmp_path / "j.csv")["note"].to_pylist() == table["note"].to_pylist()
    assert QUILT not in shown
