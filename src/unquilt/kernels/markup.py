"""HTML source made thin: what changes neither the text, the links nor the title is taken out before parsing.

A parser spends its time on elements that only group or format: they make a deep tree, and with enough of them
a quadratic one, yet the words stay the same. These kernels read source as the tokenizer of the HTML standard
does (https://html.spec.whatwg.org/multipage/parsing.html), write a line feed for a block-level tag and nothing for
an inline one, and leave to the parser what needs one: character references, tables, titles and attributes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

# Elements that end the line of text they stand in; all others (a, b, span, ...) run on within a word.
BLOCK_NAMES = """
    address article aside audio blockquote body br button canvas caption center col colgroup dd details dialog
    dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr
    html iframe img input isindex label legend li link main map menu meta meter nav noembed noframes noscript
    object ol optgroup option output p param picture plaintext pre progress script search section select source
    style summary svg table tbody td template textarea tfoot th thead title tr track ul video xmp
""".split()
# HTML elements that cannot stand in svg or math: they end it.
BREAKOUT_NAMES = """
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu
    meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var
""".split()

# What is done with a tag besides writing a line feed or nothing.
TABLE, ANCHOR, META, BASE, TEMPLATE, FOREIGN, UNSEEN, RAW, TITLE, PLAINTEXT = range(1, 11)
ACTIONS = {
    TABLE: [
        "caption",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
    ],  # misplaced text moves before them
    ANCHOR: ["a", "area"],
    META: ["link", "meta"],
    BASE: ["base"],
    TEMPLATE: ["template"],
    FOREIGN: ["math", "svg"],
    UNSEEN: ["iframe", "noembed", "noframes", "noscript", "script", "style"],  # raw text nobody sees
    RAW: ["textarea", "xmp"],
    TITLE: ["title"],
    PLAINTEXT: ["plaintext"],
}
ACTION, BLOCK, BREAKOUT = 15, 16, 32  # an element's kind: its action and two flags

# Which elements the thin source holds, as bits of thin_markup's second answer.
HAS_TITLE, HAS_LINKS, HAS_META, HAS_BASE = 1, 2, 4, 8

LONGEST = 10  # at 6 bits a character, a name is one 64-bit number
SLOTS = 1024
SPREAD = 0x56E8FEB86659FD93
KNOWN_LINKS = 1024  # links of a page remembered at a time, a power of two

# The 6 bits of each byte that may stand in a known name, upper case as lower; 0 for bytes that may not.
CODES = np.zeros(256, np.int64)
CODES[ord("0") : ord("9") + 1] = np.arange(1, 11)
CODES[ord("a") : ord("z") + 1] = CODES[ord("A") : ord("Z") + 1] = np.arange(11, 37)
# What each byte ends: white space itself, a tag's name, an attribute's name, a value without quotes.
SPACE, NAME_END, ATTRIBUTE_END, VALUE_END = 1, 2, 4, 8
ENDS = np.zeros(256, np.uint8)
ENDS[[9, 10, 12, 13, 32]] = SPACE | NAME_END | ATTRIBUTE_END | VALUE_END
ENDS[ord("/")] = NAME_END | ATTRIBUTE_END
ENDS[ord("=")] = ATTRIBUTE_END
ENDS[ord(">")] = NAME_END | ATTRIBUTE_END | VALUE_END
HIDDEN, HOLD, IN_FOREIGN, FOUND = range(4)  # the kernel's state besides where it reads and writes


def _packed(name: str) -> int:
    return sum(int(CODES[ord(letter)]) << 6 * i for i, letter in enumerate(name))


def _kinds() -> tuple[Ints, Ints]:
    """int64[1024] twice: an open hash table of the packed names, 0 for a free slot; and their kinds."""
    kinds = {name: action for action, names in ACTIONS.items() for name in names}
    for name in BLOCK_NAMES:
        kinds[name] = kinds.get(name, 0) | BLOCK
    for name in BREAKOUT_NAMES:
        kinds[name] = kinds.get(name, 0) | BREAKOUT
    table = np.zeros((2, SLOTS), np.int64)
    for name, kind in kinds.items():
        packed = _packed(name)
        slot = packed * SPREAD >> 40 & SLOTS - 1
        while table[0, slot]:
            slot = slot + 1 & SLOTS - 1
        table[:, slot] = packed, kind
    return table[0], table[1]


NAMES, KINDS = _kinds()
SCRIPT_NAME = _packed("script")


@njit(cache=True, nogil=True, forceinline=True)
def _read_name(html: Bytes, at: int) -> tuple[int, int]:
    """The packed tag name at html[at], 0 for one that cannot be known, and where it ends."""
    packed = shift = 0
    i = at
    while i < len(html) and CODES[html[i]] > 0:
        packed |= CODES[html[i]] << shift
        shift += 6
        i += 1
    if i - at > LONGEST:
        packed = 0
    while i < len(html) and ENDS[html[i]] & NAME_END == 0:
        packed = 0
        i += 1
    return packed, i


@njit(cache=True, nogil=True, forceinline=True)
def _kind_of(packed: int) -> int:
    slot = packed * SPREAD >> 40 & SLOTS - 1
    while NAMES[slot] != 0:
        if NAMES[slot] == packed:
            return KINDS[slot]  # type: ignore[no-any-return]
        slot = slot + 1 & SLOTS - 1
    return 0


@njit(cache=True, nogil=True, forceinline=True)
def _read_value(html: Bytes, at: int) -> tuple[int, int, int]:
    """Begin and end of the attribute value after an equals sign at html[at - 1], and where to read on."""
    i = at
    while i < len(html) and ENDS[html[i]] & SPACE:
        i += 1
    if i == len(html) or html[i] == 62:
        return i, i, i
    quote = html[i]
    if quote == 34 or quote == 39:
        end = i + 1
        while end < len(html) and html[end] != quote:
            end += 1
        return i + 1, end, min(end + 1, len(html))
    end = i
    while end < len(html) and ENDS[html[end]] & VALUE_END == 0:
        end += 1
    return i, end, end


@njit(cache=True, nogil=True, forceinline=True)
def _is_href(html: Bytes, at: int) -> bool:
    """Whether html[at:at + 4] reads href. Setting bit 5 of a letter makes it lower case."""
    return (
        html[at] | 32 == 104
        and html[at + 1] | 32 == 114
        and html[at + 2] | 32 == 101
        and html[at + 3] | 32 == 102
    )


@njit(cache=True, nogil=True, forceinline=True)
def _read_attributes(html: Bytes, at: int) -> tuple[int, int, int, bool]:
    """The end of the tag whose name ends at html[at], begin and end of its first href, and if it closes itself.

    The end is -1 if the source ends within the tag; begin and end are equal without an href.
    """
    begin = end = 0
    seen = closed = False
    i = at
    while i < len(html):
        c = html[i]
        if c == 62:
            return i + 1, begin, end, closed
        closed = c == 47
        if closed or ENDS[c] & SPACE:
            i += 1
            continue
        name = i
        i += 1  # an equals sign may begin a name
        while i < len(html) and ENDS[html[i]] & ATTRIBUTE_END == 0:
            i += 1
        is_href = not seen and i - name == 4 and _is_href(html, name)
        while i < len(html) and ENDS[html[i]] & SPACE:
            i += 1
        if i < len(html) and html[i] == 61:
            value, value_end, i = _read_value(html, i + 1)
            if is_href:
                begin, end = value, value_end
        seen |= is_href
    return -1, begin, end, closed


@njit(cache=True, nogil=True)
def _skip_past(html: Bytes, at: int, last: int) -> int:
    """Where the source reads on after the first byte `last` from html[at]."""
    while at < len(html) and html[at] != last:
        at += 1
    return min(at + 1, len(html))


@njit(cache=True, nogil=True)
def _comment_end(html: Bytes, at: int) -> int:
    """Where the comment that begins at html[at] ends. ``<!-->`` and ``<!--->`` are whole ones."""
    i = at + 4
    while i < len(html):
        if html[i] == 62 and html[i - 1] == 45 and html[i - 2] == 45:
            return i + 1
        if html[i] == 62 and i >= at + 7 and html[i - 1] == 33 and html[i - 2] == 45 and html[i - 3] == 45:
            return i + 1
        i += 1
    return i


@njit(cache=True, nogil=True, forceinline=True)
def _is_comment(html: Bytes, at: int) -> bool:
    return at + 3 < len(html) and html[at + 1] == 33 and html[at + 2] == 45 and html[at + 3] == 45


@njit(cache=True, nogil=True)
def _is_cdata(html: Bytes, at: int) -> bool:
    if at + 8 >= len(html):
        return False
    for i, c in enumerate((60, 33, 91, 67, 68, 65, 84, 65, 91)):
        if html[at + i] != c:
            return False
    return True


@njit(cache=True, nogil=True)
def _cdata_end(html: Bytes, at: int) -> int:
    """Where the ``]]>`` of the section that begins at html[at] stands; len(html) if there is none."""
    for i in range(at + 9, len(html) - 2):
        if html[i] == 93 and html[i + 1] == 93 and html[i + 2] == 62:
            return i
    return len(html)


@njit(cache=True, nogil=True)
def _after_name(html: Bytes, at: int, packed: int) -> int:
    """Where the tag name `packed` ends if it stands at html[at], else -1."""
    while packed > 0:
        if at >= len(html) or CODES[html[at]] != packed & 63:
            return -1
        packed >>= 6
        at += 1
    return at if at < len(html) and ENDS[html[at]] & NAME_END else -1


@njit(cache=True, nogil=True)
def _raw_end(html: Bytes, at: int, packed: int) -> int:
    """Where the end tag stands that ends the raw text at html[at]; len(html) if there is none.

    packed: the name of the element. A script that opens a comment, and a script in it, goes on after the end
    of the inner script.
    """
    comment = inner = False
    dashes = 0  # in a row before html[i]
    i = at
    while i < len(html):
        c = html[i]
        if c == 60 and i + 1 < len(html):
            closing = html[i + 1] == 47
            if closing and not inner and _after_name(html, i + 2, packed) >= 0:
                return i
            if comment and closing == inner and _after_name(html, i + 1 + closing, packed) >= 0:
                inner = not inner
            elif packed == SCRIPT_NAME and not comment and _is_comment(html, i):
                comment = True
                i += 2
        elif c == 62 and dashes >= 2:
            comment = inner = False
        dashes = dashes + 1 if html[i] == 45 else 0
        i += 1
    return i


@njit(cache=True, nogil=True)
def _may_matter(html: Bytes, begin: int, end: int) -> bool:
    """Whether a meta or link tag may name the generator or the canonical address of the page.

    Their inner letters, noni and nera, are looked for; a character reference might stand for any of them.
    """
    for i in range(begin, end - 3):
        if html[i] == 38:
            return True
        if html[i] | 32 == 110 and (
            (html[i + 1] | 32 == 111 and html[i + 2] | 32 == 110 and html[i + 3] | 32 == 105)
            or (html[i + 1] | 32 == 101 and html[i + 2] | 32 == 114 and html[i + 3] | 32 == 97)
        ):
            return True
    return False


@njit(cache=True, nogil=True, forceinline=True)
def _write(out: Bytes, size: int, source: Bytes, begin: int, end: int) -> int:
    for i in range(begin, end):
        out[size + i - begin] = source[i]
    return size + end - begin


@njit(cache=True, nogil=True)
def _write_ascii(out: Bytes, size: int, source: bytes) -> int:
    for i in range(len(source)):
        out[size + i] = source[i]
    return size + len(source)


@njit(cache=True, nogil=True, forceinline=True)
def _write_line_feed(out: Bytes, size: int) -> int:
    if size > 0 and out[size - 1] == 10:
        return size
    out[size] = 10
    return size + 1


@njit(cache=True, nogil=True, forceinline=True)
def _write_tag(out: Bytes, size: int, html: Bytes, begin: int, end: int) -> int:
    """The tag from its opening ``<`` to the end of its name, without attributes."""
    size = _write(out, size, html, begin, end)
    out[size] = 62
    return size + 1


@njit(cache=True, nogil=True, forceinline=True)
def _write_joint(out: Bytes, size: int, ampersand: int) -> int:
    """An empty comment where a removed tag would otherwise join text to markup: ``<<b>p>``, ``&l<b>t;``.

    ampersand: where in out the last one of the text stands; -1 if there is none.
    """
    joins = size > 0 and out[size - 1] == 60
    if not joins and ampersand >= 0:
        joins = True
        for i in range(ampersand + 1, size):
            if CODES[out[i]] == 0 and out[i] != 35:
                joins = False
                break
    if joins:
        out[size] = 60
        out[size + 1] = 33
        out[size + 2] = 62
        return size + 3
    return size


@njit(cache=True, nogil=True)
def _is_known(html: Bytes, begin: int, end: int, known: Ints) -> bool:
    """Whether the address html[begin:end] is among those remembered; if not, it is from now on.

    known: int64[1024, 2], begin and end of remembered addresses, zeros at first. An address may be forgotten
    for another, so that the answer is always found in one step.
    """
    h = end - begin
    for i in range(begin, end):
        h = (h ^ html[i]) * SPREAD
    slot = h >> 40 & KNOWN_LINKS - 1
    at = known[slot, 0]
    if known[slot, 1] - at == end - begin:
        i = 0
        while i < end - begin and html[at + i] == html[begin + i]:
            i += 1
        if i == end - begin:
            return True
    known[slot, 0] = begin
    known[slot, 1] = end
    return False


@njit(cache=True, nogil=True)
def _write_link(out: Bytes, size: int, html: Bytes, begin: int, end: int, known: Ints) -> int:
    """``<area href=...>`` for the address html[begin:end], unless it is known or only a fragment."""
    stop = begin
    while stop < end and html[stop] != 35 and html[stop] != 38:
        stop += 1
    if stop < end and html[stop] == 38:
        stop = end  # the number sign may be part of a character reference
    if stop == begin or _is_known(html, begin, stop, known):
        return size
    size = _write_ascii(out, size, b"<area href=")
    quote = html[begin - 1]
    is_quoted = quote == 34 or quote == 39
    if is_quoted:
        out[size] = quote
        size += 1
    size = _write(out, size, html, begin, stop)
    if is_quoted:
        out[size] = quote
        size += 1
    out[size] = 62
    return size + 1


@njit(cache=True, nogil=True)
def _write_raw(
    html: Bytes,
    begin: int,
    name_end: int,
    at: int,
    out: Bytes,
    size: int,
    kind: int,
    closed: bool,
    state: Ints,
) -> tuple[int, int]:
    """Raw text from its tag, html[begin:at], to its end tag: written if it is to be read, skipped if not."""
    action = kind & ACTION
    is_foreign = state[IN_FOREIGN] > 0
    if is_foreign and (closed or action == RAW or action == PLAINTEXT):
        return at, size  # in svg and math these are elements like others
    stop = len(html)
    if action != PLAINTEXT:
        stop = _raw_end(html, at, _read_name(html, begin + 1)[0])
    is_title = action == TITLE and not is_foreign and state[HIDDEN] == 0 and state[FOUND] & HAS_TITLE == 0
    if is_title:
        state[FOUND] |= HAS_TITLE
    is_written = is_title or action == RAW or action == PLAINTEXT
    if is_written:
        size = _write_tag(out, size, html, begin, name_end)
        size = _write(out, size, html, at, stop)
    if stop == len(html):
        return stop, size
    end_name = stop + 1 + name_end - begin
    if is_written:
        size = _write_line_feed(out, _write_tag(out, size, html, stop, end_name))
    end = _read_attributes(html, end_name)[0]
    return len(html) if end < 0 else end, size


@njit(cache=True, nogil=True, forceinline=True)
def _start_tag(
    html: Bytes,
    at: int,
    out: Bytes,
    size: int,
    ampersand: int,
    state: Ints,
    known: Ints,
) -> tuple[int, int]:
    """What is written for the tag that begins at html[at]; where to read and write on."""
    packed, name_end = _read_name(html, at + 1)
    end, href, href_end, closed = _read_attributes(html, name_end)
    if end < 0:
        return len(html), size
    kind = _kind_of(packed)
    if kind & BREAKOUT:
        state[IN_FOREIGN] = 0
    size = _write_line_feed(out, size) if kind & BLOCK else _write_joint(out, size, ampersand)
    action = kind & ACTION
    if action == 0:
        return end, size
    if action == TABLE:
        return end, _write_tag(out, size, html, at, name_end)
    if action == ANCHOR:
        if href < href_end and state[HIDDEN] == 0:
            state[FOUND] |= HAS_LINKS
            size = _write_link(out, size, html, href, href_end, known)
        return end, size
    if action == META or action == BASE:
        if state[HIDDEN] == 0 and (action == BASE or _may_matter(html, at, end)):
            state[FOUND] |= HAS_BASE if action == BASE else HAS_META
            size = _write(out, size, html, at, end)
        return end, size
    if action == TEMPLATE:
        if state[HIDDEN] == 0:
            state[HOLD] = size
        state[HIDDEN] += 1
        return end, size
    if action == FOREIGN:
        state[IN_FOREIGN] += not closed
        return end, size
    return _write_raw(html, at, name_end, end, out, size, kind, closed, state)


@njit(cache=True, nogil=True, forceinline=True)
def _end_tag(
    html: Bytes,
    at: int,
    out: Bytes,
    size: int,
    ampersand: int,
    state: Ints,
) -> tuple[int, int]:
    """What is written for the end tag that begins at html[at]; where to read and write on."""
    packed, name_end = _read_name(html, at + 2)
    end = _read_attributes(html, name_end)[0]
    if end < 0:
        return len(html), size
    kind = _kind_of(packed)
    size = _write_line_feed(out, size) if kind & BLOCK else _write_joint(out, size, ampersand)
    action = kind & ACTION
    if action == TABLE:
        size = _write_tag(out, size, html, at, name_end)
    elif action == TEMPLATE:
        state[HIDDEN] = max(0, state[HIDDEN] - 1)
    elif action == FOREIGN:
        state[IN_FOREIGN] = max(0, state[IN_FOREIGN] - 1)
    return end, size


@njit(cache=True, nogil=True)
def _declaration(html: Bytes, at: int, out: Bytes, size: int, ampersand: int, state: Ints) -> tuple[int, int]:
    """Skip what is neither text nor tag: a comment, a doctype, ``<?xml?>``, ``</>``."""
    size = _write_joint(out, size, ampersand)
    if _is_comment(html, at):
        return _comment_end(html, at), size
    if state[IN_FOREIGN] > 0 and _is_cdata(html, at):
        end = _cdata_end(html, at)
        size = _write_ascii(out, size, b"<svg>")  # elsewhere it would be a comment
        size = _write(out, size, html, at, end)
        return min(end + 3, len(html)), _write_ascii(out, size, b"]]></svg>")
    return _skip_past(html, at + 2, 62), size


@njit(cache=True, nogil=True)
def _thin(html: Bytes) -> tuple[Bytes, int]:
    out = np.empty(2 * len(html) + 16, np.uint8)  # no tag is written more than twice as long
    known = np.zeros((KNOWN_LINKS, 2), np.int64)
    state = np.zeros(4, np.int64)
    ampersand = -1
    i = size = 0
    while i < len(html):
        c = html[i]
        if c != 60:
            if c == 38:
                ampersand = size
            out[size] = c
            size += 1
            i += 1
            continue
        if state[HIDDEN] > 0:
            size = state[HOLD]
        following = html[i + 1] if i + 1 < len(html) else 0
        is_end = following == 47 and i + 2 < len(html)
        if CODES[following] > 10:
            i, size = _start_tag(html, i, out, size, ampersand, state, known)
        elif is_end and CODES[html[i + 2]] > 10:
            i, size = _end_tag(html, i, out, size, ampersand, state)
        elif is_end or following == 33 or following == 63:
            i, size = _declaration(html, i, out, size, ampersand, state)
        else:
            out[size] = c
            size += 1
            i += 1
            continue
        ampersand = -1
    if state[HIDDEN] > 0:
        size = state[HOLD]
    return out[:size], state[FOUND]


def thin_markup(html: Bytes) -> tuple[Bytes, int]:
    """Source with the same text, links and title but few tags, and which of HAS_... it holds.

    html: uint8[n], UTF-8; n may be 0. A line feed stands for each block-level tag, so that
    ``<td>one</td><td>two</td>`` reads as two words; inline tags leave nothing, so that ``cr<b>oss</b>`` is one.
    Scripts, styles, templates, comments and other unseen text are gone. Each link is ``<area href=...>``, once
    where it first stands; of titles the first is kept, of meta and link tags those about generator and canonical
    address. No element nests but tables.
    """
    thin: tuple[Bytes, int] = _thin(html)
    return thin


@njit(cache=True, nogil=True)
def fold_space(text: Bytes) -> Bytes:
    """Text with each run of white space as one space, or one line feed if the run holds one; none at the ends.

    text: uint8[n], UTF-8; n may be 0. A no-break space (C2 A0) is white space too.
    """
    out = np.empty(len(text), np.uint8)
    size = 0
    pending = np.uint8(0)
    i = 0
    while i < len(text):
        c = text[i]
        if c == 10 or c == 13:
            pending = np.uint8(10)
        elif c == 32 or (c >= 9 and c <= 12):
            if pending == 0:
                pending = np.uint8(32)
        elif c == 0xC2 and i + 1 < len(text) and text[i + 1] == 0xA0:
            if pending == 0:
                pending = np.uint8(32)
            i += 1
        else:
            if pending != 0 and size > 0:
                out[size] = pending
                size += 1
            pending = np.uint8(0)
            out[size] = c
            size += 1
        i += 1
    return out[:size]
