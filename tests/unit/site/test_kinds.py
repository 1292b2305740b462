"""What isn't HTML: kept, typed, and read for its links where it has any."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.unit.crawl.test_pdf import TWO
from tests.unit.site.test_relink import relinked, stored
from tests.unit.site.web_of_dict import START, crawl, handle, item, reply

from holdfast.crawl import pdf
from holdfast.domain.item import Done
from holdfast.pipelines.site.rows import Whence, page_row
from holdfast.pipelines.site.spec import SiteSpec

SPEC = SiteSpec((START,))
PDF = reply(body=TWO, content_type="application/pdf")


def urls(findings):
    return {one.url: one.skip for one in findings}


@pytest.mark.parametrize(
    ("content_type", "body", "kind", "words"),
    [
        ("text/plain", b"words", "text", "words"),
        ("application/json", b'{"a": 1}', "json", '{"a": 1}'),
        ("application/vnd.api+json", b"[]", "json", "[]"),
        ("application/xml", b"<a>words</a>", "xml", "<a>words</a>"),
        ("text/markdown", b"# T\nwords", "markdown", "# T\nwords"),
        ("application/pdf", TWO, "pdf", "High water\n\nLow water"),
        ("image/png", b"\x89PNG", "other", ""),
    ],
)
def test_a_row_says_what_it_is_and_has_its_text(content_type, body, kind, words):
    response = reply(body=body, content_type=content_type)
    outcome = handle({START: response})
    assert isinstance(outcome, Done)
    row = page_row(Whence(START, 0, None), outcome.records[0].data, stored(response))
    assert (row["kind"], row["content_type"], row["text"]) == (kind, content_type, words)


def test_a_pdf_leads_where_its_links_do_and_again_when_it_is_read_again():
    one = item()
    outcome = handle({START: PDF}, one)
    assert isinstance(outcome, Done)
    assert urls(outcome.found) == {"https://example.com/a": None, "https://example.com/b": None}
    assert outcome.records[0].data["title"] == "The tides"
    assert relinked(SPEC, {}, one, outcome) == list(outcome.found)


def test_a_pdf_that_is_judged_again_is_not_read_again(monkeypatch):
    one = item(depth=3)
    outcome = handle({START: PDF}, one)
    monkeypatch.setattr(pdf.SHARED, "read", lambda _: pytest.fail("it was read"))
    again = relinked(SPEC, {}, replace(one, depth=1, rejudge=True), outcome)
    assert [(found.url, found.depth) for found in again] == [(found.url, 2) for found in outcome.found]


def test_a_pdf_that_could_not_be_read_leads_nowhere_later_either():
    one = item()
    outcome = handle({START: reply(body=b"%PDF-1.7 broken", content_type="application/pdf")}, one)
    assert isinstance(outcome, Done)
    assert (outcome.found, outcome.records[0].data["unread"]) == ((), "damaged")
    assert relinked(SPEC, {}, one, outcome) == []


def test_pdfs_are_read_beside_the_loop_and_dropped_when_the_claim_ends(monkeypatch, tmp_path):
    child = tmp_path / "child.py"
    child.write_text("import time\nwhile True: time.sleep(1)\n")
    monkeypatch.setattr(pdf, "_CHILD", child)
    started = threading.Event()
    exchange = pdf._exchange

    def noticed(*words):
        started.set()
        return exchange(*words)

    monkeypatch.setattr(pdf, "_exchange", noticed)

    async def story() -> None:
        handler, _ = crawl({START: PDF, START + "other": reply(body=b"<a href=/x>")})
        reading = asyncio.create_task(handler.handle(item()))
        other = await handler.handle(item(START + "other"))
        assert isinstance(other, Done)
        await asyncio.to_thread(started.wait)
        assert not reading.done()
        reading.cancel()
        await handler.close()

    asyncio.run(asyncio.wait_for(story(), 10))


def test_pdfs_that_wait_for_their_turn_leave_threads_to_others(monkeypatch, tmp_path):
    child = tmp_path / "child.py"
    child.write_text("import time\nwhile True: time.sleep(1)\n")
    monkeypatch.setattr(pdf, "_CHILD", child)

    async def story() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        handler, _ = crawl({START: PDF})
        reading = [asyncio.create_task(handler.handle(item())) for _ in range(4)]
        await asyncio.sleep(0.1)
        await asyncio.to_thread(lambda: None)
        for one in reading:
            one.cancel()
        await handler.close()

    asyncio.run(asyncio.wait_for(story(), 10))
