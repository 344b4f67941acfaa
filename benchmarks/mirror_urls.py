"""Lists of URLs for the mirrors benchmark: python -m benchmarks.mirror_urls KIND URLS FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

_URLS_PER_HOST = 200
_WORDS = [a + b + c for a in "bdfgklmn" for b in "aeiou" for c in ("ra", "ti", "mo", "sel", "pun", "vik")]


def web(urls: int) -> list[str]:
    """Hosts of 200 URLs in folders of their own; every tenth is the mirror of the one before it."""
    lines = []
    for host in range(urls // _URLS_PER_HOST):
        original = host - 1 if host % 10 == 9 else host
        random = Random(original)
        folders = ["/".join(random.choices(_WORDS, k=2)) for _ in range(12)]
        name = f"www.{random.choice(_WORDS)}{random.choice(_WORDS)}{original}.{'org' if host != original else 'com'}"
        lines += [f"http://{name}/{folders[i % 12]}/page{i}.html" for i in range(_URLS_PER_HOST)]
    return lines


def skewed(urls: int) -> list[str]:
    """Half of the URLs on one host; the rest on hosts of 100 URLs that all have one folder in common."""
    half = urls // 2
    lines = [f"http://www.huge.com/{_WORDS[i % 240]}/{_WORDS[i // 240 % 240]}/item{i}.html" for i in range(half)]
    for host in range(half // 100):
        lines += [f"http://www.{_WORDS[host % 240]}{host}.net/common/folder/{_WORDS[i]}/x{i}.html" for i in range(100)]
    return lines


def main() -> None:
    kind, urls, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    lines = skewed(urls) if kind == "skewed" else web(urls)
    if kind == "sorted":
        lines.sort()
    else:
        Random(1).shuffle(lines)
    with out.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)
    print(json.dumps({"urls": len(lines)}))


if __name__ == "__main__":
    main()
