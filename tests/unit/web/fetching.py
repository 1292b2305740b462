"""Shortcuts for tests that fetch."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from holdfast.ports.fetcher import FetchFailed, Request, Response
from holdfast.web.curl import CurlFetcher
from holdfast.web.transfer import FetchLimits

T = TypeVar("T")
USER_AGENT = "Holdfast/test"


class Clock:
    """The machine's own."""

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def with_fetcher(work: Callable[[CurlFetcher], Awaitable[T]], **options: Any) -> T:
    """Run the work with a fetcher of its own, on a loop of its own."""

    async def main() -> T:
        fetcher = CurlFetcher(USER_AGENT, Clock(), **options)
        try:
            return await work(fetcher)
        finally:
            await fetcher.close()

    return asyncio.run(main())


def fetch(url: str, *headers: tuple[str, str], max_bytes: int | None = None, **options: Any) -> Response:
    """One response."""
    return with_fetcher(lambda fetcher: fetcher.fetch(Request(url, headers, max_bytes)), **options)


def failure(url: str, *, max_bytes: int | None = None, **options: Any) -> FetchFailed:
    """How one fetch fails."""
    with pytest.raises(FetchFailed) as caught:
        fetch(url, max_bytes=max_bytes, **options)
    return caught.value


IMPATIENT = FetchLimits(connect_s=2, total_s=1.5, slow_s=1)
