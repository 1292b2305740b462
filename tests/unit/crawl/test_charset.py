"""Which characters a body's bytes stand for."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl.charset import _CODECS, _NAMES, as_utf8, by_label, decoded, detect, of_content_type


@pytest.mark.parametrize(
    ("body", "hint", "encoding"),
    [
        (b"plain", None, "utf-8"),
        ("é".encode(), None, "utf-8"),
        (b"caf\xe9", None, "windows-1252"),
        (b"caf\xe9", "ISO-8859-1", "windows-1252"),
        (b"x", "utf8", "utf-8"),
        (b"x", "no-such-thing", "utf-8"),
        (b"x", "rot13", "utf-8"),
        (b"\xef\xbb\xbfx", "windows-1251", "utf-8"),
        (b"\xff\xfex\0", None, "utf-16le"),
        (b"\xfe\xff\0x", "utf-8", "utf-16be"),
        (b"<meta charset=windows-1251>", None, "windows-1251"),
        (b"<META content='text/html; charset=koi8-r' http-equiv=Content-Type>", None, "koi8-r"),
        (b"<meta charset = 'Shift_JIS' />", None, "shift_jis"),
        (b"<meta charset=windows-1251>", "utf-8", "utf-8"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<!-- <meta charset=windows-1251> -->", None, "utf-8"),
        (b" " * 1024 + b"<meta charset=windows-1251>", None, "utf-8"),
        (b"<metaphor charset=windows-1251>", None, "utf-8"),
    ],
)
def test_detection(body, hint, encoding):
    assert detect(body, hint) == encoding


def test_plain_text_has_no_meta():
    assert detect(b"<meta charset=windows-1251>", html=False) == "utf-8"


def test_every_label_leads_to_a_codec():
    assert len(_NAMES) > 210
    for name in set(_NAMES.values()) - {"replacement"}:
        codecs.lookup(_CODECS.get(name, name))
        assert by_label(name.upper()) == name


@pytest.mark.parametrize(
    ("header", "label"),
    [
        ("text/html; charset=UTF-8", "UTF-8"),
        ('text/html;charset="utf-8"', "utf-8"),
        ("text/html; Charset = 'x'; a=b", "x"),
        ("text/html", None),
        ("", None),
        (None, None),
    ],
)
def test_the_label_in_a_content_type(header, label):
    assert of_content_type(header) == label


@pytest.mark.parametrize(
    ("text", "codec", "encoding"),
    [
        ("Привет", "cp1251", "windows-1251"),
        ("日本語", "cp932", "shift_jis"),
        ("中文", "gb2312", "gbk"),
        ("한국어", "euc-kr", "euc-kr"),
        ("日本語", "euc_jp", "euc-jp"),
        ("中文", "big5", "big5"),
        ("日本語", "iso2022_jp", "iso-2022-jp"),
        ("€", "cp1252", "windows-1252"),
        ("x", "utf-16-le", "utf-16le"),
    ],
)
def test_round_trips(text, codec, encoding):
    assert decoded(text.encode(codec), encoding) == text
    assert as_utf8(text.encode(codec), encoding) == text.encode()


@given(
    st.binary(max_size=200), st.sampled_from(sorted(set(_NAMES.values()))) | st.none() | st.text(max_size=10)
)
def test_any_bytes_in_any_charset_can_be_read_and_read_again(body, hint):
    encoding = detect(body, hint)
    assert detect(body, encoding) == encoding
    as_utf8(body, encoding)
    text = decoded(body, encoding)
    assert text.encode().decode() == text


@given(st.binary(max_size=60).map(lambda rest: b"<meta charset=" + rest))
def test_any_meta_can_be_read(body):
    encoding = detect(body)
    assert detect(body, encoding) == encoding
