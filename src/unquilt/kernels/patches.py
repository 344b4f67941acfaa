"""Where the patches of a page stand in it and in the pages they were taken from."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Numbers = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def claim_words(ranks: Numbers, places: Numbers, k: int) -> tuple[Numbers, Numbers]:
    """The source of each word and how far on it stands there: int64[words], rank -1 where there is none.

    ranks, places: int64[grams], as claim_grams leaves them. A word in several claimed grams goes to the source that
    comes first, and of its grams to the earliest.
    """
    words = len(ranks) + k - 1 if len(ranks) else 0
    word_ranks = np.full(words, -1, np.int64)
    shifts = np.zeros(words, np.int64)
    for i in range(len(ranks)):
        if ranks[i] < 0:
            continue
        for word in range(i, i + k):
            if word_ranks[word] < 0 or ranks[i] < word_ranks[word]:
                word_ranks[word] = ranks[i]
                shifts[word] = places[i] - i
    return word_ranks, shifts


@njit(cache=True, nogil=True)
def patch_runs(ranks: Numbers, shifts: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Maximal runs of words from one stretch of one source: begins, ends, ranks and shifts, int64[runs].

    ranks, shifts: int64[words], of claim_words.
    """
    n = len(ranks)
    begins, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    run_ranks, run_shifts = np.empty(n, np.int64), np.empty(n, np.int64)
    count = 0
    for i in range(n):
        if ranks[i] < 0:
            continue
        if count and ends[count - 1] == i and run_ranks[count - 1] == ranks[i] and run_shifts[count - 1] == shifts[i]:
            ends[count - 1] = i + 1
            continue
        begins[count], ends[count] = i, i + 1
        run_ranks[count], run_shifts[count] = ranks[i], shifts[i]
        count += 1
    return begins[:count], ends[:count], run_ranks[:count], run_shifts[:count]
