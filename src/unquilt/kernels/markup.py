"""HTML source made thin: what changes neither the text nor the title is taken out before parsing.

A parser spends its time on elements that only group or format. They make a deep tree, and enough of them
take time quadratic in their number, yet the words stay the same. The kernels here read source as the
tokenizer of the HTML standard does (https://html.spec.whatwg.org/multipage/parsing.html), write a line feed
for a block-level tag and nothing for an inline one, and leave to the parser what needs one: character
references, tables, titles, the page's own address. Of links they tell where they stand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit
from unquilt.kernels.space import BEYOND, BLOCK, borrowed, copy_block, find, first_one, marks

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

# Elements that end the line of text they stand in; all others (a, b, span, ...) run on within a word.
BLOCK_NAMES = (
    "address article aside audio blockquote body br button canvas caption center col colgroup dd details "
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head "
    "header hgroup hr html iframe img input isindex label legend li link main map menu meta meter nav "
    "noembed noframes noscript object ol optgroup option output p param picture plaintext pre progress "
    "script search section select source style summary svg table tbody td template textarea tfoot th "
    "thead title tr track ul video xmp"
)
# Elements that end the svg or math element they stand in.
BREAKOUT_NAMES = (
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li "
    "listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
# What is done with a tag besides writing a line feed or nothing.
TABLE, ANCHOR, META, BASE, TEMPLATE, FOREIGN, UNSEEN, RAW, TITLE, PLAINTEXT = range(1, 11)
ACTION_NAMES = {
    TABLE: "caption table tbody td tfoot th thead tr",  # kept: a parser moves misplaced text out of tables
    ANCHOR: "a area",
    META: "link meta",
    BASE: "base",
    TEMPLATE: "template",
    FOREIGN: "math svg",
    UNSEEN: "iframe noembed noframes noscript script style",  # raw text that is not shown
    RAW: "textarea xmp",  # raw text that is
    TITLE: "title",
    PLAINTEXT: "plaintext",
}
ACTION, LINE, BREAKOUT = 15, 16, 32  # the bits of an element's kind: its action and two flags

# Which elements the thin source holds: bits of thin_markup's second answer.
HAS_TITLE, HAS_META, HAS_BASE = 1, 2, 4

MAX_TABLES = 32  # nested; a parser walks through all of them for each misplaced text
MAX_HEAD_TAG = 4096  # bytes of a meta, link or base tag; a parser compares each attribute with all before it
MAX_HEAD_TAGS = 1 << 16  # bytes of all of them
SHORTEST_LINK = 10  # bytes of <a href=x>

LONGEST = 10  # at 6 bits a character, a name is one 64-bit number
SLOTS = 1024
SPREAD = 0x56E8FEB86659FD93

# The 6 bits of each byte that may stand in a known name, upper case as lower; 0 for bytes that may not.
CODES = np.zeros(256, np.int64)
CODES[ord("0") : ord("9") + 1] = np.arange(1, 11)
CODES[ord("a") : ord("z") + 1] = CODES[ord("A") : ord("Z") + 1] = np.arange(11, 37)

# What each byte is or ends: white space, a tag's name, an attribute's name, a value without quotes.
SPACE, NAME_END, ATTRIBUTE_END, VALUE_END = 1, 2, 4, 8
ENDS = np.zeros(256, np.uint8)
ENDS[[9, 10, 12, 13, 32]] = SPACE | NAME_END | ATTRIBUTE_END | VALUE_END
ENDS[ord("/")] = NAME_END | ATTRIBUTE_END
ENDS[ord("=")] = ATTRIBUTE_END
ENDS[ord(">")] = NAME_END | ATTRIBUTE_END | VALUE_END

# What the kernel knows besides where it reads and writes: how many templates it is in and what was written
# before them, how many svg or math, how many tables; the bytes of head tags written, the HAS_ bits, and how
# many links.
HIDDEN, HOLD, STRANGE, TABLES, HEAD_BYTES, FOUND, LINKS = range(7)


def _packed(name: str) -> int:
    return sum(int(CODES[ord(letter)]) << 6 * i for i, letter in enumerate(name))


def _kinds() -> tuple[Ints, Ints]:
    """int64[1024] twice: an open hash table of the packed names, 0 for a free slot; and their kinds."""
    kinds = {name: action for action, names in ACTION_NAMES.items() for name in names.split()}
    for flag, names in (LINE, BLOCK_NAMES), (BREAKOUT, BREAKOUT_NAMES):
        for name in names.split():
            kinds[name] = kinds.get(name, 0) | flag
    table = np.zeros((2, SLOTS), np.int64)
    for name, kind in kinds.items():
        slot = _packed(name) * SPREAD >> 40 & SLOTS - 1
        while table[0, slot]:
            slot = slot + 1 & SLOTS - 1
        table[:, slot] = _packed(name), kind
    return table[0], table[1]


NAMES, KINDS = _kinds()
SCRIPT_NAME = _packed("script")
TABLE_NAME = _packed("table")

kernel = njit(cache=True, nogil=True)
inlined = njit(cache=True, nogil=True, forceinline=True)  # each call would count references to its arrays


@inlined
def _read_name(html: Bytes, at: int) -> tuple[int, int]:
    """The packed tag name at html[at], 0 for one that cannot be known, and where it ends."""
    packed = shift = 0
    i = at
    while i < len(html) and CODES[html[i]] > 0:
        packed |= CODES[html[i]] << (shift & 63)
        shift += 6
        i += 1
    if i - at > LONGEST:
        packed = 0
    while i < len(html) and ENDS[html[i]] & NAME_END == 0:
        packed = 0
        i += 1
    return packed, i


@inlined
def _kind_of(packed: int) -> int:
    slot = packed * SPREAD >> 40 & SLOTS - 1
    while NAMES[slot] != 0:
        if NAMES[slot] == packed:
            return int(KINDS[slot])
        slot = slot + 1 & SLOTS - 1
    return 0


@inlined
def _read_value(html: Bytes, at: int) -> tuple[int, int, int]:
    """Begin and end of the attribute value after the equals sign at html[at - 1], and where to read on."""
    i = at
    while i < len(html) and ENDS[html[i]] & SPACE:
        i += 1
    if i == len(html):
        return i, i, i
    quote = html[i]
    end = i
    if quote == 34 or quote == 39:
        end = find(html, i + 1, quote, 1)
        return i + 1, end, end + 1
    while end < len(html) and ENDS[html[end]] & VALUE_END == 0:
        end += 1
    return i, end, end


@inlined
def _tag_end(html: Bytes, at: int) -> tuple[int, bool]:
    """Where the tag whose name ends at html[at] ends, -1 if the source ends within it; if it closes itself.

    A quote matters only where a value begins, after an equals sign, and that only after a name.
    """
    i = begin = at  # of what follows the last value
    while i < len(html):
        if html[i] != 62:
            i = find(html, i, 61, 2)
            if i == len(html):
                break
        if html[i] == 62:
            return i + 1, i > begin and html[i - 1] == 47
        name = i - 1
        while name >= begin and ENDS[html[name]] & SPACE:
            name -= 1
        i += 1
        if name >= begin and html[name] != 47:
            i = begin = _read_value(html, i)[2]
    return -1, False


@kernel
def _read_href(html: Bytes, at: int) -> tuple[int, int, int]:
    """Where the tag whose name ends at html[at] ends, and begin and end of its first href.

    The tag's end is -1 if the source ends within it; begin and end are equal without an href.
    """
    begin = end = 0
    seen = False
    i = at
    while i < len(html):
        c = html[i]
        if c == 62:
            return i + 1, begin, end
        if c == 47 or ENDS[c] & SPACE:
            i += 1
            continue
        name = i
        i += 1  # an equals sign may begin a name
        while i < len(html) and ENDS[html[i]] & ATTRIBUTE_END == 0:
            i += 1
        is_href = i - name == 4 and not seen and _stands(html, name, b"href", 32)
        seen |= is_href
        while i < len(html) and ENDS[html[i]] & SPACE:
            i += 1
        if i < len(html) and html[i] == 61:
            value, value_end, i = _read_value(html, i + 1)
            if is_href:
                begin, end = value, value_end
    return -1, begin, end


@inlined
def _stands(html: Bytes, at: int, sought: bytes, case: int) -> bool:
    """Whether these bytes stand at html[at]; case: 32 if they are letters that may be upper case, else 0."""
    i = 0
    while i < len(sought) and at + i < len(html) and html[at + i] | case == sought[i]:
        i += 1
    return i == len(sought)


@kernel
def _find(html: Bytes, at: int, sought: bytes) -> int:
    """Where these bytes stand first from html[at] on; len(html) if nowhere."""
    while at < len(html) and not _stands(html, at, sought, 0):
        at += 1
    return at


@kernel
def _comment_end(html: Bytes, at: int) -> int:
    """Where to read on after the comment at html[at]. ``<!-->`` and ``<!--->`` are whole ones."""
    for i in range(at + 4, len(html)):
        if html[i] == 62 and html[i - 1] == 45 and html[i - 2] == 45:
            return i + 1
        if html[i] == 62 and i > at + 6 and html[i - 1] == 33 and html[i - 2] == 45 and html[i - 3] == 45:
            return i + 1
    return len(html)


@kernel
def _is_named(html: Bytes, at: int, packed: int) -> bool:
    """Whether the tag name `packed` stands at html[at]."""
    while packed > 0 and at < len(html) and CODES[html[at]] == packed & 63:
        packed >>= 6
        at += 1
    return packed == 0 and at < len(html) and ENDS[html[at]] & NAME_END != 0


@kernel
def _raw_end(html: Bytes, at: int, packed: int) -> int:
    """Where the end tag stands that ends the raw text at html[at]; len(html) if there is none.

    packed: the name of the element. A script that opens a comment, and a script in it, goes on after the end
    of the inner script.
    """
    comment = inner = False
    dashes = 0  # in a row before html[i]
    i = at
    while i < len(html):
        if html[i] == 60 and i + 1 < len(html):
            closing = html[i + 1] == 47
            if closing and not inner and _is_named(html, i + 2, packed):
                return i
            if comment and closing == inner and _is_named(html, i + 1 + closing, packed):
                inner = not inner
            elif packed == SCRIPT_NAME and not comment and _stands(html, i, b"<!--", 0):
                comment = True
                i += 2
        elif html[i] == 62 and dashes >= 2:
            comment = inner = False
        dashes = dashes + 1 if html[i] == 45 else 0
        i += 1
    return i


@inlined
def _write(out: Bytes, size: int, source: Bytes, begin: int, end: int) -> int:
    for i in range(end - begin):
        out[size + i] = source[begin + i]
    return size + end - begin


@kernel
def _write_ascii(out: Bytes, size: int, letters: bytes) -> int:
    for i in range(len(letters)):
        out[size + i] = letters[i]
    return size + len(letters)


@inlined
def _write_tag(out: Bytes, size: int, html: Bytes, begin: int, name_end: int) -> int:
    """The tag that begins at html[begin], without attributes."""
    size = _write(out, size, html, begin, name_end)
    out[size] = 62
    return size + 1


@inlined
def _write_gap(out: Bytes, size: int, kind: int, ampersand: int) -> int:
    """What a tag leaves in the text: a line feed if it is block-level, else nothing.

    An empty comment where removing the tag would make markup of text: ``<<b>p>``, ``&l<b>t;``.
    ampersand: where in out the last one since a tag stands; -1 if there is none.
    """
    last = out[size - 1] if size > 0 else 0
    if kind & LINE:
        out[size] = 10
        return size + (last != 10)
    joins = last == 60
    if ampersand >= 0:
        i = ampersand + 1
        while i < size and (CODES[out[i]] > 0 or out[i] == 35):
            i += 1
        joins |= i == size
    return int(_write_ascii(out, size, b"<!>")) if joins else size


@kernel
def _raw_text(
    html: Bytes,
    begin: int,
    named: int,
    at: int,
    closed: bool,
    action: int,
    out: Bytes,
    size: int,
    state: Ints,
) -> tuple[int, int]:
    """Raw text from its tag, html[begin:at], to its end tag: written if it is to be read, skipped if not."""
    is_strange = state[STRANGE] > 0
    if is_strange and (closed or action in (RAW, PLAINTEXT)):
        return at, size  # in svg and math these are elements like others
    stop = len(html)
    if action != PLAINTEXT:
        stop = _raw_end(html, at, _read_name(html, begin + 1)[0])
    is_title = action == TITLE and not is_strange and state[HIDDEN] == 0 and state[FOUND] & HAS_TITLE == 0
    if is_title:
        state[FOUND] |= HAS_TITLE
    is_written = is_title or action in (RAW, PLAINTEXT)
    if is_written:
        size = _write_tag(out, size, html, begin, named)
        size = _write(out, size, html, at, stop)
    if stop == len(html):
        return stop, size
    end_name = stop + 1 + named - begin
    if is_written:
        size = _write_gap(out, _write_tag(out, size, html, stop, end_name), LINE, -1)
    end = _tag_end(html, end_name)[0]
    return len(html) if end < 0 else end, size


@kernel
def _write_head_tag(html: Bytes, at: int, end: int, action: int, out: Bytes, size: int, state: Ints) -> int:
    """A base tag, or a meta or link tag that may tell the generator or canonical address, as it stands."""
    matters = action == BASE
    for i in range(at, end):
        matters |= html[i] == 38  # a character reference might stand for any letter
        matters |= _stands(html, i, b"canonical", 32) or _stands(html, i, b"generator", 32)
    is_long = end - at > MAX_HEAD_TAG or state[HEAD_BYTES] + end - at > MAX_HEAD_TAGS
    if not matters or is_long or state[HIDDEN] > 0:
        return size
    state[FOUND] |= HAS_BASE if action == BASE else HAS_META
    state[HEAD_BYTES] += end - at
    return int(_write(out, size, html, at, end))


@inlined
def _tag(
    html: Bytes, at: int, is_end: bool, out: Bytes, size: int, ampersand: int, state: Ints, links: Ints
) -> tuple[int, int]:
    """What is written for the tag that begins at html[at]; where to read and to write on."""
    packed, name_end = _read_name(html, at + 1 + is_end)
    kind = _kind_of(packed)
    end, closed = _tag_end(html, name_end)
    if end < 0:
        return len(html), size
    size = _write_gap(out, size, kind, ampersand)
    if kind & BREAKOUT:
        state[STRANGE] = 0
    action = kind & ACTION
    if action == 0:
        return end, size
    step = -1 if is_end else 1
    if action == TABLE:
        depth = state[TABLES] + (packed == TABLE_NAME and not is_end)
        if depth <= MAX_TABLES:
            size = _write_tag(out, size, html, at, name_end)
        state[TABLES] = max(0, depth - (packed == TABLE_NAME and is_end))
    elif action == TEMPLATE:
        if state[HIDDEN] == 0:
            state[HOLD] = size
        state[HIDDEN] = max(0, state[HIDDEN] + step)
    elif action == FOREIGN:
        state[STRANGE] = max(0, state[STRANGE] + (0 if closed else step))
    elif is_end:
        return end, size
    elif action == ANCHOR:
        _, href, href_end = _read_href(html, name_end)
        if href < href_end and state[HIDDEN] == 0:
            links[state[LINKS], 0], links[state[LINKS], 1] = href, href_end
            state[LINKS] += 1
    elif action in (META, BASE):
        size = _write_head_tag(html, at, end, action, out, size, state)
    else:
        end, size = _raw_text(html, at, name_end, end, closed, action, out, size, state)
    return end, size


@kernel
def _declaration(html: Bytes, at: int, out: Bytes, size: int, ampersand: int, state: Ints) -> tuple[int, int]:
    """Skip what is neither text nor tag: a comment, a doctype, ``<?xml?>``, ``</>``."""
    size = _write_gap(out, size, 0, ampersand)
    if _stands(html, at, b"<!--", 0):
        return _comment_end(html, at), size
    if state[STRANGE] > 0 and _stands(html, at, b"<![CDATA[", 0):
        end = _find(html, at + 9, b"]]>")
        size = _write_ascii(out, size, b"<svg>")  # elsewhere it would be a comment
        size = _write(out, size, html, at, end)
        return min(end + 3, len(html)), _write_ascii(out, size, b"]]></svg>")
    return min(_find(html, at + 2, b">") + 1, len(html)), size


@inlined
def _thin(html: Bytes, out: Bytes, links: Ints, state: Ints) -> int:
    """Read all of html, write to out, links and state, and tell how much of out is written."""
    ampersand = -1
    i = size = 0
    while i < len(html):
        if i + BLOCK <= len(html):
            copy_block(out, size, html, i)
            plain = first_one(marks(html, i, 60, 1) | marks(html, i, 38, 1) | BEYOND)
            i += plain
            size += plain
            if plain == BLOCK:
                continue
        c = html[i]
        if c == 60:
            if state[HIDDEN] > 0:
                size = state[HOLD]
            after = html[i + 1] if i + 1 < len(html) else 0
            is_end = after == 47 and i + 2 < len(html)
            begin = i
            if CODES[html[i + 2] if is_end else after] > 10:
                i, size = _tag(html, i, is_end, out, size, ampersand, state, links)
            elif is_end or after == 33 or after == 63:
                i, size = _declaration(html, i, out, size, ampersand, state)
            if i > begin:
                ampersand = -1
                continue
        elif c == 38:
            ampersand = size
        out[size] = c
        size += 1
        i += 1
    return int(state[HOLD]) if state[HIDDEN] > 0 else size


@kernel
def thin_markup(html: Bytes) -> tuple[Bytes, int, Ints]:
    """Source with the same text and title but few tags; which of HAS_... it holds; and where the links stand.

    html: uint8[n], UTF-8; n may be 0. A line feed stands for each block-level tag, so that
    ``<td>one</td><td>two</td>`` reads as two words; inline tags leave nothing: ``cr<b>oss</b>`` is one.
    Scripts, styles, templates, comments and other unseen text are gone. The first title is kept, and meta
    and link tags about the generator and the canonical address. Tables nest no deeper than 32, and nothing
    else nests. Links: int64[m, 2], begin and end of each href that is not empty, in order; m may be 0.
    """
    out = np.empty(2 * len(html) + BLOCK, np.uint8)  # nothing is written more than twice as long
    links = np.empty((len(html) // SHORTEST_LINK, 2), np.int64)
    state = np.zeros(7, np.int64)
    size = _thin(borrowed(html), borrowed(out), borrowed(links), borrowed(state))
    return out[:size], state[FOUND], links[: state[LINKS]]
