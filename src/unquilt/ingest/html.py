"""HTML source to title, visible text and links. Nothing else parses HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

from unquilt.kernels.markup import break_blocks, fold_space

INVISIBLE = ["script", "style", "template", "noscript", "iframe", "noframes", "noembed", "head"]
MAX_LINK = 2048  # longer ones are data, not addresses
MAX_LINKS = 50_000
MAX_TITLE = 1000


@dataclass(slots=True)
class Parsed:
    """What a person sees of a page, and where it points."""

    text: bytes = b""  # UTF-8, runs of white space folded
    title: str = ""
    links: list[str] = field(default_factory=list)
    canonical: str | None = None
    generator: str | None = None


def parse_html(html: bytes, url: str) -> Parsed:
    """Parse UTF-8 HTML once. Never raises for bad HTML; what cannot be parsed has no text."""
    broken = break_blocks(np.frombuffer(html, np.uint8))
    tree = LexborHTMLParser(broken.tobytes())
    root = tree.root
    if root is None:
        return Parsed()
    base = _first_attribute(root, "base[href]", "href")
    base = _join(url, base) if base else url
    title = root.css_first("head > title") or root.css_first("title")
    canonical = _first_attribute(root, 'link[rel~="canonical" i][href]', "href")
    parsed = Parsed(
        title=" ".join(title.text_lexbor().split())[:MAX_TITLE] if title else "",
        links=_links(root, base),
        canonical=_join(base, canonical) or None if canonical else None,
        generator=_first_attribute(root, 'meta[name="generator" i]', "content")[:MAX_TITLE] or None,
    )
    root.strip_tags(INVISIBLE)
    parsed.text = fold_text(root.text_lexbor())
    return parsed


def fold_text(text: str) -> bytes:
    """UTF-8 with runs of white space folded, without lone surrogates."""
    folded = fold_space(np.frombuffer(text.encode("utf-8", "replace"), np.uint8))
    return bytes(folded.tobytes())


def _first_attribute(root: LexborNode, selector: str, name: str) -> str:
    node = root.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node else ""


def _links(root: LexborNode, base: str) -> list[str]:
    """Absolute http(s) URLs without fragments, in order, each once."""
    folder = base[: base.rfind("/") + 1] if base.count("/") > 2 and "?" not in base else ""
    found: dict[str, None] = {}
    for node in root.css("a[href], area[href]")[:MAX_LINKS]:
        href = node.attributes["href"]
        if not href or len(href) > MAX_LINK:
            continue
        href = href.partition("#")[0].strip()
        if not href:
            continue
        if folder and _is_plain(href):
            found[folder + href] = None
        else:
            found[_join(base, href)] = None
    found.pop("", None)
    return list(found)


@lru_cache(maxsize=65536)
def _is_plain(href: str) -> bool:
    """A file name that only needs the folder in front: no scheme, query, dots or slash to work out."""
    return href.replace(".", "").replace("-", "").replace("_", "").isalnum() and href[0] != "."


@lru_cache(maxsize=65536)
def _join(base: str, href: str) -> str:
    """href as seen from base, without fragment; "" if it is not http(s) or cannot be read."""
    try:
        joined = urljoin(base, href).partition("#")[0]
        parts = urlsplit(joined)
    except ValueError:
        return ""
    return joined if parts.scheme in ("http", "https") and parts.netloc else ""
