"""Documents of some types only."""

import asyncio

import pytest
from tests.unit.crawl.test_pdf import TWO
from tests.unit.site.test_relink import relinked
from tests.unit.site.web_of_dict import START, crawl, handle, item, page, reply

from holdfast.domain.errors import UsageError
from holdfast.domain.item import Consulted, Done, Skipped
from holdfast.pipelines.site.mime import MimeRules
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.fetcher import UNWANTED, FetchFailed

PDFS = SiteSpec((START,), mime=MimeRules(("application/pdf",)))
NO_IMAGES = SiteSpec((START,), mime=MimeRules(exclude=("image/*", "text/html")))


@pytest.mark.parametrize("bad", ["pdf", "Application/PDF", "*/*", "text/html; charset=utf-8", "a b/c", ""])
def test_what_is_no_type_is_refused(bad):
    with pytest.raises(UsageError, match="is not a MIME type"):
        MimeRules((bad,))


@pytest.mark.parametrize(
    ("spec", "response", "expected"),
    [
        (PDFS, reply(body=TWO, content_type="application/pdf"), Done),
        (PDFS, reply(body=TWO, content_type="Application/PDF; x=y"), Done),
        (PDFS, reply(body=TWO, content_type=""), Done),
        (PDFS, reply(body=b"x", content_type=""), Skipped("mime")),
        (PDFS, reply(body=b"x", content_type="text/plain"), Skipped("mime")),
        (PDFS, reply(body=b"<a>", content_type="application/xml"), Skipped("mime")),
        (PDFS, reply(body=b"<urlset/>", content_type="application/xml"), Consulted),
        (PDFS, page("/a"), Consulted),
        (NO_IMAGES, reply(body=b"x", content_type="image/png"), Skipped("mime")),
        (NO_IMAGES, reply(body=b"x", content_type="text/plain"), Done),
        (NO_IMAGES, page("/a"), Consulted),
        (PDFS, FetchFailed(UNWANTED, transient=False), Skipped("mime")),
    ],
)
def test_what_is_not_wanted_is_skipped_or_only_consulted(spec, response, expected):
    outcome = handle({START: response}, spec=spec)
    assert outcome == expected if isinstance(expected, Skipped) else isinstance(outcome, expected)


def test_a_page_that_is_not_wanted_leads_on_as_one_that_is():
    one = item()
    kept, led = handle({START: page("/a", "/b")}, one), handle({START: page("/a", "/b")}, one, spec=PDFS)
    assert isinstance(led, Consulted)
    assert led.found == kept.found
    assert relinked(PDFS, {}, one, led) == list(led.found)


def test_the_fetcher_is_told_what_is_wanted_of_pages_alone():
    async def asked(spec):
        handler, web = crawl({}, spec)
        await handler.handle(item())
        return web.asked[-1].wanted

    assert asyncio.run(asked(SiteSpec((START,)))) is None
    wanted = asyncio.run(asked(PDFS))
    assert [wanted(200, kind) for kind in ("application/pdf", "text/html", "", "image/png", "text/xml")] == [
        True, True, True, False, True
    ]  # fmt: skip
    assert wanted(404, "image/png")
