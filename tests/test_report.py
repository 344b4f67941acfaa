"""The report: crawled text in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from conftest import page, record, write_warc
from unquilt import ingest_crawl, write_report
from unquilt.ingest.params import IngestParams


def test_crawled_text_is_escaped_under_a_policy_without_scripts(tmp_path: Path) -> None:
    out = tmp_path / "<script>alert(1)</script>"
    records = [record("http://a.example/", page(1)), record("http://b.example/", page(2))]
    corpus = ingest_crawl([str(write_warc(tmp_path / "c.warc.gz", records))], out, IngestParams()).corpus
    html = write_report(corpus, tmp_path / "report.html").read_text("utf-8")
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "default-src 'none'" in html
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    assert f"'sha256-{base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()}'" in html
    assert not re.search(r"\bhref=|\bsrc=(?!\"data:)", html)  # nothing is fetched


def test_the_report_counts_what_is_there(tmp_path: Path) -> None:
    records = [record(f"http://a.example/{i}", page(i)) for i in range(3)]
    corpus = ingest_crawl([str(write_warc(tmp_path / "c.warc.gz", records))], tmp_path / "c").corpus
    html = write_report(corpus, tmp_path / "report.html").read_text("utf-8")
    assert re.findall(r"<b>(.*?)</b><span>(.*?)</span>", html)[:3] == [
        ("3", "pages"),
        ("1", "hosts"),
        ("1", "domains"),
    ]


def test_an_empty_corpus_has_a_report_too(tmp_path: Path) -> None:
    records = [record("http://a.example/", b"%PDF", head=b"Content-Type: application/pdf")]
    corpus = ingest_crawl([str(write_warc(tmp_path / "c.warc.gz", records))], tmp_path / "c").corpus
    assert corpus.pages == 0
    assert "not-text" in write_report(corpus, tmp_path / "report.html").read_text("utf-8")
