"""Segments hold what was fetched: for us, and for anybody's WARC tools."""

import gzip
import hashlib
import io
import itertools
import string
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastArchive
from fastwarc.warc import WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.web.warckit import AT, JOB, StillClock, append, exchange, folder, lease, segments
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from holdfast.crawl.evidence import joined_header
from holdfast.domain.commit import Location
from holdfast.domain.errors import StorageFailed
from holdfast.domain.job import Durability
from holdfast.ports.segments import DamagedRecord, Exchange, Original, Reading
from holdfast.web.warc import WarcSegments


def passes_warcio_check(path: Path) -> bool:
    class Args:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Args)
    checker.process_all()
    return not checker.exit_value


def readings(store, appended) -> list[Reading]:
    found = list(store.scan(JOB, appended.segment, appended.end))
    assert not [damage for damage in found if isinstance(damage, DamagedRecord)]
    return found


def test_what_was_appended_is_read_back(tmp_path):
    store = segments(tmp_path)
    headers = (
        ("Content-Type", "text/html"),
        ("X-Empty", ""),
        ("x-name", "caf\xe9"),
        ("X-Dup", "1"),
        ("X-Dup", "2"),
    )
    [appended] = append(
        store, [exchange(b"one", headers=headers), exchange(b"two", "http://example.org/2", status=404)]
    )
    first, second = (store.read(JOB, stored.location) for stored in appended.stored)
    assert (first.url, first.status, first.payload, first.revisit) == (
        "http://example.org/",
        200,
        b"one",
        False,
    )
    assert first.headers == headers
    assert first.digest == hashlib.sha256(b"one").digest() == appended.stored[0].digest
    assert (second.url, second.status, second.payload) == ("http://example.org/2", 404, b"two")
    assert readings(store, appended) == [first, second]


def test_a_compressed_payload_is_kept_as_it_came_and_read_back_unpacked(tmp_path):
    payload = gzip.compress(b"<p>hello</p>")
    [appended] = append(segments(tmp_path), [exchange(payload, headers=(("Content-Encoding", "gzip"),))])
    found = segments(tmp_path).read(JOB, appended.stored[0].location)
    assert (found.payload, found.body) == (payload, b"<p>hello</p>")


def test_a_body_that_cannot_be_unpacked_is_damage(tmp_path):
    [appended] = append(segments(tmp_path), [exchange(b"\0\1", headers=(("Content-Encoding", "gzip"),))])
    with pytest.raises(DamagedRecord):
        segments(tmp_path).read(JOB, appended.stored[0].location)


def test_ranges_are_contiguous_from_nothing_and_have_their_checksum(tmp_path):
    store = segments(tmp_path)
    ranges = append(store, *([exchange(b"x" * number)] for number in range(5)))
    assert [appended.start for appended in ranges] == [0, *(appended.end for appended in ranges[:-1])]
    assert store.size(JOB, ranges[0].segment) == ranges[-1].end
    for appended in ranges:
        assert store.crc(JOB, appended.segment, appended.start, appended.end) == appended.crc
        assert all(appended.start <= stored.location.offset < appended.end for stored in appended.stored)
    assert store.crc(JOB, ranges[0].segment, 0, ranges[-1].end + 1) is None
    assert store.crc(JOB, ranges[0].segment, 5, 5) == 0
    assert len(readings(store, ranges[-1])) == 5


def test_nothing_is_created_before_the_first_append(tmp_path):
    store = segments(tmp_path / "home")
    append(store)
    assert not (tmp_path / "home").exists()
    assert store.size(JOB, "c1-e1-0.warc.gz") == 0
    assert store.crc(JOB, "c1-e1-0.warc.gz", 0, 1) is None
    assert store.free_bytes() > 0


def test_a_file_is_named_by_its_claim_and_open_to_readers(tmp_path):
    [appended] = append(segments(tmp_path), [exchange()], claim=lease(12, 34))
    path = folder(tmp_path) / "c12-e34-0.warc.gz"
    assert appended.segment == path.name
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_that_exists_is_never_touched(tmp_path):
    store = segments(tmp_path)
    append(store, [exchange(b"by another")])
    before = (folder(tmp_path) / "c3-e7-0.warc.gz").read_bytes()
    [appended] = append(store, [exchange(b"by us")])
    assert appended.segment == "c3-e7-1.warc.gz"
    assert appended.start == 0
    assert (folder(tmp_path) / "c3-e7-0.warc.gz").read_bytes() == before


def test_the_next_file_begins_where_this_one_would_pass_its_size(tmp_path):
    store = segments(tmp_path, segment_bytes=3000)
    noise = [hashlib.shake_256(bytes([number])).digest(800) for number in range(10)]
    ranges = append(store, *([exchange(body)] for body in noise))
    names = list(dict.fromkeys(appended.segment for appended in ranges))
    assert names == [f"c3-e7-{n}.warc.gz" for n in range(len(names))]
    assert len(names) >= 4
    for before, after in itertools.pairwise(ranges):
        if after.segment == before.segment:
            assert (after.start, after.closed) == (before.end, None)
        else:
            assert (after.start, after.closed) == (0, (before.segment, before.end))
    for name in names:
        size = store.size(JOB, name)
        assert size <= 3000
        assert size == max(appended.end for appended in ranges if appended.segment == name)
        assert passes_warcio_check(folder(tmp_path) / name)
    assert [store.read(JOB, appended.stored[0].location).payload for appended in ranges] == noise


def test_one_batch_is_never_split_however_large(tmp_path):
    [appended] = append(segments(tmp_path, segment_bytes=10), [exchange(b"a"), exchange(b"b")])
    assert {stored.location.segment for stored in appended.stored} == {appended.segment}


def test_known_bodies_become_revisits(tmp_path):
    store = segments(tmp_path)
    [first] = append(store, [exchange(b"same", "http://example.org/first")], claim=lease(1))
    place = first.stored[0].location
    known = {first.stored[0].digest: Original(place, "http://example.org/first", AT)}
    [second] = append(
        store, [exchange(b"same", "http://example.org/again", at=AT + 9)], known=known, claim=lease(2)
    )
    [stored] = second.stored
    assert stored.revisit_of == place
    revisit = store.read(JOB, stored.location)
    assert (revisit.revisit, revisit.payload, revisit.url) == (True, b"", "http://example.org/again")
    assert revisit.digest == first.stored[0].digest == stored.digest
    assert revisit.headers == (("Content-Type", "text/html"), ("Content-Length", "4"))
    with (folder(tmp_path) / second.segment).open("rb") as file:
        [record] = [record for record in ArchiveIterator(file) if record.rec_type == "revisit"]
    assert record.rec_headers["WARC-Refers-To-Target-URI"] == "http://example.org/first"
    assert record.rec_headers["WARC-Refers-To-Date"] == "2023-11-14T22:13:20.123456Z"
    assert record.rec_headers["WARC-Profile"].endswith("/warc/1.1/revisit/identical-payload-digest")


def test_what_has_not_changed_is_a_revisit_of_the_body_that_it_names(tmp_path):
    store = segments(tmp_path)
    [first] = append(store, [exchange(b"same", "http://example.org/")], claim=lease(1))
    [stored] = first.stored
    original = Original(stored.location, "http://example.org/", AT, "", stored.digest)
    said = replace(exchange(b"", "http://example.org/", at=AT + 9).response, status=304)
    [second] = append(store, [Exchange(said, stored.digest, original)], claim=lease(2))
    assert [one.revisit_of for one in second.stored] == [stored.location]
    reading = store.read(JOB, second.stored[0].location)
    assert (reading.revisit, reading.status, reading.digest) == (True, 304, stored.digest)
    with (folder(tmp_path) / second.segment).open("rb") as file:
        [record] = [record for record in ArchiveIterator(file) if record.rec_type == "revisit"]
    assert record.rec_headers["WARC-Refers-To-Target-URI"] == "http://example.org/"
    assert record.rec_headers["WARC-Profile"].endswith("/warc/1.1/revisit/server-not-modified")


def test_linked_files_are_the_same_and_outlive_each_other(tmp_path):
    store = segments(tmp_path)
    [appended] = append(store, [exchange(b"body")])
    other = replace(JOB, id=2, public_id="0198c0de-0000-7000-8000-00000000ffff")
    for _ in range(2):
        store.link(JOB, other, [appended.segment, "c9-e9-0.warc.gz"])
    place = appended.stored[0].location
    store.discard(JOB, [appended.segment])
    store.discard(JOB, [appended.segment])
    assert store.size(JOB, appended.segment) == 0
    assert store.read(other, place).body == b"body"
    store.settle(other, appended.segment)
    store.settle(JOB, appended.segment)


@pytest.mark.parametrize("name", ["../holdfast.db", "x"])
def test_a_name_that_leads_elsewhere_is_neither_linked_nor_deleted(tmp_path, name):
    store = segments(tmp_path)
    for work in (store.discard, lambda job, names: store.link(job, job, names)):
        with pytest.raises(StorageFailed):
            work(JOB, [name])


def test_the_second_of_two_equal_bodies_in_a_batch_points_to_the_first(tmp_path):
    store = segments(tmp_path)
    urls = [f"http://example.org/{number}" for number in range(4)]
    batch = [
        exchange(b"A", urls[0]),
        exchange(b"B", urls[1]),
        exchange(b"A", urls[2]),
        exchange(b"A", urls[3]),
    ]
    [appended] = append(store, batch)
    first = appended.stored[0].location
    assert [stored.revisit_of for stored in appended.stored] == [None, None, first, first]
    assert [reading.revisit for reading in readings(store, appended)] == [False, False, True, True]
    assert [reading.url for reading in readings(store, appended)] == urls


def rendering(of: Exchange, document: bytes, at: float = AT + 1) -> Exchange:
    """What a browser made of it."""
    url = of.response.url
    return replace(exchange(document, url, at=at, status=0, headers=()), rendering=True)


def test_what_a_browser_made_of_a_page_is_a_conversion_of_its_response(tmp_path):
    store = segments(tmp_path)
    page = exchange(
        b"<div id=root>", headers=(("Content-Type", "text/html"), ("Content-Encoding", "identity"))
    )
    [appended] = append(
        store, [page, rendering(page, "<p>Made by a script: \u00e4".encode()), exchange(b"next")]
    )
    served, shown, after = readings(store, appended)
    assert (served.status, served.body) == (200, b"<div id=root>")
    assert (shown.url, shown.status, shown.headers, shown.revisit) == (page.response.url, 0, (), False)
    assert shown.body == shown.payload == "<p>Made by a script: \u00e4".encode()
    assert after.body == b"next"
    assert [store.read(JOB, stored.location) for stored in appended.stored] == [served, shown, after]
    path = folder(tmp_path) / appended.segment
    assert passes_warcio_check(path)
    with path.open("rb") as file:
        records = {record.rec_type: dict(record.rec_headers.headers) for record in ArchiveIterator(file)}
    assert records["conversion"]["WARC-Refers-To"] != records["response"]["WARC-Record-ID"]  # the last one's
    assert records["conversion"]["Content-Type"] == "text/html; charset=utf-8"
    assert records["conversion"]["WARC-Date"] == "2023-11-14T22:13:21.123456Z"


def test_a_conversion_refers_to_the_response_right_before_it(tmp_path):
    store = segments(tmp_path)
    pages = [exchange(f"<{n}>".encode(), f"http://example.org/{n}") for n in range(2)]
    batch = [one for page in pages for one in (page, rendering(page, page.response.body * 2))]
    [appended] = append(store, batch)
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        records = [(record.rec_type, record.rec_headers) for record in ArchiveIterator(file)]
    responses = [headers["WARC-Record-ID"] for kind, headers in records if kind == "response"]
    assert [headers["WARC-Refers-To"] for kind, headers in records if kind == "conversion"] == responses


def test_the_same_rendering_of_two_pages_is_stored_once_and_no_response_is_taken_for_it(tmp_path):
    store = segments(tmp_path)
    pages = [exchange(b"<shell>", f"http://example.org/{n}") for n in range(2)]
    same = b"<p>the same"
    [appended] = append(
        store, [pages[0], rendering(pages[0], same), exchange(same), pages[1], rendering(pages[1], same)]
    )
    places = [stored.location for stored in appended.stored]
    assert [stored.revisit_of for stored in appended.stored] == [None, None, None, places[0], places[1]]
    shown = readings(store, appended)[4]
    assert (shown.revisit, shown.status, shown.body) == (True, 0, b"")
    # What is known from earlier commits counts as well, if it is one's own kind.
    digest = pages[0].digest
    known = {digest: Original(places[0], "http://example.org/0", AT)}
    [later] = append(store, [pages[0], rendering(pages[0], b"<shell>")], known=known, claim=lease(epoch=8))
    assert [stored.revisit_of for stored in later.stored] == [places[0], None]
    assert passes_warcio_check(folder(tmp_path) / later.segment)


def test_payloads_lose_their_chunks_and_say_so(tmp_path):
    headers = (("Transfer-Encoding", "chunked"), ("Content-Length", "99"), ("Trailer", "X"), ("cookie", "c"))
    store = segments(tmp_path)
    [appended] = append(store, [exchange(b"four", headers=headers)])
    assert store.read(JOB, appended.stored[0].location).headers == (
        ("X-Crawler-Transfer-Encoding", "chunked"),
        ("X-Crawler-Content-Length", "99"),
        ("Trailer", "X"),
        ("cookie", "c"),
    )
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        [body] = [
            record.content_stream().read()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        ]
    assert body == b"four"


def test_the_length_that_a_304_tells_stays(tmp_path):
    store = segments(tmp_path)
    [appended] = append(store, [exchange(b"", status=304, headers=(("Content-Length", "4711"),))])
    assert store.read(JOB, appended.stored[0].location).headers == (("Content-Length", "4711"),)


def test_http2_is_written_in_the_form_of_http1(tmp_path):
    store = segments(tmp_path)
    [appended] = append(store, [exchange(http_version="HTTP/2", reason_phrase="")])
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        _, response, request = ArchiveIterator(file)
        assert response.http_headers.protocol == "HTTP/1.1"
        assert response.rec_headers["WARC-Protocol"] == request.rec_headers["WARC-Protocol"] == "h2"
    assert store.read(JOB, appended.stored[0].location).status == 200


def test_a_line_break_in_a_value_makes_no_second_header(tmp_path):
    store = segments(tmp_path)
    [appended] = append(store, [exchange(headers=(("X-One", "a\r\nX-Two: b"), ("X-Three", "c")))])
    assert store.read(JOB, appended.stored[0].location).headers == (("X-One", "a X-Two: b"), ("X-Three", "c"))


def test_a_segment_begins_by_saying_what_it_is(tmp_path):
    [appended] = append(segments(tmp_path), [exchange()])
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        info, response, request = ArchiveIterator(file)
        assert [record.rec_type for record in (info, response, request)] == [
            "warcinfo",
            "response",
            "request",
        ]
        assert info.rec_headers["WARC-Filename"] == appended.segment
        assert response.rec_headers["WARC-IP-Address"] == "192.0.2.1"
        assert response.rec_headers["WARC-Date"] == "2023-11-14T22:13:20.123456Z"
        assert response.rec_headers["Content-Type"] == "application/http; msgtype=response"
        assert request.rec_headers["WARC-Concurrent-To"] == response.rec_headers["WARC-Record-ID"]
        assert request.http_headers.get_header("Host") == "http://example.org/"
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        text = next(iter(ArchiveIterator(file))).content_stream().read().decode()
    assert f"isPartOf: {JOB.public_id}\r\n" in text
    assert "software: Holdfast/" in text


NAMES = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=20)
VALUES = st.text(
    st.characters(max_codepoint=255, exclude_characters="\r\n\0", exclude_categories=()), max_size=50
).map(lambda value: value.strip(" \t"))
EXCHANGES = st.builds(
    exchange,
    st.binary(max_size=3000)
    | st.sampled_from([b"", b"same", b"\r\n\r\n", b"WARC/1.1\r\n\r\n", b"\x1f\x8b\x08\0"]),
    st.from_regex(r"http://[a-z]{1,9}\.example/[!-~]{0,30}", fullmatch=True),
    status=st.integers(200, 599),
    headers=st.lists(st.tuples(NAMES, VALUES), max_size=8).map(tuple),
    at=st.floats(0, 4e9),
    http_version=st.sampled_from(["HTTP/1.0", "HTTP/1.1", "HTTP/2"]),
    reason_phrase=st.sampled_from(["", "OK", "Not Found", "Ganz gr\xfcn"]),
)
DESCRIBES_THE_WIRE = {"transfer-encoding", "content-length"}


def same_headers(stored: tuple[tuple[str, str], ...], given_: Exchange) -> bool:
    return len(stored) == len(given_.response.headers) and all(
        mine == theirs or theirs[0].lower() in DESCRIBES_THE_WIRE
        for mine, theirs in zip(stored, given_.response.headers, strict=True)
    )


@settings(max_examples=60)
@given(batch=st.lists(EXCHANGES, min_size=1, max_size=6), durability=st.sampled_from(Durability))
def test_whatever_was_fetched_comes_back_here_and_in_other_readers(batch, durability):
    with tempfile.TemporaryDirectory() as home:
        store = segments(Path(home))
        [appended] = append(store, batch, durability=durability)
        path = folder(Path(home)) / appended.segment
        mine = readings(store, appended)
        assert mine == [store.read(JOB, stored.location) for stored in appended.stored]
        assert passes_warcio_check(path)
        raw = path.read_bytes()
    with io.BytesIO(raw) as stream:
        theirs = [
            (
                record.rec_headers["WARC-Target-URI"],
                b"" if record.rec_type == "revisit" else record.raw_stream.read(),
            )
            for record in ArchiveIterator(stream)
            if record.rec_type in {"response", "revisit"}
        ]
    kinds = WarcRecordType.response | WarcRecordType.revisit
    fast = [record.headers["WARC-Target-URI"] for record in FastArchive(io.BytesIO(raw), record_types=kinds)]
    # The same bytes under another Content-Encoding are another body.
    seen: set[tuple[bytes, str]] = set()
    for sent, reading, (url, payload), fast_url in zip(batch, mine, theirs, fast, strict=True):
        body = (sent.digest, joined_header(sent.response.headers, "content-encoding"))
        assert reading.url == sent.response.url == url == fast_url
        assert reading.status == sent.response.status
        assert reading.digest == sent.digest
        assert same_headers(reading.headers, sent)
        assert reading.revisit == (body in seen)
        assert reading.payload == payload == (b"" if reading.revisit else sent.response.payload)
        seen.add(body)


def test_fastwarc_finds_every_digest_right(tmp_path):
    batch = [exchange(bytes([number]) * 1000, f"http://example.org/{number}") for number in range(20)]
    [appended] = append(segments(tmp_path), batch)
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        records = list(FastArchive(file, record_types=WarcRecordType.response, parse_http=False))
    assert len(records) == 20


def test_removing_a_job_removes_its_segments_and_what_an_earlier_removal_left(tmp_path):
    store = segments(tmp_path)
    [appended] = append(store, [exchange()])
    left = tmp_path / "segments" / ".removed-something"
    left.mkdir()
    (left / "c1-e1-0.warc.gz").write_bytes(b"x")
    store.remove(JOB)
    assert list((tmp_path / "segments").iterdir()) == []
    with pytest.raises(DamagedRecord):
        store.read(JOB, appended.stored[0].location)
    store.remove(JOB)


def test_another_job_s_segments_stay_when_one_is_removed(tmp_path):
    store = segments(tmp_path)
    append(store, [exchange()])
    other = tmp_path / "segments" / "other"
    other.mkdir()
    store.remove(JOB)
    assert other.exists()


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "c1-e1-0.warc.gz/../x", "", "c1-e1-0.warc.gz\n"])
def test_a_name_that_is_no_segment_s_leads_nowhere(tmp_path, name):
    with pytest.raises(DamagedRecord, match="no segment's name"):
        segments(tmp_path).read(JOB, Location(name, 0, 10))


def test_record_ids_are_random_uuids(tmp_path):
    store = WarcSegments(tmp_path, StillClock())
    [appended] = append(store, [exchange(bytes([number])) for number in range(100)])
    with (folder(tmp_path) / appended.segment).open("rb") as file:
        names = [record.rec_headers["WARC-Record-ID"] for record in ArchiveIterator(file)]
    ids = {uuid.UUID(name.removeprefix("<urn:uuid:").removesuffix(">")) for name in names}
    assert len(ids) == 201
    assert {(one.version, one.variant) for one in ids} == {(4, uuid.RFC_4122)}
