"""Which shingles many pages share, and covers of a page's popular shingles by other pages."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.space import inlined
from unquilt.kernels.words import mix

Hashes = npt.NDArray[np.uint64]
Pages = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

U1, U2, U4, U56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
TWOS, FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
BYTES, ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
SHARED_BITS = 20
SHARED, FOREIGN = (1 << SHARED_BITS) - 1, 1 << 2 * SHARED_BITS


@njit(cache=True, nogil=True)
def send_shingles(pages: Pages, shingles: Hashes, bits: int) -> tuple[Offsets, Hashes, Pages]:
    """Rows for an exchange of shingles: by position, then by the top bits of the mixed value.

    pages: uint32[n], shingles: uint64[n, m]; n may be 0. Gives int64[(m << bits) + 1] cuts, the mixed values and
    the pages. Mixing is a bijection: equal keys are equal values.
    """
    n, m = shingles.shape
    shift, mask = np.uint64(min(64 - bits, 63)), np.uint64((1 << bits) - 1)
    cuts = np.zeros((m << bits) + 1, np.int64)
    keys = np.empty(n * m, np.uint64)
    owners = np.empty(n * m, np.uint32)
    for p in range(n):
        for i in range(m):
            cuts[(i << bits) + np.int64((mix(shingles[p, i]) >> shift) & mask) + 1] += 1
    for b in range(len(cuts) - 1):
        cuts[b + 1] += cuts[b]
    places = cuts[:-1].copy()
    for p in range(n):
        for i in range(m):
            key = mix(shingles[p, i])
            bucket = (i << bits) + np.int64((key >> shift) & mask)
            keys[places[bucket]] = key
            owners[places[bucket]] = pages[p]
            places[bucket] += 1
    return cuts, keys, owners


@njit(cache=True, nogil=True)
def count_keepers(pages: Pages, begins: Offsets, keepers: Pages) -> Counts:
    """int64[groups], how many of the pages of each group are representatives: their own keepers."""
    counts = np.zeros(len(begins) - 1, np.int64)
    for group in range(len(counts)):
        for i in range(begins[group], begins[group + 1]):
            counts[group] += 1 if keepers[pages[i]] == pages[i] else 0
    return counts


@njit(cache=True, nogil=True)
def count_pages(pages: Pages, first: int, n: int) -> Counts:
    """int64[n], how often each of the pages first to first + n - 1 is in pages uint32[rows]."""
    counts = np.zeros(n, np.int64)
    for i in range(len(pages)):
        counts[np.int64(pages[i]) - first] += 1
    return counts


@njit(cache=True, nogil=True)
def _is_foreign(page: int, other: int, domains: Pages, addresses: Pages, own: Pages) -> bool:
    """Whether another page is of another domain, and of none of the addresses own that may have served the page."""
    if domains[page] == domains[other]:
        return False
    for i in range(len(own)):
        if addresses[other] == own[i]:
            return False
    return True


@inlined
def _ones(word: np.uint64) -> int:
    """How many bits of a word are set."""
    word -= (word >> U1) & TWOS
    word = (word & FOURS) + ((word >> U2) & FOURS)
    word = (word + (word >> U4)) & BYTES
    return int((word * ONES) >> U56)


@njit(cache=True, nogil=True)
def _candidates(page: int, mine: Offsets, begins: Offsets, pages: Pages, place: Offsets) -> tuple[Pages, Hashes]:
    """The pages that share a list with a page, in no order, and which of its lists each is in, as bits.

    mine: int64[lists], the page's lists; list l is pages[begins[l]:begins[l + 1]]. place: int64[all pages], all
    -1, and so left. Gives uint32[n] and uint64[n, words].
    """
    most = 0
    for j in range(len(mine)):
        most += begins[mine[j] + 1] - begins[mine[j]]
    most = min(most, len(place))
    found = np.empty(most, np.uint32)
    masks = np.zeros((most, len(mine) // 64 + 1), np.uint64)
    n = 0
    for j in range(len(mine)):
        word, bit = j // 64, U1 << np.uint64(j % 64)
        for i in range(begins[mine[j]], begins[mine[j] + 1]):
            other = pages[i]
            if place[other] < 0:
                place[other] = n
                found[n] = other
                n += 1
            masks[place[other], word] |= bit
    for c in range(n):
        place[found[c]] = -1
    for c in range(n):
        if found[c] == page:
            masks[c] = 0
    return found[:n], masks[:n]


@njit(cache=True, nogil=True)
def cover_shingles(
    page: int,
    mine: Offsets,
    is_popular: npt.NDArray[np.bool_],
    begins: Offsets,
    pages: Pages,
    domains: Pages,
    addresses: Pages,
    own: Pages,
    place: Offsets,
) -> tuple[Pages, Counts, npt.NDArray[np.bool_]]:
    """The pages that cover the popular shingles of a page, what each adds, and which are foreign.

    mine: the lists of the page's shingles that others share, see _candidates; is_popular: bool[lists], by place in
    mine. Again and again the page that adds most; of equals the one that shares most shingles, popular or not, then
    the least page. A page that is not foreign is taken only when no foreign page adds anything.
    """
    found, masks = _candidates(page, mine, begins, pages, place)
    needed = np.zeros(masks.shape[1], np.uint64)
    left = 0
    for j in range(len(mine)):
        if is_popular[j]:
            needed[j // 64] |= U1 << np.uint64(j % 64)
            left += 1
    n = len(found)
    ranks = np.empty(n, np.int64)  # foreign first, then by what it adds, then by what it shares: one number
    for c in range(n):
        adds = shared = 0
        for w in range(len(needed)):
            adds += _ones(masks[c, w] & needed[w])
            shared += _ones(masks[c, w])
        ranks[c] = adds << SHARED_BITS | shared
        if ranks[c] >> SHARED_BITS and _is_foreign(page, found[c], domains, addresses, own):
            ranks[c] |= FOREIGN
    taken, added = np.empty(left, np.uint32), np.empty(left, np.int64)
    is_foreign = np.empty(left, np.bool_)
    count = 0
    while left > 0:
        best, rank = -1, 0
        for c in range(n):
            # What a page adds only falls, so an old rank is enough to pass it over.
            if ranks[c] < rank or (best >= 0 and ranks[c] == rank and found[c] > found[best]):
                continue
            adds = 0
            for w in range(len(needed)):
                adds += _ones(masks[c, w] & needed[w])
            ranks[c] = (ranks[c] & (FOREIGN | SHARED)) | adds << SHARED_BITS if adds else 0
            if ranks[c] > rank or (best >= 0 and ranks[c] == rank and found[c] < found[best]):
                best, rank = c, int(ranks[c])
        if best < 0:
            break
        adds = (rank & ~FOREIGN) >> SHARED_BITS
        taken[count], added[count], is_foreign[count] = found[best], adds, rank >= FOREIGN
        count += 1
        left -= adds
        for w in range(len(needed)):
            needed[w] &= ~masks[best, w]
    return taken[:count], added[:count], is_foreign[:count]
