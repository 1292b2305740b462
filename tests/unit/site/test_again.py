"""A page that an earlier run has: asked for by its validators, and read from its store if it has not changed."""

import asyncio
import hashlib
from dataclasses import replace

import pytest
from tests.unit.site.web_of_dict import START, Web, item, job, page, reply
from tests.unit.site.web_of_dict import StillClock as Clock

from holdfast.domain.commit import Location
from holdfast.domain.item import Done, Record
from holdfast.pipelines.site.handler import SiteHandler
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.pipeline import PipelineRun
from holdfast.ports.segments import DamagedRecord, Original, Reading, standing_for

ETAG, SINCE = '"v1"', "Wed, 21 Oct 2026 07:28:00 GMT"
HEADERS = (("ETag", ETAG), ("Last-Modified", SINCE), ("Link", '</linked>; rel="next"'))
PLACE = Location("c1-e1-0.warc.gz", 10, 99)
SPEC = SiteSpec((START,))


def served(*hrefs):
    """The page as it was, with its validators."""
    was = page(*hrefs)
    return replace(was, url=START, headers=(*was.headers, *HEADERS))


def stored(response) -> Reading:
    digest = hashlib.sha256(response.payload).digest()
    return Reading(
        PLACE, START, 200, response.headers, response.payload, response.body, revisit=False, digest=digest
    )


def known(response, url=START):
    """An item with what a first crawl wrote of that response."""
    outcome = asked({START: response}, item())[0]
    record = outcome.records[0]
    original = Original(
        PLACE, url, record.data["fetched_at"], record.data["encoding"], record.exchange.digest
    )
    return replace(item(depth=1), earlier=Record("page", record.data, original))


def asked(answers, one, reading=None):
    """The outcome, and what was asked for it."""
    web = Web({f"{START}robots.txt": reply(404), **answers})

    async def reread(location):
        assert location == PLACE
        if isinstance(reading, Exception):
            raise reading
        return reading

    handler = SiteHandler(PipelineRun(job(SPEC), {}, reread=reread), web, Clock(), lambda: 0.5)
    outcome = asyncio.run(handler.handle(one))
    return outcome, [dict(request.headers) for request in web.asked if request.url == START]


def test_a_page_has_its_validators_in_its_row():
    data = known(served("/a")).earlier.data
    assert (data["etag"], data["last_modified"]) == (ETAG, SINCE)


@pytest.mark.parametrize("value", ["x" * 600, '"ä"', '"a\tb"', ""])
def test_a_validator_that_could_not_be_sent_back_as_it_came_is_left_out(value):
    was = replace(page(), headers=(("ETag", value),))
    assert "etag" not in known(was).earlier.data


def test_a_page_that_has_not_changed_is_done_with_its_row_and_links_from_the_store():
    was = served("/a", "/b")
    one = known(was)
    said = reply(304, headers=(("ETag", '"v2"'),), content_type="")
    outcome, requests = asked({START: said}, one, stored(was))
    assert requests == [{"If-None-Match": ETAG, "If-Modified-Since": SINCE}]
    assert isinstance(outcome, Done)
    assert outcome.reason == "http_304"
    (record,) = outcome.records
    assert record.exchange.original == one.earlier.exchange
    assert record.exchange.digest == one.earlier.exchange.digest
    kept = {key: value for key, value in record.data.items() if key in one.earlier.data}
    changed = {key for key in kept if kept[key] != one.earlier.data[key]}
    assert changed <= {"fetched_at", "elapsed_ms", "http_version", "etag"}
    assert (record.data["answered"], record.data["status"], record.data["etag"]) == (304, 200, '"v2"')
    assert {found.url for found in outcome.found} == {f"{START}{name}" for name in ("a", "b", "linked")}


def test_its_links_are_the_same_when_it_is_read_again():
    was = served("/a", "/b")
    said = reply(304, headers=(("Link", '</other>; rel="next"'),), content_type="")
    outcome, _ = asked({START: said}, known(was), stored(was))
    revisit = Reading(PLACE, START, 304, said.headers, b"", b"", revisit=True, digest=b"")
    again = SitePipeline().relink(
        job(SPEC), {}, item(depth=1), outcome.records[0], standing_for(revisit, stored(was))
    )
    assert {found.url for found in again} == {found.url for found in outcome.found}
    assert f"{START}other" in {found.url for found in again}, "what is said anew holds"


@pytest.mark.parametrize(
    "reading", [DamagedRecord("gone"), stored(page("/another"))], ids=["gone", "another"]
)
def test_a_body_that_is_not_there_any_more_is_fetched(reading):
    was = served("/a")

    def answer(request):
        return reply(304, content_type="") if request.headers else was

    outcome, requests = asked({START: answer}, known(was), reading)
    assert [bool(headers) for headers in requests] == [True, False]
    assert (outcome.reason, len(outcome.records)) == ("http_200", 1)


def test_the_same_body_sent_again_is_not_stored_again():
    was = served("/a")
    outcome, _ = asked({START: was}, one := known(was))
    assert outcome.records[0].exchange.original == one.earlier.exchange
    assert outcome.records[0].data["original"]["url"] == START


def test_another_body_is_its_own():
    outcome, _ = asked({START: served("/b")}, known(served("/a")))
    assert outcome.records[0].exchange.original is None
    assert "original" not in outcome.records[0].data


def test_a_page_whose_body_is_stored_under_another_address_is_asked_for_whole():
    was = served("/a")
    _, requests = asked({START: was}, known(was, url=f"{START}twin"))
    assert requests == [{}]


def test_not_modified_without_having_been_asked_is_a_failure():
    outcome, _ = asked({START: reply(304, content_type="")}, item())
    assert outcome.reason == "http_304"
    assert not isinstance(outcome, Done)
