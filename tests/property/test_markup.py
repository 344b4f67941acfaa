"""Thin markup, against the whole source parsed and walked; folded space, against a regular expression."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from unquilt.kernels import markup, space

some = settings(deadline=None, max_examples=400)

UNSEEN = {"head", "title", *markup.ACTION_NAMES[markup.UNSEEN].split()}
BLOCK = set(markup.BLOCK_NAMES.split())

NAMES = """
    a area b i span font nobr x-y ruby p div li ul dd h1 pre br img hr input form button label object td tr th
    table tbody caption col colgroup body head html script style title textarea xmp noscript iframe noembed
    noframes template select option base link meta SCRIPT Td A
"""
# fmt: off
ATTRIBUTES = [
    "", " href=u1", ' href="u2#f"', " href='u3>'", ' class="a>b"', " x", " x=", " =", " /", "/", " href", '"',
    " HREF = v4", " href=w5/", ' href="&amp;6"', ' href="#q"', " title='\"'", ' x="', " href=a href=b",
    "'", "\thref=t7\n", " xhref=no", " href=a&#35;b",
]
TEXTS = [
    "aa", "b c", " ", "\n", "\r", "\f", "é", "𝒳", "\ufeff", "\0", "<", "</", "<3", "<!", "<?", "</>",
    "</ ", "&", "&l", "t;", "&am", "p;", "&#6", "5;", "&copy", ">", '"', "'", "=", "-", "--", "!", "/", "b>",
    "script>", "<!doctype x>", "<!--", "-->", "--!>", "<!-->", "<!--->", "<!--<script>", "<![CDATA[", "]]>",
]
# fmt: on
names, attributes, texts = map(st.sampled_from, (NAMES.split(), ATTRIBUTES, TEXTS))
pieces = st.one_of(
    texts,
    st.builds("<{}{}>".format, names, attributes),
    st.builds("<{}>".format, names),
    st.builds("</{}>".format, names),
    st.builds("</{}{}>".format, names, attributes),
)
soups = st.lists(pieces, max_size=16).map("".join)


def thin(html: bytes) -> tuple[bytes, int, list[bytes]]:
    source, has, links = markup.thin_markup(np.frombuffer(html, np.uint8))
    return source.tobytes(), has, [html[begin:end] for begin, end in links.tolist()]


def walk(root: LexborNode) -> tuple[str, list[str]]:
    """The text with a line feed around each block, and what links lead to, of a whole tree."""
    text, links = [], []
    waiting = [(root, True)]
    while waiting:
        node, begins = waiting.pop()
        if node.is_text_node:
            text.append(node.text_content or "")
        if not node.is_element_node:
            continue
        text.append("\n" if node.tag in BLOCK else "")
        if begins:
            if node.tag in ("a", "area"):
                links.append((node.attributes.get("href") or "").partition("#")[0])
            waiting.append((node, False))
            children = [] if node.tag in UNSEEN else list(node.iter(include_text=True))
            waiting += [(child, True) for child in reversed(children)]
    return "".join(text), [link for link in dict.fromkeys(links) if link]


def read(source: bytes) -> tuple[str, list[str], str]:
    tree = LexborHTMLParser(source, scripting=True)
    assert tree.root is not None
    title = tree.root.css_first("title")
    return (*walk(tree.root), title.text_lexbor() if title else "")


@settings(some, max_examples=1500)
@given(soups)
@example("<<b>p>x")
@example("&l<b>t;")
@example("&#6<!---->5;")
@example("<script><!--<script></script>--></script>x")
@example("<table>a<a href=u1>b<tr>c<td>d")
@example("<template><a href=u1>x</template><a href=u1>y")
@example("<plaintext>a<b>")
@example("")
def test_thin_source_parses_to_the_same_letters_links_and_title(html: str) -> None:
    text, links, title = read(html.encode())
    source, _, hrefs = thin(html.encode())
    thin_text, none, thin_title = read(source)
    assert "".join(thin_text.split()) == "".join(text.split())
    assert not none
    _, thin_links, _ = read(b"".join(b'<a href="%s">' % href.replace(b'"', b"&quot;") for href in hrefs))
    assert sorted(thin_links) == sorted(links)  # a parser moves misplaced ones out of tables
    assert thin_title == title


inline = st.sampled_from(["b", "i", "span", "font", "x-y", "code"])
block = st.sampled_from(["div", "section", "blockquote", "ul", "center", "fieldset"])
nested = st.recursive(
    st.sampled_from(["a", "bc", " ", "é", "&amp;", "&lt;", "<br>", "<img src=x>", "<!-- x -->", "<script>x</script>"]),
    lambda inner: st.builds(
        "<{0} class='x > y'>{1}</{0}>".format, st.one_of(inline, block), st.lists(inner).map("".join)
    ),
    max_leaves=20,
)


@some
@given(st.lists(nested).map("".join))
def test_well_formed_source_has_the_same_words(html: str) -> None:
    assert read(thin(html.encode())[0])[0].split() == read(html.encode())[0].split()


@some
@given(st.one_of(st.binary(max_size=60), st.text("<>/!-&;=\"' abstx\0", max_size=60).map(str.encode)))
def test_any_bytes_are_thinned_to_few_tags(html: bytes) -> None:
    source, _, _ = thin(html)
    assert len(source) <= 2 * len(html) + 16
    kept = {name for action, names in markup.ACTION_NAMES.items() for name in names.split()}
    assert {name.decode().lower() for name in re.findall(rb"</?([a-zA-Z]+)", source)} <= kept | {"svg"}


@pytest.mark.parametrize(
    ("html", "expected", "has", "links"),
    [
        (b"", b"", 0, []),
        (b"<div class=x>a</div>", b"\na\n", 0, []),
        (b"a<b>b</b>c<!-- d -->e", b"abce", 0, []),
        (b"<a href='u#f'>x</a><a href=u>y</a>", b"xy", 0, [b"u#f", b"u"]),
        (b"<a name=x>x</a><a href=''>y</a>", b"xy", 0, []),
        (b"<title>a</title><title>b</title>", b"\n<title>a</title>\n", markup.HAS_TITLE, []),
        (b"<meta charset=utf-8><META NAME=Generator>", b"\n<META NAME=Generator>", markup.HAS_META, []),
        (b"<base href=x>", b"<base href=x>", markup.HAS_BASE, []),
        (b"<svg><title>a</title><![CDATA[b<]]></svg>c", b"\n<svg><![CDATA[b<]]></svg>\nc", 0, []),
        (b"<svg><script/>a", b"\na", 0, []),
        (b"<svg><script x/>a", b"\na", 0, []),
        (b"<svg><script x='y'/>a", b"\na", 0, []),
        (b"<svg><script x=y/>a", b"\n", 0, []),
        (b"<svg><script / >a", b"\n", 0, []),
        (b"<svg><p><script/>a", b"\n", 0, []),
        (b"<div class='never closed", b"", 0, []),
    ],
)
def test_what_thin_source_looks_like(html: bytes, expected: bytes, has: int, links: list[bytes]) -> None:
    assert thin(html) == (expected, has, links)


@some
@given(st.text("abx/ \n='\"<>-", max_size=80))
@example(" =>x")
@example(" ='>x'>y")
@example(" a = = '>x'>y")
@example(" a/ ='>x'>y")
@example(" a\n=\n'>x'>y")
def test_a_tag_ends_where_it_ends_with_its_attributes_read(attributes: str) -> None:
    """The one is found by its equals signs alone, and the other attribute by attribute."""
    html = b"<p" + attributes.encode()
    end, _ = markup._tag_end(np.frombuffer(html, np.uint8), 2)
    assert end == markup._read_href(np.frombuffer(html, np.uint8), 2)[0]


def test_tables_nest_32_deep_and_no_deeper() -> None:
    source, _, _ = thin(b"<table><td>" * 40 + b"x" + b"</td></table>" * 40 + b"<table>")
    assert source.count(b"<table>") == 33
    assert source.count(b"</table>") == 32
    assert source.endswith(b"</table>\n<table>")


@some
@given(st.text(st.sampled_from("abcdefghijkl  \n\t\r\f\v\u00a0\u00c2é𝒳\0"), max_size=120))
@example("")
@example("\u00c2")
@example("a" * 31 + " " + "\n" + "b" * 31 + " " + "c" * 32)
def test_folded_space_is_one_space_or_line_feed(text: str) -> None:
    def gap(run: re.Match[str]) -> str:
        return "\n" if set(run[0]) & {"\n", "\r"} else " "

    expected = re.sub("[ \n\t\r\f\v\u00a0]+", gap, text).strip(" \n")
    folded = space.fold_space(np.frombuffer(text.encode(), np.uint8))
    assert folded.tobytes().decode() == expected


@some
@given(st.binary(max_size=100))
def test_any_bytes_can_be_folded(text: bytes) -> None:
    folded = space.fold_space(np.frombuffer(text, np.uint8)).tobytes()
    assert folded.translate(None, b" \n") == re.sub(rb"[ \n\t\r\f\v]|\xc2\xa0", b"", text)
