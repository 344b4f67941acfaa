"""Reuse by counting, from raw bytes: no numpy, no exchanges, no tree."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha1
from urllib.parse import urlsplit

BLOCKS = (
    "address|article|aside|blockquote|body|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    "frameset|h1|h2|h3|h4|h5|h6|head|header|hgroup|hr|html|li|main|menu|nav|noscript|ol|p|pre|script|search|section|style|"
    "summary|table|tbody|td|tfoot|th|thead|tr|ul"
)


@dataclass(frozen=True)
class Page:
    url: str
    domain: str
    body: bytes
    is_html: bool = True


def cut(body: bytes, cutter: str = "p", *, is_html: bool = True) -> list[bytes]:
    """The chunks of a page."""
    if cutter == "line":
        return re.findall(rb"[^\n]*\n|[^\n]+", body)
    if not is_html:
        return [body]
    names = b"p" if cutter == "p" else BLOCKS.encode()
    return [chunk for chunk in re.split(rb"(?i)(?=<(?:%s)[ \t\n\r/>])" % names, body) if chunk]


def normalized(chunk: bytes) -> bytes:
    return re.sub(rb"[ \t\n\r\x0b\x0c]+", b" ", chunk).strip(b" ").lower()


def is_loop(url: str, max_components: int, max_repeats: int) -> bool:
    parts = [part for part in urlsplit(url).path.split("/") if part]
    if len(parts) > max_components:
        return True
    for begin in range(len(parts)):
        for length in range(1, len(parts)):
            run = parts[begin : begin + length]
            times = 1
            while len(run) == length and parts[begin + times * length : begin + (times + 1) * length] == run:
                times += 1
            if times > max_repeats:
                return True
    return False


def prefixes(url: str) -> list[str]:
    found = urlsplit(url)
    folder = found.path[: found.path.rfind("/") + 1] or "/"
    host = found.hostname or ""
    return [host + folder[: at + 1] for at, letter in enumerate(folder) if letter == "/"]


class SlowReuse:
    """Everything about some pages, for a labelled set by threshold or as given."""

    def __init__(self, pages: Iterable[Page], stops: Iterable[bytes], *, cutter: str = "p", min_bytes: int = 0) -> None:
        self.pages = list(pages)
        self.stops = set(stops)
        self.chunks = {
            page.url: [
                sha1(chunk).digest()
                for chunk in cut(page.body, cutter, is_html=page.is_html)
                if len(chunk) >= min_bytes
            ]
            for page in self.pages
        }
        self.counts = Counter(digest for some in self.chunks.values() for digest in some)
        self.domains: dict[bytes, set[str]] = defaultdict(set)
        for page in self.pages:
            for digest in self.chunks[page.url]:
                self.domains[digest].add(page.domain)

    def labelled(self, threshold: int) -> set[bytes]:
        return {digest for digest, count in self.counts.items() if count > threshold} - self.stops

    def contains(self, labelled: set[bytes]) -> dict[str, tuple[int, int, int]]:
        """Chunks, stop chunks and labelled chunks of each page."""
        return {
            url: (len(some), sum(one in self.stops for one in some), sum(one in labelled for one in some))
            for url, some in self.chunks.items()
        }

    def neighborhoods(self, labelled: set[bytes]) -> dict[str, tuple[int, int, int]]:
        """Files, chunks and labelled chunks of each neighborhood, without stop chunks."""
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for url, (chunks, stop, hits) in self.contains(labelled).items():
            for prefix in prefixes(url) if chunks else []:
                sums[prefix][0] += chunks > stop
                sums[prefix][1] += chunks - stop
                sums[prefix][2] += hits
        return {prefix: (a, b, c) for prefix, (a, b, c) in sums.items()}


def mean_plus_deviation(shares: list[float]) -> float:
    return statistics.fmean(shares) + statistics.pstdev(shares)
