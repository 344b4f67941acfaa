"""Pages as rows of chunks that are added, deleted and changed at random."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Numbers = npt.NDArray[np.int64]
ADD, DELETE, CHANGE = 0, 1, 2


@njit(cache=True, nogil=True)
def mutate(
    labelled: npt.NDArray[np.bool_], offsets: Numbers, change: int, points: Numbers, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Labelled chunks and all chunks of each page after so many changes: int32[points, pages] each.

    labelled: bool[chunks], those of page p are offsets[p] to offsets[p + 1]. points: int64[n], ascending. An added
    chunk is never labelled, one is deleted once, and one that is changed is labelled no more; it may be picked again.
    """
    np.random.seed(seed)
    pages = len(offsets) - 1
    hits = np.zeros((len(points), pages), np.int32)
    totals = np.zeros((len(points), pages), np.int32)
    for page in range(pages):
        own = labelled[offsets[page] : offsets[page + 1]].copy()
        total = len(own)
        hit = 0
        for i in range(total):
            hit += own[i]
        done = 0
        for p in range(len(points)):
            if change == ADD:
                totals[p, page], hits[p, page] = total + points[p], hit
                continue
            while done < points[p] and total > 0:
                at = np.random.randint(0, total)
                hit -= own[at]
                if change == DELETE:
                    own[at] = own[total - 1]
                    total -= 1
                else:
                    own[at] = False
                done += 1
            totals[p, page], hits[p, page] = total, hit
    return hits, totals
