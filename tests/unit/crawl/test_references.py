"""Addresses in a page's bytes: all that a browser reads are found, and nothing else changes."""

import codecs

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.crawl.references import markup, stylesheet


def addresses(page, charset=None):
    body = page if isinstance(page, bytes) else page.encode()
    return [one.address for one in markup(body, charset).references]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<a href="x">', ["x"]),
        ("<a href='x y'>", ["x y"]),
        ("<A HREF = x >", ["x"]),
        ("<a href=x/>", ["x/"]),
        ("<a title='>' href=x>", ["x"]),
        ("<a href=x href=y>", ["x"]),
        ("<a href=' x\n'>", ["x"]),
        ("<a href>", []),
        ('<a href="">', [""]),
        ('<a href="?a=1&amp;b=2">', ["?a=1&b=2"]),
        ('<a href="?a=1&copy=2">', ["?a=1&copy=2"]),
        ('<a href="?a&copy;">', ["?a©"]),
        ('<a href="&#x2f;x&#47;">', ["/x/"]),
        ("<img src=a srcset='b 1x, c,d.png 2x,e'>", ["a", "b", "c,d.png", "e"]),
        ("<link rel=stylesheet href=a.css><script src=b.js></script>", ["a.css", "b.js"]),
        ("<video poster=a><source src=b></video><object data=c>", ["a", "b", "c"]),
        ("<form action=a><button formaction=b><input src=c>", ["a", "b", "c"]),
        ("<svg><use xlink:href=#a /><image href=b />", ["#a", "b"]),
        ("<style>a{background:url( 'b' )} @import \"c\"; @import url(d);</style>", ["b", "c", "d"]),
        ("<p style='background:url(a)'><p style=\"background:url(&quot;b&quot;)\">", ["a", "b"]),
        ('<meta http-equiv=refresh content="5; url=a?b&amp;c">', ["a?b&c"]),
        ("<meta http-equiv=refresh content=\"0;URL='a'\">", ["a"]),
        ("<meta http-equiv=refresh content=5>", []),
        ("<meta name=description content='url=a'>", []),
        ("<!-- <a href=no> --><a href=x>", ["x"]),
        ("<!--><a href=x>-->", ["x"]),
        ("<!-- a --!><a href=x>", ["x"]),
        ("<script>'<a href=no>'</script><a href=x>", ["x"]),
        ("<textarea><a href=no></textarea><title><a href=no></title><a href=x>", ["x"]),
        ("<script><a href=no>", []),
        ("<a href=x><a href='never ends", ["x"]),
        ("a < b <a href=x> <3 </ p> <?php <a href=y> ?>", ["x"]),
        ("<plaintext><a href=no>", []),
        ("</a href=no><a href=x>", ["x"]),
        ("<data data=no><p data=no>", []),
    ],
)
def test_what_is_an_address(page, expected):
    assert addresses(page) == expected


def test_only_the_addresses_change():
    page = (
        b"\xef\xbb\xbf<!DOCTYPE html>\r\n<html><head><meta charset=utf-8 /><base href='/b/'></head>\n"
        b"<a  HREF = a.html\tclass=x>\xc3\xa9</a><a href=\"b\">&nbsp;</a><img src='c'\x00>\n\n<broken <</html> "
    )
    found = markup(page, None)
    assert found.with_places(lambda _: None) == page.replace(b"'/b/'", b"''")
    changed = found.with_places({"a.html": "A", "b": "?x=1&y", "c": None}.get)
    assert changed == page.replace(b"'/b/'", b"''").replace(b"= a.html", b"= A").replace(
        b'"b"', b'"?x=1&amp;y"'
    )
    assert found.base_address == "/b/"


def test_a_page_in_another_encoding_keeps_it():
    page = "<meta charset=shift_jis><a href='日本.html'>日本表</a>".encode("cp932")
    found = markup(page, None)
    assert [one.address for one in found.references] == ["日本.html"]
    assert found.with_places(lambda _: "x.html") == page.replace("日本.html".encode("cp932"), b"x.html")


def test_what_only_the_header_told_is_told_by_the_page_from_here_on():
    latin = "<!doctype html><html lang=fr><head><title>é</title><a href=x>".encode("cp1252")
    assert markup(latin, "iso-8859-1").data == latin.replace(
        b"<head>", b'<head><meta charset="windows-1252">'
    )
    utf8 = "<title>é</title>".encode()
    assert markup(utf8, "utf-8").data == codecs.BOM_UTF8 + utf8
    assert markup(utf8, None).data == codecs.BOM_UTF8 + utf8
    said = "<meta charset=utf-8><title>é</title>".encode()
    assert markup(said, "utf-8").data == said
    assert markup(b"<title>e</title>", "windows-1252").data == b"<title>e</title>"


def test_encodings_in_which_ascii_is_not_itself_become_utf8():
    page = "<title>é</title><a href='ü'>".encode("utf-16")
    found = markup(page, None)
    assert found.data == codecs.BOM_UTF8 + "<title>é</title><a href='ü'>".encode()
    assert [one.address for one in found.references] == ["ü"]


def test_a_stylesheet():
    css = b"@import 'a.css';\nb { background: URL(\"c.png\") } d { src: url(e.woff?x&y) }"
    found = stylesheet(css, None)
    assert [one.address for one in found.references] == ["a.css", "c.png", "e.woff?x&y"]
    assert found.with_places(lambda one: f"z/{one}") == (
        b"@import 'z/a.css';\nb { background: URL(\"z/c.png\") } d { src: url(z/e.woff?x&y) }"
    )


@given(st.binary(max_size=300) | st.text(alphabet="<>/!-='\" ahrefscript&;", max_size=200).map(str.encode))
def test_whatever_a_page_holds_nothing_else_changes(body):
    assume(not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)))
    found = markup(body, "utf-8")
    assert found.data in {body, codecs.BOM_UTF8 + body}
    marked = found.with_places(lambda _: "@")
    assert len(found.references) <= len(marked)
    for one in found.references:
        assert 0 <= one.start <= one.end <= len(found.data)
