"""From grams to the patch map, against lists that a child could follow. Grams are few, so that many collide."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from operator import ne

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_quilts import grams_of, spans_of, words_of
from unquilt.kernels import claims, radix, words

some = settings(deadline=None, max_examples=200)
pages = st.lists(
    st.lists(st.sampled_from(["a", "A", "b", "é", "É", "中", "文", "ab", "abc", "bcdefghi"]), max_size=12),
    min_size=1,
    max_size=6,
)
Column = npt.NDArray[np.uint64]
Claim = tuple[int, int]


def key_of(gram: tuple[str, ...], kinds: int) -> int:
    """A fingerprint that gives a gram away: odd, and one of so many kinds."""
    return (sum(map(len, gram)) % kinds << 40) + 2 * (sum(map(len, gram)) % kinds) + 1


def slow_claims(page: list[int], sources: list[list[int]]) -> list[Claim | None]:
    """For each gram the first source that has it, and where: after the gram before it, or where it first stands."""
    found: list[Claim | None] = []
    for at, gram in enumerate(page):
        rank = next((rank for rank, source in enumerate(sources) if gram in source), None)
        if rank is None:
            found.append(None)
            continue
        before = found[at - 1] if at else None
        after = before[1] + 1 if before and before[0] == rank else -1
        goes_on = 0 <= after < len(sources[rank]) and sources[rank][after] == gram
        found.append((rank, after if goes_on else sources[rank].index(gram)))
    return found


def slow_patches(texts: list[str], quilt: int, sources: list[int], k: int, kinds: int, exact: bool) -> list[list[int]]:
    """Rank, begin and end in the quilt and in the source, and words, of each patch."""
    grams = [grams_of(words_of(text), k) for text in texts]
    keys = [[key_of(gram, kinds) for gram in mine] for mine in grams]
    best: list[tuple[int, int, int] | None] = [None] * len(words_of(texts[quilt]))
    for at, claim in enumerate(slow_claims(keys[quilt], [keys[source] for source in sources])):
        if claim is None or (exact and grams[quilt][at] != grams[sources[claim[0]]][claim[1]]):
            continue
        for word in range(at, at + k):
            known = best[word]
            if known is None or claim[0] < known[0]:
                best[word] = claim[0], claim[1] - at, at
    found, first = [], 0
    for owner, run in groupby(known[:2] if known else None for known in best):
        end = first + len(list(run))
        if owner:
            rank, shift = owner
            mine, theirs = spans_of(texts[quilt]), spans_of(texts[sources[rank]])
            span = [mine[first][0], mine[end - 1][1], theirs[first + shift][0], theirs[end - 1 + shift][1]]
            found.append([rank, *span, end - first])
        first = end
    return found


def rows_of(keys: list[list[int]]) -> tuple[Column, Column]:
    """Each gram with each page that has it, by gram."""
    rows = sorted({(key, page) for page, mine in enumerate(keys) for key in mine})
    return np.array([key for key, _ in rows], np.uint64), np.array([page for _, page in rows], np.uint64)


@some
@given(pages, st.integers(1, 3), st.sampled_from([1, 3, 1000]), st.booleans(), st.data())
def test_patches_are_those_of_a_patient_search(
    drawn: list[list[str]], k: int, kinds: int, exact: bool, data: st.DataObject
) -> None:
    texts = [", ".join(page) for page in drawn]
    numbers = st.integers(0, len(texts) - 1)
    quilts = sorted(data.draw(st.lists(numbers, unique=True, max_size=3)))
    sources = [data.draw(st.lists(numbers.filter(partial(ne, q)), unique=True, max_size=4)) for q in quilts]
    keys = [[key_of(gram, kinds) for gram in grams_of(words_of(text), k)] for text in texts]
    is_quilt = np.full(len(texts), claims.NO_QUILT, np.uint32)
    is_quilt[quilts] = range(len(quilts))
    flat = np.array([source for mine in sources for source in mine], np.uint32)
    begins = np.cumsum([0, *map(len, sources)]).astype(np.uint32)
    foreign, owners = rows_of(keys)
    claimed, pairs, wanted = claims.claim_grams(foreign, owners, radix.runs(foreign), is_quilt, begins, flat)
    order = np.argsort(claimed, kind="stable")
    rows = _place(texts, keys, claimed[order], pairs[order], wanted[order], k, exact)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    patches, collisions = claims.stitch(*(np.ascontiguousarray(column) for column in rows.T), k, exact)
    for number, (quilt, mine) in enumerate(zip(quilts, sources, strict=True)):
        found = patches[patches[:, 0] == number, 1:].tolist()
        assert found == slow_patches(texts, quilt, mine, k, kinds, exact)
    assert exact or not collisions[:, 1].any()


def _place(
    texts: list[str], keys: list[list[int]], claimed: npt.NDArray[np.uint32], pairs: Column, wanted: Column, k: int,
    exact: bool,
) -> Column:  # fmt: skip
    encoded = [text.encode() for text in texts]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    bounds = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    counts = [len(words_of(text)) for text in texts]
    total = sum(counts)
    nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    return claims.place_claims(  # type: ignore[no-any-return]
        np.array([key for mine in keys for key in mine], np.uint64),
        np.cumsum([0, *map(len, keys)]),
        np.cumsum([0, *counts]),
        *words.place_words_column(data, bounds, total),
        np.searchsorted(claimed, np.arange(len(texts) + 1)),
        pairs,
        wanted,
        k,
        data,
        bounds,
        *(words.place_words_column(data, bounds, total, in_bytes=True) if exact else nothing),
        words.TABLE,
    )


@some
@given(st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), min_size=1, max_size=6), st.data())
def test_grams_of_several_sites_are_kept_with_all_their_pages(found: list[list[int]], data: st.DataObject) -> None:
    sites = data.draw(st.lists(st.integers(0, 2), min_size=len(found), max_size=len(found)))
    keys, owners = rows_of([[gram * 2 + 1 for gram in page] for page in found])
    kept, pages = claims.foreign_rows(keys, owners.astype(np.uint32), radix.runs(keys), np.array(sites, np.uint32))
    on = {key: [page for page, mine in enumerate(found) if key // 2 in mine] for key in set(keys.tolist())}
    expected = [(key, page) for key in sorted(on) if len({sites[page] for page in on[key]}) > 1 for page in on[key]]
    assert list(zip(kept.tolist(), pages.tolist(), strict=True)) == expected
