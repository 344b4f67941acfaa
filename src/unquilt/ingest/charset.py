"""Which charset a page is really in, whatever it says."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(
    rb"<meta\s[^>]{0,400}?charset\s*=\s*[\"']?\s*([a-z0-9_:.\-]{2,40})|<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([a-z0-9_:.\-]{2,40})",
    re.IGNORECASE,
)
_META_BYTES = 4096  # browsers look at 1024; pages with long comments in front put it later
_SAMPLE_BYTES = 16384
_MAX_BAD_SHARE = (
    0.002  # a UTF-8 page with fewer bad bytes than this is a damaged UTF-8 page, not another charset
)

# Labels that browsers read as a larger charset than the one they name.
_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "hz": "hz", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
_ALIASES = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-cp1251": "cp1251",
    "utf8mb4": "utf-8",
}
# Python codecs that are no charset of a page.
_REFUSED = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7", "mbcs", "oem"}


@lru_cache(maxsize=1024)
def codec_of(label: str) -> str:
    """The Python codec for a charset label as pages write it; "" if there is none."""
    label = label.strip().lower().replace("_", "-")
    try:
        found = codecs.lookup(_ALIASES.get(label, label))
    except (LookupError, ValueError):
        return ""
    name = found.name.lower()
    if (
        not getattr(found, "_is_text_encoding", True)
        or name in _REFUSED
        or name.replace("-", "_") in _REFUSED
    ):
        return ""
    if name in ("utf-16", "utf-32"):  # without a mark at the front, the little end comes first
        name += "-le"
    return _WIDER.get(name, name)


def to_utf8(body: bytes, declared: str = "") -> tuple[bytes, str]:
    """The page in UTF-8 without a byte order mark, and the charset it was read with.

    In order: the HTTP header's charset, a byte order mark, the page's own meta tag, detection. A declaration that
    the bytes contradict is passed over: bytes that are valid UTF-8 beyond ASCII are UTF-8.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            rest = body[len(mark) :]
            return (rest, name) if name == "utf-8" and _is_utf8(rest) else _transcode(rest, name)
    charset = codec_of(declared) if declared else ""
    is_ascii = body.isascii()
    if not is_ascii and _is_utf8(body) and not charset.startswith(("utf-16", "utf-32")):
        return body, "utf-8"
    if not charset or not _fits(body, charset):
        charset = _meta_charset(body) or charset
    if is_ascii:
        # Pure ASCII, unless it is one of the charsets that hide in it (ISO-2022-JP, HZ) or UTF-16 full of NULs.
        hidden = charset.startswith(("iso2022", "hz", "utf-16", "utf-32"))
        return _transcode(body, charset) if hidden else (body, charset or "utf-8")
    if not charset or not _fits(body, charset):
        charset = _detect(body)
    return _transcode(body, charset)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _transcode(body: bytes, charset: str) -> tuple[bytes, str]:
    return body.decode(charset, "replace").encode("utf-8", "replace"), charset


def _fits(body: bytes, charset: str) -> bool:
    """Whether the bytes can be in that charset, but for a little damage."""
    sample = body[:_SAMPLE_BYTES]
    bad = sample.decode(charset, "replace").count("\ufffd")
    return bad <= 2 + _MAX_BAD_SHARE * len(sample)


def _meta_charset(body: bytes) -> str:
    match = _META.search(body, 0, _META_BYTES)
    if not match:
        return ""
    name = codec_of((match[1] or match[2]).decode("ascii"))
    # A meta tag that could be read as ASCII is not in UTF-16, whatever it says.
    return "utf-8" if name.startswith(("utf-16", "utf-32")) else name


def _detect(body: bytes) -> str:
    if _fits(body, "utf-8"):
        return "utf-8"
    from charset_normalizer import from_bytes

    best = from_bytes(body[:_SAMPLE_BYTES], steps=5, chunk_size=512, threshold=0.3).best()
    return (codec_of(best.encoding) if best else "") or "cp1252"
