"""Stop chunks: so common and so benign that they say nothing about copying. Some ship here, a user adds others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha1
from html import unescape
from itertools import product
from pathlib import Path

from unquilt.corpus import write_atomically
from unquilt.errors import BadInput
from unquilt.ingest.chunks import Cutter, fold_chunk

_OPENINGS = (b"<p>", b"<P>", b"<p/>", b"<p />")
_BLANKS = (
    b"", b" ", b"\n", b"\n\n", b"\r\n",
    b"&nbsp;", b"&nbsp; ", b"&nbsp;&nbsp;", b"&#160;", b"\xc2\xa0", b"\xa0", b"<br>", b"<br/>", b"<br />",
    b"<BR>", b"&nbsp;<br>", b"&nbsp;<br />",
)  # fmt: skip
_CLOSINGS = (b"", b"</p>", b"</P>")
_ENDS = (
    b"", b" ", b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b"\n\t", b"\n  ", b"\n    ", b"</body>\n</html>\n",
    b"\n</body>\n</html>\n", b"</body></html>",
)  # fmt: skip
_FILES = (
    b"", b" ", b"\n", b"\r\n",
    b"User-agent: *\nDisallow: /", b"User-agent: *\nDisallow: /\n", b"User-agent: *\r\nDisallow: /",
    b"User-agent: *\r\nDisallow: /\r\n", b"User-Agent: *\nDisallow: /\n", b"User-agent: *\nDisallow:",
    b"User-agent: *\nDisallow:\n", b"User-agent: *\nAllow: /", b"User-agent: *\nAllow: /\n",
    b"<html></html>", b"<html></html>\n", b"<html><head></head><body></body></html>",
    b"<html><head></head><body></body></html>\n",
)  # fmt: skip

_TAG = re.compile(rb"<(script|style)\b.*?(?:</\1>|$)|<!--.*?(?:-->|$)|<[^>]*(?:>|$)", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"(?:\w+\W+){4}\w+|[\u3040-\u30ff\u3400-\u9fff]{8}")
_DIGEST = re.compile(r"[0-9a-fA-F]{40}")


def shipped_stop_chunks() -> list[bytes]:
    """Empty paragraphs, and files that are empty or only shut robots out."""
    paragraphs = (b"".join(parts) for parts in product(_OPENINGS, _BLANKS, _CLOSINGS, _ENDS))
    return list(dict.fromkeys([*_FILES, *paragraphs]))


def stop_digests(path: str, cutter: Cutter) -> list[bytes]:
    """The SHA-1s of the stop chunks that ship, and of those in a file."""
    fold = fold_chunk if cutter.normalize else bytes
    shipped = [sha1(fold(chunk)).digest() for chunk in shipped_stop_chunks()]
    return [*dict.fromkeys(shipped), *(read_stop_chunks(path) if path else [])]


def read_stop_chunks(path: str) -> list[bytes]:
    """The SHA-1s in a file: one a line in hexadecimal; what follows it, and lines that begin with #, are comments."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path} cannot be read as a list of stop chunks: {error}.",
            fix="Give a text file with a SHA-1 in hexadecimal at the beginning of each line.",
        ) from None
    found = []
    for number, line in enumerate(lines, 1):
        word = line.split(maxsplit=1)[0] if line.strip() else "#"
        if word.startswith("#"):
            continue
        if not _DIGEST.fullmatch(word):
            raise BadInput(
                f"{path}, line {number}: {word[:60]!r} is no SHA-1.",
                fix="A line is a SHA-1 of 40 hexadecimal digits, and a comment behind it.",
            )
        found.append(bytes.fromhex(word))
    return found


def add_stop_chunks(path: str, chunks: Iterable[tuple[bytes, str]]) -> int:
    """Add stop chunks with a comment each to a file, which is made if it is not there; how many are new."""
    target = Path(path)
    known = set(read_stop_chunks(path)) if target.exists() else set()
    new = [(digest, comment) for digest, comment in chunks if digest not in known]
    text = target.read_text("utf-8") if target.exists() else "# stop chunks: SHA-1, then what it is\n"
    text += "" if text.endswith("\n") else "\n"
    added = [f"{digest.hex()}  {' '.join(comment.split())}\n" for digest, comment in new]
    write_atomically(target, (text + "".join(added)).encode("utf-8", "replace"))
    return len(new)


def visible_text(chunk: bytes) -> str:
    """About what a reader sees of a chunk."""
    return " ".join(unescape(_TAG.sub(b" ", chunk).decode("utf-8", "replace")).split())


def has_sentence(chunk: bytes) -> bool:
    """Whether a chunk says anything: five words in a row, or as much in a script without spaces."""
    return _SENTENCE.search(visible_text(chunk)) is not None


_SIGNS: Sequence[tuple[str, re.Pattern[bytes]]] = (
    ("robots.txt", re.compile(rb"\A\s*user-agent:", re.IGNORECASE)),
    ("error page", re.compile(rb"<title>[^<]*(?:\b[45]\d\d\b|not found|forbidden|error)", re.IGNORECASE)),
    ("advertising or tracking", re.compile(rb"googlesyndication|google-analytics|doubleclick|adsense|_gaq")),
    ("script", re.compile(rb"<script\b[^>]*>(?!\s*</script)|\A\s*(?:\(?function\b|var\s)", re.IGNORECASE)),
    ("style", re.compile(rb"<style\b|\A[^<]{0,200}\{[^<}]*:[^<}]*;", re.IGNORECASE)),
    ("form", re.compile(rb"<(?:form|input|select|textarea)\b", re.IGNORECASE)),
)  # fmt: skip
_LINK = re.compile(rb"<a\s", re.IGNORECASE)


def kind_of(chunk: bytes) -> str:
    """What a chunk is, by signs that a person would go by: the groups of the paper's tables."""
    text = visible_text(chunk)
    if not text and not _SIGNS[3][1].search(chunk):
        return "empty markup"
    for name, sign in _SIGNS:
        if sign.search(chunk):
            return name
    words = len(text.split())
    if len(_LINK.findall(chunk)) * 4 >= max(words, 1):
        return "navigation"
    return "text" if _SENTENCE.search(text) else "short text"
