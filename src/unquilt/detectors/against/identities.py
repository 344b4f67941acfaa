"""Groups of two crawls matched by their members, so that a group keeps its identity from crawl to crawl.

A page is the same if it has the same URL, or was moved; a host is the same if it has the same name. Of all pairs of a
new and an old group with members in common, the one with the largest overlap is the same group, then the next of which
neither is taken, and so on; of equal overlaps the one with more members in common, then by number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.corpus import Corpus
from unquilt.kernels.against import choose_pairs
from unquilt.result import result_files
from unquilt.schema import AGAINST_IDENTITIES

GROUPS = {
    "phrases": ("classes", "class", "url"),
    "styles": ("members", "cluster", "url"),
    "mirrors": ("groups", "group", "host"),
}
"""For each detector that makes groups: the table of their members, the column of a group's number, and of a member."""

_MEMORY = "1GB"  # beyond it, to disk
_MEMBERS = (
    'CREATE TABLE {side} AS SELECT f."{number}" AS number, coalesce(m.old_url, f.{member}) AS member, '
    "min(f.{member}) AS example FROM read_parquet('{path}') f LEFT JOIN {moved} m ON m.url = f.{member} GROUP BY 1, 2"
)
_SIZES = (
    "CREATE TABLE {side}_groups AS SELECT number, count(*) AS members, min(example) AS example, "
    "row_number() OVER (ORDER BY number) - 1 AS place FROM {side} GROUP BY number"
)
_PAIRS = (
    "SELECT a.place AS new, b.place AS old, shared, shared / (a.members + b.members - shared) AS overlap FROM ("
    "SELECT n.number AS new, o.number AS old, count(*) AS shared FROM new n JOIN old o USING (member) GROUP BY ALL"
    ") pairs JOIN new_groups a ON a.number = pairs.new JOIN old_groups b ON b.number = pairs.old "
    "ORDER BY overlap DESC, shared DESC, a.number, b.number"
)
_GROUPS = "SELECT number, members, example FROM {side}_groups ORDER BY place"


def match_groups(new: Corpus, old: Corpus, pages: pa.Table, scratch: Path) -> pa.Table:
    """``AGAINST_IDENTITIES`` of the detectors whose results are there for both crawls; pages: ``AGAINST_PAGES``."""
    tables = [AGAINST_IDENTITIES.empty_table()]
    moved = pages.filter(pc.is_valid(pages["old_url"])).select(["url", "old_url"])
    for detector, (table, number, member) in GROUPS.items():
        sides = {"new": result_files(new, detector), "old": result_files(old, detector)}
        if None in sides.values():
            continue
        with duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(scratch)}) as database:
            database.register("moved", moved)
            database.register("unmoved", moved.schema.empty_table())
            for side, files in sides.items():
                path = (files or {})[table].replace("'", "''")
                renamed = "moved" if side == "new" and member == "url" else "unmoved"
                facts = {"side": side, "number": number, "member": member, "path": path, "moved": renamed}
                database.execute(_MEMBERS.format(**facts))
                database.execute(_SIZES.format(side=side))
            pairs = database.sql(_PAIRS).to_arrow_table()
            groups = [database.sql(_GROUPS.format(side=side)).to_arrow_table() for side in sides]
        tables.append(_matched(detector, pairs, *groups))
    return pa.concat_tables(tables)


def _matched(detector: str, pairs: pa.Table, news: pa.Table, olds: pa.Table) -> pa.Table:
    """What became of each group; pairs have places in the two tables, the best first."""
    one, other = pairs["new"].to_numpy(), pairs["old"].to_numpy()
    is_kept = choose_pairs(one, other, len(news), len(olds))
    found = {
        "kept": np.flatnonzero(is_kept),
        "split": _first_of_each(one, taken=one[is_kept]),
        "merged": _first_of_each(other, taken=other[is_kept]),
        "new": np.setdiff1d(np.arange(len(news)), one),
        "gone": np.setdiff1d(np.arange(len(olds)), other),
    }
    states = [state for state, rows in found.items() for _ in rows]
    chosen = np.concatenate([found["kept"], found["split"], found["merged"]])
    new, gone = (pa.array(found[state]) for state in ("new", "gone"))
    left = pa.concat_arrays([pa.array(one[chosen]), new, pa.nulls(len(gone), pa.int64())])
    right = pa.concat_arrays([pa.array(other[chosen]), pa.nulls(len(new), pa.int64()), gone])
    lone = len(new) + len(gone)
    columns: dict[str, Any] = {
        "detector": pa.array([detector] * len(states), pa.string()),
        "new": news["number"].take(left),
        "old": olds["number"].take(right),
        "state": pa.array(states, pa.string()),
        "shared": np.append(pairs["shared"].to_numpy()[chosen], np.zeros(lone, np.int64)),
        "new_members": news["members"].take(left),
        "old_members": olds["members"].take(right),
        "overlap": np.append(pairs["overlap"].to_numpy()[chosen], np.zeros(lone)),
        "example": pc.coalesce(news["example"].take(left), olds["example"].take(right)),
    }
    return pa.table(columns).cast(AGAINST_IDENTITIES).sort_by([("new", "ascending"), ("old", "ascending")])


def _first_of_each(groups: npt.NDArray[np.int64], *, taken: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each group that is not taken occurs first."""
    found, places = np.unique(groups, return_index=True)
    return places[~np.isin(found, taken)]
