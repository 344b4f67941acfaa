from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unquilt.ingest.charset import charset_of, to_utf8

RUSSIAN = "Москва является столицей России. Погода сегодня хорошая, а завтра обещают дождь."
JAPANESE = "日本の首都は東京です。今日は天気がよいので、公園へ散歩に行きました。カタカナもあります。"
SIMPLIFIED = "中国的首都是北京。今天天气很好，我们去公园散步。这个网站提供最新的新闻和信息。"
TRADITIONAL = "台灣的首都是台北。今天天氣很好，我們去公園散步。這個網站提供最新的新聞和資訊。"
KOREAN = "대한민국의 수도는 서울이다. 오늘은 날씨가 좋아서 공원에 산책을 갔습니다."
FRENCH = "Où est passée la bibliothèque ? L'été dernier, nous avons mangé des crêpes près de la forêt."
GERMAN = "Während des Frühstücks hörten wir schöne Musik über die größte Straße Österreichs."
POLISH = "Zażółć gęślą jaźń. Wczoraj byliśmy w Łodzi, gdzie świeciło słońce."
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Dnes je hezké počasí a jdeme na procházku."
TURKISH = "Türkiye'nin başkenti Ankara'dır. Bugün hava çok güzel, şehirde yürüyüş yapacağız."
GREEK = "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας. Σήμερα ο καιρός είναι καλός."
HEBREW = "ירושלים היא בירת ישראל. היום מזג האוויר יפה ואנחנו הולכים לטייל."
ARABIC = "القاهرة هي عاصمة مصر. الطقس جميل اليوم ونحن ذاهبون للتنزه في الحديقة."
THAI = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย วันนี้อากาศดีมาก เราจึงไปเดินเล่นในสวนสาธารณะ"

LEGACY = [
    ("windows-1251", RUSSIAN),
    ("koi8-r", RUSSIAN),
    ("ibm866", RUSSIAN),
    ("iso-8859-5", RUSSIAN),
    ("shift_jis", JAPANESE),
    ("euc-jp", JAPANESE),
    ("gb18030", SIMPLIFIED),
    ("big5", TRADITIONAL),
    ("euc-kr", KOREAN),
    ("windows-1252", FRENCH),
    ("windows-1252", GERMAN),
    ("windows-1250", POLISH),
    ("iso-8859-2", POLISH),
    ("windows-1250", CZECH),
    ("windows-1254", TURKISH),
    ("windows-1253", GREEK),
    ("windows-1255", HEBREW),
    ("windows-1256", ARABIC),
    ("windows-874", THAI),
]
PYTHON = {"windows-874": "cp874", "gb2312": "gb2312", "ibm866": "cp866"}


def page(text: str, meta: str = "") -> str:
    tag = f'<meta http-equiv="Content-Type" content="text/html; charset={meta}">' if meta else ""
    return f"<html><head>{tag}<title>a title</title></head><body class='b'><p>{text}</p></body></html>"


def encoded(html: str, charset: str) -> bytes:
    return html.encode(PYTHON.get(charset, charset))


@pytest.mark.parametrize(("charset", "text"), LEGACY)
@pytest.mark.parametrize("how", ["header", "meta", "neither", "both wrong", "unknown"])
def test_a_page_is_read_whatever_it_says(charset: str, text: str, how: str) -> None:
    meta = {"meta": charset, "both wrong": "utf-8"}.get(how, "")
    declared = {"header": charset, "both wrong": "UTF-8", "unknown": "x-no-such-charset"}.get(how, "")
    html = page(text, meta)
    assert to_utf8(encoded(html, charset), declared) == (html.encode(), charset)


@pytest.mark.parametrize("declared", ["", "iso-8859-1", "windows-1251", "shift_jis", "utf-16", "nonsense"])
@pytest.mark.parametrize("text", [FRENCH, RUSSIAN, JAPANESE, "one é", "😀"])
def test_utf_8_is_told_by_its_bytes_whatever_is_declared(text: str, declared: str) -> None:
    body = page(text, declared).encode()
    assert to_utf8(body, declared) == (body, "utf-8")
    assert to_utf8(codecs.BOM_UTF8 + body, declared) == (body, "utf-8")


@pytest.mark.parametrize("declared", ["", "iso-8859-1", "utf-16", "iso-2022-jp", "hz-gb-2312", "gb2312"])
def test_ascii_is_utf_8(declared: str) -> None:
    body = page("~ plain ~ words", declared).encode()
    assert to_utf8(body, declared) == (body, "utf-8")


@pytest.mark.parametrize("text", [FRENCH, RUSSIAN, JAPANESE, "plain words"])
@pytest.mark.parametrize("charset", ["utf-16le", "utf-16be"])
@pytest.mark.parametrize("declared", ["", "utf-8", "utf-16", "iso-8859-1"])
def test_utf_16_is_told_with_and_without_a_mark(text: str, charset: str, declared: str) -> None:
    html = page(text, "utf-8")
    assert to_utf8(html.encode(charset), declared) == (html.encode(), charset)
    assert to_utf8(("\ufeff" + html).encode(charset), declared) == (html.encode(), charset)


@pytest.mark.parametrize(("charset", "text"), [("iso-2022-jp", JAPANESE), ("hz-gb-2312", SIMPLIFIED)])
def test_charsets_that_hide_in_ascii_are_read_if_declared(charset: str, text: str) -> None:
    raw = page(text, charset).encode(charset.removesuffix("-gb-2312"))
    assert to_utf8(raw, "") == (page(text, charset).encode(), charset)
    raw = page(text).encode(charset.removesuffix("-gb-2312"))
    assert to_utf8(raw, charset) == (page(text).encode(), charset)


def test_a_header_comes_before_a_meta_tag() -> None:
    html = page(RUSSIAN, "koi8-r")
    assert to_utf8(html.encode("cp1251"), "windows-1251") == (html.encode(), "windows-1251")


@pytest.mark.parametrize("declared", ["", "utf-8", "iso-8859-1"])
def test_an_xml_declaration_counts_as_a_meta_tag(declared: str) -> None:
    xml = f"<?xml version='1.0' encoding='windows-1251'?><p>{RUSSIAN}"
    charset = to_utf8(xml.encode("cp1251"), declared)[1]
    assert charset == ("windows-1252" if declared == "iso-8859-1" else "windows-1251")


def test_a_few_bad_bytes_do_not_make_a_utf_8_page_another_one() -> None:
    good = page(RUSSIAN * 5).encode()
    for damage in (b"\xff", b"\xed\xa0\x80", b"\xd0"):
        text, charset = to_utf8(good[:-18] + damage + good[-18:], "utf-8")
        assert charset == "utf-8"
        assert text.startswith(good[:-18])
        assert text.endswith(good[-18:])


def test_one_accent_in_a_page_that_says_utf_8_is_not_lost() -> None:
    assert to_utf8(page("caf\xe9").encode("latin-1"), "utf-8")[0] == page("caf\xe9").encode()


def test_what_comes_late_in_a_page_counts_too() -> None:
    html = page("plain words. " * 5000 + RUSSIAN)
    assert to_utf8(html.encode("cp1251"), "utf-8") == (html.encode(), "windows-1251")


def test_nul_bytes_do_not_make_utf_16() -> None:
    body = b"\0\0\0" + page("some words\0\0").encode() + bytes(600)
    assert to_utf8(body, "utf-8") == (body, "utf-8")
    assert to_utf8("é\0".encode()) == ("é\0".encode(), "utf-8")


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("UTF8", "utf-8"),
        (" Utf-8 ", "utf-8"),
        ("ISO_8859-1:1987", "windows-1252"),
        ("latin1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("iso-8859-9", "windows-1254"),
        ("TIS-620", "windows-874"),
        ("x-sjis", "shift_jis"),
        ("Windows-31J", "shift_jis"),
        ("GB2312", "gbk"),
        ("ks_c_5601-1987", "euc-kr"),
        ("Big5-HKSCS", "big5"),
        ("win-1251", "windows-1251"),
        *[(charset, charset) for charset, _ in LEGACY],
        *[
            (label, "")
            for label in ("", "rot13", "base64", "idna", "punycode", "zip", "unicode_escape", "utf-7", "hex")
        ],
        *[(label, "") for label in ("undefined", "mbcs", "cp037", "os.path", "../x", "\0", "é", "\ud800")],
    ],
)
def test_labels_mean_what_browsers_take_them_for(label: str, charset: str) -> None:
    assert charset_of(label) == charset


ANY_BYTES = st.binary(max_size=400) | st.lists(
    st.sampled_from([b"<meta charset=shift_jis>", b"\xff\xfe", b"\x1b$B", b"~{", b"\0", b"\xe9", b"<p>", b"\x81"])
).map(b"".join)
ANY_LABEL = st.text(max_size=8) | st.sampled_from([name for name, _ in LEGACY] + ["utf-16", "hz", "iso-2022-kr"])


@given(ANY_BYTES, ANY_LABEL)
def test_any_bytes_become_utf_8(body: bytes, declared: str) -> None:
    text, charset = to_utf8(body, declared)
    text.decode("utf-8")
    assert charset_of(charset) == charset


@given(st.text(st.characters(exclude_characters="\0"), max_size=200))
def test_utf_8_comes_back_as_it_was(text: str) -> None:
    body = ("é" + text).encode("utf-8", "ignore")
    assert to_utf8(body) == (body, "utf-8")
