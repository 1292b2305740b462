"""Sitemaps and feeds, as they are written and as they are found."""

import gzip
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.crawl import listing
from holdfast.crawl.document import Entry, Kind
from holdfast.crawl.listing import is_packed_listing, read_sitemap, read_xml, root_of, unpacked

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image"'
URLSET = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand -->
<urlset {NS}>
  <url><loc> https://example.com/a?x=1&amp;y=2 </loc><lastmod>2024-05-01</lastmod><priority>0.5</priority></url>
  <url><image:image><image:loc>https://example.com/i.png</image:loc></image:image>
       <loc><![CDATA[https://example.com/b]]></loc><lastmod>2024-05-01T10:00:00+02:00</lastmod></url>
  <url><lastmod>yesterday</lastmod><loc>https://example.com/c</loc></url>
  <url><loc>https://example.com/a?x=1&amp;y=2</loc></url>
</urlset>""".encode()
INDEX = b"""<sitemapindex><sitemap><loc>https://example.com/1.xml.gz</loc><lastmod>2024</lastmod></sitemap>
<sitemap><loc>/2.xml</loc></sitemap></sitemapindex>"""
RSS = b"""<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>News</title><link>https://example.com/</link><atom:link href="https://example.com/feed" rel="self"/>
<item><title>One</title><link>https://example.com/1</link><guid>x</guid></item>
<item><link>https://example.com/2</link></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><link href="https://example.com/"/>
<entry><title>One</title>
<link rel="edit" href="/edit/1"/><link href="/1"/><updated>2024-05-01T10:00:00Z</updated></entry>
<entry><link rel="alternate" type="text/html" href="/2"/></entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="https://example.com/"><title>Old</title><link>https://example.com/</link></channel>
<item rdf:about="https://example.com/1"><link>https://example.com/1</link></item></rdf:RDF>"""


def urls(document):
    return [entry.url for entry in document.entries]


def test_a_sitemap_lists_pages_with_their_dates():
    document = read_sitemap(URLSET, None)
    assert document.kind is Kind.SITEMAP
    assert document.entries == [
        Entry("https://example.com/a?x=1&y=2", "2024-05-01"),
        Entry("https://example.com/b", "2024-05-01T10:00:00+02:00"),
        Entry("https://example.com/c", None),
    ]
    assert not document.cut


def test_an_index_lists_sitemaps_and_no_pages():
    document = read_sitemap(INDEX, None)
    assert document.sitemaps == ["https://example.com/1.xml.gz", "/2.xml"]
    assert document.entries == []


def test_a_root_with_a_prefix_has_its_children_with_it():
    body = b"<sm:urlset xmlns:sm='x'><sm:url><sm:loc>https://example.com/a</sm:loc></sm:url></sm:urlset>"
    assert urls(read_sitemap(body, None)) == ["https://example.com/a"]


@pytest.mark.parametrize("body", [URLSET, INDEX, b"https://example.com/a\n"])
def test_a_packed_sitemap_is_read_like_a_plain_one(body):
    assert read_sitemap(gzip.compress(body), None) == read_sitemap(body, None)
    half = len(body) // 2
    two_members = gzip.compress(body[:half]) + gzip.compress(body[half:])
    assert read_sitemap(two_members, None) == read_sitemap(body, None)


def test_what_is_cut_off_or_damaged_gives_what_came_before():
    many = b"<urlset>" + b"".join(b"<url><loc>https://example.com/%d</loc></url>" % n for n in range(5000))
    packed = gzip.compress(many)
    found = urls(read_sitemap(packed[: len(packed) // 2], None))
    assert 100 < len(found) < 5000
    assert found == [f"https://example.com/{n}" for n in range(len(found))]
    assert len(urls(read_sitemap(many, None))) == 5000, "its end is missing, and nothing else"


@pytest.mark.parametrize(
    "broken",
    [
        b"<url><loc>https://example.com/x?a=1&b=2</loc></url>",
        b"<url><loc>https://example.com/x?a=1&b=2</loc><lastmod>2024-05-01</lastmod></url>",
        b"<url><loc>https://example.com/x?a=1&amp;b=2</loc>&nbsp;</url>",
        b"<url><loc>https://example.com/x?a=1&amp;b=2</loc><br></url>",
    ],
)
def test_broken_xml_is_read_on_by_pattern(broken):
    body = (
        b"<urlset><url><loc>https://example.com/1</loc></url>"
        + broken
        + b"<url><loc>https://example.com/2</loc></url></urlset>"
    )
    assert urls(read_sitemap(body, None)) == [
        "https://example.com/1",
        "https://example.com/x?a=1&b=2",
        "https://example.com/2",
    ]


@pytest.mark.parametrize(
    ("body", "title", "expected"),
    [
        (RSS, "News", ["https://example.com/1", "https://example.com/2"]),
        (ATOM, "Log", ["/1", "/2"]),
        (RDF, "Old", ["https://example.com/1"]),
    ],
)
def test_feeds_list_their_entries(body, title, expected):
    document = read_xml(body, None)
    assert (document.kind, document.title, urls(document)) == (Kind.FEED, title, expected)


def test_an_atom_entry_says_when_it_changed():
    assert read_xml(ATOM, None).entries[0].lastmod == "2024-05-01T10:00:00Z"


def test_other_xml_lists_nothing():
    document = read_xml(b"<?xml version='1.0'?><book><loc>https://example.com/</loc></book>", None)
    assert (document.kind, document.entries, document.lists) == (Kind.XML, [], False)


def test_a_text_sitemap_has_one_url_per_line():
    body = b"\xef\xbb\xbfhttps://example.com/a\r\n\r\n# no\nftp://x/\n  HTTP://example.com/b  \n/relative\n"
    assert urls(read_sitemap(body, None)) == ["https://example.com/a", "HTTP://example.com/b"]


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "windows-1251"])
def test_other_encodings_are_read_as_they_are_declared(encoding):
    page = "/café" if encoding != "windows-1251" else "/кафе"
    text = f"<?xml version='1.0' encoding='{encoding}'?><urlset><url><loc>https://example.com{page}</loc></url></urlset>"
    document = read_xml(text.encode(encoding), None)
    assert urls(document) == [f"https://example.com{page}"]
    assert read_xml(text.encode(encoding), document.charset) == document


# -- hostile ones


def test_entities_are_never_expanded_nor_fetched():
    lol = b"<!DOCTYPE urlset [<!ENTITY a 'https://example.com/x'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>"
    bomb = lol + b"<urlset><url><loc>&b;</loc></url></urlset>"
    assert urls(read_sitemap(bomb, None)) == []
    file = b'<!DOCTYPE urlset [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url><loc>&a;</loc></url></urlset>'
    assert urls(read_sitemap(file, None)) == []
    bomb = b"<urlset><!-- --><url><loc>https://example.com/1</loc></url></urlset>"
    assert urls(read_sitemap(b"<!DOCTYPE urlset>" + bomb, None)) == ["https://example.com/1"]


def test_no_more_is_read_than_the_bounds_allow(monkeypatch):
    monkeypatch.setattr(listing, "MAX_ENTRIES", 10)
    body = b"<urlset>" + b"".join(b"<url><loc>https://example.com/%d</loc></url>" % n for n in range(11))
    document = read_sitemap(body, None)
    assert (len(document.entries), document.cut) == (10, True)
    lines = b"".join(b"https://example.com/%d\n" % n for n in range(11))
    assert (len(read_sitemap(lines, None).entries), read_sitemap(lines, None).cut) == (10, True)
    exact = read_sitemap(lines[: lines.rindex(b"https")], None)
    assert (len(exact.entries), exact.cut) == (10, False)


def test_a_bomb_is_unpacked_up_to_the_bound_and_no_further():
    bomb = gzip.compress(gzip.compress(b"\0" * 10_000_000))
    assert len(unpacked(bomb)) < 100_000, "once"
    assert len(unpacked(gzip.compress(b"\0" * 10_000_000), 1_000_000)) == 1_000_000
    assert unpacked(b"\x1f\x8bnot gzip at all") == b""
    assert unpacked(b"plain") == b"plain"


def test_an_address_without_end_is_left_out():
    endless = b"<urlset><url><loc>https://example.com/" + b"x" * 1_000_000 + b"</loc></url>"
    assert urls(read_sitemap(endless + b"<url><loc>https://example.com/2</loc></url></urlset>", None))[
        -1:
    ] == ["https://example.com/2"]


@pytest.mark.parametrize(
    "hostile",
    [
        b"<urlset>" + b"<loc>" * 400_000,
        b"<urlset>&" + b"<loc>" + b" " * 2_000_000,
        b"<urlset>&" + (b"<loc>" + b" " * 100) * 20_000,
        b"<?x?>" * 200_000,
        b"<!--" * 250_000,
        b"<rss>&" + b"<link>" * 300_000,
        b"<urlset>" + b"<a>" * 300_000,
    ],
    ids=range(7),
)
def test_no_body_makes_it_slow(hostile):
    started = time.process_time()
    read_sitemap(hostile, None)
    assert time.process_time() - started < 5.0


def test_packed_listings_are_told_from_other_packed_files():
    assert is_packed_listing(gzip.compress(URLSET))
    assert not is_packed_listing(gzip.compress(b"\0" * 1000))
    assert not is_packed_listing(b"<urlset>")


@given(st.binary(max_size=400))
@example(b"\x1f\x8b")
@example(b"<")
@example(b"<?xml encoding='utf-16'?><urlset/>")
def test_nothing_raises_whatever_the_bytes(body):
    for read in (read_sitemap, read_xml):
        document = read(body, None)
        assert read(body, document.charset) == document
    root_of(body)


TAGS = (
    "<urlset> <url> <loc> </loc> </url> <lastmod> <feed> <entry> <link> </link> </entry> <rss> <item> </item>"
)
PIECES = st.sampled_from(
    [*TAGS.split(), "https://e.x/1", "2024", "&", "<![CDATA[", "]]>", "<link href='/x'/>", "é", "\0"]
)


@given(st.lists(PIECES, max_size=40))
def test_no_arrangement_of_tags_raises(pieces):
    for document in (
        read_sitemap("".join(pieces).encode(), None),
        read_xml("".join(pieces).encode(), "utf-8"),
    ):
        assert len(set(urls(document))) == len(document.entries)
