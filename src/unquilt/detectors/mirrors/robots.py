"""robots.txt (RFC 9309): which paths of a host may be asked for, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

_MOST_BYTES = 500 << 10
_SAFE = "/?&=*$:;,@!~+()'%-._"


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a host for one robot."""

    rules: tuple[tuple[str, bool], ...] = ()  # a pattern, and whether it allows
    delay: float = 0.0

    def allows(self, path: str) -> bool:
        """Whether a path may be asked for: the longest pattern that matches decides, and allows if two are as long."""
        path = _plain(path)
        best = max(((len(rule), allows) for rule, allows in self.rules if matches(rule, path)), default=(0, True))
        return best[1]


NOTHING = Robots((("/", False),))
"""What holds if the rules cannot be had because the server fails."""


def read_robots(body: bytes, robot: str) -> Robots:
    """The rules of a robots.txt for a robot, by its name before any slash; those of ``*`` if it is not named."""
    name = robot.partition("/")[0].strip().lower()
    groups: dict[str, list[tuple[str, bool]]] = {}
    delays: dict[str, float] = {}
    agents: list[str] = []
    is_in_rules = False
    for line in body[:_MOST_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").splitlines():
        field, colon, value = line.partition("#")[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if not colon:
            continue
        if field == "user-agent":
            agents = [*agents, value.lower()] if not is_in_rules else [value.lower()]
            is_in_rules = False
            for agent in agents:
                groups.setdefault(agent, [])
        elif field in ("allow", "disallow", "crawl-delay"):
            is_in_rules = True
            for agent in agents:
                if field == "crawl-delay":
                    delays[agent] = max(delays.get(agent, 0.0), _seconds(value))
                elif value:
                    groups[agent].append((_plain(value), field == "allow"))
    chosen = name if name in groups else "*"
    return Robots(tuple(groups.get(chosen, ())), delays.get(chosen, 0.0))


def matches(pattern: str, path: str) -> bool:
    """Whether a path begins with a pattern; * is any text, and $ at the end is the end of the path."""
    is_anchored = pattern.endswith("$")
    first, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, piece in enumerate(pieces):
        if is_anchored and number == len(pieces) - 1:
            return path.endswith(piece) and len(path) - len(piece) >= at
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not is_anchored or at == len(path)


def _plain(path: str) -> str:
    """A path or pattern in one way of writing percent signs."""
    return quote(unquote(path, errors="surrogateescape"), _SAFE, errors="surrogateescape")


def _seconds(value: str) -> float:
    try:
        return min(max(float(value), 0.0), 60.0)
    except ValueError:
        return 0.0
