"""Links joined by kernels, against each attribute read by a parser and joined by the standard library."""

from html import escape
from urllib.parse import urljoin

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from unquilt.ingest.html import MAX_LINK, parse_html
from unquilt.kernels.links import HERE, HTTP, NO_PAGE, NOT_PLAIN, ROOT, join_links, sort_out_links

most = settings(deadline=None, max_examples=1500)

segments = st.sampled_from(["a", "b.c", "..", ".", "", "...", "%20", "é", "a b", "a;b", "a:b", "x=1", "@", "~", ".h"])
endings = st.sampled_from(["", "", "?", "?q", "?q=/../a;b:c", "?é", ";", ";p", "/", "#f", " #f", "?a&b=c", "&#", " "])
fronts = st.sampled_from(
    ["", "", "/", "//", "//i.example/", "http://i.example/", "https://j", "HTTP://k/", "http:", "?", "Mailto:", " "]
)
paths = st.lists(segments, max_size=5).map("/".join)
hrefs = st.one_of(st.builds("{}{}{}".format, fronts, paths, endings), st.text(max_size=8))
hosts = st.sampled_from(["http://h", "https://h:1/", "http://h/a/", "http://h/a;b/c/", "http://u@h/", "file:///"])
bases = st.builds("{}{}{}".format, hosts, paths, st.sampled_from(["", "", "?q", "?q/r", "#f/g", "/"]))


def joined(base: str, hrefs: list[str]) -> list[str]:
    """The slow answer: every href, its character references read, cut and joined on its own."""
    links = []
    for href in hrefs:
        href = href.partition("#")[0].strip(" \t\n\f\r")
        try:
            link = urljoin(base, href).partition("#")[0] if href and len(href) <= MAX_LINK else ""
        except ValueError:
            continue
        scheme, found, rest = link.partition("://")
        if scheme.lower() in ("http", "https") and found and rest and rest[0] not in "/?":
            links.append(link)
    return list(dict.fromkeys(links))


@most
@given(bases, st.lists(hrefs, max_size=6))
@example("http://h/a//b/./c", ["../d", "e/f", "/g", "http://h/../x", "a.", "a./b", "a..b"])
@example("http://h/", ["a?" + "b" * 2000 + "\\", "../" * 600 + "é", "a." * 1000])
@example("http://h/a/b/..", ["c", "../c", "../../c", "../../../c", "/a/c", "http://h/a/c"])
def test_links_are_what_urljoin_says(base: str, hrefs: list[str]) -> None:
    html = "".join(f'<a href="{escape(href)}">' for href in hrefs)
    read = [href.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd") for href in hrefs]
    assert list(parse_html(html.encode(), base).links) == joined(base, read)


# fmt: off
PIECES = [
    "a", "b", "x=1", "?", "/", ".", ";", "=", "#", "%", " ", "é", "1", "&", "&amp;", "&amp", "&amp;amp;", "&copy",
    "&copy;", "&copy=", "&lt", "&x", "&x=", "&#35;", "&#", "&#x2f", "&nosuch;", "&no", "t;", "&quot;", "'",
]
# fmt: on


@most
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=4))
@example(["a?b=1&copy=2&amp;c=3", "a?&amp;#35;", "&ampb=1", "a?b&amp;amp;c", "&copy", "a&b", "&1="])
def test_character_references_are_read_as_a_parser_reads_them(values: list[str]) -> None:
    html = "".join(f'<a href="{value}">' for value in values).encode()
    read = [node.attributes["href"] or "" for node in LexborHTMLParser(html).tags("a")]
    base = "http://h.example/a/b?c"
    assert list(parse_html(html, base).links) == joined(base, read)


def sorted_out(hrefs: list[bytes], max_links: int = 100) -> list[tuple[bytes, int]]:
    html = b"".join(hrefs)
    ends = np.cumsum([len(href) for href in hrefs]).astype(np.int64)
    begins = ends - [len(href) for href in hrefs]
    spans, leads, left = sort_out_links(np.frombuffer(html, np.uint8), np.stack([begins, ends], 1), 20, max_links)
    assert left == leads.tolist().count(NOT_PLAIN)
    return [(html[begin:end], lead) for (begin, end), lead in zip(spans.tolist(), leads.tolist(), strict=True)]


def test_what_addresses_begin_with() -> None:
    found = {
        b"a.html": HERE, b"../a": HERE + 1, b"../../a?b": HERE + 2, b"/": ROOT, b"/a/": ROOT,
        b"http://h": HTTP, b"https://h:1/a": HTTP, b"httpd": HERE, b"mailto:a@b": NO_PAGE, b"JAVASCRIPT:x": NO_PAGE,
        b"./a": NOT_PLAIN, b"a//b": NOT_PLAIN, b"?a": NOT_PLAIN, b"..": NOT_PLAIN, b"x:y": NOT_PLAIN, b"//h": NOT_PLAIN,
        b"a&lt;": NOT_PLAIN, b"a" * 21: NOT_PLAIN, b"http://h:/": NOT_PLAIN, b"http://": NOT_PLAIN,
    }  # fmt: skip
    assert dict(sorted_out(list(found))) == found


def test_addresses_are_sorted_out_once_without_space_and_fragment() -> None:
    assert sorted_out([b" a\n", b"a#b", b"#c", b"", b" ", b"c", b"a&amp;b#d", b"a"]) == [
        (b"a", HERE), (b"c", HERE), (b"a&amp;b", HERE),
    ]  # fmt: skip
    assert sorted_out([b"%d" % i for i in range(50)] * 2, 7) == [(b"%d" % i, HERE) for i in range(7)]


def test_no_links_join_to_none() -> None:
    nothing, none = np.empty(0, np.uint8), np.empty(0, np.int64)
    spans, leads, left = sort_out_links(nothing, np.empty((0, 2), np.int64), 20, 10)
    assert (len(spans), len(leads), left) == (0, 0, 0)
    utf8, sizes, is_fit = join_links(nothing, spans, leads, nothing, nothing, none)
    assert (len(utf8), len(sizes), is_fit) == (0, 0, True)
