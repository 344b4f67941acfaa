"""One page at a time: its bytes and what is true about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from unquilt.synth.chance import Stream, mix
from unquilt.synth.hosts import Host
from unquilt.synth.markup import Content, Link, remark, render
from unquilt.synth.plan import KIND_NAMES, Kind, Plan
from unquilt.synth.plants import Quilt, Writer
from unquilt.synth.styles import Style, make_style
from unquilt.synth.text import circle_shingles, resemblance, words_of
from unquilt.synth.truth import Rows
from unquilt.synth.warc import HALF

_ROBOTS = (
    "User-agent: *\nDisallow: /\n",
    "User-agent: *\nDisallow:\n",
    "User-agent: *\nDisallow: /cgi-bin/\nDisallow: /tmp/\n",
    "# robots.txt\nUser-agent: *\nDisallow: /admin/\nCrawl-delay: 10\n",
)
FARM_WORDS = 120  # a link farm is more links than text
_COPIES = (Kind.VARIANT, Kind.QUILT, Kind.QUILT_SAME_SITE, Kind.SPAM, Kind.MIRROR_COPY, Kind.WIKI_COPY)


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the crawler got it."""

    url: str
    host: Host
    media_type: str
    body: bytes
    second: int


@dataclass(slots=True)
class Draft:
    """A page before it is written out."""

    content: Content
    salt: int
    links: list[Link] | None = None
    changed: bool = False
    quilt: Quilt | None = None
    resemblance: float | None = None


class Pages:
    """The pages of a plan, each made when asked for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.seed = plan.params.seed
        self.writer = Writer(plan)

    def make(self, page: int, rows: Rows) -> Page:
        """The page; what is true about it is added to ``rows``."""
        plan, writer = self.plan, self.writer
        number, at = writer.place(page)
        host, kind = writer.hosts.get(number), int(plan.kind[page])
        url = f"http://{host.name}{writer.hosts.path(number, at)}"
        draw = mix(self.seed, page, 13)
        second = draw % HALF + (HALF if kind in _COPIES else 0)
        if kind == Kind.ROBOTS:
            rows.page(url, host, host.language, KIND_NAMES[kind], "", None)
            return Page(url, host, "text/plain", _ROBOTS[draw % 4].encode(), second)
        draft = self._draft(page, kind)
        content = draft.content
        style = self._style(page, number, kind, draft)
        charset = host.charset if content.language == host.language else "utf-8"
        links = draft.links if draft.links is not None else ([] if content.bare else writer.links(draft.salt, number))
        html, shared = render(content, host, style, links, charset, mix(self.seed, draft.salt))
        if draft.changed:
            html = remark(html, draw >> 8)
        origin = None if content.origin is None else writer.hosts.url(content.origin)
        rows.page(url, host, content.language, self._kind_name(kind, at), style.name, origin)
        self._truth(page, kind, at, url, draft, shared, rows)
        return Page(url, host, f"text/html; charset={charset}", html.encode(charset, "xmlcharrefreplace"), second)

    def _kind_name(self, kind: int, at: int) -> str:
        if kind == Kind.TRAP and not at:
            return KIND_NAMES[Kind.ORDINARY]
        if kind in (Kind.WIKI, Kind.WIKI_COPY) and not self._is_copied(at):
            return KIND_NAMES[Kind.ORDINARY]
        return KIND_NAMES[kind]

    def _is_copied(self, at: int) -> bool:
        return self.plan.wiki is not None and 0 < at <= self.plan.wiki[1]

    def _draft(self, page: int, kind: int) -> Draft:
        writer = self.writer
        if kind == Kind.MIRROR_COPY:
            content, salt, changed = writer.mirror_copy(page)
            return Draft(content, salt, changed=changed)
        if kind == Kind.VARIANT:
            content = writer.variant(page)
            original = writer.class_original(int(self.plan.detail[page]))
            alike = resemblance(
                circle_shingles(words_of(content.paragraphs)), circle_shingles(words_of(original.paragraphs))
            )
            return Draft(content, page, resemblance=alike)
        if kind == Kind.ORIGINAL:
            return Draft(writer.class_original(int(self.plan.detail[page])), page, resemblance=1.0)
        if kind in (Kind.QUILT, Kind.QUILT_SAME_SITE):
            content, quilt = writer.quilt(page)
            return Draft(content, page, quilt=quilt)
        if kind == Kind.FARM:
            return Draft(writer.own(page, FARM_WORDS), page, links=writer.farm_links(page))
        makers = {
            Kind.SPAM: writer.spam,
            Kind.CARRIER: writer.carrier,
            Kind.VIRAL: writer.viral,
            Kind.WIKI: writer.wiki,
            Kind.WIKI_COPY: writer.wiki,
        }
        return Draft(makers.get(kind, writer.own)(page), page)

    def _style(self, page: int, number: int, kind: int, draft: Draft) -> Style:
        table = self.plan.hosts
        key = number
        if kind in (Kind.FAMILY, Kind.FARM):
            return make_style(mix(self.seed, Stream.STYLE, 1, table.unit[number]), rich=True)
        if kind in (Kind.MIRROR, Kind.MIRROR_COPY):
            what = self.plan.mirror_units[table.unit[number]][2]
            if what == "same-cms":
                return make_style(mix(self.seed, Stream.STYLE, 2))
            if kind == Kind.MIRROR_COPY and what in ("1", "2", "3", "4", "renamed"):
                key = number - 1
        return make_style(mix(self.seed, Stream.STYLE, 3, key), paragraph=0 if draft.content.copied else None)

    def _truth(self, page: int, kind: int, at: int, url: str, draft: Draft, shared: list[str], rows: Rows) -> None:
        copied = draft.content.copied
        for place, chunk in enumerate(shared):
            rows.chunk(hashlib.sha1(chunk.encode()).hexdigest(), url, "copied" if place < copied else "stop")
        if draft.resemblance is not None:
            rows.near_duplicate(int(self.plan.detail[page]), url, draft.resemblance)
        if draft.quilt is not None:
            sources = [
                {"url": self.writer.hosts.url(donor), "sentences": count, "foreign": foreign}
                for donor, count, foreign in draft.quilt.sources
            ]
            fraction = self.writer.patch_fraction(draft.content, page, draft.quilt)
            all_foreign = all(source["foreign"] for source in sources)
            rows.quilt(url, sources, all_foreign, draft.quilt.attributed, fraction)
        if kind in (Kind.FAMILY, Kind.FARM):
            family = self.plan.hosts.unit[int(self.plan.host_of[page])]
            rows.template(family, url, "link-farm" if kind == Kind.FARM else "template")
        if kind == Kind.TRAP and at:
            rows.trap(url)
