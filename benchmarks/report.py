"""The figures as one table, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.figure import Figure

_WIDTH = 170
_BEGIN, _END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"


def print_machine(machine: Mapping[str, Any]) -> None:
    print("\n".join(_about(machine)) + "\n")


def _about(machine: Mapping[str, Any]) -> list[str]:
    """The machine, our libraries and the peers."""

    def versions(of: str) -> str:
        return ", ".join(f"{name} {version}" for name, version in machine.get(of, {}).items())

    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}",
        f"Python {machine['python']}, {versions('libraries')}",
    ]
    return lines + [f"Peers: {versions('peers')}"] * bool(machine.get("peers"))


def print_table(figures: Sequence[Figure]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("figure", "ours", "peer", "ratio", "limit", ""):
        table.add_column(name, justify="right" if name in ("ours", "peer", "ratio") else "left")
    table.add_column("peer and how", overflow="fold")
    for figure in figures:
        about = "; ".join(text for text in (figure.peer_name, figure.note) if text)
        cells = [
            figure.name,
            number(figure.median, figure.unit),
            number(figure.peer_median, figure.unit),
            number(figure.ratio, ""),
            limit_text(figure),
            {True: "holds", False: "missed", None: ""}[figure.holds],
            about,
        ]
        table.add_row(*map(escape, cells))
    Console(width=_WIDTH, highlight=False).print(table)


def print_others(others: Mapping[str, float]) -> None:
    """What else the machine did: wall times of a busy machine are worth little."""
    shares = ", ".join(f"{share:.0%} during {name}" for name, share in others.items())
    print(f"\nProcessor time taken by other programs: {shares}")


def number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def limit_text(figure: Figure) -> str:
    limit = figure.limit
    if limit is None:
        return "–"
    what = figure.ratio_of if limit.of == "ratio" else "ours"
    unit = "" if limit.of == "ratio" else f" {figure.unit}"
    return f"{what} {limit.sense} {limit.value:,g}{unit}"


def write_json(
    path: Path,
    machine: Mapping[str, Any],
    figures: Mapping[str, Sequence[Figure]],
    *,
    others: Mapping[str, float],
    repeat: int,
    order: Sequence[str],
) -> None:
    """Everything in the table, and every single measurement; benchmarks that did not run now stay as they were."""
    known = json.loads(path.read_text()) if path.exists() else {}
    peers = known.get("machine", {}).get("peers", {}) | machine["peers"]
    shares = {name: round(share, 3) for name, share in others.items()}
    measured = known.get("figures", {})
    measured |= {name: [figure.to_json() for figure in some] for name, some in figures.items()}
    now = {
        "machine": dict(machine) | {"peers": peers},
        "repeat": repeat,
        "processor_share_of_other_programs": known.get("processor_share_of_other_programs", {}) | shares,
        "figures": {name: measured[name] for name in order if name in measured},
    }
    path.write_text(json.dumps(now, indent=2, ensure_ascii=False) + "\n")


def write_docs(results: Path, page: Path) -> None:
    """Put the figures of a JSON file into a page of the docs, between its two marks."""
    known = json.loads(results.read_text())
    text = page.read_text("utf-8")
    head, _, rest = text.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    lines = [f"- {line}" for line in _about(known["machine"])]
    lines += ["", "| figure | ours | peer | ratio | limit | |", "|---|---:|---:|---:|---|---|"]
    for name, figures in known["figures"].items():
        lines.append(f"| **{name}** | | | | | |")
        lines += [_docs_row(figure) for figure in figures]
    page.write_text(f"{head}{_BEGIN}\n" + "\n".join(lines) + f"\n{_END}{tail}", "utf-8")


def _docs_row(figure: Mapping[str, Any]) -> str:
    limit = figure["limit"]
    unit = "" if limit and limit["of"] == "ratio" else f" {figure['unit']}"
    bound = f"{limit['sense']} {limit['value']:,g}{unit}" if limit else ""
    verdict = {True: "holds", False: "**missed**", None: ""}[figure["holds"]]
    peer = number(figure["peer"], figure["unit"])
    about = f"{figure['name']} — {figure['peer_name']}" if figure["peer_name"] else figure["name"]
    ours = number(figure["ours"], figure["unit"])
    return f"| {about} | {ours} | {peer} | {number(figure['ratio'], '')} | {bound} | {verdict} |"
