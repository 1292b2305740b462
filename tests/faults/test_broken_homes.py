"""verify can fail: a home is crawled for real, copies of it are broken one thing at a time, and each is named."""

import asyncio

import pytest
from tests.kit.homes import Crawled, crawl, settings_for

from holdfast.bootstrap import open_home
from holdfast.domain.errors import JobHeld
from holdfast.domain.job import Limits
from holdfast.domain.url import fingerprint
from holdfast.engine.verify import Verification, verify
from holdfast.ports.ledger import Discrepancy
from holdfast.sample import pages
from holdfast.sample.server import serve

pytestmark = [pytest.mark.integration, pytest.mark.failure]

PAGE = "/guide/"
PAGES = len(pages.site()) - 2
"""All but the one that robots.txt closes and the stylesheet, which no link leads to."""
COPY = "/print/fees"
"""Gives the very bytes of another page, so that a revisit is stored of it."""


@pytest.fixture(scope="module")
def site():
    with serve() as url:
        yield f"{url}/"


@pytest.fixture(scope="module")
def whole(site, tmp_path_factory):
    return crawl(site, tmp_path_factory.mktemp("whole") / "home", segment_bytes=30_000)


@pytest.fixture
def home(whole, tmp_path):
    return whole.copy(tmp_path / "broken")


def host_of(url):
    """What the host of a URL is called."""
    return f"host {'/'.join(url.split('/', 3)[:3])}"


def named(home: Crawled) -> set[tuple[str, str]]:
    """Kind and subject of everything that verify finds."""
    found = home.verified()
    assert not found.holds
    assert found.total >= len(found.discrepancies)
    return {(one.kind, one.subject) for one in found.discrepancies}


def place_of(home: Crawled, url_end: str) -> tuple[str, int, int]:
    """Segment, start and length of an item's record."""
    sql = """SELECT s.name, r.start, r.length FROM records AS r JOIN segments AS s ON s.id = r.segment_id
              WHERE r.item_id = ?"""
    ((name, start, length),) = home.asks(sql, home.item(url_end)[0])
    return name, start, length


def overwrite(home: Crawled, segment: str, at: int, data: bytes) -> None:
    (path,) = [path for path in home.segments() if path.name == segment]
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def byte_at(home: Crawled, segment: str, at: int) -> int:
    (path,) = [path for path in home.segments() if path.name == segment]
    return path.read_bytes()[at]


# -- what is whole


def test_the_untouched_home_holds(whole):
    found = whole.verified()
    assert found.discrepancies == ()
    assert found.holds
    assert found.pages == PAGES
    assert found.pages == whole.job.counters.done
    assert found.records > found.pages
    assert found.links > found.pages
    assert found.bytes == sum(path.stat().st_size for path in whole.segments())
    assert found.laid_aside == 0
    assert len(whole.segments()) > 2


def test_progress_is_told_up_to_the_end(whole):
    told = []

    async def check() -> Verification:
        async with open_home(settings_for(whole.path)) as opened:
            return await verify(opened.tools, whole.job, progress=lambda *done: told.append(done))

    found = asyncio.run(check())
    assert told[-1] == (2 * found.records, 2 * found.records)
    assert told == sorted(told)
    assert len(told) > 2


def test_a_crawl_that_a_limit_cut_short_holds(site, tmp_path):
    short = crawl(site, tmp_path / "home", limits=Limits(max_pages=17, max_depth=2))
    found = short.verified()
    assert found.discrepancies == ()
    assert found.pages == 17


def test_bytes_past_the_committed_length_are_nobodys_business(home):
    with home.segments()[-1].open("ab") as file:
        file.write(b"a commit that never came to be")
    assert home.verified().holds


def test_a_repaired_home_holds_though_bytes_of_given_up_rows_stay(home, site):
    ((torn,), (other,)) = home.asks(
        """SELECT s.name FROM records AS r JOIN segments AS s ON s.id IN (r.segment_id, r.body_segment_id)
            WHERE r.item_id = ? AND r.body_segment_id <> r.segment_id ORDER BY s.id = r.segment_id""",
        home.item(COPY)[0],
    )
    assert torn != other
    (path,) = [path for path in home.segments() if path.name == torn]
    path.write_bytes(path.read_bytes()[:5000])
    home.breaks("UPDATE jobs SET status = 'paused'")
    home.breaks("UPDATE chunks SET status = 'paused'")
    assert not home.verified().holds

    again = crawl(site, home.path)

    found = again.verified()
    assert found.discrepancies == ()
    assert found.pages == PAGES
    assert found.laid_aside >= 1


def test_a_start_page_that_was_tried_again_leaves_its_first_failure_aside(site, tmp_path):
    url = site.rstrip("/") + pages.DEAD_LINK
    crawl(url, tmp_path / "home", sitemaps=False)
    found = crawl(url, tmp_path / "home", sitemaps=False).verified()
    assert found.discrepancies == ()
    assert (found.records, found.laid_aside) == (1, 1)


# -- who may be verified


def test_a_job_that_a_living_worker_holds_is_refused(home):
    async def check() -> None:
        async with open_home(settings_for(home.path)) as opened:
            presence = opened.workers.enter(opened.worker_id())
            try:
                home.breaks("UPDATE jobs SET status = 'pending'")
                home.breaks("UPDATE chunks SET status = 'pending'")
                assert await opened.tools.ledger.claim(home.job.id, presence.worker_id, now=0.0)
                with pytest.raises(JobHeld, match="holdfast pause"):
                    await verify(opened.tools, home.job)
            finally:
                presence.leave()
            # The same claim, its worker dead: what is committed stands still.
            assert (await verify(opened.tools, home.job)).discrepancies == ()

    asyncio.run(check())


def test_a_job_that_goes_on_meanwhile_is_refused(home):
    async def check() -> None:
        def go_on(_done: int, _total: int) -> None:
            home.asks("UPDATE jobs SET commit_no = commit_no + 1")

        async with open_home(settings_for(home.path)) as opened:
            with pytest.raises(JobHeld, match="went on while"):
                await verify(opened.tools, home.job, progress=go_on)

    asyncio.run(check())


# -- items and links


def test_a_deleted_item_is_named_as_a_link_to_nothing_and_an_orphaned_record(home):
    item_id, url = home.item(PAGE)
    home.breaks("DELETE FROM items WHERE id = ?", item_id)
    found = named(home)
    assert {("link", url), ("record", f"record of item {item_id}"), ("counter", "chunk 1 found")} <= found


def test_a_deleted_address_that_was_skipped_is_a_link_to_nothing(home):
    item_id, url = home.item("example.com/lifeboats")
    home.breaks("DELETE FROM items WHERE id = ?", item_id)
    assert ("link", url) in named(home)


def test_a_deleted_item_is_named_even_where_every_counter_was_adapted(home):
    item_id, url = home.item("example.com/lifeboats")
    ((since, commits),) = home.asks(
        """SELECT i.found_commit, count(*) FROM items AS i JOIN commits AS c ON c.number >= i.found_commit
            WHERE i.id = ?""",
        item_id,
    )
    home.breaks("DELETE FROM items WHERE id = ?", item_id)
    home.breaks("UPDATE chunks SET found = found - 1, skipped = skipped - 1")
    home.breaks("UPDATE tallies SET count = count - 1 WHERE reason = 'external'")
    home.breaks("UPDATE hosts SET settled = settled - 1 WHERE name = 'https://example.com'")
    home.breaks(
        """UPDATE commits SET counters = json_set(counters, '$[0]', (counters ->> 0) - 1, '$[4]', (counters ->> 4) - 1)
            WHERE number >= ?""",
        since,
        rows=commits,
    )
    assert named(home) == {("link", url)}


def test_a_deleted_target_of_a_redirect_is_named(home):
    url = home.item("/harbour/fees")[1]
    home.breaks("DELETE FROM items WHERE url = ?", url)
    details = [
        one.detail for one in home.verified().discrepancies if (one.kind, one.subject) == ("link", url)
    ]
    assert any("/harbour/prices leads there" in detail for detail in details)


def test_a_changed_address_is_named(home):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE items SET url = ? WHERE id = ?", f"{url}elsewhere", item_id)
    found = named(home)
    assert ("item", f"{url}elsewhere") in found
    assert ("record", f"{url}elsewhere") in found  # the stored response is another address's


def test_a_changed_address_with_its_fingerprint_is_named(home):
    item_id, url = home.item(PAGE)
    other = f"{url}elsewhere"
    home.breaks("UPDATE items SET url = ?, fingerprint = ? WHERE id = ?", other, fingerprint(other), item_id)
    assert {("record", other), ("link", url)} <= named(home)


def test_an_item_back_in_the_queue_with_its_record_is_named(home):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE items SET status = 'pending', settled_commit = NULL WHERE id = ?", item_id)
    found = named(home)
    assert ("item", url) in found
    assert ("job", "job") in found  # it says that it is completed


def test_a_missing_parent_is_named(home):
    _, url = home.item(PAGE)
    home.breaks("UPDATE items SET parent_id = 99999 WHERE url = ?", url)
    assert named(home) == {("item", url)}


def test_an_item_of_a_commit_to_come_is_named(home):
    _, url = home.item(PAGE)
    ((number,),) = home.asks("SELECT settled_commit FROM items WHERE url = ?", url)
    home.breaks("UPDATE items SET settled_commit = 99999 WHERE url = ?", url)
    assert named(home) == {("item", url), ("counter", f"commit {number}")}


@pytest.mark.parametrize("reason", ["external", "excluded", "depth"])
def test_a_page_that_stands_shut_out_though_a_link_lets_it_in_is_named(home, reason):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE items SET status = 'skipped', reason = ?, attempts = 0 WHERE id = ?", reason, item_id)
    shut_out = [
        one.detail for one in home.verified().discrepancies if (one.kind, one.subject) == ("link", url)
    ]
    assert shut_out
    assert all(detail.endswith(f"lets it in, and it stands as skipped ({reason})") for detail in shut_out)


def test_links_that_are_still_to_be_judged_again_let_nobody_in(home):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE items SET status = 'skipped', reason = 'depth', attempts = 0 WHERE id = ?", item_id)
    settled = home.asks("SELECT count(*) FROM items WHERE status IN ('done', 'redirected', 'consulted')")[0][
        0
    ]
    read_again = "UPDATE items SET rejudge = 1 WHERE status IN ('done', 'redirected', 'consulted')"
    home.breaks(read_again, rows=settled)
    assert ("link", url) not in named(home)


def test_what_robots_txt_closed_stays_so_whatever_leads_there(whole):
    assert whole.asks("SELECT count(*) FROM items WHERE status = 'skipped' AND attempts > 0")[0][0] > 0
    assert whole.verified().holds


# -- counters and numbers


COUNTERS = ["found", "queued", "done", "failed", "skipped", "redirected", "consulted", "bytes", "external"]


@pytest.mark.parametrize("place", range(len(COUNTERS)), ids=COUNTERS)
def test_a_counter_that_the_last_commit_noted_otherwise_is_named(home, place):
    home.breaks(
        "UPDATE commits SET counters = json_set(counters, ?, 999) WHERE number = (SELECT max(number) FROM commits)",
        f"$[{place}]",
    )
    found = named(home)
    assert ("counter", f"chunk 1 {COUNTERS[place]}") in found
    assert {kind for kind, _ in found} == {"counter"}


def test_counters_of_an_earlier_commit_that_do_not_add_up_are_named(home):
    home.breaks("UPDATE commits SET counters = json_set(counters, '$[2]', 999) WHERE seq = 3")
    assert named(home) == {("counter", "commit 3")}


@pytest.mark.parametrize("items", [0, 77])
def test_a_shifted_number_of_items_of_a_commit_is_named(home, items):
    home.breaks("UPDATE commits SET items = ? WHERE seq = 3", items)
    found = named(home)
    assert ("counter", "commit 3") in found
    assert found <= {("counter", "commit 3"), ("ledger", "sqlite")}


def test_a_shifted_depth_of_a_commit_is_named(home):
    home.breaks("UPDATE commits SET depth = 50 WHERE seq = 3")
    assert named(home) == {("counter", "commit 4")}  # which is less deep


@pytest.mark.parametrize("depth", [0, 44])
def test_a_shifted_depth_is_named_even_where_all_commits_were_adapted(home, depth):
    count = home.asks("SELECT count(*) FROM commits")[0][0]
    home.breaks("UPDATE chunks SET depth = ?", depth)
    assert named(home) == {("counter", "chunk 1 depth")}
    home.breaks("UPDATE commits SET depth = ?", depth, rows=count)
    assert named(home) == {("counter", "chunk 1 depth")}


@pytest.mark.parametrize("name", COUNTERS)
def test_a_shifted_chunk_counter_is_named(home, name):
    home.breaks(f"UPDATE chunks SET {name} = {name} + 1")
    found = named(home)
    assert ("counter", f"chunk 1 {name}") in found
    assert found <= {("counter", f"chunk 1 {name}"), ("ledger", "sqlite")}


@pytest.mark.parametrize(
    ("status", "reason"),
    [("done", "http_200"), ("redirected", "http_301"), ("skipped", "robots"), ("failed", "http_404")],
)
def test_a_shifted_tally_is_named(home, status, reason):
    home.breaks("UPDATE tallies SET count = count + 1 WHERE status = ? AND reason = ?", status, reason)
    assert named(home) == {("counter", f"tally {status} {reason}")}


def test_a_missing_tally_is_named(home):
    home.breaks("DELETE FROM tallies WHERE reason = 'robots'")
    assert named(home) == {("counter", "tally skipped robots")}


@pytest.mark.parametrize("name", ["queued", "settled"])
def test_a_shifted_host_counter_is_named(home, site, name):
    host = site.rstrip("/")
    home.breaks(f"UPDATE hosts SET {name} = {name} + 1 WHERE name = ?", host)
    assert named(home) == {("counter", f"host {host}")}


def test_a_shifted_record_size_is_named(home):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE records SET size = size + 1 WHERE item_id = ?", item_id)
    assert named(home) == {("record", url), ("counter", "chunk 1 bytes"), ("counter", host_of(url))}


@pytest.mark.parametrize("column", ["pages", "bytes"])
def test_a_shifted_budget_is_named(home, column):
    """What a host may still give is counted by these."""
    item_id, url = home.item(PAGE)
    home.breaks(
        f"UPDATE hosts SET {column} = {column} - 1 WHERE id = (SELECT host_id FROM items WHERE id = ?)",
        item_id,
    )
    assert named(home) == {("counter", host_of(url))}


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_shifted_seq_is_named(home, shift):
    home.breaks("UPDATE chunks SET seq = seq + ?", shift)
    assert named(home) == {("sequence", "chunk 1")}


def test_a_removed_commit_is_named(home):
    ((number, segment),) = home.asks(
        "SELECT c.number, s.name FROM commits AS c JOIN segments AS s ON s.id = c.segment_id WHERE c.seq = 5"
    )
    home.breaks("DELETE FROM commits WHERE number = ?", number)
    found = named(home)
    assert {("sequence", "chunk 1"), ("sequence", "job")} <= found
    assert {("span", segment)} & found
    assert {kind for kind, _ in found} == {"sequence", "span", "record"}  # the records that it wrote


@pytest.mark.parametrize("end", ["first", "last"])
def test_a_commit_removed_at_either_end_is_named(home, end):
    pick = "min" if end == "first" else "max"
    home.breaks(f"DELETE FROM commits WHERE number = (SELECT {pick}(number) FROM commits)")
    assert named(home) == {("sequence", "chunk 1"), ("sequence", "job")}


def test_a_shifted_job_number_is_named(home):
    home.breaks("UPDATE jobs SET commit_no = commit_no + 1")
    assert named(home) == {("sequence", "job")}


# -- records


def test_a_deleted_record_is_named_and_so_are_the_bytes_that_it_leaves(home):
    item_id, url = home.item(PAGE)
    home.breaks("DELETE FROM records WHERE item_id = ?", item_id)
    assert named(home) == {
        ("item", url),
        ("response", url),
        ("counter", "chunk 1 bytes"),
        ("counter", host_of(url)),
    }


def test_a_record_without_an_item_is_named(home):
    home.breaks("UPDATE records SET item_id = 99999 WHERE item_id = ?", home.item(PAGE)[0])
    assert {("record", "record of item 99999"), ("item", home.item(PAGE)[1])} <= named(home)


def test_a_record_without_a_place_is_named(home):
    item_id, url = home.item(PAGE)
    home.breaks(
        "UPDATE records SET segment_id = NULL, start = NULL, length = NULL, digest = NULL WHERE item_id = ?",
        item_id,
    )
    assert named(home) == {("record", url), ("response", url)}


def test_a_skipped_ordinal_is_named(home):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE records SET ordinal = 1 WHERE item_id = ?", item_id)
    assert named(home) == {("record", url)}


def test_two_rows_of_one_response_are_named(home):
    (one, _), (two, url) = home.item(PAGE), home.item("/tides/")
    home.breaks(
        """UPDATE records SET (segment_id, start, length, digest) =
               (SELECT segment_id, start, length, digest FROM records WHERE item_id = ?) WHERE item_id = ?""",
        one,
        two,
    )
    segment, start, _ = place_of(home, PAGE)
    found = named(home)
    assert ("response", f"{segment}, byte {start}") in found
    assert {("record", url), ("response", url)} <= found


def test_a_changed_digest_is_named(home):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE records SET digest = zeroblob(32) WHERE item_id = ?", item_id)
    assert named(home) == {("digest", url)}


@pytest.mark.parametrize(
    ("path", "value"), [("$.sha256", "00" * 32), ("$.size", 1), ("$.status", 203), ("$.encoding", None)]
)
def test_a_row_that_disagrees_with_its_bytes_is_named(home, path, value):
    item_id, url = home.item(PAGE)
    home.breaks("UPDATE records SET data = json_set(data, ?, ?) WHERE item_id = ?", path, value, item_id)
    if path == "$.encoding":
        assert home.verified().holds  # the stored headers say how the body is coded; the row only repeats it
        return
    assert {subject for _, subject in named(home)} == {url}


def test_rows_that_nobody_can_read_are_named(home):
    home.breaks("UPDATE records SET data = '{' WHERE item_id = ?", home.item(PAGE)[0])
    assert {"ledger", "record"} <= {kind for kind, _ in named(home)}


def test_a_revisit_that_points_to_another_body_is_named(home):
    item_id, url = home.item(COPY)
    segment, start, length = place_of(home, PAGE)
    home.breaks(
        """UPDATE records SET body_segment_id = (SELECT id FROM segments WHERE name = ?), body_start = ?,
               body_length = ? WHERE item_id = ?""",
        segment,
        start,
        length,
        item_id,
    )
    assert named(home) == {("revisit", url)}


def test_a_revisit_that_points_nowhere_is_named(home):
    item_id, url = home.item(COPY)
    home.breaks("UPDATE records SET body_start = body_start + 1 WHERE item_id = ?", item_id)
    assert named(home) == {("revisit", url)}


def test_a_revisit_that_points_past_the_end_is_named(home):
    item_id, url = home.item(COPY)
    home.breaks("UPDATE records SET body_start = 10000000 WHERE item_id = ?", item_id)
    assert named(home) == {("revisit", url), ("record", url)}


def test_a_revisit_without_its_body_is_named(home):
    item_id, url = home.item(COPY)
    home.breaks(
        "UPDATE records SET body_segment_id = NULL, body_start = NULL, body_length = NULL WHERE item_id = ?",
        item_id,
    )
    assert named(home) == {("revisit", url)}


# -- segments


@pytest.mark.parametrize(
    "part", ["in the gzip header", "in the record's head", "in the body", "in the checksum"]
)
def test_a_flipped_byte_is_named(home, part):
    url = home.item(PAGE)[1]
    segment, start, length = place_of(home, PAGE)
    at = {"in the gzip header": 1, "in the record's head": 60, "in the body": length * 2 // 3}.get(
        part, length - 7
    )
    overwrite(home, segment, start + at, bytes([byte_at(home, segment, start + at) ^ 0x10]))
    assert named(home) == {("segment", segment), ("record", url)}


def test_a_flipped_byte_in_a_shared_body_is_named_for_all_that_stand_for_it(home):
    segment, start, length = place_of(home, "/harbour/fees")
    at = start + length // 2
    overwrite(home, segment, at, bytes([byte_at(home, segment, at) ^ 1]))
    found = named(home)
    assert {("record", home.item("/harbour/fees")[1]), ("revisit", home.item(COPY)[1])} <= found


def test_a_truncated_segment_is_named(home):
    path = home.segments()[1]
    path.write_bytes(path.read_bytes()[:-1000])
    found = named(home)
    assert ("segment", path.name) in found
    assert {kind for kind, _ in found} == {"segment", "record"}


def test_a_zeroed_block_is_named(home):
    path = home.segments()[1]
    overwrite(home, path.name, 4096, bytes(4096))
    found = named(home)
    assert ("segment", path.name) in found
    assert "record" in {kind for kind, _ in found}


def test_a_record_cut_out_of_a_segment_is_named(home):
    url = home.item(PAGE)[1]
    segment, start, length = place_of(home, PAGE)
    (path,) = [path for path in home.segments() if path.name == segment]
    whole = path.read_bytes()
    path.write_bytes(whole[:start] + whole[start + length :])
    assert {("segment", segment), ("record", url)} <= named(home)


def test_a_deleted_segment_is_named(home):
    path = home.segments()[1]
    path.unlink()
    found = home.verified()
    (of_segment,) = [one for one in found.discrepancies if one.kind == "segment"]
    assert of_segment.subject == path.name
    assert "missing" in of_segment.detail


def test_a_response_that_is_committed_twice_is_named(home):
    url = home.item(PAGE)[1]
    segment, start, length = place_of(home, PAGE)
    last = home.segments()[-1]
    (path,) = [path for path in home.segments() if path.name == segment]
    again = path.read_bytes()[start : start + length]
    with last.open("ab") as file:
        file.write(again)
    home.breaks("UPDATE segments SET committed = committed + ? WHERE name = ?", length, last.name)
    assert named(home) == {("span", last.name), ("response", url)}


def test_a_response_that_is_committed_twice_is_named_even_where_a_commit_claims_its_bytes(home):
    url = home.item(PAGE)[1]
    segment, start, length = place_of(home, PAGE)
    last = home.segments()[-1]
    (path,) = [path for path in home.segments() if path.name == segment]
    again = path.read_bytes()[start : start + length]
    with last.open("ab") as file:
        file.write(again)
    home.breaks("UPDATE segments SET committed = committed + ? WHERE name = ?", length, last.name)
    home.breaks(
        """UPDATE commits SET until = until + ?, crc = NULL
            WHERE number = (SELECT max(c.number) FROM commits AS c JOIN segments AS s ON s.id = c.segment_id
                             WHERE s.name = ?)""",
        length,
        last.name,
    )
    assert named(home) == {("response", url)}


def test_a_shortened_committed_length_is_named(home):
    last = home.segments()[-1]
    home.breaks("UPDATE segments SET committed = committed - 700 WHERE name = ?", last.name)
    found = named(home)
    assert {("span", last.name), ("segment", last.name)} <= found  # the last record is cut in two


def test_links_that_were_only_counted_are_held_against_their_number(site, tmp_path):
    capped = crawl(site, tmp_path / "home", max_external=1)
    assert capped.job.counters.external == 1
    assert capped.verified().discrepancies == ()
    # One of them is forgotten now, and one was counted: the page leads to two.
    item_id, _ = capped.item("example.org/met-office")
    capped.breaks("DELETE FROM items WHERE id = ?", item_id)
    assert ("link", site) in named(capped)


def test_a_segment_of_a_claim_that_never_was_is_named(home):
    name = home.segments()[0].name
    home.breaks("UPDATE segments SET epoch = 7 WHERE name = ?", name)
    assert named(home) == {("span", name)}


def test_many_of_a_kind_are_counted_and_hide_no_other(home):
    home.breaks("UPDATE items SET parent_id = 99999", rows=home.job.counters.found)
    home.breaks("UPDATE segments SET epoch = 7", rows=len(home.segments()))
    found = home.verified()
    assert found.total == home.job.counters.found + len(home.segments())
    assert {one.kind for one in found.discrepancies} == {"item", "span"}


def test_what_is_named_reads_as_a_sentence(home):
    _, url = home.item(PAGE)
    home.breaks("UPDATE items SET parent_id = 99999 WHERE url = ?", url)
    expected = Discrepancy("item", url, "was found on item 99999, which is missing")
    assert home.verified().discrepancies == (expected,)
