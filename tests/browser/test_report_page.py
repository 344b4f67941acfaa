"""The report, opened from disk in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from conftest import record, write_warc
from unquilt.detectors import DETECTORS
from unquilt.engines.local import LocalEngine
from unquilt.ingest.run import ingest_crawl
from unquilt.report.page import write_report
from unquilt.sample import sample_files

SCRIPT = "<script>window.stolen = 1; alert(1)</script>"


@pytest.fixture(scope="module")
def report(engine: LocalEngine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the sample and some hostile pages, with all detectors run."""
    folder = tmp_path_factory.mktemp("report")
    text = " ".join(f"word{i}" for i in range(80))
    hostile = [
        record(f'http://evil{i}.example/{SCRIPT}?"onload=alert(1)', f"<title>{SCRIPT}</title><p>{text}".encode())
        for i in range(4)
    ]
    crawl = write_warc(folder / "hostile.warc.gz", hostile)
    corpus = ingest_crawl([*map(str, sample_files()), str(crawl)], folder / "corpus", engine=engine).corpus
    for detector in DETECTORS.values():
        detector.finder()(corpus, engine=engine).save(corpus)
    return write_report(corpus, folder / "report.html")


def test_it_opens_from_disk_without_an_error_and_without_a_network(report: Path, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url.partition(":")[0]))
    page.goto(report.as_uri())
    for name in DETECTORS:
        expect(page.locator(f"h2#{name}")).to_be_visible()
    pictures = page.locator("figure img")
    assert pictures.count() >= 8
    widths = pictures.evaluate_all("all => all.map(one => one.naturalWidth)")
    assert all(width > 100 for width in widths)
    assert page.evaluate("window.stolen") is None
    assert page.locator("script").count() == 0
    context.close()
    assert complaints == []
    assert set(asked) <= {"file", "data"}


def test_it_is_small(report: Path) -> None:
    assert report.stat().st_size < 5_000_000
