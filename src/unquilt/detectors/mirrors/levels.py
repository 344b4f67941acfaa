"""Stage II: what tests of a pair of hosts say, wherever the pages come from.

A test takes a path known on one host of the pair, the source, and compares what both hosts have there. Tests, pages
and outcomes are columns: a pair has 19 tests, and there may be a hundred thousand pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unquilt.detectors.mirrors.candidates import Ints, Keys, wide
from unquilt.detectors.mirrors.params import MirrorParams
from unquilt.kernels.grams import hash_grams_column
from unquilt.kernels.mirrors import hash_letters, page_keys, resemblances, sort_sets, whole_text_grams
from unquilt.kernels.postings import distinct_grams
from unquilt.kernels.urls import hash_paths
from unquilt.kernels.words import hash_words_column
from unquilt.schema import sha1

OUTCOMES = ("unknown", "SF", "TF", "FM", "FS", "HS", "TS", "NS")
UNKNOWN, SF, TF, FM, FS, HS, TS, NS = range(len(OUTCOMES))

FINE, FAILED, SERVER_FAILED, DNS_FAILED = range(4)
"""What became of a page that was asked for."""

PAGE = pa.schema([("key", pa.uint64()), ("state", pa.uint8()), ("sha1", sha1), ("text", pa.string())])
"""Pages of tests by key: what became of each, its bytes' digest and its text."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The tests of pairs, in the order of the pairs: 19 for each, the root first, then the paths of a and of b."""

    pairs: Ints  # the pair of each test
    sources: Ints  # row of the host the path is known on
    targets: Ints  # row of the other
    paths: Ints  # the path, as a row of all hosts' paths
    source_keys: Keys
    target_keys: Keys
    path_names: pa.Array


def make_tests(a: Ints, b: Ints, hosts: pa.Table) -> Comparisons:
    """The tests of the pairs of hosts a[i], b[i], rows of ``HOSTS``."""
    lists = hosts["paths"].combine_chunks()
    names = lists.flatten()
    counts = pc.list_value_length(lists).to_numpy().astype(np.int64)
    begins = np.cumsum(counts) - counts
    pairs, sources, targets, paths = [], [], [], []
    numbers = np.arange(len(a))
    for source, target, first in ((a, b, 0), (b, a, 1)):  # the root, a path of both, is tested once
        length = counts[source] - first
        which = np.repeat(numbers, length)
        within = np.arange(len(which)) - np.repeat(np.cumsum(length) - length, length)
        pairs.append(which)
        sources.append(source[which])
        targets.append(target[which])
        paths.append(begins[source[which]] + first + within)
    pair, source, target, path = map(np.concatenate, (pairs, sources, targets, paths))
    order = np.argsort(pair, kind="stable")
    pair, source, target, path = pair[order], source[order], target[order], path[order]
    keys = hosts["key"].to_numpy()
    hashes = hash_paths(*wide(names))[path]
    return Comparisons(
        pair, source, target, path, page_keys(keys[source], hashes), page_keys(keys[target], hashes), names
    )


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How tests ended: a code of ``OUTCOMES``, the resemblance (NaN if none), and what became of the two pages."""

    codes: npt.NDArray[np.uint8]
    resemblance: npt.NDArray[np.float64]
    source_states: npt.NDArray[np.uint8]
    target_states: npt.NDArray[np.uint8]  # 255 if nothing is known of the page


NOT_KNOWN = 255


def judge_tests(pages: pa.Table, source_keys: Keys, target_keys: Keys, params: MirrorParams) -> Outcomes:
    """How tests end, given the pages (``PAGE``) that are known; of two with one key the first counts."""
    keys, rows = np.unique(pages["key"].to_numpy(), return_index=True)
    pages = pages.take(pa.array(rows)).combine_chunks()
    source, source_states = _look_up(keys, pages, source_keys)
    target, target_states = _look_up(keys, pages, target_keys)
    codes = np.full(len(source_keys), UNKNOWN, np.uint8)
    resemblance = np.full(len(codes), np.nan)
    fine = np.flatnonzero((source_states == FINE) & (target_states == FINE))
    if len(fine):
        codes[fine], resemblance[fine] = _compare(pages, source[fine], target[fine], params)
    source_failed = (source_states != FINE) & (source_states != NOT_KNOWN)
    target_failed = (target_states != FINE) & (target_states != NOT_KNOWN)
    codes[target_failed & (source_states == FINE)] = TF
    codes[source_failed] = SF
    return Outcomes(codes, resemblance, source_states, target_states)


def _look_up(keys: Keys, pages: pa.Table, wanted: Keys) -> tuple[Ints, npt.NDArray[np.uint8]]:
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.full(len(wanted), NOT_KNOWN, np.uint8)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    states = np.where(keys[at] == wanted, pages["state"].to_numpy()[at], NOT_KNOWN)
    return at, states.astype(np.uint8)


def _compare(
    pages: pa.Table, left: Ints, right: Ints, params: MirrorParams
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """The outcome of each comparison of two pages that are there."""
    data, offsets = wide(pages["text"].fill_null(""))
    words, word_offsets = hash_words_column(data, offsets)
    grams, gram_offsets = distinct_grams(*hash_grams_column(words, word_offsets, params.k))
    grams, gram_offsets = whole_text_grams(grams, gram_offsets, words, word_offsets)
    found = resemblances(sort_sets(grams, gram_offsets), gram_offsets, left, right)
    letters = hash_letters(data, offsets)
    bytes_equal = pc.equal(pages["sha1"].take(pa.array(left)), pages["sha1"].take(pa.array(right))).fill_null(False)
    codes = np.full(len(left), NS, np.uint8)
    codes[found > params.trace_similarity] = TS
    codes[(found >= params.high_similarity) & (found > 0)] = HS
    codes[letters[left] == letters[right]] = FS
    has_words = np.diff(word_offsets) > 0
    codes[~has_words[left] & ~has_words[right]] = UNKNOWN  # two pages without words say nothing, unless equal
    codes[bytes_equal.to_numpy(zero_copy_only=False)] = FM
    return codes, found


def decide_levels(tests: Comparisons, outcomes: Outcomes, pairs: int, params: MirrorParams) -> tuple[list[str], Ints]:
    """The level of each pair, and how many of its tests told something."""
    counts = np.zeros((len(OUTCOMES), pairs), np.int64)
    np.add.at(counts, (outcomes.codes, tests.pairs), 1)
    known = counts.sum(axis=0) - counts[UNKNOWN] - counts[SF]
    left_over = known.copy()
    levels = np.full(pairs, "mismatch", dtype="<U14")
    is_five = (counts[TF] == 0) & (counts[TS] > 0)
    is_four = counts[FM] + counts[FS] + counts[HS] > 0
    levels[is_five] = "5"
    levels[is_four] = "4"
    for level, some in (("3", (FM, FS, HS)), ("2", (FM, FS)), ("1", (FM,))):
        left_over = known - sum(counts[outcome] for outcome in some)
        levels[(left_over == 0) & (known > 0)] = level
    levels[known < params.min_tests] = "undecided"
    for state, name in ((SERVER_FAILED, "server-failure"), (DNS_FAILED, "dns-failure")):
        levels[_is_down(tests, outcomes, pairs, state)] = name
    return levels.tolist(), known


def _is_down(tests: Comparisons, outcomes: Outcomes, pairs: int, state: int) -> npt.NDArray[np.bool_]:
    """Whether one of a pair's hosts failed in this way whenever it was asked."""
    # Every path but the root has a the source first; of the root a is the source too: sides are told by the host.
    first = np.zeros(pairs, np.int64)
    is_first = np.ones(len(tests.pairs), bool)
    is_first[1:] = tests.pairs[1:] != tests.pairs[:-1]
    first[tests.pairs[is_first]] = tests.sources[is_first]
    from_a = tests.sources == first[tests.pairs]
    down = np.zeros(pairs, bool)
    for of_a in (True, False):
        states = np.where(from_a == of_a, outcomes.source_states, outcomes.target_states)
        known = np.bincount(tests.pairs, weights=states != NOT_KNOWN, minlength=pairs)
        failed = np.bincount(tests.pairs, weights=states == state, minlength=pairs)
        down |= (known > 0) & (failed == known)
    return down


def comparison_lists(tests: Comparisons, outcomes: Outcomes, hosts: pa.Table, pairs: int) -> pa.Array:
    """The tests of each pair as a list, for ``MIRROR_PAIRS``."""
    names = hosts["host"].combine_chunks()
    fields = [
        tests.path_names.take(pa.array(tests.paths)),
        names.take(pa.array(tests.sources)),
        pa.array(OUTCOMES).take(pa.array(outcomes.codes)),
        pa.array(outcomes.resemblance, mask=np.isnan(outcomes.resemblance)),
    ]
    rows = pa.StructArray.from_arrays(fields, names=["path", "source", "outcome", "resemblance"])
    bounds = np.searchsorted(tests.pairs, np.arange(pairs + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(bounds), rows)
