"""Names, addresses, paths and the unchanging text of hosts.

Addresses are of ranges that no public machine has (198.18.0.0/15 and 100.64.0.0/10).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from unquilt.synth.chance import Stream, generator, mix
from unquilt.synth.plan import Kind, Plan
from unquilt.synth.words import LANGUAGES, language

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
_LABELS = len(_SYLLABLES) ** 4
_SUFFIXES = {
    "en": ("com", "org", "net", "co.uk", "ac.uk", "com.au", "info", "edu"),
    "de": ("de", "at", "ch", "com"),
    "es": ("es", "com.ar", "com.mx", "org"),
    "ru": ("ru", "su", "com.ua", "net"),
    "zh": ("cn", "com.cn", "com.tw", "hk"),
    "ar": ("com.eg", "ae", "com.sa", "net"),
}
_CHARSETS = {
    "en": ("utf-8", "iso-8859-1", "windows-1252"),
    "de": ("utf-8", "iso-8859-1", "iso-8859-15"),
    "es": ("utf-8", "iso-8859-1", "utf-8"),
    "ru": ("utf-8", "windows-1251", "koi8-r"),
    "zh": ("utf-8", "gb18030", "utf-8"),
    "ar": ("utf-8", "windows-1256", "utf-8"),
}
_PREFIXES = ("www.", "blog.", "shop.")
_EXTENSIONS = (".html", ".htm", "/", ".php", ".shtml")
PATH_STYLES = ("folders", "dated", "query", "node", "machine", "cms")


@dataclass(frozen=True, slots=True)
class Host:
    """What all pages of a host have in common, markup aside."""

    name: str
    domain: str
    ip: str
    language: str
    charset: str
    nav: tuple[str, ...]
    footer: str
    path_style: str
    path_key: int
    folders: tuple[str, ...]
    prefix: str  # before every path but the root
    slugs: tuple[str, ...]


@functools.lru_cache(maxsize=20_000)
def _ascii_words(code: str) -> tuple[str, ...]:
    words = [word.lower() for word in language(code).plain[60:6000].tolist() if word.isascii() and len(word) > 2]
    return tuple(words[:2500]) or _ascii_words("en")


def _label(plan: Plan, domain: int) -> str:
    at = (domain * 7_368_787 + mix(plan.params.seed, Stream.HOST)) % _LABELS
    parts = []
    for _ in range(4):
        at, which = divmod(at, len(_SYLLABLES))
        parts.append(_SYLLABLES[which])
    return "".join(parts)


def _ip(plan: Plan, domain: int) -> str:
    draw = mix(plan.params.seed, Stream.HOST, domain, 1)
    if draw % 100 < 35:  # shared hosting
        at = (draw >> 8) % max(3, plan.hosts.domains // 20)
        return f"198.{18 + (at >> 16 & 1)}.{at >> 8 & 255}.{at & 255}"
    return f"100.{64 + (domain >> 16 & 63)}.{domain >> 8 & 255}.{domain & 255}"


def names_of(plan: Plan, host: int) -> tuple[str, str, str]:
    """Host name, registered domain and address."""
    table = plan.hosts
    domain = table.domain[host]
    spoken = LANGUAGES[table.language[host]]
    draw = mix(plan.params.seed, Stream.HOST, domain)
    suffixes = _SUFFIXES[spoken]
    position = table.position[host]
    prefix = _PREFIXES[position] if position or draw & 3 else ""
    if table.kind[host] != Kind.MIRROR_COPY:
        registered = f"{_label(plan, domain)}.{suffixes[draw // 8 % len(suffixes)]}"
        return prefix + registered, registered, _ip(plan, domain)
    _, registered, ip = names_of(plan, host - 1)
    if position:
        return f"mirror.{registered}", registered, ip
    label, suffix = registered.split(".", 1)
    registered = f"{label}.{'org' if suffix in ('net', 'com') else 'net'}"
    return ("www." if draw & 1 else "mirror.") + registered, registered, _ip(plan, domain)


def _path_style(plan: Plan, host: int, draw: int) -> str:
    table = plan.hosts
    if table.kind[host] in (Kind.MIRROR, Kind.MIRROR_COPY):
        what = plan.mirror_units[table.unit[host]][2]
        return {"machine-names": "machine", "same-cms": "cms"}.get(what, "folders")
    if table.kind[host] in (Kind.WIKI, Kind.WIKI_COPY):
        return "folders"
    if table.kind[host] in (Kind.FAMILY, Kind.FARM):  # one script made them all
        return PATH_STYLES[mix(plan.params.seed, Stream.PATH, table.unit[host], 1) % 4]
    return PATH_STYLES[draw % 4]


def words_key(plan: Plan, host: int) -> int:
    """The host whose menu, footer and paths this one has: itself, or the host it mirrors."""
    if plan.hosts.kind[host] == Kind.MIRROR_COPY:
        what = plan.mirror_units[plan.hosts.unit[host]][2]
        if what in ("1", "2", "3", "4", "renamed"):
            return host - 1
    return host


@functools.lru_cache(maxsize=8192)
def _texts(seed: int, key: int, code: str) -> tuple[tuple[str, ...], str]:
    rng = generator(seed, Stream.HOST, key)
    known = language(code)
    wide = code == "zh"
    picks = known.capital[rng.integers(40, len(known.plain), 20)].tolist()
    items = 4 + int(rng.integers(0, 4))
    nav = tuple(picks[at] + (picks[at + 8] if wide else "") for at in range(items))
    closing = known.joiner.join(known.plain[known.rank_of_draw[rng.integers(0, 1 << 18, 7)]].tolist())
    return nav, f"{picks[16]} & {picks[17]} {1996 + int(rng.integers(0, 12))} {closing}"


class Hosts:
    """The hosts of a plan, made when asked for and kept while they are in use."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.get = functools.lru_cache(maxsize=8192)(self._make)

    def _make(self, host: int) -> Host:
        plan = self.plan
        seed, table = plan.params.seed, plan.hosts
        name, domain, ip = names_of(plan, host)
        code = LANGUAGES[table.language[host]]
        key = words_key(plan, host)
        path_host = host - 1 if table.kind[host] == Kind.MIRROR_COPY else host
        path_key = mix(seed, Stream.PATH, path_host)
        style = _path_style(plan, path_host, path_key >> 7)
        slugs = _ascii_words(LANGUAGES[table.language[path_host]])
        folders = tuple(slugs[mix(path_key, at) % len(slugs)] for at in range(7))
        if style == "cms":
            path_key, folders = 77, ("article", "view", "section", "topic", "node", "entry", "list")
        nav, footer = _texts(seed, key, LANGUAGES[table.language[key]])
        renamed = table.kind[host] == Kind.MIRROR_COPY and plan.mirror_units[table.unit[host]][2] == "renamed"
        charsets = _CHARSETS[code]
        return Host(
            name=name,
            domain=domain,
            ip=ip,
            language=code,
            charset=charsets[mix(seed, Stream.HOST, key, 3) % len(charsets)],
            nav=nav,
            footer=footer,
            path_style=style,
            path_key=path_key,
            folders=folders,
            prefix="/moved/archive" if renamed else "",
            slugs=slugs,
        )

    def of_page(self, page: int) -> Host:
        return self.get(int(self.plan.host_of[page]))

    def url(self, page: int) -> str:
        """The address of a page."""
        host = int(self.plan.host_of[page])
        return f"http://{self.get(host).name}{self.path(host, page - self.plan.hosts.start[host])}"

    def path(self, number: int, at: int) -> str:
        """The path of the page at this place on a host; the first is the root."""
        if not at:
            return "/"
        host, kind = self.get(number), self.plan.hosts.kind[number]
        draw = mix(host.path_key, at)
        if kind == Kind.TRAP:
            loop = host.folders[: 2 + host.path_key % 2]
            steps = at + (96 if at % 2 else 10)  # long loops, and short ones a crawler left sooner
            return "/" + "/".join(loop[step % len(loop)] for step in range(steps)) + "/"
        if kind == Kind.ORDINARY and self.plan.kind[self.plan.hosts.start[number] + at] == Kind.ROBOTS:
            return "/robots.txt"
        if kind == Kind.WIKI_COPY and self.plan.wiki is not None and at <= self.plan.wiki[1]:
            return f"/{host.folders[0]}/{host.folders[1]}/{_slug(host, draw)}-{at}.html"
        return host.prefix + _STYLE_PATHS[host.path_style](host, at, draw)


def _slug(host: Host, draw: int) -> str:
    words = host.slugs
    return f"{words[draw % len(words)]}-{words[(draw >> 20) % len(words)]}"


def _folders(host: Host, at: int, draw: int) -> str:
    first = host.folders[draw % 3]
    second = host.folders[3 + (draw >> 9) % 4]
    ending = _EXTENSIONS[host.path_key % 5]
    return f"/{first}/{second}/{host.slugs[(draw >> 20) % 60]}-{host.slugs[(draw >> 40) % 900]}-{at}{ending}"


def _dated(host: Host, at: int, draw: int) -> str:
    return f"/{1998 + draw % 11}/{1 + (draw >> 8) % 12:02}/{_slug(host, draw >> 13)}-{at}/"


def _query(host: Host, at: int, draw: int) -> str:
    return f"/{host.folders[0]}.php?{host.folders[1]}={host.slugs[draw % 40]}&id={at}"


def _node(host: Host, at: int, draw: int) -> str:
    return f"/node/{at}" if draw & 1 else f"/{host.folders[draw % 7]}/node/{at}"


def _machine(host: Host, at: int, draw: int) -> str:
    return f"/{host.folders[0]}/{host.folders[at % 3]}/img_{at:04}.html"


def _cms(host: Host, at: int, draw: int) -> str:
    return f"/index.php/{host.folders[at % 4]}/{host.folders[4 + at % 3]}/{at}"


_STYLE_PATHS = {
    "folders": _folders,
    "dated": _dated,
    "query": _query,
    "node": _node,
    "machine": _machine,
    "cms": _cms,
}
