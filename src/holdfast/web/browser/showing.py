"""One page in the browser, from its served bytes to what its scripts leave.

The page's clock is ours: once the document is there it gets so many seconds of its own time, which pass as fast as
its scripts can run, and stand still while it waits for what it asked for. So a timer of three seconds costs none, a
page that never rests comes to an end, and nobody has to guess how long to wait.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urldefrag

from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Page, Request, Route

from holdfast.ports.clock import Clock
from holdfast.ports.fetcher import FetchFailed, Response
from holdfast.ports.renderer import Ask, Asked, Rendered, RenderFailed, Served
from holdfast.web.browser.snapshot import expression

FETCHED: Final = frozenset({"script", "stylesheet", "xhr", "fetch"})
"""What a page gets. Images, media and fonts change nothing that is read; frames are pages of their own."""
MOST_ONWARD: Final = 50
_OWN_TIME_MS: Final = 5_000
"""So much of its own time a page has once it is there."""
_STARVED_TASKS: Final = 10_000
_LOOK_S: Final = 0.5
_LAST_LOOK_S: Final = 3.0
_CLOSING_S: Final = 5.0
_HOP_BY_HOP: Final = frozenset({
    "connection", "content-disposition", "content-encoding", "content-length", "keep-alive", "transfer-encoding",
    "trailer", "upgrade", "alt-svc",
})  # fmt: skip
_OUR_OWN: Final = frozenset({
    "accept-encoding", "connection", "content-length", "host", "te", "upgrade-insecure-requests", "user-agent",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShowLimits:
    """When a page is given up."""

    page_s: float = 30.0
    body_bytes: int = 32_000_000
    """Of what its scripts make."""


class Showing:
    """Shows one page once."""

    def __init__(
        self,
        browser: Browser,
        clock: Clock,
        limits: ShowLimits,
        *,
        user_agent: str,
        page: Served,
        asked: Asked,
    ) -> None:
        self._browser = browser
        self._clock = clock
        self._limits = limits
        self._user_agent = user_agent
        self._served = page
        self._asked = asked
        self._main: Page | None = None
        self._given = False
        self._onward: dict[str, None] = {}
        self._fetching: set[asyncio.Task[Response]] = set()
        self._at_rest = asyncio.Event()
        self._parsed = False
        self._broken = ""

    async def show(self) -> Rendered:
        """The page, or RenderFailed. Whatever happens, nothing of the page is left in the browser."""
        started = self._clock.monotonic()
        work = asyncio.ensure_future(self._shown())
        try:
            body = await self._in_time(work, started)
        except Error as error:
            raise RenderFailed("render_failed", self._broken or error.message.partition("\n")[0]) from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        return Rendered(body, self._clock.wall(), self._clock.monotonic() - started)

    async def _in_time(self, work: "asyncio.Future[bytes]", started: float) -> bytes:
        now = self._clock.monotonic
        while not work.done() and now() < started + self._limits.page_s + self._asked.waited_s:
            await asyncio.wait({work}, timeout=_LOOK_S)
        if not work.done() and self._parsed:
            # It is there, and asks for more and more: it is read as it stands.
            self._at_rest.set()
            await asyncio.wait({work}, timeout=_LAST_LOOK_S)
        if not work.done():
            raise RenderFailed("render_timeout", f"more than {self._limits.page_s:g} s")
        return work.result()

    async def _shown(self) -> bytes:
        context = await self._browser.new_context(
            user_agent=self._user_agent,
            service_workers="block",
            accept_downloads=False,
            viewport={"width": 1280, "height": 2400},
        )
        try:
            await context.route("**/*", self._answer)
            page = await context.new_page()
            context.on("page", self._close_popup)
            page.on("crash", lambda _: self._break("the page crashed"))
            session = await context.new_cdp_session(page)
            return await self._run(page, session)
        finally:
            await self._leave(context)

    async def _run(self, page: Page, session: CDPSession) -> bytes:
        session.on("Page.windowOpen", lambda event: self._go_on(event["url"]))
        session.on("Page.domContentEventFired", lambda _: self._is_parsed())
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: self._at_rest.set())
        await session.send("Page.enable")
        self._main = page
        gone = await session.send("Page.navigate", {"url": self._served.url})
        if gone.get("errorText"):
            raise RenderFailed("render_failed", self._broken or gone["errorText"])
        time = {
            "policy": "pauseIfNetworkFetchesPending",
            "budget": _OWN_TIME_MS,
            "maxVirtualTimeTaskStarvationCount": _STARVED_TASKS,
        }
        await session.send("Emulation.setVirtualTimePolicy", time)
        await self._at_rest.wait()
        if self._broken:
            raise RenderFailed("render_failed", self._broken)
        return await self._read(session, gone["frameId"])

    async def _read(self, session: CDPSession, frame: str) -> bytes:
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
        asked = {
            "expression": expression(self._served.url, list(self._onward), self._limits.body_bytes),
            "contextId": world["executionContextId"],
            "returnByValue": True,
            "timeout": _LAST_LOOK_S * 1000,
        }
        answer = await session.send("Runtime.evaluate", asked)
        value = answer["result"].get("value")
        if "exceptionDetails" in answer or value == "":
            raise RenderFailed("render_failed", "the document can't be read")
        body = None if value is None else value.encode("utf-8", "replace")
        if body is None or len(body) > self._limits.body_bytes:
            size = f"more than {self._limits.body_bytes} bytes"
            raise RenderFailed("render_too_large", size, transient=False)
        return bytes(body)

    async def _leave(self, context: BrowserContext) -> None:
        for task in self._fetching:
            task.cancel()
        with suppress(Error, TimeoutError):
            await asyncio.wait_for(asyncio.shield(context.close()), _CLOSING_S)

    # -- what the page says

    def _is_parsed(self) -> None:
        self._parsed = True

    def _break(self, why: str) -> None:
        self._broken = why
        self._at_rest.set()

    def _go_on(self, url: str) -> None:
        """Its scripts wanted to go there, or to open a window on it: that is a link."""
        address = urldefrag(url).url
        own = urldefrag(self._served.url).url
        if address.startswith(("http://", "https://")) and address != own and len(self._onward) < MOST_ONWARD:
            self._onward[address] = None

    async def _close_popup(self, page: Page) -> None:
        with suppress(Error):
            await page.close()

    # -- what the page asks for

    async def _answer(self, route: Route) -> None:
        """Every request of the page comes here. What we don't answer finds no network at all."""
        request = route.request
        with suppress(Error):  # the page is gone meanwhile
            if request.is_navigation_request():
                await self._navigate(route, request)
            elif request.method != "GET" or request.resource_type not in FETCHED:
                await route.abort("blockedbyclient")
            else:
                await self._fetch(route, request)

    async def _navigate(self, route: Route, request: Request) -> None:
        if not self._is_main(request):
            await route.abort("aborted")
        elif not self._given and request.url == _as_asked(self._served.url):
            self._given = True
            await route.fulfill(
                status=200, headers=_shown_headers(self._served.headers), body=self._served.body
            )
        else:
            if request.method == "GET":
                self._go_on(request.url)
            await route.abort("aborted")

    def _is_main(self, request: Request) -> bool:
        try:
            return self._main is not None and request.frame == self._main.main_frame
        except Error:  # a window that is about to be
            return False

    async def _fetch(self, route: Route, request: Request) -> None:
        headers = tuple(
            (name, value)
            for name, value in request.headers.items()
            if name.lower() not in _OUR_OWN and not name.lower().startswith("sec-")
        )
        ask = Ask(request.url, request.resource_type, headers)
        task = asyncio.ensure_future(self._asked.fetch(ask))
        self._fetching.add(task)
        try:
            response = await task
        except (FetchFailed, asyncio.CancelledError):
            await route.abort("failed")
            return
        finally:
            self._fetching.discard(task)
        headers_shown = _shown_headers(response.headers, cookies=not response.set_cookies)
        await route.fulfill(status=response.status, headers=headers_shown, body=response.body)


def _as_asked(url: str) -> str:
    return urldefrag(url).url


def _shown_headers(headers: tuple[tuple[str, str], ...], *, cookies: bool = True) -> dict[str, str]:
    """A response's headers as the browser takes them; no cookies where their values are secrets."""
    shown: dict[str, str] = {}
    for name, value in headers:
        folded = name.lower()
        if folded in _HOP_BY_HOP or (folded == "set-cookie" and not cookies) or not value.isprintable():
            continue
        joint = "\n" if folded == "set-cookie" else ", "
        shown[folded] = f"{shown[folded]}{joint}{value}" if folded in shown else value
    return shown
