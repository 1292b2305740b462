"""The Renderer: a Chromium of the system's, started when the first page is to be shown, and anew now and then.

It has no way out. Its proxy is nowhere, no name has an address, and what is no request of a page (WebSockets, WebRTC,
DNS prefetching) finds nobody. What pages ask for comes to us (`showing`), so whom the crawl may reach is judged once,
by the fetcher, for the address that it connects to.

It ends with us, however we end: Playwright's driver hears that our end of its pipe is closed, and the browser that the
driver's is.
"""

import asyncio
import logging
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

from holdfast.domain.errors import BrowserFailed
from holdfast.ports.clock import Clock
from holdfast.ports.renderer import Asked, Rendered, RenderFailed, Served
from holdfast.web.browser.showing import Showing, ShowLimits

log = logging.getLogger(__name__)

MOST_PAGES: Final = 500
"""Shown by one browser; then another one is started."""
MOST_STARTS: Final = 3
"""So often in a row it may fail to start."""
_START_S: Final = 60.0
_END_S: Final = 10.0
_WATCH_S: Final = 1.0
_NOWHERE: Final = "http://127.0.0.1:1"
_ARGUMENTS: Final = (
    # Nobody has an address, loopback and the proxy included; what is fulfilled by us never looks for one.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-pings",
    # A page's scripts die of this before they take the machine's memory.
    "--js-flags=--max-old-space-size=512",
)


@dataclass(frozen=True, slots=True)
class Chromium:
    """Which program, and how it is run."""

    program: Path
    sandbox: bool
    """Of its own, around what pages' scripts run in."""
    memory_bytes: int
    """More than that all its processes together may not take."""


@dataclass(slots=True)
class _Running:
    """A browser at work."""

    playwright: Playwright
    browser: Browser
    control: CDPSession
    pid: int
    showing: int = 0
    shown: int = 0
    retired: bool = False
    watch: "asyncio.Task[None] | None" = None


class ChromiumRenderer:
    """Shows pages in a Chromium, `at_once` at a time, each in a context of its own. Implements the port Renderer."""

    def __init__(
        self, chromium: Chromium, clock: Clock, limits: ShowLimits, *, user_agent: str, at_once: int
    ) -> None:
        self._chromium = chromium
        self._clock = clock
        self._limits = limits
        self._user_agent = user_agent
        self._places = asyncio.Semaphore(at_once)
        self._starting = asyncio.Lock()
        self._running: _Running | None = None
        self._ends: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._closed = False

    async def render(self, page: Served, asked: Asked) -> Rendered:
        """The page as its scripts leave it, or RenderFailed; BrowserFailed where no browser starts again and again."""
        async with self._places:
            running = await self._ready()
            running.showing += 1
            try:
                showing = Showing(
                    running.browser,
                    self._clock,
                    self._limits,
                    user_agent=self._user_agent,
                    page=page,
                    asked=asked,
                )
                return await showing.show()
            finally:
                running.showing -= 1
                running.shown += 1
                if running.shown >= MOST_PAGES or not running.browser.is_connected():
                    running.retired = True
                if running.retired and not running.showing:
                    self._let_go(running)

    async def close(self) -> None:
        """End the browser. Calls that are under way fail."""
        self._closed = True
        if self._running is not None:
            self._let_go(self._running)
        if self._ends:
            await asyncio.gather(*self._ends, return_exceptions=True)

    async def _ready(self) -> _Running:
        async with self._starting:
            if self._closed:
                raise RenderFailed("closed")
            running = self._running
            if running is not None and (running.retired or not running.browser.is_connected()):
                running.retired = True
                if not running.showing:
                    self._let_go(running)
                running = None
            if running is None:
                running = self._running = await self._started()
            return running

    async def _started(self) -> _Running:
        try:
            async with asyncio.timeout(_START_S):
                running = await self._start()
        except (Error, OSError, TimeoutError) as error:
            self._failures += 1
            why = str(error).partition("\n")[0] or "it doesn't answer"
            log.warning("the browser %s doesn't start: %s", self._chromium.program, why)
            if self._failures >= MOST_STARTS:
                raise BrowserFailed(str(self._chromium.program), why) from None
            raise RenderFailed("render_failed", why) from None
        self._failures = 0
        running.watch = asyncio.ensure_future(self._watch(running))
        return running

    async def _start(self) -> _Running:
        playwright = await async_playwright().start()
        try:
            browser = await playwright.chromium.launch(
                executable_path=self._chromium.program,
                args=_ARGUMENTS,
                proxy={"server": _NOWHERE},
                chromium_sandbox=self._chromium.sandbox,
                # A window that a script opens by itself is refused, and told to us.
                ignore_default_args=["--disable-popup-blocking"],
                # Signals are ours: a Ctrl-C drains what is in flight.
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
            control = await browser.new_browser_cdp_session()
            return _Running(playwright, browser, control, await _pid(control))
        except BaseException:
            with suppress(Error):
                await playwright.stop()
            raise

    async def _watch(self, running: _Running) -> None:
        """Ends a browser that takes too much memory: the pages in it fail, and are tried again in another one."""
        most = self._chromium.memory_bytes
        with suppress(Error):
            while True:
                await asyncio.sleep(_WATCH_S)
                if not running.showing:
                    continue
                taken = await _memory(running.control)
                if taken > most:
                    log.warning("the browser takes %d MB, and is started anew", taken // 1_000_000)
                    _kill(running.pid)
                    return

    def _let_go(self, running: _Running) -> None:
        if self._running is running:
            self._running = None
        end = asyncio.ensure_future(_ended(running))
        self._ends.add(end)
        end.add_done_callback(self._ends.discard)


async def _ended(running: _Running) -> None:
    if running.watch is not None:
        running.watch.cancel()
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(_END_S):
            await running.browser.close()
    if running.browser.is_connected():
        _kill(running.pid)
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(_END_S):
            await running.playwright.stop()


async def _pid(control: CDPSession) -> int:
    processes = (await control.send("SystemInfo.getProcessInfo"))["processInfo"]
    return next(int(one["id"]) for one in processes if one["type"] == "browser")


async def _memory(control: CDPSession) -> int:
    """What its processes take, without what they share; 0 where the system doesn't say."""
    processes = (await control.send("SystemInfo.getProcessInfo"))["processInfo"]
    return sum(_own_bytes(int(one["id"])) for one in processes)


def _own_bytes(pid: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
