"""The tables as a person reads them: with addresses instead of numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.detectors.against.copied import Request, places_in
from unquilt.detectors.against.pages import CHANGED, GONE, MOVED, STATES, Crawls, Fates
from unquilt.engines import Engine
from unquilt.schema import AGAINST_COPIED, AGAINST_PAGES

_NAMES = pa.array(STATES)
Numbers = npt.NDArray[np.uint32]
ADDRESSES = pa.schema([("number", pa.uint32()), ("url", pa.string()), ("host", pa.string())])


def describe_pages(crawls: Crawls, fates: Fates, taken: pa.Table, engine: Engine) -> tuple[pa.Table, pa.Table]:
    """``AGAINST_PAGES`` and ``AGAINST_COPIED``, in the order of the pages; those that are gone come last."""
    copied = taken.filter(pc.greater(pc.list_value_length(taken["sources"]), 0))
    is_wanted = fates.states != 0
    is_wanted[crawls.first_old :] = np.isin(fates.states[crawls.first_old :], (GONE, MOVED))
    sources = copied["sources"].combine_chunks().flatten()
    is_wanted[sources.to_numpy()] = True
    requests = [Request(file, places) for file, places in places_in(crawls.files, is_wanted)]
    found = engine.map(read_addresses, requests, name="Reading addresses", label=lambda one: one.file.label)
    addresses = engine.gather(found, ADDRESSES)
    return _pages(crawls, fates, taken, addresses), _copied(fates, copied, addresses)


def read_addresses(request: Request) -> pa.Table:
    """The pages asked for, with their number."""
    tables = [
        pa.table([(places + request.file.first).astype(np.uint32), *table.columns], schema=ADDRESSES)
        for places, table in request.file.take(["url", "host"], request.places)
    ]
    return pa.concat_tables(tables)


def _pages(crawls: Crawls, fates: Fates, taken: pa.Table, addresses: pa.Table) -> pa.Table:
    is_listed = fates.states != 0
    is_listed[crawls.first_old :] = fates.states[crawls.first_old :] == GONE
    numbers = np.flatnonzero(is_listed).astype(np.uint32)
    states = fates.states[numbers]
    measured = np.full(crawls.total, np.nan)
    measured[taken["number"].to_numpy()] = taken["resemblance"].to_numpy()
    resemblance = np.where(states == CHANGED, measured[numbers], np.nan)
    here = _at(addresses, numbers)
    moved_from = addresses["url"].take(_at(addresses, fates.kin[numbers], mask=states != MOVED))
    return pa.table(
        [
            addresses["url"].take(here), addresses["host"].take(here), _NAMES.take(pa.array(states)), moved_from,
            pa.array(resemblance, mask=np.isnan(resemblance)),
        ],
        schema=AGAINST_PAGES,
    )  # fmt: skip


def _copied(fates: Fates, copied: pa.Table, addresses: pa.Table) -> pa.Table:
    if not len(copied):
        return AGAINST_COPIED.empty_table()
    numbers = copied["number"].to_numpy()
    here = _at(addresses, numbers)
    grams, common, own, foreign = (copied[name].to_numpy() for name in ("grams", "common", "own_site", "foreign"))
    sources, added = (copied[name].combine_chunks() for name in ("sources", "added"))
    offsets = sources.offsets.to_numpy() - sources.offsets[0].as_py()
    gains = added.flatten().to_numpy()
    # Those of other sites come first, and add up to what is foreign.
    before = np.cumsum(np.append(0, gains))[:-1]
    lengths = np.diff(offsets)
    is_foreign = before - np.repeat(before[offsets[:-1]], lengths) < np.repeat(foreign, lengths)
    fields = [addresses["url"].combine_chunks().take(_at(addresses, sources.flatten().to_numpy())), gains, is_foreign]
    kind = AGAINST_COPIED.field("sources").type
    rows = pa.StructArray.from_arrays([pa.array(one) for one in fields], fields=list(kind.value_type))
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), rows).cast(kind)
    return pa.table(
        [
            addresses["url"].take(here), addresses["host"].take(here), _NAMES.take(pa.array(fates.states[numbers])),
            grams, common, own + foreign, foreign, (own + foreign) / (grams - common), foreign / (grams - common),
            lists,
        ],
        schema=AGAINST_COPIED,
    )  # fmt: skip


def _at(addresses: pa.Table, numbers: Numbers, mask: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """The rows of some pages, null where they are masked."""
    return pa.array(np.searchsorted(addresses["number"].to_numpy(), numbers), mask=mask)
