"""Two crawls compared the slow way: lists, sets and dictionaries. Nothing of unquilt is used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slow_quilts import Gram, Page, grams_of, greedy_cover, words_of

Digests = Mapping[str, bytes]
State = tuple[str, str | None, float | None]
"""The state of a page, where it was if it was moved, and how much it resembles its old version if it changed."""


@dataclass(frozen=True)
class Copied:
    """A page that takes text from the old crawl, with its sources: URL, grams, of another site."""

    grams: int
    common: int
    taken: int
    foreign: int
    sources: list[tuple[str, int, bool]]


class SlowAgainst:
    """The pages of both crawls that count, one for each URL, in order, with the digests of their bytes by URL."""

    def __init__(self, new: Sequence[Page], old: Sequence[Page], bytes_of: tuple[Digests, Digests], k: int) -> None:
        self.new = {page.url: page for page in new}
        self.old = {page.url: page for page in old}
        self.new_bytes, self.old_bytes = bytes_of
        self.grams = {
            (side, page.url): set(grams_of(words_of(page.text), k))
            for side, pages in (("new", new), ("old", old))
            for page in pages
        }
        self.docs: dict[Gram, list[str]] = defaultdict(list)
        for page in old:
            for gram in self.grams["old", page.url]:
                self.docs[gram].append(page.url)

    def states(self) -> dict[str, State]:
        """What became of each URL of either crawl."""
        moved = self._moved()
        states: dict[str, State] = {}
        for url, page in self.new.items():
            if url in moved:
                states[url] = "moved", moved[url], None
            elif url not in self.old:
                states[url] = "new", None, None
            elif self.new_bytes[url] == self.old_bytes[url]:
                states[url] = "same", None, None
            elif words_of(page.text) == words_of(self.old[url].text):
                states[url] = "same-text", None, None
            else:
                states[url] = "changed", None, self._resemblance(url)
        gone = [url for url in self.old if url not in self.new and url not in moved.values()]
        return states | dict.fromkeys(gone, ("gone", None, None))

    def _resemblance(self, url: str) -> float | None:
        mine, other = self.grams["new", url], self.grams["old", url]
        return len(mine & other) / len(mine | other) if mine | other else None

    def _moved(self) -> dict[str, str]:
        """New URLs with the gone ones that they come from: same path first, then same host, then in order."""
        news = {url: content(page, self.new_bytes) for url, page in self.new.items() if url not in self.old}
        olds = {url: content(page, self.old_bytes) for url, page in self.old.items() if url not in self.new}
        moved: dict[str, str] = {}
        for part_of in (path_of, host_of, lambda _url: ""):
            for url in news:
                same = [
                    other
                    for other in olds
                    if other not in moved.values() and olds[other] == news[url] and part_of(other) == part_of(url)
                ]
                if url not in moved and same:
                    moved[url] = same[0]
        return moved

    def copied(self, *, m: int, share: float, min_grams: int, foreign: str) -> dict[str, Copied]:
        """The pages that take enough from the old crawl."""
        states = self.states()
        found = {}
        for url, page in self.new.items():
            if states[url][0] not in ("new", "changed"):
                continue
            grams = self.grams["new", url]
            fresh = grams - self.grams.get(("old", url), set())
            common = {gram for gram in fresh if len(self.docs.get(gram, [])) > m}
            taken = {gram for gram in fresh - common if gram in self.docs}
            own = {gram for gram in taken if any(not self._foreign(page, other, foreign) for other in self.docs[gram])}
            if len(taken) >= min_grams and len(taken) / len(grams - common) >= share:
                sources = [
                    (other, gain, is_foreign)
                    for some, is_foreign in ((taken - own, True), (own, False))
                    for other, gain in self._cover(page, some, foreign, is_foreign)
                ]
                found[url] = Copied(len(grams), len(common), len(taken), len(taken - own), sources)
        return found

    def _foreign(self, page: Page, other: str, foreign: str) -> bool:
        return self.old[other].site(foreign) != page.site(foreign)

    def _cover(self, page: Page, grams: set[Gram], foreign: str, is_foreign: bool) -> list[tuple[str, int]]:
        urls = list(self.old)
        shares: dict[int, set[Gram]] = defaultdict(set)
        for gram in grams:
            for other in self.docs[gram]:
                if self._foreign(page, other, foreign) == is_foreign:
                    shares[urls.index(other)].add(gram)
        return [(urls[number], gain) for number, gain in greedy_cover(shares)]


def content(page: Page, bytes_of: Digests) -> object:
    """What a page is found again by: its text, or its bytes if it has few words."""
    return tuple(words_of(page.text)) if len(words_of(page.text)) >= 10 else bytes_of[page.url]


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def host_of(url: str) -> str:
    return url.split("/")[2]


Groups = Mapping[int, set[str]]


def match_groups(new: Groups, old: Groups) -> set[tuple[int | None, int | None, str, int]]:
    """New group, old group, state and members in common: of all pairs the one with most overlap, again and again."""
    pairs = [(n, o) for n in new for o in old if new[n] & old[o]]
    pairs.sort(key=lambda p: (-len(new[p[0]] & old[p[1]]) / len(new[p[0]] | old[p[1]]), -len(new[p[0]] & old[p[1]]), p))
    kept: dict[int, int] = {}
    for n, o in pairs:
        if n not in kept and o not in kept.values():
            kept[n] = o
    found: set[tuple[int | None, int | None, str, int]] = {
        (n, o, "kept", len(new[n] & old[o])) for n, o in kept.items()
    }
    for n in set(new) - set(kept):
        best = next((p for p in pairs if p[0] == n), None)
        found.add((*best, "split", len(new[n] & old[best[1]])) if best else (n, None, "new", 0))
    for o in set(old) - set(kept.values()):
        best = next((p for p in pairs if p[1] == o), None)
        found.add((*best, "merged", len(new[best[0]] & old[o])) if best else (None, o, "gone", 0))
    return found
