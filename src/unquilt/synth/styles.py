"""Page templates: eight looks, and for each host or family an own mixture of wrappers, scripts and rules.

What distinguishes two templates is what is left of them without letters and digits, so each key gets its
own nesting, separators, statements and quoting.
"""

from __future__ import annotations

import functools
import random
import re
from dataclasses import dataclass

_LOOKS = ("tables", "divs", "blog", "shop", "xhtml", "wiki", "html5", "plain")
_DOCTYPES = {
    "tables": '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n',
    "divs": '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n',
    "xhtml": '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">\n',
    "plain": "",
}
_WRAPPERS = {
    "tables": ("table border=0 width=100%><tr><td", "table><tr><td valign=top", "center", "font face=arial"),
    "plain": ("div", "blockquote", "center"),
    "html5": ('section class="w"', "main", 'div class="a b"', "article"),
}
_NAVS = (
    ("<ul>\n", "<li>", "</li>\n", "</ul>\n"),
    ("<p>", "", " | ", "</p>\n"),
    ("<table><tr>", "<td>", "</td>", "</tr></table>\n"),
    ("<div>[", "", "] [", "]</div>\n"),
    ("<ol>", "<li><b>", "</b>", "</ol>\n"),
    ("<div>\n", "  <span>", "</span> &middot;\n", "</div>\n"),
    ("<dl>", "<dt>", "</dt>\n<dd></dd>", "</dl>"),
)
_PARAGRAPHS = (
    ("<p>", "</p>\n"),
    ("<p>", "</p>\n\n"),
    ('<p class="t">', "</p>\n"),
    ("<div>", "</div>\n"),
    ("", "<br><br>\n"),
    ('<p align="justify">', "</p>"),
    ("<tr><td>", "</td></tr>\n"),
    ("<p>\n  ", "\n</p>\n"),
)
_STATEMENTS = (
    "var {a}={n};",
    "document.write('<img src=\"/{a}.gif\">');",
    "if({a}.{b}){{{a}({n},{m});}}",
    "for(var i=0;i<{n};i++){{{a}[i]={b}-i;}}",
    "function {a}({b},c){{return {b}*c+{n};}}",
    "{a}=['{b}','{n}'];",
    "window.{a}=window.{a}||{{}};",
    "{a}.{b}=function(){{try{{{b}()}}catch(e){{}}}};",
    "/* {a} {b} */",
    "// {a}: {n}/{m}",
    "({a}!={n})?{b}():{a}(-{m});",
    "setTimeout('{a}()',{n});",
    '{a}+="&{b}="+escape({a});',
    "var {b}=/^{a}[^;]*$/;",
)
_RULES = (
    ".{a}{{margin:{n}px}}",
    "#{a} .{b}{{color:#{n}{n}{n}}}",
    "#{a}, .{b} {{ padding: {n}px {m}px; }}",
    ".{a}>a:hover{{border:{n}px solid}}",
    "@import url('{a}.css');",
    "#{a}{{background:url({b}.gif) no-repeat -{n}px {m}%}}",
    "/* --- {a} --- */",
    ".{a} li\n{{\n\tfloat: left;\n}}",
    "* html .{a}{{width:{n}%!important}}",
)
_NAMES = (
    "nav menu header footer sidebar content main wrapper banner logo search login counter tracker "
    "popup slide image button panel box column widget archive comments gallery news print share form cart"
)
_METAS = {
    "generator": ("WordPress 2.7.1", "Joomla! 1.5", "Microsoft FrontPage 4.0", "Drupal 6", "MediaWiki 1.15"),
    "robots": ("index,follow", "all", "noarchive"),
    "author": ("webmaster", "admin", "Editorial Team"),
    "date": ("2003-11-20", "2007-05-11", "2009-02-01"),
}
_CASED = re.compile(r"</?[a-z][a-z0-9]*")
_QUOTED = re.compile(r'="(\w+)"')


@dataclass(frozen=True, slots=True)
class Style:
    """The pieces of a template, in the order they are written."""

    name: str
    begin: str  # to the charset
    before_title: str
    after_title: str
    nav: tuple[str, str, str, str]
    heading: tuple[str, str]
    main: tuple[str, str]
    paragraph: tuple[str, str]
    links: tuple[str, str, str, str]
    foot: tuple[str, str]
    stop: str  # an empty paragraph this template leaves behind now and then
    entities: str  # "", "named" or "numbered"


def _fill(rng: random.Random, patterns: tuple[str, ...], count: int, sep: str) -> str:
    names = rng.sample(_NAMES.split(), 6)
    names += [names[0] + names[1].title(), f"{names[2]}{rng.randrange(1, 30)}"]
    return sep.join(
        rng.choice(patterns).format(a=rng.choice(names), b=rng.choice(names), n=rng.randrange(9), m=rng.randrange(99))
        for _ in range(count)
    )


def _nest(rng: random.Random, look: str) -> tuple[str, str]:
    choices = _WRAPPERS.get(look, ('div id="m"', 'div class="x y"', "div", 'div style="clear:both;"'))
    picked = [rng.choice(choices) for _ in range(rng.randrange(1, 6))]
    indent = rng.choice(("", "\n", "\n  ", "\n\t"))
    closers = []
    for wrapper in reversed(picked):
        names = [part.split()[0] for part in wrapper.split("><")]
        closers.append("".join(f"</{name}>" for name in reversed(names)))
    return "".join(f"<{wrapper}>{indent}" for wrapper in picked), rng.choice(("", "\n")).join(closers) + "\n"


def _head(rng: random.Random, look: str, rich: int) -> tuple[str, str, str]:
    begin = (
        _DOCTYPES.get(look, "<!DOCTYPE html>\n")
        + '<html>\n<head>\n<meta http-equiv="Content-Type" content="text/html; charset='
    )
    metas = [f'<meta name="{name}" content="{rng.choice(values)}" />' for name, values in _METAS.items()]
    before = '">\n' + rng.choice(("", "\n", "  ")).join(rng.sample(metas, rng.randrange(0, 4))) + "<title>"
    statements = _fill(rng, _STATEMENTS, rng.randrange(6, 16) + rich, rng.choice(("", "\n")))
    script = f'<script type="text/javascript">\n{statements}\n</script>\n'
    selectors = _fill(rng, _RULES, rng.randrange(6, 18) + rich, rng.choice((" ", "\n")))
    rules = f'<style type="text/css">\n{selectors}\n</style>\n'
    linked = "".join(
        f'<link rel="stylesheet" href="/s/{rng.randrange(99)}.css"/>\n' for _ in range(rng.randrange(0, 3))
    )
    parts = [script, rules, linked]
    rng.shuffle(parts)
    return (
        begin,
        before,
        "</title>\n" + "".join(parts) + "</head>\n<body" + rng.choice(("", ' bgcolor="white"', ' class="b"')) + ">\n",
    )


def _dress(rng: random.Random, look: str, piece: str) -> str:
    if look == "tables" and piece:
        piece = _CASED.sub(lambda found: found.group().upper(), piece)
    if look in ("tables", "plain"):
        piece = _QUOTED.sub(r"=\1", piece)
    elif look == "shop":
        piece = _QUOTED.sub(r"='\1'", piece)
    return piece


@functools.lru_cache(maxsize=6000)
def make_style(key: int, rich: bool = False, paragraph: int | None = None) -> Style:
    """The template of a key. ``rich`` ones carry so much of their own that no other comes near."""
    rng = random.Random(key)
    look = rng.choice(_LOOKS)
    begin, before, after = _head(rng, look, 14 if rich else 0)
    opened, closed = _nest(rng, look)
    comment = "".join(
        f"<!-- {_fill(rng, ('{a}', '{a}: {b}', '{n}#{a}', '== {a}'), 3, ' ')} -->\n" for _ in range(rng.randrange(0, 4))
    )
    side_open, side_close = _nest(rng, look)
    drawn = rng.randrange(len(_PARAGRAPHS))
    chosen = _PARAGRAPHS[drawn if paragraph is None else paragraph]
    main = (f"{opened}{comment}", closed)
    if chosen[0].startswith("<tr"):
        main = (main[0] + "<table>", "</table>" + main[1])
    level = rng.choice("123")
    counter = f'<img src="/c{rng.randrange(999)}.gif" width="1" height="1" alt="">'
    stop = rng.choice(("<p></p>", "<p>&nbsp;</p>")) if chosen[0].startswith("<p") and rng.random() < 0.3 else ""

    def dress(piece: str) -> str:
        return _dress(rng, look, piece)

    def dress_all(pieces: tuple[str, str, str, str]) -> tuple[str, str, str, str]:
        a, b, c, d = pieces
        return dress(a), dress(b), dress(c), dress(d)

    return Style(
        name=f"{look}-{key & 0xFFFFFFFF:08x}",
        begin=begin,
        before_title=before,
        after_title=after,
        nav=dress_all(rng.choice(_NAVS)),
        heading=(dress(f"<h{level}>"), dress(f"</h{level}>\n")),
        main=(dress(main[0]), dress(main[1])),
        paragraph=(dress(chosen[0]), dress(chosen[1])) if paragraph is None else chosen,
        links=dress_all((side_open + "<ul>\n", "<li>", "</li>\n", "</ul>\n" + side_close)),
        foot=(dress(f"<hr>\n{counter}<div>"), dress("</div>\n") + comment + "</body>\n</html>\n"),
        stop=stop,
        entities=rng.choice(("", "", "", "named", "numbered")),
    )
