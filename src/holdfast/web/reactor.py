"""libcurl's multi interface, driven by the running asyncio loop itself, in one thread.

A thread of its own would fight the parser for the GIL: measured, it halves the pages per second.

curl's sockets are watched by a selector of their own, whose file descriptor is all that asyncio sees:
telling a selector about a socket costs less than `loop.add_reader`, and curl does it twice per request.
"""

import asyncio
import selectors
from contextlib import suppress
from typing import Final

import pycurl  # type: ignore[import-untyped]  # has no types

from holdfast.ports.fetcher import FetchFailed
from holdfast.web.flow import Flow

_NEVER: Final = float("inf")

Ended = tuple[int, str]
"""libcurl's error code (0 is success) and its own words."""


class Reactor:
    """Runs easy handles to their end. Belongs to the loop that was running when it was made."""

    def __init__(self, connections: int, flow: Flow) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: dict[pycurl.Curl, asyncio.Future[Ended]] = {}
        self.flow = flow
        self._held_back: dict[pycurl.Curl, None] = {}
        self._gathering: asyncio.Handle | None = None
        self._payment: asyncio.TimerHandle | None = None
        flow.on_room = self._let_go
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, int] = {}
        self._timer: asyncio.Handle | None = None
        self._due = _NEVER
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._wake_in)
        # DefaultSelector is epoll or kqueue wherever this runs; both can themselves be watched.
        self._loop.add_reader(self._selector.fileno(), self._sockets_ready)

    def start(self, easy: pycurl.Curl) -> asyncio.Future[Ended]:
        """Start a transfer; the future tells how it ended. Who stops waiting must `drop` the handle."""
        future: asyncio.Future[Ended] = self._loop.create_future()
        self._running[easy] = future
        self._multi.add_handle(easy)
        return future

    def drop(self, easy: pycurl.Curl) -> None:
        """Give up a transfer; nothing happens if it has ended already."""
        if self._running.pop(easy, None) is not None:
            self._multi.remove_handle(easy)
            self._gone(easy)

    def close(self) -> None:
        """Give up all transfers, FetchFailed(closed) for those who wait, and close every connection."""
        self._loop.remove_reader(self._selector.fileno())
        running, self._running = self._running, {}
        self._held_back.clear()
        for easy, future in running.items():
            self._multi.remove_handle(easy)
            if not future.done():
                future.set_exception(FetchFailed("closed", transient=True))
        self._multi.close()
        for timer in (self._timer, self._payment, self._gathering):
            if timer is not None:
                timer.cancel()
        self._selector.close()

    def _watch(self, events: int, fd: int, _multi: pycurl.CurlMulti, _data: object) -> None:
        """What curl wants to know about a socket. Its POLL_IN and POLL_OUT are EVENT_READ and EVENT_WRITE."""
        if events in {pycurl.POLL_REMOVE, pycurl.POLL_NONE}:
            if self._watched.pop(fd, None) is not None:
                self._selector.unregister(fd)
            return
        before = self._watched.get(fd)
        if before == events:
            return
        self._watched[fd] = events
        if before is not None:
            with suppress(OSError):
                self._selector.modify(fd, events)
                return
        with suppress(KeyError):
            self._selector.unregister(fd)  # a number that was closed and given out again behind our back
        self._selector.register(fd, events)

    def _sockets_ready(self) -> None:
        act, flow = self._multi.socket_action, self.flow
        for key, events in self._selector.select(0):
            if key.fd in self._watched:  # an earlier one of this round may have ended this one
                act(key.fd, events)
                if flow.strained and flow.pressed:
                    self._hold_back()
        self._collect()

    def _wake_in(self, timeout_ms: int) -> None:
        """When curl wants to be called, whatever the sockets do.

        It changes its mind several times per transfer. A timer that would fire too early is left alone: when
        it fires, it looks at `_due` and sleeps on.
        """
        if timeout_ms < 0:
            self._due = _NEVER
            return
        self._due = self._loop.time() + timeout_ms / 1000
        if self._timer is not None:
            if not isinstance(self._timer, asyncio.TimerHandle) or self._timer.when() <= self._due:
                return
            self._timer.cancel()
        self._timer = (
            self._loop.call_at(self._due, self._time_up)
            if timeout_ms
            else self._loop.call_soon(self._time_up)
        )

    def _time_up(self) -> None:
        self._timer = None
        if self._loop.time() < self._due:
            if self._due != _NEVER:
                self._timer = self._loop.call_at(self._due, self._time_up)
            return
        self._due = _NEVER
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        if self.flow.strained and self.flow.pressed:
            self._hold_back()
        self._collect()

    def _collect(self) -> None:
        """Hand out what has ended."""
        queued = 1
        while queued:
            queued, succeeded, failed = self._multi.info_read()
            for easy in succeeded:
                self._end(easy, (0, ""))
            for easy, code, message in failed:
                self._end(easy, (code, message))

    def _end(self, easy: pycurl.Curl, ended: Ended) -> None:
        future = self._running.pop(easy, None)
        if future is None:
            return
        self._multi.remove_handle(easy)
        self._gone(easy)
        if not future.done():
            future.set_result(ended)

    # -- what comes in too fast, or is too much

    def _hold_back(self) -> None:
        """Pause all transfers, but for the one that may go on."""
        free = self._may_go_on()
        for easy in self._running:
            if easy is not free:
                with suppress(pycurl.error):  # it has no connection: not yet, or no longer
                    easy.pause(pycurl.PAUSE_RECV)
                    self._held_back.setdefault(easy)
        self._wait_for_payment()

    def _may_go_on(self) -> pycurl.Curl | None:
        """Where memory is full: the oldest, unless bodies that are whole already wait for room."""
        if self.flow.in_debt or self.flow.crowded or not self._running:
            return None
        return next(iter(self._running))

    def _wait_for_payment(self) -> None:
        if self._payment is None and self.flow.in_debt:
            self._payment = self._loop.call_later(self.flow.debt_s(), self._paid)

    def _paid(self) -> None:
        self._payment = None
        self._let_go()

    def _let_go(self) -> None:
        """One after the other, those first that have waited longest, until it is too much again."""
        while self._held_back and not self.flow.in_debt:
            easy = self._may_go_on() if self.flow.full else next(iter(self._held_back))
            if easy is None or easy not in self._held_back:
                return
            del self._held_back[easy]
            with suppress(pycurl.error):
                easy.pause(pycurl.PAUSE_CONT)
            # It takes what is there for it before anybody else is let go.
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            if self._gathering is None:
                self._gathering = self._loop.call_soon(self._gather)
            if self.flow.pressed:
                self._hold_back()
        self._wait_for_payment()
        if not self._held_back:
            self.flow.settle()

    def _gather(self) -> None:
        self._gathering = None
        self._collect()

    def _gone(self, easy: pycurl.Curl) -> None:
        if self._held_back:
            self._held_back.pop(easy, None)
            self._let_go()
