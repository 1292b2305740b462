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

_NEVER: Final = float("inf")

Ended = tuple[int, str]
"""libcurl's error code (0 is success) and its own words."""


class Reactor:
    """Runs easy handles to their end. Belongs to the loop that was running when it was made."""

    def __init__(self, connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: dict[pycurl.Curl, asyncio.Future[Ended]] = {}
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

    def close(self) -> None:
        """Give up all transfers, FetchFailed(closed) for those who wait, and close every connection."""
        self._loop.remove_reader(self._selector.fileno())
        running, self._running = self._running, {}
        for easy, future in running.items():
            self._multi.remove_handle(easy)
            if not future.done():
                future.set_exception(FetchFailed("closed", transient=True))
        self._multi.close()
        if self._timer is not None:
            self._timer.cancel()
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
        act = self._multi.socket_action
        for key, events in self._selector.select(0):
            if key.fd in self._watched:  # an earlier one of this round may have ended this one
                act(key.fd, events)
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
        if not future.done():
            future.set_result(ended)
