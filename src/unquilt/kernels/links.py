"""Links of a page: its addresses, each once, joined to the page's own.

Most addresses are plain: all that joining does is put the beginning of the page's address in front of them.
What is not plain (other schemes, dots or nothing between slashes, most character references, bytes beyond
ASCII) is left to the caller.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.space import borrowed, eight_bytes

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

# What a plain address begins with, and how many times "../" if more than HERE. NOT_PLAIN is left to the caller.
NOT_PLAIN, NO_PAGE, HTTP, ROOT, HERE = -2, -1, 0, 1, 2

SPREAD = 0x56E8FEB86659FD93
LEAST_SLOTS = 64

# What each byte may stand in: the names of a plain path, its query, a host; and what is white space.
NAME, QUERY, HOST, DIGIT, LETTER, SPACE = 1, 2, 4, 8, 16, 32
CLASSES = np.zeros(256, np.uint8)
CLASSES[[9, 10, 12, 13, 32]] = SPACE
CLASSES[np.frombuffer(b"_!$%&'()*+,=@~", np.uint8)] = NAME | QUERY
CLASSES[np.frombuffer(b"/:;?", np.uint8)] = QUERY
CLASSES[ord(".")] = QUERY | HOST
CLASSES[ord("-")] = NAME | QUERY | HOST
CLASSES[ord("0") : ord("9") + 1] = NAME | QUERY | HOST | DIGIT | LETTER
CLASSES[ord("a") : ord("z") + 1] = CLASSES[ord("A") : ord("Z") + 1] = NAME | QUERY | HOST | LETTER

kernel = njit(cache=True, nogil=True)
inlined = njit(cache=True, nogil=True, forceinline=True)


@inlined
def _begins(html: Bytes, at: int, end: int, sought: bytes, case: int) -> bool:
    """Whether html[at:end] begins with these bytes; case: 32 if its letters may be upper case, else 0."""
    i = 0
    while i < len(sought) and at + i < end and html[at + i] | case == sought[i]:
        i += 1
    return i == len(sought)


@inlined
def _ampersand(html: Bytes, at: int, end: int) -> int:
    """How many bytes of an attribute stand for the ampersand html[at]: 1 or 5; 0 if it may be another reference.

    A name without semicolon that goes on or has an equals sign behind it is no reference.
    """
    if _begins(html, at + 1, end, b"amp;", 0):
        return 5
    i = at + 1
    while i < end and CLASSES[html[i]] & LETTER:
        i += 1
    return 1 if i > at + 1 and i < end and html[i] == 61 else 0


@inlined
def _plain_end(html: Bytes, at: int, end: int, is_full: bool) -> int:
    """Where the plain path and query at html[at:end] end, at a fragment if there is one; -1 if not plain.

    is_full: whether the path may be empty.
    """
    after_name = is_query = False
    i = at
    while i < end and html[i] != 35:
        c = html[i]
        kind = CLASSES[c]
        if kind & (QUERY if is_query else NAME):
            step = _ampersand(html, i, end) if c == 38 else 1
            if step == 0:
                return -1
            i += step
            after_name = is_full = True
            continue
        if c == 63 and is_full:
            is_query = True
            is_full = False
        elif after_name and (c == 46 or c == 47):
            is_full = c == 47
        else:
            return -1
        after_name = False
        i += 1
    return i if is_full else -1


@inlined
def _host_end(html: Bytes, at: int, end: int) -> int:
    """Where the host, and port, of the http(s) address at html[at:end] end; -1 if it is none."""
    if not _begins(html, at, end, b"http", 0):
        return -1
    i = at + 4
    if i < end and html[i] == 115:
        i += 1
    if not _begins(html, i, end, b"://", 0):
        return -1
    i += 3
    begin = i
    while i < end and CLASSES[html[i]] & HOST:
        i += 1
    if i > begin and i < end and html[i] == 58:
        begin = i = i + 1
        while i < end and CLASSES[html[i]] & DIGIT:
            i += 1
    return i if i > begin else -1


@inlined
def _read_lead(html: Bytes, begin: int, end: int) -> tuple[int, int]:
    """What html[begin:end] begins with, and where it ends without its fragment."""
    host_end = _host_end(html, begin, end)
    if host_end >= 0:
        lead = HTTP
        stop = host_end
        if host_end < end and html[host_end] == 47:
            stop = _plain_end(html, host_end + 1, end, True)
        elif host_end < end and html[host_end] != 35:
            stop = -1
    elif html[begin] == 47:
        lead = ROOT
        stop = _plain_end(html, begin + 1, end, True)
    else:
        i = begin
        while _begins(html, i, end, b"../", 0):
            i += 3
        lead = HERE + (i - begin) // 3
        stop = _plain_end(html, i, end, False)
    if stop >= 0:
        return lead, stop
    if _begins(html, begin, end, b"mailto:", 32) or _begins(html, begin, end, b"javascript:", 32):
        return NO_PAGE, end
    return NOT_PLAIN, end


@inlined
def _mixed(source: Bytes, begin: int, end: int) -> int:
    """A hash of source[begin:end]."""
    mixed = end - begin
    i = begin
    while i + 8 <= end:
        mixed = (mixed ^ eight_bytes(source, i)) * SPREAD
        mixed ^= mixed >> 32
        i += 8
    while i < end:
        mixed = (mixed ^ source[i]) * SPREAD
        i += 1
    return mixed >> 24


@inlined
def _same(source: Bytes, one: int, other: int, size: int) -> bool:
    """Whether as many bytes are the same at source[one] and source[other]."""
    i = 0
    while i + 8 <= size and eight_bytes(source, one + i) == eight_bytes(source, other + i):
        i += 8
    while i < size and source[one + i] == source[other + i]:
        i += 1
    return i == size


@inlined
def _is_new(source: Bytes, begin: int, end: int, spans: Ints, known: Ints, number: int) -> bool:
    """Whether source[begin:end] is none of the spans known; if so, it is known as this number from now on.

    spans: int64[n, 2], begin and end by number. known: int64[2 ** k], a hash table of numbers + 1 with free
    slots, which are 0.
    """
    slot = _mixed(source, begin, end) & len(known) - 1
    while known[slot] > 0:
        other = spans[known[slot] - 1, 0]
        if spans[known[slot] - 1, 1] - other == end - begin and _same(source, other, begin, end - begin):
            return False
        slot = slot + 1 & len(known) - 1
    known[slot] = number + 1
    return True


@inlined
def _slots(count: int) -> int:
    """A power of two at least twice the count."""
    slots = LEAST_SLOTS
    while slots < 2 * count:
        slots *= 2
    return slots


@inlined
def _sort_out(html: Bytes, hrefs: Ints, spans: Ints, leads: Ints, known: Ints, max_bytes: int) -> int:
    """Fill spans and leads; how many there are."""
    count = 0
    for k in range(len(hrefs)):
        begin, end = hrefs[k, 0], hrefs[k, 1]
        while begin < end and CLASSES[html[begin]] & SPACE:
            begin += 1
        stop = begin
        while stop < end and html[stop] != 35 and html[stop] != 38:
            stop += 1
        if stop < end and html[stop] == 35:
            end = stop  # after an ampersand it may be part of a character reference
        while begin < end and CLASSES[html[end - 1]] & SPACE:
            end -= 1
        if begin == end or count == len(spans) or not _is_new(html, begin, end, spans, known, count):
            continue
        spans[count] = begin, end
        leads[count] = NOT_PLAIN
        if end - begin <= max_bytes:
            leads[count], spans[count, 1] = _read_lead(html, begin, end)
        count += 1
    return count


@kernel
def sort_out_links(html: Bytes, hrefs: Ints, max_bytes: int, max_links: int) -> tuple[Ints, Ints, int]:
    """The different addresses among hrefs, in order of the first of each; what each begins with.

    html: uint8[n]. hrefs: int64[m, 2], begin and end of attribute values in html; m may be 0. Gives
    int64[c, 2], begin and end without white space and fragment, c at most max_links; their leads, int64[c];
    and how many of these are NOT_PLAIN. An address longer than max_bytes is not plain.
    """
    spans = np.empty((min(len(hrefs), max_links), 2), np.int64)
    leads = np.empty(len(spans), np.int64)
    known = np.zeros(_slots(len(spans)), np.int64)
    count = _sort_out(borrowed(html), borrowed(hrefs), borrowed(spans), borrowed(leads), borrowed(known), max_bytes)
    left = 0
    for k in range(count):
        left += leads[k] == NOT_PLAIN
    return spans[:count], leads[:count], left


@inlined
def _front_ends(base: Bytes, ends: Ints) -> bool:
    """Fill ends[lead] with how much of base stands in front of an address with this lead; if base is fit for it.

    It is if it is http(s), and none of its folders is empty or a dot or two.
    """
    root = _host_end(base, 0, len(base))
    if root < 0 or root == len(base) or base[root] != 47:
        return False
    slash = root
    i = root + 1
    while i < len(base) and base[i] != 63 and base[i] != 35:
        if base[i] <= 32 or base[i] == 92 or base[i] == 127:
            return False
        if base[i] == 47:
            dots = i - 1
            while base[dots] == 46:
                dots -= 1
            if dots == slash and i - slash <= 3:
                return False
            slash = i
        i += 1
    ends[HTTP] = 0
    for lead in range(ROOT, len(ends)):
        ends[lead] = slash + 1
        if lead == ROOT:
            ends[lead] = root + 1
            continue
        slash = max(root, slash - 1)
        while slash > root and base[slash] != 47:
            slash -= 1
    return True


@inlined
def _write(out: Bytes, size: int, source: Bytes, begin: int, end: int) -> int:
    for i in range(end - begin):
        out[size + i] = source[begin + i]
    return size + end - begin


@inlined
def _write_decoded(out: Bytes, size: int, html: Bytes, begin: int, end: int) -> int:
    """html[begin:end], in which ``&amp;`` is an ampersand."""
    i = begin
    while i < end:
        out[size] = html[i]
        size += 1
        i += 5 if html[i] == 38 and _begins(html, i + 1, end, b"amp;", 0) else 1
    return size


@inlined
def _join(
    html: Bytes, spans: Ints, leads: Ints, base: Bytes, ends: Ints, others: Bytes, other_ends: Ints, out: Bytes,
    bounds: Ints, known: Ints,
) -> int:  # fmt: skip
    """Fill out and bounds; how many addresses there are."""
    count = size = other = read = 0
    for k in range(len(spans)):
        lead = leads[k]
        begin = size
        if lead == NOT_PLAIN:
            size = _write(out, size, others, read, other_ends[other])
            read = other_ends[other]
            other += 1
        elif lead != NO_PAGE:
            skip = lead if lead <= ROOT else 3 * (lead - HERE)
            size = _write(out, size, base, 0, ends[lead])
            size = _write_decoded(out, size, html, spans[k, 0] + skip, spans[k, 1])
        if size > begin and _is_new(out, begin, size, bounds, known, count):
            bounds[count] = begin, size
            count += 1
        else:
            size = begin
    return count


@kernel
def join_links(
    html: Bytes, spans: Ints, leads: Ints, base: Bytes, others: Bytes, other_ends: Ints
) -> tuple[Bytes, Ints, bool]:
    """The addresses seen from base, each once, one after another; the bytes of each; if base is fit for it.

    html, spans, leads: as from ``sort_out_links``. base: uint8[n], an address. others: uint8[n], what those
    NOT_PLAIN are joined, one after another; other_ends: int64[m], where each ends, one that is no page as
    the one before it. An unfit base, with empty folders or dots, gives no links unless all are NOT_PLAIN.
    """
    most = HERE
    for k in range(len(leads)):
        most = max(most, leads[k])
    ends = np.zeros(most + 1, np.int64)
    is_fit = _front_ends(borrowed(base), borrowed(ends))
    bound = len(others)
    is_needed = False
    for k in range(len(leads)):
        if leads[k] >= HTTP:
            is_needed = True
            bound += ends[leads[k]] + spans[k, 1] - spans[k, 0]
    if is_needed and not is_fit:
        return np.empty(0, np.uint8), np.empty(0, np.int64), False
    out = np.empty(bound, np.uint8)
    bounds = np.empty((len(spans), 2), np.int64)
    known = np.zeros(_slots(len(spans)), np.int64)
    count = _join(
        borrowed(html), borrowed(spans), borrowed(leads), borrowed(base), borrowed(ends), borrowed(others),
        borrowed(other_ends), borrowed(out), borrowed(bounds), borrowed(known),
    )  # fmt: skip
    size = bounds[count - 1, 1] if count else 0
    return out[:size], bounds[:count, 1] - bounds[:count, 0], True
