"""What each page says: a pure function of the seed and the page's number."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from unquilt.synth.chance import Stream, generator, mix
from unquilt.synth.hosts import Hosts
from unquilt.synth.markup import Content, Link, anchor_text, visible
from unquilt.synth.plan import (
    CANDIDATES,
    CARRIED,
    SENTENCES_A_SPAM_PAGE,
    Kind,
    Plan,
    donors_on_host,
    hash_share,
)
from unquilt.synth.text import Text, change_words, changes_for, draw_text, grams, words_of
from unquilt.synth.words import LANGUAGES, language

TARGETS = (1.0, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True, slots=True)
class Quilt:
    """Where the sentences of a quilt come from."""

    sources: list[tuple[int, int, bool]]  # page, sentences, foreign
    attributed: bool


class Writer:
    """Writes what the pages of a plan say."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.seed = plan.params.seed
        self.hosts = Hosts(plan)
        self._donors_on_host = functools.lru_cache(maxsize=256)(lambda host: donors_on_host(plan, host))
        self._class_original = functools.lru_cache(maxsize=64)(self._make_class_original)
        self._text = functools.lru_cache(maxsize=32)(self._make_text)
        self._pool = functools.lru_cache(maxsize=4)(self._make_pool)

    def spoken(self, page: int) -> str:
        return LANGUAGES[self.plan.hosts.language[int(self.plan.host_of[page])]]

    def place(self, page: int) -> tuple[int, int]:
        """Host number, and place on the host."""
        host = int(self.plan.host_of[page])
        return host, page - self.plan.hosts.start[host]

    def text(self, page: int, words: int | None = None) -> Text:
        """The page's own text, which is on no other page unless it was copied from here."""
        return self._text(page, words)

    def _make_text(self, page: int, words: int | None) -> Text:
        return draw_text(mix(self.seed, Stream.TEXT, page), self.spoken(page), words)

    def title(self, page: int) -> str:
        known = language(self.spoken(page))
        draw = mix(self.seed, page, Stream.PAGE)
        picks = [
            known.capital[draw % 3400],
            *(known.plain[(draw >> 12 * at) % 3400] for at in range(1, 4 + draw % 2)),
        ]
        return known.joiner.join(picks)

    def own(self, page: int, words: int | None = None) -> Content:
        """A page with nothing copied on it."""
        return Content(self.spoken(page), self.title(page), self.text(page, words).paragraph_list())

    def links(self, page: int, on: int | None = None) -> list[Link]:
        """Links of a page: by path on its host, or the host it stands on; by address to a well-known page."""
        host, _ = self.place(page)
        host = host if on is None else on
        size = self.plan.hosts.size[host]
        code = self.spoken(page)
        draw = mix(self.seed, page, 7)
        out = []
        for step in range(2 + draw % 3):
            target = mix(draw, step)
            out.append(Link(self.hosts.path(host, target % size), anchor_text(code, target >> 20)))
        if draw >> 8 & 1:
            hub = (draw >> 10) % 400 * max(1, self.plan.params.pages // 400) % self.plan.params.pages
            out.append(Link(self.hosts.url(hub), anchor_text(code, draw >> 30)))
        return out

    def farm_links(self, page: int) -> list[Link]:
        """Links of a link-farm page: to a dozen pages of the other members."""
        table = self.plan.hosts
        host, _ = self.place(page)
        first = host - table.role[host]
        last = first
        while (
            last + 1 < len(table.size)
            and table.unit[last + 1] == table.unit[host]
            and table.kind[last + 1] == Kind.FARM
        ):
            last += 1
        begin, count = table.start[first], table.start[last] + table.size[last] - table.start[first]
        around = min(14, count - 1)
        return [
            Link(
                self.hosts.url(begin + (page - begin + step) % count),
                anchor_text(self.spoken(page), mix(page, step)),
            )
            for step in range(1, around + 1)
        ]

    # Near-duplicates

    def _make_class_original(self, number: int) -> tuple[Content, Text]:
        page = self.plan.class_originals[number]
        text = self.text(page)
        return Content(self.spoken(page), self.title(page), text.paragraph_list(), bare=True), text

    def class_original(self, number: int) -> Content:
        return self._class_original(number)[0]

    def variant(self, page: int) -> Content:
        """A copy with some words changed. A copy that changes more changes the places others change, too."""
        number = int(self.plan.detail[page])
        original, text = self._class_original(number)
        target = TARGETS[mix(self.seed, page, 11) % len(TARGETS)]
        changed = self._changed(text, target, number, page)
        origin = self.plan.class_originals[number]
        return Content(original.language, original.title, changed.paragraph_list(), bare=True, origin=origin)

    def _changed(self, text: Text, target: float, order: int, page: int) -> Text:
        places = generator(self.seed, Stream.CLASS, order).permutation(len(text.ranks))
        count = changes_for(target, len(text.ranks))
        return change_words(text, places[:count], generator(self.seed, Stream.VARIANT, page))

    # Quilts

    def quilt(self, page: int) -> tuple[Content, Quilt]:
        """A page of runs of sentences, each from another page."""
        rng = generator(self.seed, Stream.QUILT, page)
        donors = self._choose_donors(page, 6 + int(rng.integers(0, 5)))
        attributed = bool(rng.random() < self.plan.params.attributed)
        paragraphs, credits, sources = [], [], []
        for donor, foreign in donors:
            text = self.text(donor)
            sentences = text.sentence_list()
            count = min(len(sentences), 2 + int(rng.integers(0, 3)))
            begin = int(rng.integers(0, len(sentences) - count + 1))
            paragraphs.append(text.language.joiner.join(sentences[begin : begin + count]))
            sources.append((donor, count, foreign))
            if attributed:
                credits.append(self.hosts.url(donor))
        content = Content(self.spoken(page), self.title(page), paragraphs, credits=credits)
        return content, Quilt(sources, attributed)

    def _choose_donors(self, page: int, count: int) -> list[tuple[int, bool]]:
        """Pages to take from, and whether each is of another site; its own site serves where others lack."""
        host, _ = self.place(page)
        rank = int(self.plan.detail[page]) - 1
        if self.plan.kind[page] == Kind.QUILT_SAME_SITE:
            mine = self._donors_on_host(host)
            return [(donor, False) for donor in mine[rank * CANDIDATES :][:count].tolist()]
        pool = self.plan.donors[self.plan.hosts.language[host]]
        site = self.hosts.get(host)
        chosen: list[tuple[int, bool]] = []
        for donor in pool[rank * CANDIDATES : (rank + 1) * CANDIDATES].tolist():
            other = self.hosts.of_page(donor)
            chosen.append((donor, other.domain != site.domain and other.ip != site.ip))
        foreign = [pair for pair in chosen if pair[1]]
        return (foreign if len(foreign) >= 6 else sorted(chosen, key=lambda pair: not pair[1]))[:count]

    def patch_fraction(self, content: Content, page: int, quilt: Quilt) -> float:
        """The share of the page's grams that its sources have."""
        mine = grams(words_of(visible(content, self.hosts.of_page(page), self.links(page))))
        theirs: set[tuple[str, ...]] = set()
        for donor, _, _ in quilt.sources:
            theirs |= grams(words_of(visible(self.own(donor), self.hosts.of_page(donor), self.links(donor))))
        return len(mine & theirs) / len(mine)

    # Spam, carriers and viral chunks

    def _make_pool(self, number: int) -> list[str]:
        size = self.plan.spam[number][1]
        keys = (mix(self.seed, Stream.POOL, number << 20 | at) for at in range(size))
        return [max(draw_text(key, "en", 60).sentence_list(), key=len) for key in keys]

    def spam(self, page: int) -> Content:
        """Popular sentences in random order."""
        host, _ = self.place(page)
        pool = self._pool(self.plan.hosts.unit[host])
        rng = generator(self.seed, Stream.SPAM, page)
        picks = [pool[at] for at in rng.permutation(len(pool))[:SENTENCES_A_SPAM_PAGE].tolist()]
        return Content("en", self.title(page), [" ".join(picks[at : at + 3]) for at in range(0, len(picks), 3)])

    def carrier(self, page: int) -> Content:
        """A page of its own with three sentences that others have too."""
        at, number = int(self.plan.detail[page]), 0
        while at >= self.plan.spam[number][2]:
            at -= self.plan.spam[number][2]
            number += 1
        pool = self._pool(number)
        content = self.own(page, 420)
        for step in range(CARRIED):
            where = (step * 2 + 1) % len(content.paragraphs)
            content.paragraphs[where] += " " + pool[(at * CARRIED + step) % len(pool)]
        return content

    def viral(self, page: int) -> Content:
        """A page of its own after a paragraph that went round."""
        chunk = int(self.plan.detail[page]) % self.plan.viral_chunks
        content = self.own(page, 420)
        content.paragraphs.insert(0, " ".join(draw_text(mix(self.seed, Stream.VIRAL, chunk), "en", 34).sentence_list()))
        content.copied = 1
        return content

    # Copied sections

    def wiki(self, page: int) -> Content:
        """A page of the copied host, or of a copy; both close with a paragraph of their own."""
        _, at = self.place(page)
        source, copied = self.plan.wiki or (0, 0)
        if not at or at > copied:
            return self.own(page)
        original = self.plan.hosts.start[source] + at
        content = self.own(original, 260)
        content.copied = len(content.paragraphs)
        content.paragraphs.append(" ".join(self._other(page, 24).sentence_list()))
        content.origin = None if page == original else original
        return content

    def _other(self, page: int, words: int) -> Text:
        return draw_text(mix(self.seed, Stream.OTHER, page), self.spoken(page), words)

    # Mirrors

    def mirror_copy(self, page: int) -> tuple[Content, int, bool]:
        """What the copy of a mirror says, whose salt it has, and whether its markup is changed."""
        host, at = self.place(page)
        what = self.plan.mirror_units[self.plan.hosts.unit[host]][2]
        source = self.plan.hosts.start[host - 1] + at
        if what in ("machine-names", "same-cms") or (what == "4" and at % 2):
            return self.own(page), page, False
        if what == "renamed" and not at:  # an entry page that shares nothing with the other
            content = self.own(page)
            content.bare = True
            return content, page, False
        content = self.own(source)
        content.origin = source
        if what == "3" and at % 4:
            text = self._changed(self.text(source), (0.65, 0.75, 0.9)[at % 3], source, page)
            content.paragraphs = text.paragraph_list()
        if what == "5":
            first = self.text(source).sentence_list()[0]
            content = self.own(page)
            content.paragraphs.insert(0, first)
            return content, page, False
        return content, source, what == "2" and hash_share(self.seed, page) < 0.8
