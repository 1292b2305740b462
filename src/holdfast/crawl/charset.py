"""Which characters a body's bytes stand for, by the WHATWG Encoding Standard's labels."""

import codecs
import re

PRESCAN_BYTES = 1024
"""The standard looks for a <meta> declaration in so many bytes."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))

# The standard's names and labels: https://encoding.spec.whatwg.org/#names-and-labels
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5"
    " iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
    " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597"
    " iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598"
    " iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1"
    " iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989"
    " l5 latin5 windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gbk": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "gb18030": "gb18030",
    "big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601"
    " windows-949",
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
_NAMES = {label: name for name, labels in _LABELS.items() for label in labels.split()}

# Where Python's codec of the same name reads less than browsers do, or has another name.
_CODECS = {
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "windows-874": "cp874",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "euc-jp": "euc_jis_2004",
    "iso-2022-jp": "iso2022_jp_2",
}

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta(?=[\s/])[^>]*", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"'>/]+))""", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)


def by_label(label: str | None) -> str | None:
    """The encoding that a label names; None for one that the standard doesn't know."""
    return _NAMES.get(label.strip().lower()) if label else None


def of_content_type(content_type: str | None) -> str | None:
    """The charset label in a Content-Type header, as written."""
    match = _HEADER_CHARSET.search(content_type) if content_type else None
    return next((group for group in match.groups() if group is not None), None) if match else None


def detect(body: bytes, hint: str | None = None, *, html: bool = True) -> str:
    """The encoding of a text body, given the charset label of its Content-Type.

    A byte order mark decides, then the hint, then (in HTML) a <meta> among the first PRESCAN_BYTES; else it
    is UTF-8 if the bytes are valid UTF-8, and windows-1252 if not. Asking again with the answer as the hint
    gives the same answer.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name
    told = by_label(hint) or (_of_meta(body[:PRESCAN_BYTES]) if html else None)
    if told:
        return told
    if body.isascii():
        return "utf-8"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def declared(body: bytes) -> str | None:
    """The encoding that an HTML body itself names, as browsers look for it; None if it leaves that to others."""
    return next((name for bom, name in _BOMS if body.startswith(bom)), None) or _of_meta(body[:PRESCAN_BYTES])


def as_utf8(body: bytes, encoding: str) -> bytes:
    """The body in UTF-8 without its byte order mark. Never fails: what can't be read becomes U+FFFD.

    UTF-8 is handed on as it is, valid or not: the HTML parser reads it like a browser.
    """
    if encoding == "utf-8":
        return body[3:] if body.startswith(codecs.BOM_UTF8) else body
    return decoded(body, encoding).encode()


def decoded(body: bytes, encoding: str) -> str:
    """The body as text, by an encoding that `detect` named; what can't be read becomes U+FFFD."""
    if encoding == "replacement":
        return "\ufffd" if body else ""
    text = body.decode(_CODECS.get(encoding, encoding), "replace").removeprefix("\ufeff")
    # Some of Python's codecs let lone surrogates through, which no UTF-8 can hold.
    return text.encode("utf-8", "replace").decode() if _SURROGATES.search(text) else text


_SURROGATES = re.compile("[\ud800-\udfff]")


def _of_meta(head: bytes) -> str | None:
    if b"<!--" in head:
        head = _COMMENT.sub(b"", head)
    for meta in _META.finditer(head):
        match = _META_CHARSET.search(meta.group())
        if match:
            label = next(group for group in match.groups() if group is not None)
            name = by_label(label.decode("ascii", "replace"))
            if name:
                # A page whose <meta> could be read byte by byte isn't UTF-16, whatever it says.
                return "utf-8" if name.startswith("utf-16") else name
    return None
