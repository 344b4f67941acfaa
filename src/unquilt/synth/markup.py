"""From the words of a page to its HTML."""

from __future__ import annotations

from dataclasses import dataclass, field

from unquilt.synth.chance import mix
from unquilt.synth.hosts import Host
from unquilt.synth.styles import Style
from unquilt.synth.words import language

_NAMED = {
    "ä": "&auml;", "ö": "&ouml;", "ü": "&uuml;", "ß": "&szlig;",
    "á": "&aacute;", "é": "&eacute;", "í": "&iacute;", "ó": "&oacute;", "ñ": "&ntilde;",
}  # fmt: skip
_INLINE = (
    ("<b>", "</b>"),
    ("<em>", "</em>"),
    ("<i>", "</i>"),
    ('<font color="red">', "</font>"),
    ("<span>", "</span>"),
)


@dataclass(slots=True)
class Content:
    """What a page says."""

    language: str
    title: str
    paragraphs: list[str]
    bare: bool = False  # no menu, heading, links and footer, as in a print version
    copied: int = 0  # the first so many paragraphs are written byte for byte as everywhere else
    credits: list[str] = field(default_factory=list)  # for each paragraph the page it credits
    origin: int | None = None  # the page this one copies


@dataclass(frozen=True, slots=True)
class Link:
    target: str
    text: str


def anchor_text(code: str, draw: int) -> str:
    """Two or three words for a link."""
    known = language(code)
    first, second = known.capital[draw % 3400], known.plain[(draw >> 16) % 3400]
    return f"{first}{known.joiner}{second}"


def visible(content: Content, host: Host, links: list[Link]) -> list[str]:
    """The text of the body, piece by piece, as a reader meets it."""
    if content.bare:
        return content.paragraphs
    return [*host.nav, content.title, *content.paragraphs, *(link.text for link in links), host.footer]


def _emphasize(paragraph: str, draw: int) -> str:
    """The paragraph with a word of it, or now and then a part of a word, in inline markup."""
    begin = paragraph.find(" ", draw % len(paragraph)) + 1
    end = paragraph.find(" ", begin)
    if not begin or end < begin + 5:
        return paragraph
    end -= not paragraph[end - 1].isalnum()
    opened, closed = _INLINE[(draw >> 16) % len(_INLINE)]
    begin += 2 * (draw >> 24 & 7 == 0)
    return f"{paragraph[:begin]}{opened}{paragraph[begin:end]}{closed}{paragraph[end:]}"


def _credit(paragraph: str, url: str) -> str:
    """The paragraph with its last word linked."""
    at = paragraph.rfind(" ", 0, -2) + 1 or len(paragraph) - 2
    return f'{paragraph[:at]}<a href="{escape(url)}">{paragraph[at:]}</a>'


def escape(text: str) -> str:
    return text.replace("&", "&amp;") if "&" in text else text


def _entities(paragraph: str, style: Style, code: str) -> str:
    if not style.entities or code not in ("de", "es"):
        return paragraph
    if style.entities == "numbered":
        return paragraph.encode("ascii", "xmlcharrefreplace").decode("ascii")
    for letter, name in _NAMED.items():
        paragraph = paragraph.replace(letter, name)
    return paragraph


def _paragraphs(content: Content, style: Style, draw: int) -> list[str]:
    opened, closed = style.paragraph
    out = []
    count = len(content.paragraphs)
    emphasized = (draw % count, (draw >> 8) % count)
    stop_at = 1 + (draw >> 16) % 9 if style.stop else 0
    for at, paragraph in enumerate(content.paragraphs):
        if at < content.copied:
            out.append(f"<p>{paragraph}</p>\n")
            continue
        if content.credits:
            paragraph = _credit(paragraph, content.credits[at])
        elif at in emphasized:
            paragraph = _emphasize(paragraph, draw >> 20)
        paragraph = _entities(paragraph, style, content.language)
        if at == stop_at and at > content.copied and not content.bare:
            out.append(style.stop)
        out.append(f"{opened}{paragraph}{closed}" if not content.copied else f'<p class="own">{paragraph}</p>\n')
    return out


def render(
    content: Content, host: Host, style: Style, links: list[Link], charset: str, salt: int
) -> tuple[str, list[str]]:
    """The HTML of a page, and the raw chunks it shares by design: copied ones first, then empty ones."""
    draw = mix(salt, 5)
    written = _paragraphs(content, style, draw)
    title = escape(content.title)
    shared = written[: content.copied]
    shared += [piece for piece in written[content.copied :] if piece == style.stop and style.stop]
    body = "".join(written)
    top = f"{style.begin}{charset}{style.before_title}{title}{style.after_title}"
    if content.bare:
        return f"{top}{style.main[0]}{body}{style.main[1]}{style.foot[1]}", shared
    opened, before, after, closed = style.nav
    nav = "".join(
        f'{before}<a href="/{folder}/">{name}</a>{after}' for folder, name in zip(host.folders, host.nav, strict=False)
    )
    listed, item, end, unlisted = style.links
    side = "".join(f'{item}<a href="{escape(link.target)}">{link.text}</a>{end}' for link in links)
    return (
        f"{top}{opened}{nav}{closed}{style.heading[0]}{title}{style.heading[1]}{style.main[0]}{body}{style.main[1]}"
        f"{listed}{side}{unlisted}{style.foot[0]}{escape(host.footer)}{style.foot[1]}",
        shared,
    )


def remark(html: str, draw: int) -> str:
    """The same text in other clothes: comments, quotes and case of tags."""
    if draw & 1:
        html = html.replace("<li>", "<LI>").replace("</li>", "</LI>").replace("<a href=", '<A CLASS="m" HREF=')
    return html.replace("</head>", f"<!-- mirrored copy -->\n</head><!-- {draw % 9973} -->", 1)
