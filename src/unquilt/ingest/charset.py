"""Which charset a page is really in, whatever it says. Names are those of the WHATWG, in lower case."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import lru_cache

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16le"), (codecs.BOM_UTF16_BE, "utf-16be"))
_META = re.compile(
    rb"<meta\s[^>]{0,400}?charset\s*=\s*[\"']?\s*([a-z0-9_:.\-]{2,40})"
    rb"|<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([a-z0-9_:.\-]{2,40})",
    re.IGNORECASE,
)
_META_BYTES = 4096  # browsers look at 1024; pages with long comments in front put it later
_SAMPLE_BYTES = 1 << 14
_BLOCK_BYTES = 1 << 18
_TELLING = re.compile(rb"[^<>\x80-\xff]{0,64}[\x80-\xff][^<>]{0,1024}")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_WRONG = re.compile("[\ufffd\x80-\x9f]")

# Labels as pages write them, without case, punctuation and ":1987"; browsers read many as a larger charset.
_LABELS = {
    "utf-8": "utf8 unicode11utf8 unicode20utf8 xunicode20utf8 utf8mb4",
    "utf-16le": "utf16 utf16le unicode csunicode unicodefeff iso10646ucs2 ucs2",
    "utf-16be": "utf16be unicodefffe",
    "windows-1252": "windows1252 cp1252 xcp1252 ascii usascii ansix341968 iso88591 latin1 l1 cp819 ibm819"
    " csisolatin1 isoir100",
    "windows-1250": "windows1250 cp1250 xcp1250",
    "windows-1251": "windows1251 cp1251 xcp1251 win1251",
    "windows-1253": "windows1253 cp1253 xcp1253",
    "windows-1254": "windows1254 cp1254 xcp1254 iso88599 latin5 l5 csisolatin5 isoir148",
    "windows-1255": "windows1255 cp1255 xcp1255",
    "windows-1256": "windows1256 cp1256 xcp1256",
    "windows-1257": "windows1257 cp1257 xcp1257",
    "windows-1258": "windows1258 cp1258 xcp1258",
    "windows-874": "windows874 cp874 dos874 iso885911 tis620",
    "iso-8859-2": "iso88592 latin2 l2 csisolatin2 isoir101",
    "iso-8859-3": "iso88593 latin3 l3 csisolatin3 isoir109",
    "iso-8859-4": "iso88594 latin4 l4 csisolatin4 isoir110",
    "iso-8859-5": "iso88595 cyrillic csisolatincyrillic isoir144",
    "iso-8859-6": "iso88596 iso88596e iso88596i arabic asmo708 ecma114 csisolatinarabic isoir127",
    "iso-8859-7": "iso88597 greek greek8 ecma118 elot928 suneugreek csisolatingreek isoir126",
    "iso-8859-8": "iso88598 iso88598e iso88598i hebrew visual logical csisolatinhebrew isoir138",
    "iso-8859-10": "iso885910 latin6 l6 csisolatin6 isoir157",
    "iso-8859-13": "iso885913",
    "iso-8859-14": "iso885914",
    "iso-8859-15": "iso885915 latin9 l9 csisolatin9",
    "iso-8859-16": "iso885916",
    "ibm866": "866 cp866 ibm866 csibm866",
    "koi8-r": "koi koi8 koi8r cskoi8r",
    "koi8-u": "koi8u koi8ru",
    "macintosh": "macintosh mac xmacroman csmacintosh",
    "x-mac-cyrillic": "xmaccyrillic xmacukrainian",
    "gbk": "gbk xgbk gb2312 gb231280 csgb2312 chinese csiso58gb231280 isoir58 cp936 ms936",
    "gb18030": "gb18030",
    "hz-gb-2312": "hzgb2312 hz",
    "big5": "big5 big5hkscs cnbig5 csbig5 xxbig5 cp950",
    "euc-jp": "eucjp xeucjp cseucpkdfmtjapanese ujis",
    "shift_jis": "shiftjis sjis xsjis mskanji csshiftjis windows31j ms932 cp932",
    "iso-2022-jp": "iso2022jp csiso2022jp",
    "euc-kr": "euckr cseuckr korean ksc56011987 ksc56011989 ksc5601 csksc56011987 isoir149 windows949 cp949"
    " uhc",
    "iso-2022-kr": "iso2022kr csiso2022kr",
}  # fmt: skip
_NAMES = {label: name for name, labels in _LABELS.items() for label in labels.split()}
# The Python codecs of those that Python knows by another name, or in a smaller edition.
_CODECS = {
    "windows-874": "cp874", "macintosh": "mac_roman", "x-mac-cyrillic": "mac_cyrillic", "gbk": "gb18030",
    "hz-gb-2312": "hz", "big5": "big5hkscs", "shift_jis": "cp932", "euc-kr": "cp949",
}  # fmt: skip
_ESCAPES = {"iso-2022-jp": b"\x1b", "iso-2022-kr": b"\x1b", "hz-gb-2312": b"~{"}
_DETECTED = [
    "big5hkscs",
    "cp1250",
    "cp1251",
    "cp1252",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp866",
    "cp874",
    "cp932",
    "cp949",
    "euc_jp",
    "gb18030",
    "iso8859_2",
    "iso8859_5",
    "koi8_r",
]
# What is not ASCII in languages with Latin letters, whose charsets differ in few places; the commonest first.
_ALPHABETS = {
    "windows-1252": "éèàêçùâîôûëïœ äöüß áéíóúñü¿¡ºª ãõáéíóúâêôçà àèéìòù åäöé æøåé áéíóúýþðæö",
    "windows-1250": "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíľĺňóôŕšťúýž áéíóöőúüű ăâîşţ čćđšž",
    "iso-8859-2": "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíľĺňóôŕšťúýž áéíóöőúüű ăâîşţ čćđšž",
    "windows-1254": "çğıöşüâîû",
    "windows-1257": "ąčęėįšųūž āčēģīķļņšūž äõöüšž",
}
_ANYWHERE = frozenset("\u00a0«»„“”‘’‚–—…©®™€£§·•°")


@lru_cache(maxsize=1024)
def charset_of(label: str) -> str:
    """The charset that a label means on the web; "" if none, as for Python's rot13 and idna."""
    label = re.sub(r":\d{4}$", "", label.strip().lower())
    return _NAMES.get(re.sub(r"[^a-z0-9]", "", label), "") if label.isascii() else ""


def to_utf8(body: bytes, declared: str = "") -> tuple[bytes, str]:
    """The page in UTF-8 without a byte order mark, and the charset it was read with.

    In order: a byte order mark, the HTTP header's charset (``declared``), the page's own meta tag, detection.
    A declaration that the bytes contradict is passed over, and bytes that are valid UTF-8 are UTF-8.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _transcode(body[len(mark) :], name)
    if wide := _wide_charset(body):
        return _transcode(body, wide)
    if body.isascii():
        # Some charsets hide in ASCII behind escapes. Few pages are in one: only those are asked.
        if b"\x1b" in body or b"~" in body:
            for name in (charset_of(declared), _meta_charset(body)):
                if name in _ESCAPES and _ESCAPES[name] in body:
                    return _transcode(body, name)
        return body, "utf-8"
    if _is_utf8(body):
        return body, "utf-8"
    return _transcode(body, _legacy_charset(body, declared))


def _legacy_charset(body: bytes, declared: str) -> str:
    """The charset of a page that is neither ASCII nor sound UTF-8."""
    sample = _telling_bytes(body)
    for name in (charset_of(declared), _meta_charset(body), "utf-8"):
        if name and not name.startswith("utf-16") and _fits(sample, name):
            return name
    return _detect(sample)


def _is_utf8(body: bytes) -> bool:
    # In blocks: what is decoded to be looked at only is better small enough for the processor's cache.
    decode = codecs.utf_8_decode
    at = 0
    try:
        while at < len(body):
            is_last = at + _BLOCK_BYTES >= len(body)
            at += decode(body[at : at + _BLOCK_BYTES], "strict", is_last)[1]
    except UnicodeDecodeError:
        return False
    return True


def _transcode(body: bytes, name: str) -> tuple[bytes, str]:
    if name == "utf-8" and _is_utf8(body):
        return body, name
    text = body.decode(_CODECS.get(name, name), "replace")
    return text.removeprefix("\ufeff").encode("utf-8", "replace"), name


def _telling_bytes(body: bytes) -> bytes:
    """The beginning of what is not ASCII, with the words around: markup says nothing about a charset."""
    parts: list[bytes] = []
    size = 0
    for found in _TELLING.finditer(body):
        parts.append(found[0])
        size += len(found[0]) + 1
        if size >= _SAMPLE_BYTES:
            break
    return b"\n".join(parts)


def _fits(sample: bytes, name: str) -> bool:
    """Whether bytes can be in a charset, but for a little damage."""
    text = sample.decode(_CODECS.get(name, name), "replace")
    wrong = len(_WRONG.findall(text))
    if name == "utf-8":
        wrong -= sample.count(b"\xef\xbf\xbd")
    right = len(_FOREIGN.findall(text)) - wrong
    return right > 0 and wrong <= 1 + right // 20


def _meta_charset(body: bytes) -> str:
    found = _META.search(body, 0, _META_BYTES)
    return charset_of((found[1] or found[2]).decode("ascii")) if found else ""


def _wide_charset(body: bytes) -> str:
    """UTF-16 without a mark: every other byte of its markup, spaces and digits is NUL."""
    head = body[:_META_BYTES]
    if b"\0" not in head:
        return ""
    first, second = head[::2].count(0), head[1::2].count(0)
    if first + second < max(8, len(head) // 8) or 8 * min(first, second) > max(first, second):
        return ""
    return "utf-16be" if first > second else "utf-16le"


def _detect(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample, steps=5, chunk_size=512, cp_isolation=_DETECTED).best()
    name = (charset_of(best.encoding) if best else "") or "windows-1252"
    return max(_ALPHABETS, key=lambda latin: _alphabet_share(sample, latin)) if name in _ALPHABETS else name


def _alphabet_share(sample: bytes, name: str) -> float:
    """How much of what is not ASCII one language can explain that is written in that charset."""
    letters = Counter(_FOREIGN.findall(sample.decode(_CODECS.get(name, name), "replace").lower()))
    for char in _ANYWHERE:
        del letters[char]
    best = max(sum(letters[char] for char in alphabet) for alphabet in _ALPHABETS[name].split())
    return best / max(1, letters.total())
