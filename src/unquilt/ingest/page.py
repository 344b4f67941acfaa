"""Captures to rows of the corpus: everything that needs a page's raw bytes is computed here, in one pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha1
from html import unescape
from operator import sub
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unquilt.engines.first_start import are_compiled
from unquilt.ingest.capture import Capture, Skip
from unquilt.ingest.charset import to_utf8
from unquilt.ingest.chunks import Cutter
from unquilt.ingest.html import MAX_TITLE, Links, Parsed, fold_text, parse_html
from unquilt.ingest.http import HTML_TYPES
from unquilt.ingest.params import STYLE_GRAM
from unquilt.ingest.sites import domains_of, host_of
from unquilt.kernels.noise import cell_permutations, noise_fingerprint
from unquilt.kernels.words import count_words_column
from unquilt.schema import PAGES, SHA1_BYTES, STYLE_CELLS
from unquilt.schema import sha1 as sha1_type

_IP = re.compile(r"[0-9A-Fa-f.:]{2,45}")
_XML_TITLE = re.compile(rb"<title[^>]*>\s*(?:<!\[CDATA\[)?([^<\]]*)")
_FULL_BYTES = 32 << 20  # of pages, before their rows are written: what a worker holds at a time
_FULL_ROWS = 8192


class PageRows:
    """Rows of the pages table, collected one capture at a time and taken as a table when there are enough."""

    def __init__(self, seed: int, cutter: Cutter = Cutter()) -> None:
        self._cutter = cutter
        self._shifts, self._masks = cell_permutations(seed, STYLE_CELLS)
        self._begin()

    def _begin(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._texts: list[bytes] = []
        self._chunks: list[bytes] = []
        self._chunk_counts: list[int] = []
        self._chunk_sizes: list[int] = []
        self._styles: list[bytes | None] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._bytes >= _FULL_BYTES or len(self._rows) >= _FULL_ROWS

    def add(self, capture: Capture) -> Skip | None:
        """Take in a capture; a ``Skip`` if it cannot be a page."""
        url = _clean(capture.url)
        host = host_of(url)
        if not host:
            return Skip(capture.source, capture.offset, "bad-url", url)
        body = capture.body
        is_html = capture.media_type in HTML_TYPES
        if capture.is_text_only:
            parsed, charset, digest = Parsed(text=body), "utf-8", None
            self._chunk_counts.append(-1)
        else:
            utf8, charset = to_utf8(body, capture.charset)
            parsed = _parse(utf8, url, capture.media_type, is_html=is_html)
            digest = sha1(body).digest()
            self._add_chunks(body, digest, self._cutter.bounds(body, is_html=is_html))
        self._styles.append(self._style(utf8) if is_html and not capture.is_text_only else None)
        self._texts.append(parsed.text)
        self._bytes += len(body)
        self._rows.append(
            (
                url,
                host,
                capture.ip if _IP.fullmatch(capture.ip) else None,
                capture.time,
                capture.status,
                _clean(capture.media_type),
                charset,
                parsed.title,
                len(body),
                digest,
                parsed.links,
                parsed.canonical,
                parsed.generator,
                _clean(capture.source),
                capture.offset,
            )
        )
        return None

    def _style(self, utf8: bytes) -> bytes:
        source = np.frombuffer(utf8, np.uint8)
        return noise_fingerprint(source, STYLE_GRAM, STYLE_CELLS, self._shifts, self._masks).tobytes()

    def _add_chunks(self, body: bytes, digest: bytes, bounds: list[int]) -> None:
        """The SHA-1 of each chunk; of a page that is one, and taken as it is, that of the whole."""
        is_whole = len(bounds) == 2 and not self._cutter.normalize
        self._chunks += [digest] if is_whole else self._cutter.digests(body, bounds)
        self._chunk_sizes += map(sub, bounds[1:], bounds)
        self._chunk_counts.append(len(bounds) - 1)

    def take(self, first_page: int) -> pa.Table:
        """The rows so far as a table, numbered from ``first_page``; afterwards there are none."""
        n = len(self._rows)
        columns = list(zip(*self._rows, strict=True)) if n else [()] * 15
        (url, host, ip, time, status, media_type, charset, title, size, digest, links, canonical, generator,
         source, offset) = columns  # fmt: skip
        hosts = pa.array(host, pa.string())
        texts = pa.array(self._texts, pa.string())
        made: dict[str, Any] = {
            "page": pa.array(np.arange(first_page, first_page + n)),
            "url": url,
            "host": hosts,
            "domain": domains_of(hosts),
            "ip": ip,
            "time": pa.array(time, pa.int64()).cast(PAGES.field("time").type),
            "status": status,
            "media_type": media_type,
            "charset": charset,
            "title": title,
            "text": texts,
            "words": _count_words(texts),
            "bytes": size,
            "file_sha1": digest,
            "chunk_sha1s": _lists_of_sha1s(self._chunk_counts, self._chunks),
            "chunk_sizes": _lists(self._chunk_counts, pa.array(self._chunk_sizes, pa.int32())),
            "style": self._styles,
            "links": _lists_of_links(links),
            "canonical": canonical,
            "generator": generator,
            "source": source,
            "offset": offset,
        }
        self._begin()
        return pa.table(
            [
                made[field.name] if isinstance(made[field.name], pa.Array) else pa.array(made[field.name], field.type)
                for field in PAGES
            ],
            schema=PAGES,
        )


def url_rows(urls: pa.Table, source: str, first_page: int) -> pa.Table:
    """Rows of the pages table for a list of URLs: they have no content."""
    n = len(urls)
    host = urls["host"].combine_chunks()
    known = {
        "page": pa.array(np.arange(first_page, first_page + n)),
        "url": urls["url"],
        "host": host,
        "domain": domains_of(host),
        "source": pa.repeat(pa.scalar(source), n),
        "offset": urls["offset"],
    }
    return pa.table([known.get(field.name, pa.nulls(n, field.type)) for field in PAGES], schema=PAGES)


def _parse(utf8: bytes, url: str, media_type: str, *, is_html: bool) -> Parsed:
    if is_html:
        return parse_html(utf8, url)
    if media_type.endswith("xml"):
        return _parse_xml(utf8, url)
    return Parsed(text=fold_text(utf8.decode("utf-8", "replace")))


def _parse_xml(utf8: bytes, url: str) -> Parsed:
    """A feed or another document in XML: to an HTML parser its titles were the page's, and its CDATA comments."""
    titled = _XML_TITLE.search(utf8)
    source = utf8.replace(b"<![CDATA[", b" ").replace(b"]]>", b" ").replace(b"<title", b"<h1")
    parsed = parse_html(source, url)
    if titled:
        parsed.title = " ".join(unescape(titled[1].decode("utf-8", "replace")).split())[:MAX_TITLE]
    return parsed


def _clean(text: str) -> str:
    """Text that can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _count_words(texts: pa.Array) -> pa.Array:
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[: len(texts) + 1] if len(texts) else np.zeros(1, np.int32)
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return pa.array(count_words_column(content, bounds))


def _lists_of_links(links: Sequence[Links]) -> pa.Array:
    """The links of each page."""
    n = len(links)
    counts = np.zeros(n + 1, np.int32)
    np.cumsum([len(page.sizes) for page in links], out=counts[1:])
    ends = np.zeros(counts[-1] + 1, np.int32)
    np.cumsum(np.concatenate([page.sizes for page in links]) if n else [], out=ends[1:])
    data = pa.py_buffer(b"".join([page.utf8 for page in links]))
    values = pa.Array.from_buffers(pa.string(), len(ends) - 1, [None, pa.py_buffer(ends), data])
    return pa.ListArray.from_arrays(pa.array(counts), values, type=PAGES.field("links").type)


def _lists_of_sha1s(counts: list[int], digests: list[bytes]) -> pa.Array:
    data = pa.py_buffer(b"".join(digests))
    return _lists(counts, pa.Array.from_buffers(sha1_type, data.size // SHA1_BYTES, [None, data]))


def _lists(counts: list[int], values: pa.Array) -> pa.Array:
    """Lists of so many values each, in order; -1 is null."""
    lengths: npt.NDArray[np.int64] = np.array(counts, np.int64)
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(np.maximum(lengths, 0), out=offsets[1:])
    nulls = pa.array(lengths < 0) if (lengths < 0).any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=pa.list_(values.type), mask=nulls)


def warm_up() -> None:
    """Have the kernels ready before the first page comes, if they need not be compiled first."""
    if not are_compiled("ingest"):
        return
    rows = PageRows(seed=0)
    rows.add(Capture("http://a.example/", b"<title>a</title><p>b<a href=c>c</a>", "", 0, "text/html"))
    rows.take(0)
