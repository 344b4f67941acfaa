"""The main job: what it does, what it leaves undone the second time, and its settings as a file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conftest import Unquilt, page, record, write_warc
from unquilt.config import default_config, read_config, sections
from unquilt.corpus import Corpus
from unquilt.detectors import DETECTORS
from unquilt.detectors.quilts.params import QuiltParams
from unquilt.engines.local import LocalEngine
from unquilt.errors import BadParameter, DiskFull
from unquilt.estimate import Estimate, check_room, estimate
from unquilt.ingest.inputs import plan
from unquilt.ingest.params import IngestParams
from unquilt.report.drawings import drawn_figures
from unquilt.report.findings import five_numbers, striking
from unquilt.result import check_result
from unquilt.run import run_crawl


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight pages, and one stitched together from five of them."""
    texts = [" ".join(f"w{i}x{j}" for j in range(60)) for i in range(8)]
    stitched = " ".join(" ".join(text.split()[:30]) for text in texts[:5])
    records = [record(f"http://h{i}.example/", f"<p>{text}".encode()) for i, text in enumerate(texts)]
    return write_warc(
        tmp_path_factory.mktemp("run") / "crawl.warc.gz",
        [*records, record("http://quilt.example/", f"<p>{stitched}".encode())],
    )


@pytest.fixture(scope="module")
def out(crawl: Path, unquilt: Unquilt) -> Path:
    done = unquilt("run", crawl, "-o", crawl.parent / "out")
    assert done.returncode == 0, done.stderr
    assert "to read: about" in done.stderr
    assert "quilts, stitched from other pages" in done.stdout
    assert "http://quilt.example/" in done.stdout
    assert done.stdout.count("report.html") == 1
    return crawl.parent / "out"


def test_the_numbers_and_the_most_striking_finding(out: Path) -> None:
    corpus = Corpus(out)
    numbers = {number.detector: number for number in five_numbers(corpus)}
    assert list(numbers) == list(DETECTORS)
    assert (numbers["quilts"].pages, numbers["quilts"].cross_site) == (1, 1)
    assert numbers["quilts"].share == pytest.approx(1 / 9)
    found = {finding.detector: finding for finding in striking(corpus)}
    assert (found["quilts"].url, found["quilts"].pages) == ("http://quilt.example/", 5)


def test_killed_between_detectors_it_goes_on_where_it_was(out: Path, crawl: Path, unquilt: Unquilt) -> None:
    cut_off = crawl.parent / "cut-off"
    with subprocess.Popen([sys.executable, "-m", "unquilt", "run", crawl, "-o", cut_off, "--quiet"]) as process:
        first = cut_off / "results" / "phrases" / "result.json"
        while process.poll() is None and not first.exists():
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    phrases = {path: path.stat().st_mtime_ns for path in first.parent.glob("*.parquet")}
    done = unquilt("run", crawl, "-o", cut_off)
    assert done.returncode == 0, done.stderr
    assert "phrases" not in done.stdout.splitlines()[-3]  # the line with the times
    assert {path: path.stat().st_mtime_ns for path in phrases} == phrases
    for table in (out / "results").rglob("*.parquet"):
        assert pq.read_table(cut_off / table.relative_to(out)).equals(pq.read_table(table)), table
    assert not [path for path in cut_off.rglob("*") if path.suffix == ".tmp" or path.name.startswith(".work-")]


def test_a_second_run_does_nothing_but_say_so(out: Path, crawl: Path, unquilt: Unquilt) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    done = unquilt("run", crawl, "-o", out)
    assert "Nothing was to be done" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_python_can_do_the_same(out: Path, crawl: Path, tmp_path: Path, engine: LocalEngine) -> None:
    done = run_crawl([str(crawl)], tmp_path / "out", settings={"quilts": QuiltParams(c=6)}, engine=engine)
    assert [stage.name for stage in done.stages] == ["ingest", *DETECTORS]
    assert all(stage.is_new for stage in done.stages)
    assert done.corpus.digest == Corpus(out).digest
    assert check_result(done.corpus, "quilts")["params"]["c"] == 6
    again = run_crawl([str(crawl)], tmp_path / "out", detectors=["phrases"], engine=engine)
    assert not any(stage.is_new for stage in again.stages)


def test_figures_are_drawn_once_and_again_when_their_result_changes(crawl: Path, tmp_path: Path) -> None:
    corpus = run_crawl([str(crawl)], tmp_path / "out", detectors=["phrases", "quilts"]).corpus
    folder = corpus.results / "quilts"
    before = {path: path.stat().st_mtime_ns for path in corpus.results.rglob("*") if path.is_file()}
    names = [one.name for one in drawn_figures(corpus, "quilts")]
    assert {f"{name}.svg" for name in names} == {path.name for path in folder.glob("*.svg")} != set()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    (folder / "old.svg").write_text("<svg/>")
    run_crawl([str(crawl)], corpus.path, detectors=["quilts"], settings={"quilts": QuiltParams(c=6)})
    assert not list(folder.glob("*.svg"))  # no page is stitched from six
    assert drawn_figures(corpus, "quilts") == []


def test_changed_settings_redo_what_depends_on_them(out: Path, crawl: Path, unquilt: Unquilt, tmp_path: Path) -> None:
    settings = tmp_path / "my.toml"
    settings.write_text("[quilts]\nc = 6\nsigma = 1\n")
    done = unquilt("run", crawl, "-o", out, "--config", settings, "--only", "quilts", "--json")
    said = json.loads(done.stdout)
    assert said["ingest"]["parts"] == 0
    assert list(said["seconds"]) == ["ingest", "quilts"]
    assert check_result(Corpus(out), "quilts")["params"]["c"] == 6
    assert unquilt("run", crawl, "-o", out, "--only", "quilts").returncode == 0
    assert check_result(Corpus(out), "quilts")["params"]["c"] == 4


def test_further_inputs_are_added(out: Path, unquilt: Unquilt, tmp_path: Path) -> None:
    more = write_warc(tmp_path / "more.warc.gz", [record("http://new.example/", page(1))])
    done = unquilt("run", more, "-o", out, "--skip", ",".join(DETECTORS))
    assert done.returncode == 0, done.stderr
    assert Corpus(out).pages == 10
    assert five_numbers(Corpus(out)) == []  # results of other pages are not shown


def test_a_list_of_urls_has_no_quilts_and_that_is_no_fault(unquilt: Unquilt, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/1\nhttp://b.example/1\n")
    done = unquilt("run", tmp_path / "urls.txt", "-o", tmp_path / "out", "--only", "quilts")
    assert done.returncode == 0, done.stderr
    assert "No quilts:" in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[quilts]\nsigm = 0.1", "Did you mean sigma?"),
        ("[quilt]\nk = 1", "Did you mean quilts?"),
        ("[quilts]\nk = 1.5", "a whole number"),
        ("[quilts]\nsigma = 2", "from 0 to 1"),
        ("quilts = 1", "unknown"),
        ("[quilts", "no TOML"),
    ],
)
def test_a_slip_in_the_file_is_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(BadParameter) as told:
        read_config(tmp_path / "x.toml")
    assert says in f"{told.value.message} {told.value.fix}"


def test_the_printed_file_gives_the_defaults(tmp_path: Path, unquilt: Unquilt) -> None:
    (tmp_path / "x.toml").write_text(unquilt("config").stdout)
    assert default_config() == (tmp_path / "x.toml").read_text()
    read = read_config(tmp_path / "x.toml")
    assert list(tomllib.loads(default_config())) == list(read) == ["ingest", *DETECTORS, "against"]
    assert {name: kind(**read[name]) for name, kind in sections().items()} == {
        name: kind() for name, kind in sections().items()
    }


def test_an_unknown_detector_is_one_sentence(unquilt: Unquilt, crawl: Path, tmp_path: Path) -> None:
    done = unquilt("run", crawl, "-o", tmp_path / "out", "--only", "quilts,nothing")
    assert done.returncode == 1
    assert "nothing, which is no detector" in done.stderr


def test_a_full_disk_is_told_before(crawl: Path, tmp_path: Path) -> None:
    need = estimate(plan([str(crawl)], IngestParams()).pieces, workers=2, memory=1 << 30)
    assert 0 < need.corpus_bytes < need.input_bytes == crawl.stat().st_size
    check_room(need, tmp_path / "not" / "yet", tmp_path)
    with pytest.raises(DiskFull, match="has room for"):
        check_room(Estimate(1, 1.0, 1 << 60, 0), tmp_path / "out", tmp_path)
