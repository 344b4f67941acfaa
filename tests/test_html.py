"""What is read of a page: known answers, bases and addresses, and pages made to be slow."""

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unquilt.ingest.html import MAX_LINKS, MAX_TITLE, Parsed, fold_text, parse_html, place_links

URL = "http://h.example/a/b/c.html"


def parse(html: str, url: str = URL) -> Parsed:
    return parse_html(html.encode(), url)


def links(*hrefs: str, url: str = URL) -> list[str]:
    return list(parse("".join(f'<a href="{href}">x</a>' for href in hrefs), url).links)


def test_a_whole_page() -> None:
    html = """<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>One &amp;
      two</title><meta name=Generator content="Hand 1.0"><link rel="stylesheet canonical" href="/c">
      <style>p { color: red }</style><script>if (a < b) document.write("<p>no</p>")</script></head>
      <body class="x"><h1>Head</h1><p>A <b>b</b>old <a href="d.html#part">link</a>.<!-- no -->
      <p>More</body></html>"""
    parsed = parse(html)
    assert parsed.text == b"Head\nA bold link.\nMore"
    assert parsed.title == "One & two"
    assert list(parsed.links) == ["http://h.example/a/b/d.html"]
    assert parsed.canonical == "http://h.example/c"
    assert parsed.generator == "Hand 1.0"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<td>one</td><td>two</td>", "one\ntwo"),
        ("<table><tr><td>one<td>two<tr><td>three</table>four", "one\ntwo\nthree\nfour"),
        ("<table>lost<tr><td>found</table>", "lost\nfound"),
        ("<ul><li>one<li>two</ul>", "one\ntwo"),
        ("<p>one<p>two", "one\ntwo"),
        ("<div>one</div>two<div>three</div>", "one\ntwo\nthree"),
        ("one<br>two<br/>three<hr>four", "one\ntwo\nthree\nfour"),
        ("cr<b>oss</b>ed <i>w</i>ord<span>s</span>", "crossed words"),
        (
            "H<sub>2</sub>O <a href=x>li</a>nk <FONT COLOR=red>f</FONT>ont <x-y>c</x-y>ustom",
            "H2O link font custom",
        ),
        ("one<!-- two -->three<!-->four<!--->five<!-- --!>six", "onethreefourfivesix"),
        ("a <pre>  b\n\n  c</pre> d", "a\nb\nc\nd"),
        ("a &nbsp;\u00a0 b&#10;c", "a b\nc"),
        ("&lt;p&gt; &amp;amp; &eacute;&#233;&#xe9; &copy &notit; &#x1F600;", "<p> &amp; ééé © ¬it; 😀"),
        ("a < b, 3 > 2, <3, x<y", "a < b, 3 > 2, <3, x"),
        ("&l<b>t;</b> <<i>p> &am<!-- -->p;", "&lt; <p> &amp;"),
        ("a<script>b</script>c<style>d</style>e", "a\nc\ne"),
        ("a<script><!--<script>b</script>c--></script>d", "a\nd"),
        ("a<script>never closed", "a"),
        ("a<template>b<template>c</template>d</template>e", "a\ne"),
        ("a<noscript><p>b</p></noscript>c<iframe>d</iframe>e<noembed>f</noembed>g", "a\nc\ne\ng"),
        ("<textarea>a <b> &amp;</textarea><xmp>c <d> &amp;</xmp>", "a <b> &\nc <d> &amp;"),
        ("a<plaintext>b</plaintext><p>c", "a\nb</plaintext><p>c"),
        ("<svg><title>no</title><style/><text>yes</text></svg>", "yes"),
        ("<svg><![CDATA[a < b]]></svg><math><mi>x</mi><mo>=</mo></math><![CDATA[no]]>", "a < b\nx="),
        ("<select><option>one<option>two</select>", "one\ntwo"),
        ("<img alt='no' title='>'>yes<input value=no>", "yes"),
        ("<p title='a>b' class=\"c>d\" x=e>f", "f"),
        ("a<?xml version='1'?>b</>c</ no>d<!doctype html>e", "abcde"),
        ("a<div class='never closed>b</div>", "a"),
        ("<html><head>lost</head><body>found</body></html>after", "lost\nfound\nafter"),
        ("漢字<b>仮名</b><p>العربية", "漢字仮名\nالعربية"),
        ("\ufeffa", "a"),
    ],
)
def test_visible_text(html: str, text: str) -> None:
    assert parse(html).text.decode() == text


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("<title>a</title>b", "a", "b"),
        ("<title>\n a \t b </title>", "a b", ""),
        ("<TITLE>a</TITLE><title>b</title>c", "a", "c"),
        ("a<title>b</title>c", "b", "a\nc"),
        ("<title>a</script><b>c</title>d", "a</script><b>c", "d"),
        ("<svg><title>a</title></svg><title>b</title>", "b", ""),
        ("<!-- <title>a</title> --><script>'<title>b</title>'</script>c", "", "c"),
        ("<title>never closed <p>a", "never closed <p>a", ""),
        ("<title></title>a", "", "a"),
        (f"<title>{'x' * 2000}</title>", "x" * MAX_TITLE, ""),
    ],
)
def test_title(html: str, title: str, text: str) -> None:
    parsed = parse(html)
    assert (parsed.title, parsed.text.decode()) == (title, text)


@pytest.mark.parametrize(
    ("href", "link"),
    [
        ("d.html", "http://h.example/a/b/d.html"),
        ("d/e.html?f=g&amp;h=i", "http://h.example/a/b/d/e.html?f=g&h=i"),
        ("d?x=1&copy=2", "http://h.example/a/b/d?x=1&copy=2"),
        ("../d", "http://h.example/a/d"),
        ("../../../../d", "http://h.example/d"),
        ("./d/../e/.", "http://h.example/a/b/e/"),
        ("/d", "http://h.example/d"),
        ("/", "http://h.example/"),
        ("?q", "http://h.example/a/b/c.html?q"),
        ("d#part", "http://h.example/a/b/d"),
        ("d&#35;part", "http://h.example/a/b/d"),
        ("//i.example/d", "http://i.example/d"),
        ("https://i.example", "https://i.example"),
        ("HTTPS://i.example/D", "HTTPS://i.example/D"),
        ("http://i.example:8080/d;e?f", "http://i.example:8080/d;e?f"),
        ("http://bücher.example/ä", "http://bücher.example/ä"),
        ("  d.html\n", "http://h.example/a/b/d.html"),
        ("d\n/e\t.html", "http://h.example/a/b/d/e.html"),
        ("d%20e%2Ff", "http://h.example/a/b/d%20e%2Ff"),
    ],
)
def test_a_link_is_absolute(href: str, link: str) -> None:
    assert links(href) == [link]


NO_LINKS = """
    # #part mailto:a@b.example javascript:void(0) data:text/html,x tel:1 x:y ftp://h.example/ http://[bad/
"""


@pytest.mark.parametrize("href", ["", " ", " #part", "https:///d", "d" * 3000, *NO_LINKS.split()])
def test_what_is_not_an_address_of_another_page_is_no_link(href: str) -> None:
    assert links(href) == []


def test_links_are_in_order_and_once() -> None:
    assert links("b", "a#1", "b#2", "./a", "c", "a") == [urljoin(URL, name) for name in "bac"]
    many = [f"p{i % 3000}" for i in range(9000)]
    assert links(*many) == [urljoin(URL, name) for name in dict.fromkeys(many)]


def test_links_are_in_the_order_of_the_source_even_out_of_place() -> None:
    html = "<table><tr><td><a href=a>x</a></td></tr><a href=b>moved out by a parser</a></table><a href=c>y</a>"
    assert list(parse(html).links) == [urljoin(URL, name) for name in "abc"]


def test_links_of_image_maps_and_without_quotes() -> None:
    html = "<map><area href=a></map><A name=x HREF = 'b' href=no>x</a><a href=c/>y</a><a>z</a><link href=no>"
    assert list(parse(html).links) == [urljoin(URL, name) for name in ("a", "b", "c/")]


def test_links_nobody_can_follow_are_left_out() -> None:
    html = "<!--<a href=a>--><script>'<a href=b>'</script><template><a href=c></template><title><a href=d>"
    parsed = parse(html + "</title><a href=c>x</a><textarea><a href=e></textarea>")
    assert list(parsed.links) == [urljoin(URL, "c")]


def test_a_page_without_an_address_of_its_own_has_only_absolute_links() -> None:
    assert links("a", "../b", "/c", "http://h.example/d", url="file:///tmp/x") == ["http://h.example/d"]


def test_more_links_than_any_page_needs_are_cut() -> None:
    assert len(links(*map(str, range(MAX_LINKS + 10)))) == MAX_LINKS


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ("<base href='/x/y'>", "http://h.example/x/d"),
        ("<base href='https://i.example/'>", "https://i.example/d"),
        ("<BASE target=_top><base href=' ../ '><base href=/no/>", "http://h.example/a/d"),
        ("<base href='mailto:x'>", "http://h.example/a/b/d"),
        ("<base href=''>", "http://h.example/a/b/d"),
        ("<!--<base href=/no/>-->", "http://h.example/a/b/d"),
    ],
)
def test_base(base: str, link: str) -> None:
    parsed = parse(f"{base}<link rel=canonical href=d><a href=d>x</a>")
    assert (list(parsed.links), parsed.canonical) == ([link], link)


@pytest.mark.parametrize(
    ("html", "canonical", "generator"),
    [
        ("<link rel=Canonical href=d><meta name=generator content=' G 1 '>", "http://h.example/a/b/d", "G 1"),
        ("<link href='//i.example/?q#f' rel='x CANONICAL'>", "http://i.example/?q", None),
        ("<link rel='canonical'><link rel=canonicals href=d>", None, None),
        (
            "<link rel='can&#111;nical' href=d><meta name=gener&#97;tor content=G>",
            "http://h.example/a/b/d",
            "G",
        ),
        ("<link rel=canonical href='javascript:x'><meta name=generator>", None, None),
        ("<link rel=stylesheet href=canonical.css><meta name=x content=generator>", None, None),
        ("<p>a<link rel=canonical href=d>", "http://h.example/a/b/d", None),
        (f"<meta name=generator content='{'x' * 2000}'>", None, "x" * MAX_TITLE),
    ],
)
def test_canonical_and_generator(html: str, canonical: str | None, generator: str | None) -> None:
    parsed = parse(html)
    assert (parsed.canonical, parsed.generator) == (canonical, generator)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (b"a\xff\xfeb \xc3", "a��b �"),
        (b"&#xD800;&#xDFFF;&#x110000;&#0;", "����"),
        (b"a\0b<\0c>", "ab<c>"),
        (b"<p\0>a</p\0>b", "ab"),
        ("\ud800".encode("utf-8", "surrogatepass"), "���"),
    ],
)
def test_bytes_that_are_no_text_are_survived(html: bytes, text: str) -> None:
    assert parse_html(html, URL).text.decode() == text
    parse_html(b"<a href='" + html + b"'><title>" + html, URL)


def test_folded_text_has_no_lone_surrogates() -> None:
    assert fold_text(" a\ud800 \n b ") == b"a?\nb"


N, MB = 100_000, 1 << 20
DEEP = "div ul blockquote p li b font a nobr x-y table td svg math select button form template"
SLOW_PAGES = {
    **{f"{N} nested <{name}>": f"<{name}>".encode() * N + b"x" + f"</{name}>".encode() * N for name in DEEP.split()},
    "tables in cells": b"<table><tr><td>" * N + b"x" + b"</table>" * N,
    "text lost in deep tables": b"<table><td>" * N + b"<table>" + b"x<tr>" * N,
    "unclosed inline, other ends": b"<x>" * N + b"</y>" * N,
    "links": b"".join(b"<a href=%d>" % i for i in range(N)),
    "attributes": b"<div " + b"".join(b"a%d=1 " % i for i in range(1_000_000)) + b">x",
    "attributes that are kept": b"<meta name=generator " + b"".join(b"a%d=1 " % i for i in range(N)) + b">x",
    "many tags that are kept": b"<meta name=generator content=x><base href=x>" * N,
    "text without spaces": b"x" * (16 * MB),
    "<": b"<" * (4 * MB),
    "</": b"</" * (4 * MB),
    "&": b"&" * (4 * MB),
    "NUL": b"\0" * (4 * MB),
    "a comment never closed": b"<!--" + b"-" * (16 * MB),
    "comments never closed": b"<!--" * (2 * MB),
    "a script never closed": b"<script>" + b"<!--<script </scrip " * MB,
    "an attribute never closed": b"<a href='" * MB,
    "references cut by tags": b"&" + b"a<b>" * MB,
    "a long title": b"<title>" + b"x " * (4 * MB),
}


@pytest.mark.parametrize("name", SLOW_PAGES)
def test_a_page_that_takes_a_plain_parser_minutes_is_read(name: str) -> None:
    """Each of these is quadratic for a parser that builds all of the tree; here one would never end."""
    parsed = parse_html(SLOW_PAGES[name], URL)
    assert len(parsed.text.decode()) <= len(SLOW_PAGES[name])


def test_what_deep_nesting_holds_is_read() -> None:
    for name in ("div", "ul", "b", "table", "font"):
        html = f"<{name}>a" * 3000 + "<a href=d>b</a>" + f"</{name}>" * 3000 + "c"
        parsed = parse(html)
        assert len(b"".join(parsed.text.split())) == 3002
        assert list(parsed.links) == [urljoin(URL, "d")]


def test_links_have_their_place_in_the_text() -> None:
    html = (
        b"<title>T</title><base href='http://b.example/x/'><p>one <a href='a.html'>two</a> th<a href='/b'>ree</a>"
        b"<script>var s = '<a href=no>'</script><p title='a > b'>four <!-- <a href=no> -->"
        b"<a class='<' href='http://c.example/?q=1&amp;r=2#f'>five</a>"
    )
    text = parse_html(html, "http://a.example/").text.decode()
    letters = "".join(text.split())
    found = [(link, letters[before:][:3]) for link, before in place_links(html, "http://a.example/")]
    assert found[:2] == [("http://b.example/x/a.html", "two"), ("http://b.example/b", "ree")]
    assert [link for link, _ in found[2:]] in ([], ["http://c.example/?q=1&r=2"])


@given(st.text("<a href=x>\ue000\ue001 b</", max_size=60))
def test_placing_links_survives_anything(text: str) -> None:
    html = text.encode()
    letters = "".join(parse_html(html, "http://a.example/").text.decode().split())
    assert all(0 <= before <= len(letters) for _, before in place_links(html, "http://a.example/"))
