"""Measure on judged pages, and fail if a figure is below its floor: python -m quality.gate [DETECTOR...]

Each detector has a module here with SETS: by name, the files that were judged and a function from them to
figures. Floors are in floors.json, with the SHA-256 of the files they were set on: floors of other data mean
nothing, and are refused. Sets that may not be copied here are looked for in the folder that UNQUILT_JUDGED names;
one that is not there is passed over, and said to be.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLOORS = Path(__file__).with_name("floors.json")
_NO_DETECTORS = ("__init__", "gate", "agreement")


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Judged files, and how to measure on them."""

    files: Callable[[Path], Sequence[Path]]  # from the folder of judged data
    measure: Callable[[Sequence[Path]], dict[str, float]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure quality on judged pages.")
    parser.add_argument("detectors", nargs="*", metavar="DETECTOR")
    parser.add_argument("--update", action="store_true", help="pin the floors to the data and figures of now")
    given = parser.parse_args()
    floors: dict[str, Any] = json.loads(FLOORS.read_text()) if FLOORS.exists() else {}
    failed = False
    for detector in given.detectors or detectors():
        sets: dict[str, JudgedSet] = importlib.import_module(f"quality.{detector}").SETS
        for name, judged in sets.items():
            files = list(judged.files(judged_folder()))
            if not files or not all(file.exists() for file in files):
                print(f"{detector}, {name}: not here; set UNQUILT_JUDGED to the folder of judged data")
                continue
            known = floors.setdefault(detector, {}).setdefault(name, {"sha256": "", "floors": {}})
            digest = digest_of(files)
            figures = judged.measure(files)
            if given.update:
                known["sha256"] = digest
                known["floors"] = {figure: round(value - 0.005, 3) for figure, value in figures.items()}
            failed |= not report(f"{detector}, {name}", figures, known, digest)
    if given.update:
        FLOORS.write_text(json.dumps(floors, indent=1, sort_keys=True) + "\n")
    return 1 if failed else 0


def report(name: str, figures: dict[str, float], known: dict[str, Any], digest: str) -> bool:
    """Print the figures beside their floors; whether all hold."""
    if known["sha256"] != digest:
        print(f"{name}: the floors were set on other data; look at the figures, then pin them with --update")
    holds = known["sha256"] == digest and set(known["floors"]) == set(figures)
    for figure, value in figures.items():
        floor = known["floors"].get(figure)
        is_low = floor is not None and value < floor
        holds &= not is_low
        print(f"{name}: {figure} {value:.3f}, floor {floor}{'  BELOW' if is_low else ''}")
    return holds


def detectors() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _NO_DETECTORS)


def judged_folder() -> Path:
    return Path(os.environ.get("UNQUILT_JUDGED", "judged"))


def digest_of(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
