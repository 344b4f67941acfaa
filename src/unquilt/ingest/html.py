"""HTML source to title, visible text and links. Nothing else parses HTML."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from urllib.parse import urljoin, urlsplit

import numpy as np
import numpy.typing as npt
from selectolax.lexbor import LexborHTMLParser

from unquilt.kernels.links import NOT_PLAIN, join_links, sort_out_links
from unquilt.kernels.markup import HAS_BASE, HAS_META, HAS_TITLE, thin_markup
from unquilt.kernels.space import fold_space

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

MAX_LINK = 2048  # longer ones are data, not addresses
MAX_LINKS = 50_000
MAX_TITLE = 1000
_SPACE = " \t\n\f\r"
_NO_OTHERS = np.frombuffer(b"", np.uint8), np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses, in the form in which a column of them takes them."""

    utf8: bytes = b""  # one after another
    sizes: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # bytes of each

    def __iter__(self) -> Iterator[str]:
        end = 0
        for size in self.sizes.tolist():
            yield self.utf8[end : end + size].decode()
            end += size


@dataclass(slots=True)
class Parsed:
    """What a person sees of a page, and where it points."""

    text: bytes = b""  # UTF-8, runs of white space folded
    title: str = ""
    links: Links = field(default_factory=Links)  # absolute http(s), without fragments, in order, each once
    canonical: str | None = None
    generator: str | None = None


def parse_html(html: bytes, url: str) -> Parsed:
    """Parse UTF-8 HTML once. Never raises for bad HTML; what cannot be parsed has no text."""
    source = np.frombuffer(html.removeprefix(BOM_UTF8), np.uint8)
    thin, has, hrefs = thin_markup(source)
    tree = LexborHTMLParser(thin.tobytes())
    body = tree.body
    parsed = Parsed()
    if body is None:
        return parsed
    base = _base(tree, url) if has & HAS_BASE else url
    if has & HAS_META:
        parsed.canonical = _join(base, _first(tree, "link", "href", rel="canonical")) or None
        parsed.generator = _first(tree, "meta", "content", name="generator")[:MAX_TITLE] or None
    if len(hrefs):
        parsed.links = _links(source, hrefs, base)
    if has & HAS_TITLE:
        for title in tree.tags("title"):
            parsed.title = " ".join(title.text_lexbor().split())[:MAX_TITLE]
            title.decompose()  # it may stand in the body
    parsed.text = fold_text(body.text_lexbor())
    return parsed


def place_links(html: bytes, url: str) -> list[tuple[str, int]]:
    """The links of UTF-8 HTML and how many characters that are not white space stand before each in its text.

    For one page that a person looks at: it is parsed once more, with marks in it.
    """
    html = html.removeprefix(BOM_UTF8)
    mark = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code).encode() not in html)
    _, has, hrefs = thin_markup(np.frombuffer(html, np.uint8))
    pieces, done = [], 0
    for number, begin in enumerate(hrefs[:MAX_LINKS, 0].tolist()):
        tag = html.rfind(b"<", done, begin)
        if tag >= 0:
            pieces += [html[done:tag], f"{mark}{number}{mark}".encode()]
            done = tag
    tree = LexborHTMLParser(html)
    base = _base(tree, url) if has & HAS_BASE else url
    addresses = [_join(base, href) for href in _decode(html[begin:end] for begin, end in hrefs[:MAX_LINKS].tolist())]
    marked = parse_html(b"".join([*pieces, html[done:]]), url).text.decode()
    places, before = [], 0
    for i, piece in enumerate(marked.split(mark)):
        if i % 2 == 0:
            before += len("".join(piece.split()))
        elif piece.isdecimal() and addresses[int(piece)]:
            places.append((addresses[int(piece)], before))
    return places


def fold_text(text: str) -> bytes:
    """UTF-8 with runs of white space folded, without lone surrogates."""
    folded = fold_space(np.frombuffer(text.encode("utf-8", "replace"), np.uint8))
    return bytes(folded.tobytes())


def _base(tree: LexborHTMLParser, url: str) -> str:
    """What the links of a page are joined to."""
    return _join(url, _first(tree, "base", "href")) or url


def _first(tree: LexborHTMLParser, tag: str, wanted: str, **having: str) -> str:
    """The wanted attribute of the first such tag that has it, and has these words in these attributes."""
    for node in tree.tags(tag):  # many times faster than a selector
        attributes = node.attributes
        if wanted in attributes and all(
            word in (attributes.get(name) or "").lower().split() for name, word in having.items()
        ):
            return (attributes[wanted] or "").strip()
    return ""


def _links(source: Bytes, hrefs: Ints, base: str) -> Links:
    spans, leads, left = sort_out_links(source, hrefs, MAX_LINK, MAX_LINKS)
    here = np.frombuffer(base.encode("utf-8", "replace"), np.uint8)
    others = _join_others(source, spans[leads == NOT_PLAIN], base) if left else _NO_OTHERS
    utf8, sizes, is_fit = join_links(source, spans, leads, here, *others)
    if not is_fit:
        leads[:] = NOT_PLAIN
        utf8, sizes, _ = join_links(source, spans, leads, here, *_join_others(source, spans, base))
    return Links(utf8.tobytes(), sizes)


def _join_others(source: Bytes, spans: Ints, base: str) -> tuple[Bytes, Ints]:
    """Addresses that need working out, joined to base, one after another, and where each ends."""
    hrefs = _decode(source[begin:end].tobytes() for begin, end in spans.tolist())
    joined = [_join(base, href.partition("#")[0]).encode() if len(href) <= MAX_LINK else b"" for href in hrefs]
    ends = np.array(list(accumulate(map(len, joined))), np.int64)
    return np.frombuffer(b"".join(joined), np.uint8), ends


def _decode(values: Iterable[bytes]) -> list[str]:
    """Attribute values as a parser reads them, without character references."""
    page = b"".join([b'<area href="%s">' % value.replace(b'"', b"&quot;") for value in values])
    return [node.attributes["href"] or "" for node in LexborHTMLParser(page).tags("area")]


@lru_cache(maxsize=4096)
def _join(base: str, href: str) -> str:
    """href as seen from base, without fragment; "" if it is not http(s) or cannot be read."""
    href = href.strip(_SPACE)
    if not href:
        return ""
    try:
        joined = urljoin(base, href).partition("#")[0]
        parts = urlsplit(joined)
    except ValueError:
        return ""
    return joined if parts.scheme in ("http", "https") and parts.netloc else ""
