"""Which page is what: a table of hosts and one small number for each page, drawn from the seed alone.

Every process makes the same plan, so any page can be written again anywhere from its number. The plan takes
about 25 bytes a page; nothing else grows with the crawl.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from math import isqrt

import numpy as np
import numpy.typing as npt

from unquilt.synth.chance import Stream, generator, mix
from unquilt.synth.params import SynthParams
from unquilt.synth.words import LANGUAGES, SHARES


class Kind:
    """What a page is. Plain numbers: an enum's lookups would cost a tenth of the time of a page."""

    ORDINARY = 0
    ROBOTS = 1
    ORIGINAL = 2
    VARIANT = 3
    QUILT = 4
    QUILT_SAME_SITE = 5
    CARRIER = 6
    VIRAL = 7
    SPAM = 8
    FAMILY = 9
    FARM = 10
    MIRROR = 11
    MIRROR_COPY = 12
    WIKI = 13
    WIKI_COPY = 14
    TRAP = 15


KIND_NAMES: dict[int, str] = {
    number: name.lower().replace("_", "-") for name, number in vars(Kind).items() if name.isupper()
}
KIND_NAMES[Kind.VARIANT] = "near-duplicate"

MIRROR_UNITS = ("1", "2", "3", "4", "5", "machine-names", "same-cms", "renamed")
SENTENCES_A_SPAM_PAGE = 18
CARRIED = 3  # popular sentences on one carrier
CANDIDATES = 12  # donors looked at for one quilt; 6 to 10 of them are taken

Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class HostTable:
    """One row a host, in page order. ``unit`` numbers the plant it belongs to, ``role`` its place in it."""

    kind: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    domain: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)  # among the hosts of its domain
    language: list[int] = field(default_factory=list)
    unit: list[int] = field(default_factory=list)
    role: list[int] = field(default_factory=list)
    pages: int = 0
    domains: int = 0

    def add(
        self, kind: int, size: int, language: int, *, unit: int = 0, role: int = 0, same_domain: bool = False
    ) -> int:
        """Append a host; gives its number."""
        if same_domain:
            self.position.append(self.position[-1] + 1)
        else:
            self.domains += 1
            self.position.append(0)
        for column, value in (
            (self.kind, kind),
            (self.start, self.pages),
            (self.size, size),
            (self.domain, self.domains - 1),
            (self.language, language),
            (self.unit, unit),
            (self.role, role),
        ):
            column.append(value)
        self.pages += size
        return len(self.size) - 1


@dataclass(slots=True)
class Plan:
    """The whole planted web, as numbers."""

    params: SynthParams
    hosts: HostTable
    host_of: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    detail: npt.NDArray[np.int32]  # class, rank among quilts, carrier, viral chunk: by kind
    class_originals: list[int]
    donors: list[Ints]  # by language: ordinary pages in random order
    spam: list[tuple[int, int, int]]  # host, popular sentences, carriers
    viral_chunks: int
    mirror_units: list[tuple[int, int, str]]  # host, host, what it is
    wiki: tuple[int, int] | None  # the copied host, pages copied
    left_out: dict[str, str]


def make_plan(params: SynthParams) -> Plan:
    """The same plan for the same parameters."""
    rng = generator(params.seed, Stream.PLAN, 0)
    hosts, left_out = HostTable(), dict[str, str]()
    budget = {
        name: int(params.pages * getattr(params, name)) for name in ("mirrors", "templates", "reuse", "spam", "traps")
    }
    mirror_units = _mirror_hosts(hosts, budget["mirrors"], rng, left_out)
    _family_hosts(hosts, budget["templates"], left_out)
    wiki, viral = _wiki_hosts(hosts, budget["reuse"], left_out)
    spam = _spam_hosts(hosts, budget["spam"], left_out)
    _trap_hosts(hosts, budget["traps"], left_out)
    left_out = {name: why for name, why in left_out.items() if getattr(params, name)}  # nobody misses the rest
    special, special_hosts = hosts.pages, len(hosts.size)
    _general_hosts(hosts, params.pages - special, params.hosts, rng)
    host_of = np.repeat(np.arange(len(hosts.size), dtype=np.int32), hosts.size)
    plan = Plan(
        params=params,
        hosts=hosts,
        host_of=host_of,
        kind=np.repeat(np.array(hosts.kind, dtype=np.uint8), hosts.size),
        detail=np.zeros(params.pages, dtype=np.int32),
        class_originals=[],
        donors=[],
        spam=spam,
        viral_chunks=0,
        mirror_units=mirror_units,
        wiki=wiki,
        left_out=left_out,
    )
    _assign_general(plan, special, special_hosts, viral, rng)
    return plan


def _mirror_hosts(
    hosts: HostTable, budget: int, rng: np.random.Generator, left_out: dict[str, str]
) -> list[tuple[int, int, str]]:
    kinds = len(MIRROR_UNITS)
    pairs, size = max(kinds, budget // 280), 140
    if budget < kinds * 280:
        pairs, size = kinds, budget // (2 * kinds)
    if size < 20:
        pairs, size = budget // 40, 20
        missing = ", ".join(MIRROR_UNITS[pairs:])
        left_out["mirrors"] = f"{budget} pages are too few for pairs of 20 pages a host: no {missing}"
    found = []
    for unit in range(pairs):
        what = MIRROR_UNITS[unit % kinds]
        pages = size if size < 120 else int(rng.integers(120, 161))
        tongue = int(rng.choice(len(LANGUAGES), p=SHARES))
        a = hosts.add(Kind.MIRROR, pages, tongue, unit=unit)
        other = (tongue + 1) % len(LANGUAGES) if what == "5" else tongue
        b = hosts.add(Kind.MIRROR_COPY, pages, other, unit=unit, role=1, same_domain=unit // kinds % 4 == 3)
        found.append((a, b, what))
    return found


def _family_hosts(hosts: HostTable, budget: int, left_out: dict[str, str]) -> None:
    families = min(budget // 12, max(2, budget // 60))
    if not families:
        left_out["templates"] = f"{budget} pages are too few for a family of 12"
        return
    for family in range(families):
        kind = Kind.FARM if family % 2 else Kind.FAMILY
        pages = budget // families
        domains = min(6, pages // 4)
        for at in range(domains):
            size = pages // domains + (at < pages % domains)
            hosts.add(kind, size, family % 3, unit=family, role=at)


def _wiki_hosts(hosts: HostTable, budget: int, left_out: dict[str, str]) -> tuple[tuple[int, int] | None, int]:
    """Hosts with copied sections; gives the copied host with its pages, and the number of viral pages."""
    if budget < 50:
        left_out["reuse"] = f"{budget} pages are too few for copied sections of 5 pages on 5 hosts"
        return None, 0
    viral = budget // 4
    copied = isqrt(budget - viral) - 1
    own = 1 + copied // 5
    wiki = hosts.add(Kind.WIKI, copied + 1, 0)
    for at in range((budget - viral - copied - 1) // (copied + own)):
        hosts.add(Kind.WIKI_COPY, copied + own, 0, unit=at)
    return (wiki, copied), viral


def _spam_hosts(hosts: HostTable, budget: int, left_out: dict[str, str]) -> list[tuple[int, int, int]]:
    if budget < 30:
        left_out["spam"] = f"{budget} pages are too few for a spam host of 30"
        return []
    found = []
    count = max(1, budget // 500)
    for at in range(count):
        pages = budget // count
        # Each page takes this share of the pool: enough that a phrase is the smallest of five pages or more.
        share = min(0.45, max(0.08, 20 / pages))
        pool = round(SENTENCES_A_SPAM_PAGE / share)
        found.append((hosts.add(Kind.SPAM, pages, 0, unit=at), pool, -(-5 * pool // CARRIED)))
    return found


def _trap_hosts(hosts: HostTable, budget: int, left_out: dict[str, str]) -> None:
    if budget < 5:
        left_out["traps"] = f"{budget} pages are too few for a trap of 5"
        return
    count = -(-budget // 40)
    for at in range(count):
        hosts.add(Kind.TRAP, budget // count, at % 3, unit=at)


def _general_hosts(hosts: HostTable, pages: int, share: float, rng: np.random.Generator) -> None:
    count = max(1, min(max(8, int(pages * share)), pages // 4))
    weights = 1.0 / (np.arange(count) + 8.0) ** 0.9
    sizes = np.maximum(2, (weights / weights.sum() * (pages - 2 * count)).astype(np.int64) + 2)
    sizes[0] += pages - int(sizes.sum())
    rng.shuffle(sizes)
    joins = rng.random(count) < 0.25
    tongues = rng.choice(len(LANGUAGES), size=count, p=SHARES).tolist()
    tongue = 0
    for at, size in enumerate(sizes.tolist()):
        same = bool(joins[at]) and at > 0 and hosts.position[-1] < 2
        tongue = tongue if same else int(tongues[at])
        hosts.add(Kind.ORDINARY, size, tongue, same_domain=same)


def _assign_general(plan: Plan, special: int, special_hosts: int, viral: int, rng: np.random.Generator) -> None:
    """Choose which ordinary pages are copies, quilts, carriers and robots.txt."""
    params, hosts = plan.params, plan.hosts
    starts = np.array(hosts.start[special_hosts:], dtype=np.int64)
    sizes = np.array(hosts.size[special_hosts:], dtype=np.int64)
    robots = starts[(sizes > 5) & (rng.random(len(starts)) < 0.3)] + 1
    plan.kind[robots] = Kind.ROBOTS
    free = np.ones(params.pages, dtype=bool)
    free[:special] = False
    free[starts] = False
    free[robots] = False
    order = rng.permutation(np.flatnonzero(free))
    tongue = np.array(hosts.language, dtype=np.int8)[plan.host_of]
    english = order[tongue[order] == 0]
    needed = viral + sum(carriers for _, _, carriers in plan.spam)
    if needed > len(english) // 2:
        plan.left_out["carriers"] = f"{needed} English pages are needed, too many of {len(english)}"
        english = english[: len(english) // 2]
    carriers = english[: needed - viral]
    viral_pages = english[needed - viral : needed]
    plan.viral_chunks = max(1, len(viral_pages) // 60)
    for pages, kind in ((carriers, Kind.CARRIER), (viral_pages, Kind.VIRAL)):
        plan.kind[pages] = kind
        plan.detail[pages] = np.arange(len(pages))
        free[pages] = False
    _assign_classes(plan, free, order[free[order]], tongue, rng)
    quilts = _choose_quilts(plan, order[free[order]], tongue)
    free[quilts] = False
    rest = order[free[order]]
    plan.donors = [rest[tongue[rest] == code] for code in range(len(LANGUAGES))]
    _assign_quilts(plan, quilts, tongue, rng)


def _assign_classes(
    plan: Plan,
    free: npt.NDArray[np.bool_],
    order: Ints,
    tongue: npt.NDArray[np.int8],
    rng: np.random.Generator,
) -> None:
    """Near-duplicate classes of 2 to 20 pages in one language; one in three on one host that has the room."""
    asked = wanted = int(plan.params.pages * plan.params.near_duplicates)
    waiting = [iter(order[tongue[order] == code].tolist()) for code in range(len(LANGUAGES))]
    leaders = iter(order.tolist())
    while wanted >= 2:
        size = min(wanted, int(min(20, 2 + rng.geometric(0.3) - 1)))
        members: Ints | None = None
        if rng.random() < 1 / 3:
            first = int(order[int(rng.integers(0, len(order)))])
            run = np.arange(first, min(first + size, len(free)))
            if len(run) == size and free[run].all() and plan.host_of[run[0]] == plan.host_of[run[-1]]:
                members = run
        if members is None:
            leader = next((page for page in leaders if free[page]), None)
            if leader is None:
                break
            spoken = (page for page in waiting[tongue[leader]] if free[page] and page != leader)
            members = np.array([leader, *islice(spoken, size - 1)], dtype=np.int64)
        if len(members) < 2:
            continue
        free[members] = False
        plan.kind[members] = Kind.VARIANT
        plan.kind[members[0]] = Kind.ORIGINAL
        plan.detail[members] = len(plan.class_originals)
        plan.class_originals.append(int(members[0]))
        wanted -= len(members)
    if wanted >= 2:
        plan.left_out["near_duplicates"] = f"{asked} were asked for; there are pages for {asked - wanted}"


def _choose_quilts(plan: Plan, free: Ints, tongue: npt.NDArray[np.int8]) -> Ints:
    """Pages to become quilts, as many of a language as leave it a dozen donors for each."""
    wanted = int(plan.params.pages * plan.params.quilts)
    chosen = np.zeros(len(free), dtype=bool)
    for code in range(len(LANGUAGES)):
        at = np.flatnonzero(tongue[free] == code)
        chosen[at[: len(at) // (CANDIDATES + 1)]] = True
    quilts = free[chosen][:wanted]
    if len(quilts) < wanted:
        plan.left_out["quilts"] = f"{wanted} were asked for; there are donors for {len(quilts)}"
    return quilts


def _assign_quilts(plan: Plan, quilts: Ints, tongue: npt.NDArray[np.int8], rng: np.random.Generator) -> None:
    """A quilt gets a rank: which dozen of the donors, of its language or of its host, it may take from."""
    used_at_host: dict[int, int] = {}
    used_in_language = [0] * len(LANGUAGES)
    for page in quilts.tolist():
        host = int(plan.host_of[page])
        spoken = int(tongue[page])
        same_site = rng.random() < plan.params.same_site
        room = len(donors_on_host(plan, host)) // CANDIDATES if same_site else 0
        if used_at_host.get(host, 0) < room:
            plan.kind[page] = Kind.QUILT_SAME_SITE
            plan.detail[page] = used_at_host[host] = used_at_host.get(host, 0) + 1
        else:
            plan.kind[page] = Kind.QUILT
            used_in_language[spoken] += 1
            plan.detail[page] = used_in_language[spoken]


def donors_on_host(plan: Plan, host: int) -> Ints:
    """The ordinary pages of a host, save its root, in an order of their own."""
    begin, size = plan.hosts.start[host], plan.hosts.size[host]
    mine = begin + 1 + np.flatnonzero(plan.kind[begin + 1 : begin + size] == Kind.ORDINARY)
    return mine[np.argsort(mine * 0x9E3779B1 % 0xFFFFFFFB)]


def shard_count(params: SynthParams) -> int:
    """How many WARC files there are."""
    return -(-params.pages // params.file_pages)


def shard_pages(params: SynthParams, shard: int) -> list[int]:
    """The pages of one WARC file, in the order they are written."""
    begin = shard * params.file_pages
    pages = np.arange(begin, min(begin + params.file_pages, params.pages))
    shuffled: list[int] = generator(params.seed, Stream.PLAN, 1 + shard).permutation(pages).tolist()
    return shuffled


def hash_share(*parts: int) -> float:
    """A number in [0, 1) made from the given ones."""
    return mix(*parts) / 2.0**64
