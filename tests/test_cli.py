"""The command line, as a person or a script runs it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Unquilt, heed_ctrl_c, page, record, write_warc
from unquilt.cli import COMMANDS
from unquilt.cli.show import clean, counts_sentence
from unquilt.progress import duration, size_text


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, unquilt: Unquilt) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    write_warc(folder / "crawl.warc.gz", [
        record("http://www.a.example/1", page(1)),
        record("http://www.a.example/1", page(2), date="2022-01-01T00:00:00Z"),
        record("http://b.example/\x1b[31m<script>", page(3)),
        record("http://b.example/pdf", b"%PDF-", head=b"Content-Type: application/pdf"),
    ])  # fmt: skip
    done = unquilt("ingest", folder / "crawl.warc.gz", "-o", folder / "corpus")
    assert done.returncode == 0, done.stderr
    assert "3 pages; 1 record skipped: 1 not-text." in done.stdout
    assert "2 pages, after 1 other captures of the same URLs." in done.stdout
    return folder / "corpus"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_explains_every_option(command: str, unquilt: Unquilt) -> None:
    done = unquilt(command, "--help")
    assert done.returncode == 0
    options = done.stdout.partition("Options:")[2].splitlines()[1:]
    # An option is followed by its meaning, on its line or on the next.
    for line, following in zip(options, [*options[1:], ""], strict=True):
        if line.startswith("  -"):
            assert len(line.strip().split("  ", 1)) == 2 or following.startswith("   "), line


def test_info_counts_and_escapes(corpus: Path, unquilt: Unquilt) -> None:
    table = unquilt("info", corpus).stdout
    assert "superseded captures    1" in table
    assert "\x1b" not in table
    info = json.loads(unquilt("info", corpus, "--json").stdout)
    assert {name: info[name] for name in ("pages", "hosts", "domains", "ips", "charsets", "skipped")} == {
        "pages": 2,
        "hosts": 2,
        "domains": 2,
        "ips": 1,
        "charsets": {"utf-8": 2},
        "skipped": {"not-text": 1},
    }
    assert (info["first"], info["last"]) == ("2020-01-01 00:00:00+00", "2022-01-01 00:00:00+00")


def test_json_is_all_there_is_on_standard_output(corpus: Path, unquilt: Unquilt) -> None:
    done = unquilt("ingest", corpus.parent / "crawl.warc.gz", "-o", corpus, "--json")
    assert json.loads(done.stdout)["added"] == 0
    assert done.stderr == ""


def test_the_main_job_ends_with_where_the_report_is(tmp_path: Path, unquilt: Unquilt) -> None:
    crawl = write_warc(tmp_path / "crawl.warc.gz", [record("http://a.example/", page(1))])
    done = unquilt("run", crawl, "-o", tmp_path / "out", "--workers", "1")
    assert done.returncode == 0, done.stderr
    report = Path(done.stdout.splitlines()[-1].removeprefix("The report is in "))
    assert report == tmp_path / "out" / "report.html"
    assert "a.example" in report.read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["ingest"], 2, "Missing argument"),
        (["ingest", "x", "-o", "y", "--captures", "none"], 2, "is not one of 'latest', 'first', 'all'"),
        (["ingest", "x", "-o", "y", "--max-page-bytes", "12"], 1, "it must be from 1 KiB to 1 GiB"),
        (["ingest", "x", "-o", "y", "--max-page-bytes", "many"], 2, "is no size; write it as 512MiB or 4GB."),
        (["ingest", ".", "-o", "y", "--workers", "0"], 1, "--workers is 0; it must be at least 1."),
        (["ingest", ".", "-o", "y", "--memory", "1MB"], 1, "it must be at least 512 MiB."),
        (["ingest", ".", "-o", "y", "--status", "ok"], 1, "neither a status nor a range"),
        (["info", "nowhere"], 1, "nowhere does not exist."),
        (["report", "."], 1, "is a folder without a corpus.json, not a corpus."),
        (["unravel"], 2, "No such command 'unravel'"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(
    arguments: list[str], status: int, says: str, tmp_path: Path, unquilt: Unquilt
) -> None:
    done = unquilt(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_warcs_is_told_from_a_corpus(tmp_path: Path, unquilt: Unquilt) -> None:
    write_warc(tmp_path / "a.warc.gz", [])
    done = unquilt("info", tmp_path)
    assert done.stderr.splitlines()[0] == f"Error: {tmp_path} holds WARC files, not a corpus."
    assert done.stderr.splitlines()[1].startswith(f"Make one first:  unquilt ingest {tmp_path} -o ")


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_with_130_and_what_to_do(kind: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "unquilt", "synth", str(tmp_path / "out"), "--pages", "300000"],
        stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    time.sleep(3)
    process.send_signal(kind)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Run the same command again." in said


def test_progress_goes_to_standard_error_in_lines(tmp_path: Path, unquilt: Unquilt) -> None:
    crawl = write_warc(tmp_path / "crawl.warc.gz", [record("http://a.example/", page(1))])
    loud = unquilt("ingest", crawl, "-o", tmp_path / "loud")
    quiet = unquilt("ingest", crawl, "-o", tmp_path / "quiet", "--quiet")
    assert "\nReading: " in f"\n{loud.stderr}"  # in a fresh environment behind lines about compiling
    assert quiet.stderr == ""


def test_numbers_are_written_for_people() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 123_456, 5_200_000_000)] == [
        "0 bytes", "999 bytes", "1.0 kB", "123 kB", "5.2 GB",
    ]  # fmt: skip
    assert [duration(s) for s in (0.04, 59, 61, 7260)] == ["0.0 s", "59.0 s", "1 min 01 s", "2 h 01 min"]
    assert counts_sentence({"truncated": 9, "not-text": 3}) == "12 records skipped: 9 truncated, 3 not-text"
    assert clean("a\x1b[2Jb\u202ec") == "a\ufffd[2Jb\ufffdc"
