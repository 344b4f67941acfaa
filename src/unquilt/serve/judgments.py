"""Judgments: samples of findings, and what people said about them, in SQLite next to the corpus.

Nothing is ever changed or deleted: a judgment is a row that is written and synced before the next finding is shown, an
undo is one more row, and of a finding's rows by one judge the last one counts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unquilt.errors import BadInput, BadParameter

FILE = "judgments.sqlite"
VERDICTS = ("yes", "no", "unsure")
Z_95 = 1.959963984540054

_TABLES = """
CREATE TABLE IF NOT EXISTS samples (
    sample INTEGER PRIMARY KEY, detector TEXT NOT NULL, method TEXT NOT NULL, seed INTEGER NOT NULL,
    setting TEXT NOT NULL, corpus TEXT NOT NULL, population INTEGER NOT NULL, made TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS findings (
    sample INTEGER NOT NULL REFERENCES samples, position INTEGER NOT NULL, finding TEXT NOT NULL, score REAL,
    stratum INTEGER NOT NULL, stratum_size INTEGER NOT NULL, PRIMARY KEY (sample, position)
);
CREATE TABLE IF NOT EXISTS judgments (
    judgment INTEGER PRIMARY KEY AUTOINCREMENT, sample INTEGER NOT NULL, position INTEGER NOT NULL,
    judge TEXT NOT NULL, verdict TEXT, tags TEXT NOT NULL, note TEXT NOT NULL, time TEXT NOT NULL,
    FOREIGN KEY (sample, position) REFERENCES findings
);
CREATE INDEX IF NOT EXISTS judgments_of ON judgments (sample, position, judge);
"""
_LAST = """
SELECT * FROM judgments AS one WHERE verdict IS NOT NULL AND judgment =
    (SELECT max(judgment) FROM judgments WHERE sample = one.sample AND position = one.position AND judge = one.judge)
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A finding that was drawn."""

    finding: str
    score: float | None
    stratum: int = 1
    stratum_size: int = 0


@dataclass(frozen=True, slots=True)
class Precision:
    """The share of findings that are what they were taken for, with its 95 % interval."""

    yes: int
    no: int
    unsure: int
    share: float | None
    low: float
    high: float

    @property
    def judged(self) -> int:
        return self.yes + self.no + self.unsure


def wilson(yes: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; all of it if nothing was counted."""
    if count <= 0:
        return 0.0, 1.0
    share, z2 = yes / count, Z_95**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z_95 / (1 + z2 / count) * sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    # The share itself is always inside; at 0 and 1 it is an end, and rounding must not push it out.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two judges; None if it is not defined: nothing in common, or both always said the same one."""
    if not pairs:
        return None
    agreed = sum(a == b for a, b in pairs) / len(pairs)
    chance = (
        sum(sum(a == verdict for a, _ in pairs) * sum(b == verdict for _, b in pairs) for verdict in VERDICTS)
        / len(pairs) ** 2
    )
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def precision(rows: Sequence[Mapping[str, Any]]) -> Precision:
    """Precision of judged findings. Of a stratified sample each stratum counts with its size among all findings.

    The interval of a stratified sample is Wilson's for the count of a uniform one with the same variance. Findings
    that someone is unsure of count neither way.
    """
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    decided = counts["yes"] + counts["no"]
    if not decided:
        return Precision(counts["yes"], counts["no"], counts["unsure"], None, 0.0, 1.0)
    strata: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for row in rows:
        if row["verdict"] != "unsure":
            strata.setdefault(row["stratum"], []).append(row["verdict"] == "yes")
            sizes[row["stratum"]] = row["stratum_size"]
    if len(strata) == 1:
        share, count = counts["yes"] / decided, float(decided)
    else:
        total = sum(sizes.values())
        means = {stratum: sum(votes) / len(votes) for stratum, votes in strata.items()}
        share = sum(sizes[stratum] / total * mean for stratum, mean in means.items())
        variance = sum(
            (sizes[stratum] / total) ** 2 * mean * (1 - mean) / len(strata[stratum]) for stratum, mean in means.items()
        )
        count = share * (1 - share) / variance if variance else float(decided)
    low, high = wilson(share * count, count)
    return Precision(counts["yes"], counts["no"], counts["unsure"], share, low, high)


class Judgments:
    """The samples and judgments of a corpus. Any number of processes may use them at once."""

    def __init__(self, corpus: str | Path) -> None:
        self.path = Path(corpus) / FILE

    @property
    def is_there(self) -> bool:
        return self.path.exists()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            database = sqlite3.connect(self.path, timeout=30)
        except sqlite3.OperationalError:
            raise BadInput(
                f"{self.path} cannot be written.", fix="Copy the corpus to a folder you may write to, and judge there."
            ) from None
        try:
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA foreign_keys = ON")
            database.execute("PRAGMA synchronous = FULL")  # a judgment is on disk before the next finding is shown
            database.executescript(_TABLES)
            with database:
                yield database
        except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            raise BadInput(
                f"{self.path} cannot be used: {error}.",
                fix="Judgments need a folder that can be written, and an undamaged file.",
            ) from None
        finally:
            database.close()

    def add_sample(
        self, detector: str, drawn: Sequence[Drawn], *, method: str, seed: int, setting: Mapping[str, Any],
        corpus_digest: str, population: int,
    ) -> int:  # fmt: skip
        """Keep a sample; its number. The same one drawn again is the same sample, with the judgments it has."""
        if not drawn:
            raise BadParameter("There is nothing to draw from.", fix="Move the thresholds, or run the detector.")
        text = json.dumps(dict(setting), sort_keys=True)
        with self._open() as database:
            known = database.execute(
                "SELECT sample FROM samples AS s WHERE detector = ? AND method = ? AND seed = ? AND setting = ? "
                "AND corpus = ? AND population = ? AND (SELECT count(*) FROM findings WHERE sample = s.sample) = ?",
                (detector, method, seed, text, corpus_digest, population, len(drawn)),
            ).fetchone()
            if known:
                return int(known["sample"])
            row = database.execute(
                "INSERT INTO samples (detector, method, seed, setting, corpus, population, made) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (detector, method, seed, text, corpus_digest, population, _now()),
            )
            sample = int(row.lastrowid or 0)
            database.executemany(
                "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?)",
                [(sample, i, one.finding, one.score, one.stratum, one.stratum_size) for i, one in enumerate(drawn)],
            )
        return sample

    def samples(self) -> list[dict[str, Any]]:
        """Every sample, the newest first."""
        if not self.is_there:
            return []
        query = (
            "SELECT *, (SELECT count(*) FROM findings WHERE sample = s.sample) AS size FROM samples AS s "
            "ORDER BY sample DESC"
        )
        with self._open() as database:
            return [dict(row) | {"setting": json.loads(row["setting"])} for row in database.execute(query)]

    def sample(self, number: int) -> dict[str, Any] | None:
        return next((one for one in self.samples() if one["sample"] == number), None)

    def finding(self, sample: int, position: int) -> dict[str, Any] | None:
        query = "SELECT * FROM findings WHERE sample = ? AND position = ?"
        with self._open() as database:
            row = database.execute(query, (sample, position)).fetchone()
        return dict(row) if row else None

    def next_position(self, sample: int, judge: str) -> int | None:
        """The first finding this judge has said nothing about; None if there is none left."""
        query = (
            "SELECT min(position) AS at FROM findings AS f WHERE sample = ? AND NOT EXISTS "
            f"(SELECT 1 FROM ({_LAST}) AS j WHERE j.sample = f.sample AND j.position = f.position AND j.judge = ?)"
        )
        with self._open() as database:
            at = database.execute(query, (sample, judge)).fetchone()["at"]
        return None if at is None else int(at)

    def judge(
        self, sample: int, position: int, judge: str, verdict: str, *, tags: Sequence[str] = (), note: str = ""
    ) -> None:
        """Write down a judgment; it is on disk when this returns."""
        if verdict not in VERDICTS:
            raise BadParameter(f"{verdict!r} is no verdict.", fix=f"It is one of {', '.join(VERDICTS)}.")
        self._append(sample, position, judge, verdict, tags, note)

    def undo(self, sample: int, judge: str) -> int | None:
        """Take back the last judgment of a judge that counts; its position, or None if there is none."""
        query = f"SELECT position FROM ({_LAST}) WHERE sample = ? AND judge = ? ORDER BY judgment DESC LIMIT 1"
        with self._open() as database:
            row = database.execute(query, (sample, judge)).fetchone()
        if row is None:
            return None
        self._append(sample, row["position"], judge, None, (), "")
        return int(row["position"])

    def _append(
        self, sample: int, position: int, judge: str, verdict: str | None, tags: Sequence[str], note: str
    ) -> None:
        if not judge.strip():
            raise BadParameter("A judgment needs the judge's name.", fix="Give your name at the top of the page.")
        values = (sample, position, judge.strip(), verdict, json.dumps(list(tags), ensure_ascii=False), note, _now())
        with self._open() as database:
            database.execute(
                "INSERT INTO judgments (sample, position, judge, verdict, tags, note, time) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )

    def rows(self) -> list[dict[str, Any]]:
        """Every judgment that counts, with its finding and sample: what is exported."""
        if not self.is_there:
            return []
        query = (
            "SELECT s.sample, s.detector, s.method, s.seed, s.setting, s.corpus, f.position, f.finding, f.score, "
            "f.stratum, f.stratum_size, j.judge, j.verdict, j.tags, j.note, j.time "
            f"FROM ({_LAST}) AS j JOIN findings AS f USING (sample, position) JOIN samples AS s USING (sample) "
            "ORDER BY s.sample, f.position, j.judge"
        )
        with self._open() as database:
            return [dict(row) for row in database.execute(query)]

    def figures(self) -> list[dict[str, Any]]:
        """For each sample: its setting, each judge's precision, and how well each two of them agree."""
        rows = self.rows()
        figures = []
        for sample in self.samples():
            mine = [row for row in rows if row["sample"] == sample["sample"]]
            by_judge: dict[str, list[dict[str, Any]]] = {}
            for row in mine:
                by_judge.setdefault(row["judge"], []).append(row)
            figures.append(
                sample
                | {
                    "judges": {judge: precision(votes) for judge, votes in by_judge.items()},
                    "agreement": [_agreement(a, b, by_judge) for a, b in combinations(sorted(by_judge), 2)],
                }
            )
        return figures

    def table(self) -> pa.Table:
        """The judgments as a table; its columns are those of the exported files."""
        return pa.Table.from_pylist(self.rows(), schema=JUDGMENTS)

    def export(self, path: Path) -> Path:
        """Write the judgments as CSV or Parquet, as the file's ending says."""
        from unquilt.report.figures import write_csv

        if path.suffix.lower() == ".parquet":
            pq.write_table(self.table(), path, compression="zstd")
            return path
        if path.suffix.lower() == ".csv":
            return write_csv(self.table(), path)
        raise BadParameter(f"{path} is neither .csv nor .parquet.", fix="Name the file judgments.csv, for one.")


JUDGMENTS = pa.schema(
    [
        ("sample", pa.int64()),
        ("detector", pa.string()),
        ("method", pa.string()),
        ("seed", pa.int64()),
        ("setting", pa.string()),
        ("corpus", pa.string()),
        ("position", pa.int64()),
        ("finding", pa.string()),
        ("score", pa.float64()),
        ("stratum", pa.int64()),
        ("stratum_size", pa.int64()),
        ("judge", pa.string()),
        ("verdict", pa.string()),
        ("tags", pa.string()),
        ("note", pa.string()),
        ("time", pa.string()),
    ]
)


def _agreement(a: str, b: str, by_judge: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    first, second = ({row["position"]: row["verdict"] for row in by_judge[judge]} for judge in (a, b))
    pairs = [(first[at], second[at]) for at in sorted(first.keys() & second.keys())]
    return {"judges": (a, b), "both": len(pairs), "agreed": sum(x == y for x, y in pairs), "kappa": kappa(pairs)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
