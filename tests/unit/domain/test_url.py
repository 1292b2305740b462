"""The canonical form: docs/reference/urls.md in examples and properties."""

import string
from contextlib import suppress

import ada_url
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.domain.errors import UsageError
from holdfast.domain.url import (
    MAX_HREF_CHARS,
    BadUrl,
    authority,
    canonical,
    fingerprint,
    from_user,
    hostname,
    is_address,
    join,
    join_location,
    origin,
    steps_from_user,
)


@pytest.mark.parametrize(
    ("written", "known_as"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("https://example.com/a#b", "https://example.com/a"),
        ("https://example.com/a?", "https://example.com/a"),
        ("https://example.com/a?#b", "https://example.com/a"),
        ("https://example.com/a??", "https://example.com/a??"),
        ("https://example.com/?b=2&a=1", "https://example.com/?b=2&a=1"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/%2e%2E/c", "https://example.com/c"),
        ("https://example.com//a//b/", "https://example.com//a//b/"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("https://example.com/@me", "https://example.com/@me"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://example.com.:8443/a", "https://example.com:8443/a"),
        ("https://münchen.example/straße", "https://xn--mnchen-3ya.example/stra%C3%9Fe"),
        ("https://example.com/%7euser/%c3%a9%2f", "https://example.com/~user/%C3%A9%2F"),
        ("https://example.com/100%", "https://example.com/100%"),
        ("https://example.com/%%34%31", "https://example.com/%%341"),
        ("https://example.com/%4%31", "https://example.com/%4%31"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8::0:1]:80/", "http://[2001:db8::1]/"),
        ("http://u@[::1]:8080/", "http://[::1]:8080/"),
        ("  https://example.com/a\tb\n ", "https://example.com/ab"),
        ("https:\\\\example.com\\a", "https://example.com/a"),
    ],
)
def test_canonical_form(written, known_as):
    assert canonical(written) == known_as


@pytest.mark.parametrize(
    "written",
    [
        "",
        "example.com",
        "/a",
        "ftp://example.com/",
        "mailto:a@b.c",
        "http://",
        "http://a b/",
        "http://a..b/",
        "http://./",
        "http://1.2.3../",
        "http://[::1",
        "https://example.com/" + "a" * 8200,
        "http://a/\ud800",
    ],
)
def test_what_is_no_url_says_so(written):
    with pytest.raises(BadUrl) as error:
        canonical(written)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, UsageError)


def test_a_missing_scheme_is_suggested():
    with pytest.raises(BadUrl, match=r"did you mean https://example\.com/ \?"):
        canonical("example.com")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("example.com", "https://example.com/"),
        (" example.com/a?b ", "https://example.com/a?b"),
        ("example.com:8080/x", "https://example.com:8080/x"),
        ("localhost", "http://localhost/"),
        ("localhost:8000/x", "http://localhost:8000/x"),
        ("app.localhost:3000", "http://app.localhost:3000/"),
        ("127.0.0.1", "http://127.0.0.1/"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("localhostile.com", "https://localhostile.com/"),
        ("http://example.com", "http://example.com/"),
        ("example.com/@me", "https://example.com/@me"),
        ("intranet/", "https://intranet/"),
    ],
)
def test_what_a_person_types(typed, meant):
    assert from_user(typed) == meant


@pytest.mark.parametrize(
    "typed", ["", "word", "/etc/passwd", "./x", "ftp://x.y", "a b", "https://u:p@example.com/", "--all"]
)
def test_what_a_person_should_not_have_typed(typed):
    with pytest.raises(BadUrl):
        from_user(typed)


def test_credentials_are_not_repeated_in_the_complaint():
    with pytest.raises(BadUrl) as error:
        from_user("https://me:hunter2@example.com/")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("href", "leads_to"),
    [
        ("/x/y.html", "https://example.com/x/y.html"),
        ("y", "https://example.com/d/y"),
        ("../y", "https://example.com/y"),
        ("?q", "https://example.com/d/p?q"),
        ("", "https://example.com/d/p?x"),
        ("#f", "https://example.com/d/p?x"),
        ("//o.org", "https://o.org/"),
        ("/a//b", "https://example.com/a//b"),
        ("/.well-known/x", "https://example.com/.well-known/x"),
        ("mailto:a@b.c", None),
        ("javascript:void(0)", None),
        ("http://[", None),
        ("/\ud800", None),
        ("/" + "a" * MAX_HREF_CHARS + "?", None),
    ],
)
def test_join(href, leads_to):
    assert join("https://example.com/d/p?x", href) == leads_to


@pytest.mark.parametrize(
    ("sent", "leads_to"),
    [
        ("/café".encode(), "https://example.com/caf%C3%A9"),
        ("/café".encode("latin-1"), "https://example.com/caf%E9"),
        ("/à".encode(), "https://example.com/%C3%A0"),
        ("?q=é".encode(), "https://example.com/d/p?q=%C3%A9"),
        ("https://bücher.example/".encode(), "https://xn--bcher-kva.example/"),
        (b"/caf%C3%A9", "https://example.com/caf%C3%A9"),
        (b"  ../x#part ", "https://example.com/x"),
        (b"mailto:a@b.c", None),
    ],
)
def test_a_location_means_the_bytes_that_were_sent(sent, leads_to):
    assert join_location("https://example.com/d/p?x", sent.decode("latin-1")) == leads_to


def test_a_long_link_is_known_by_its_name():
    assert join("https://example.com/", "/" + "a" * 9000) == "https://example.com/" + "a" * 9000


HOSTILE = st.text(st.sampled_from("abz019%%%%//..??##@@::[]\\ \t-_~'\"é&=+25EeFf41"), max_size=40)
PATHS = st.text(st.sampled_from(string.ascii_letters + string.digits + "/._~-?#=&;,+"), max_size=30)


@given(HOSTILE | st.text(max_size=30), st.sampled_from(["https://example.com/d/p?x", "http://h:81/"]))
@example("//a.b..", "http://h:81/")
@example("/%2%35", "http://h:81/")
@example("//%00", "http://h:81/")
@example("//1.2.3.", "http://h:81/")
def test_the_canonical_form_is_a_fixed_point_of_ascii_and_of_ada(href, base):
    url = join(base, href)
    if url is None:
        return
    assert join("about:blank", url) == url
    assert ada_url.normalize_url(url) == url
    assert url.isascii()
    assert "#" not in url
    assert url.startswith(("http://", "https://"))
    parts = ada_url.parse_url(url)
    assert origin(url) == parts["origin"]
    assert authority(url) == parts["host"]
    assert hostname(url) == parts["hostname"]
    assert is_address(hostname(url)) == (parts["host_type"] != ada_url.HostType.DEFAULT)
    assert parts["username"] == parts["password"] == parts["hash"] == ""


@given(
    PATHS,
    st.sampled_from(
        ["", "/", "../", "../../", "../../../../", "https://example.com/", "https://example.com"]
    ),
)
@example("a/b.html", "")
@example("a/b.html", "https://example.com/")
@example("evil.com/x", "https://example.com")
@example("b", "/")
@example("a/b.html?c=d#e", "../")
@pytest.mark.parametrize(
    "base",
    [
        "https://example.com/d/p",
        "https://example.com/d/e/?q=/x/y",
        "https://example.com/",
        "https://example.com/a//b//",
    ],
)
def test_the_short_way_for_plain_links_agrees_with_ada(base, path, start):
    href = start + path
    try:
        expected = canonical(ada_url.join_url(base, href))
    except ValueError:
        expected = None
    assert join(base, href) == expected


@given(st.text(max_size=40) | HOSTILE)
def test_whatever_is_typed_is_a_url_or_a_clear_complaint(text):
    for read in (canonical, from_user):
        with suppress(BadUrl):
            url = read(text)
            assert canonical(url) == url


@given(st.text(string.printable, max_size=30))
def test_escapes_keep_their_meaning(text):
    """What a server gets after unescaping doesn't change."""
    from urllib.parse import quote, unquote_to_bytes

    escaped = "".join(f"%{byte:02x}" for byte in text.encode()).replace("%2e", "%20")
    url = canonical("https://example.com/p" + escaped)
    meant = quote(unquote_to_bytes(escaped))
    assert unquote_to_bytes(url) == unquote_to_bytes("https://example.com/p" + meant)


def test_a_fingerprint_has_128_bits():
    assert len(fingerprint("https://example.com/")) == 16
    # Ledgers are keyed by it: it must never change.
    assert fingerprint("https://example.com/").hex() == "3259687d649f8e86106dd28ba70f1016"


@given(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", " https://", "HTTP://"]),
        st.sampled_from(["example.com", "Example.com.", "localhost:8000", "10.0.0.1", "exa\u00adm.example"]),
        st.sampled_from(["", "/", "/a/../b", "/%7Eu%2f", "/é "]),
        st.sampled_from(["", "?", "?q=1"]),
        st.sampled_from(["", "#top"]),
    )
)
def test_the_steps_lead_from_what_was_typed_to_what_it_is_known_as(typed):
    (_, first), *steps = steps_from_user(typed)
    assert first == typed.strip()
    last = first
    for what, url in steps:
        assert what
        assert url != last
        last = url
    assert last == from_user(typed)


def test_each_step_says_what_it_does():
    assert steps_from_user("Example.com./%7eme?#top") == [
        ("as it was given", "Example.com./%7eme?#top"),
        ("the missing scheme is filled in", "https://Example.com./%7eme?#top"),
        ("read as a browser reads it", "https://example.com./%7eme?#top"),
        ("the fragment is dropped", "https://example.com./%7eme?"),
        ("the empty query is dropped", "https://example.com./%7eme"),
        ("user, password and the dot behind the host are dropped", "https://example.com/%7eme"),
        ("escapes are decoded where they needn't be, else in upper case", "https://example.com/~me"),
    ]
    with pytest.raises(BadUrl):
        steps_from_user("ftp://example.com/")
