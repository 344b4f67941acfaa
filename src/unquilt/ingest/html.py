"""HTML source to title, visible text and links. Nothing else parses HTML."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from unquilt.kernels.markup import HAS_BASE, HAS_LINKS, HAS_META, HAS_TITLE, fold_space, thin_markup

MAX_LINK = 2048  # longer ones are data, not addresses
MAX_LINKS = 50_000
MAX_TITLE = 1000
_SPACE = " \t\n\f\r"

# Addresses that need no working out: all that urljoin does is put something in front of them. No empty or
# dotted folders but "../" at the beginning, no scheme but http(s), nothing urljoin would drop.
_SAFE = r"\w!$%&'()*+,=@~-"
_PATH = rf"[{_SAFE}]+(?:[./][{_SAFE}]+)*/?"
_QUERY = rf"(?:\?[./:;?{_SAFE}]+)?"
_HOST = r"s?://[a-zA-Z0-9.-]+(?::[0-9]+)?"
_PLAIN = re.compile(
    rf"(?:((?:\.\./)*){_PATH}{_QUERY}|(/)(?:{_PATH})?{_QUERY}|(http){_HOST}(?:/(?:{_PATH})?{_QUERY})?)",
    re.ASCII,
)


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
    thin, has = thin_markup(np.frombuffer(html.removeprefix(BOM_UTF8), np.uint8))
    tree = LexborHTMLParser(thin.tobytes())
    body = tree.body
    parsed = Parsed()
    if body is None:
        return parsed
    base = url
    if has & HAS_BASE:
        base = _join(url, _first(tree, "base", "href")) or url
    if has & HAS_META:
        parsed.canonical = _join(base, _first(tree, "link", "href", rel="canonical")) or None
        parsed.generator = _first(tree, "meta", "content", name="generator")[:MAX_TITLE] or None
    if has & HAS_LINKS:
        parsed.links = _links(tree, base)
    if has & HAS_TITLE:
        for title in tree.tags("title"):
            parsed.title = " ".join(title.text_lexbor().split())[:MAX_TITLE]
            title.decompose()  # it may stand in the body
    parsed.text = fold_text(body.text_lexbor())
    return parsed


def fold_text(text: str) -> bytes:
    """UTF-8 with runs of white space folded, without lone surrogates."""
    folded = fold_space(np.frombuffer(text.encode("utf-8", "replace"), np.uint8))
    return bytes(folded.tobytes())


def _first(tree: LexborHTMLParser, tag: str, wanted: str, **having: str) -> str:
    """The wanted attribute of the first such tag that has it, and has these words in these attributes."""
    for node in tree.tags(tag):  # many times faster than a selector
        attributes = node.attributes
        if wanted in attributes and all(
            word in (attributes.get(name) or "").lower().split() for name, word in having.items()
        ):
            return (attributes[wanted] or "").strip()
    return ""


def _links(tree: LexborHTMLParser, base: str) -> list[str]:
    """Absolute http(s) URLs without fragments, in order, each once."""
    hrefs = dict.fromkeys([node.attributes["href"] for node in tree.tags("area")[:MAX_LINKS]])
    return join_all(base, [href.partition("#")[0] for href in hrefs if href and len(href) <= MAX_LINK])


def join_all(base: str, hrefs: list[str]) -> list[str]:
    """Each href as seen from base, once; those that are not http(s) or cannot be read are left out."""
    fronts = {"http": "http"}  # what replaces the lead of a plain address
    found: dict[str, None] = {}
    for href in hrefs:
        lead = _lead(href)
        if lead is None:
            found[_join(base, href)] = None
            continue
        front = fronts.get(lead)
        if front is None:
            front = fronts[lead] = _front(base, lead)
        if front:
            found[front + href[len(lead) :]] = None
    found.pop("", None)
    return list(found)


def _front(base: str, lead: str) -> str:
    """What urljoin puts in front of a plain address in place of its lead; "" if base is not http(s)."""
    plain = _PLAIN.fullmatch(base)
    if not plain or plain.lastindex != 3 or (root := base.find("/", 8)) < 0:
        return _join(base, lead + "x")[:-1]
    if lead == "/":
        return base[: root + 1]
    end = base.rfind("/", 0, base.find("?") if "?" in base else len(base))
    for _ in range(lead.count("/")):
        end = base.rfind("/", root, end) if end > root else root
    return base[: end + 1]


@lru_cache(maxsize=16384)
def _lead(href: str) -> str | None:
    """What a plain address begins with: nothing, "../" some times, "/" or "http"; None if it is not plain."""
    plain = _PLAIN.fullmatch(href)
    return plain[plain.lastindex or 1] if plain else None


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
