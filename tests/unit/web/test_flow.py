"""What comes in is bounded: per second, and at a time in memory."""

import asyncio
import gc
import gzip
import os
import subprocess
import sys
import textwrap
import time

import pytest
from tests.kit.process import ROOT
from tests.unit.web.fetching import with_fetcher
from tests.unit.web.rawserver import RawServer, ok, path_of

from holdfast.ports.fetcher import FetchFailed, Request
from holdfast.web.flow import LARGE_BYTES, Flow
from holdfast.web.transfer import FetchLimits

MB = 1_000_000


class Hand:
    """A clock that only a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_comes_has_to_be_paid_for_in_time():
    async def main():
        hand = Hand()
        flow = Flow(hand, bytes_s=1000)
        assert not flow.pressed
        flow.came(50)
        assert not flow.pressed  # a tenth of a second is free
        flow.came(1050)
        assert flow.debt_s() == pytest.approx(1.0)
        hand.now += 1.001
        assert not flow.pressed
        hand.now += 3600  # an idle hour saves up no more than that tenth
        flow.came(600)
        assert flow.debt_s() == pytest.approx(0.5)

    asyncio.run(main())


@pytest.mark.parametrize(("size", "count"), [(5_000, 300), (300_000, 5), (1_500_000, 1)])
def test_the_cap_per_second_holds_for_small_and_large_bodies_alike(size, count):
    body, cap = os.urandom(size), MB
    with RawServer(lambda _r, _c: ok(body)) as server:

        async def all_of_them(fetcher):
            at_once = asyncio.Semaphore(16)

            async def one(n):
                async with at_once:
                    return len((await fetcher.fetch(Request(f"{server.url}/{n}"))).body)

            started = time.monotonic()
            sizes = await asyncio.gather(*map(one, range(count)))
            # The debt of the last ones is part of the measure.
            return sum(sizes), time.monotonic() - started + max(0.0, fetcher._reactor.flow.debt_s())

        spent_before = time.process_time()
        taken, elapsed_s = with_fetcher(all_of_them, limits=FetchLimits(bytes_s=cap))
        busy_s = time.process_time() - spent_before
    assert taken == size * count
    assert taken / elapsed_s <= cap * 1.1
    assert taken / elapsed_s >= cap * 0.7  # and isn't far below it, on a busy machine
    assert busy_s < elapsed_s / 2, "who waits doesn't spin"


def test_memory_holds_no_more_than_it_may_and_every_body_comes_whole():
    size, most = 4 * MB, 10 * MB
    seen = []

    with RawServer(lambda request, _c: ok(path_of(request).encode() * (size // 3))) as server:

        async def all_of_them(fetcher):
            async def one(n):
                response = await fetcher.fetch(Request(f"{server.url}/{n:02}"))
                await asyncio.sleep(0)
                return response.body[:3], len(response.body)

            async def watch():
                while True:
                    flow = fetcher._reactor.flow if fetcher._reactor else None
                    seen.append(0 if flow is None else flow._coming + flow._out)
                    await asyncio.sleep(0)

            watching = asyncio.create_task(watch())
            bodies = await asyncio.gather(*map(one, range(16)))
            watching.cancel()
            gc.collect()
            await asyncio.sleep(0)
            return bodies, fetcher._reactor.flow

        bodies, flow = with_fetcher(all_of_them, limits=FetchLimits(memory_bytes=most))
    assert bodies == [(f"/{n:02}".encode(), size // 3 * 3) for n in range(16)]
    # One body grows on, another is unpacked, and curl reads a piece of each before it can be told.
    assert most < max(seen) < most + 3 * size
    assert (flow._coming, flow._out) == (0, 0)


def test_a_transfer_that_is_held_back_may_be_given_up():
    with RawServer(lambda _r, _c: ok(bytes(4 * MB))) as server:

        async def work(fetcher):
            first = asyncio.create_task(fetcher.fetch(Request(f"{server.url}/1")))
            second = asyncio.create_task(fetcher.fetch(Request(f"{server.url}/2")))
            while not (fetcher._reactor and fetcher._reactor._held_back):  # noqa: ASYNC110 - at every turn of the loop
                await asyncio.sleep(0)
            second.cancel()
            first_body = (await first).body
            third = await fetcher.fetch(Request(f"{server.url}/3"))
            return len(first_body), len(third.body)

        assert with_fetcher(work, limits=FetchLimits(memory_bytes=MB)) == (4 * MB, 4 * MB)


def test_who_waits_for_room_that_only_it_could_make_goes_on_all_the_same(monkeypatch):
    monkeypatch.setattr("holdfast.web.flow.RELIEF_S", 0.05)
    packed = gzip.compress(bytes(2 * MB))
    with RawServer(lambda _r, _c: ok(packed, "Content-Encoding: gzip")) as server:

        async def work(fetcher):
            kept = [await fetcher.fetch(Request(f"{server.url}/{n}")) for n in range(3)]
            return [len(response.body) for response in kept]

        assert with_fetcher(work, limits=FetchLimits(memory_bytes=MB)) == [2 * MB] * 3


def test_a_response_gives_its_room_back_when_nobody_has_it_and_when_it_is_stored_without_its_body():
    packed = gzip.compress(os.urandom(LARGE_BYTES))
    with RawServer(lambda _r, _c: ok(packed, "Content-Encoding: gzip")) as server:

        async def work(fetcher):
            response = await fetcher.fetch(Request(server.url + "/"))
            taken = fetcher._reactor.flow._out
            stored = response.undecoded()
            del response
            await asyncio.sleep(0.01)
            return taken, fetcher._reactor.flow._out, len(stored.payload), stored.room

        assert with_fetcher(work) == (len(packed) + LARGE_BYTES, 0, len(packed), None)


def test_a_failed_transfer_leaves_nothing_behind():
    def breaks(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")

    with RawServer(breaks) as server:

        async def work(fetcher):
            with pytest.raises(FetchFailed):
                await fetcher.fetch(Request(server.url + "/"))
            return fetcher._reactor.flow._coming

        assert with_fetcher(work) == 0


PROGRAM = """
    import asyncio, resource, sys
    from tests.unit.web.fetching import Clock
    from holdfast.ports.fetcher import Request
    from holdfast.web.curl import CurlFetcher

    async def main():
        fetcher = CurlFetcher("x", Clock())
        async def one(n):
            response = await fetcher.fetch(Request(f"{sys.argv[1]}/{n}"))
            await asyncio.sleep(0.01)
            return len(response.body)
        sizes = await asyncio.gather(*map(one, range(16)))
        await fetcher.close()
        print(min(sizes), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)

    asyncio.run(main())
"""


def test_sixteen_bodies_of_the_largest_kind_at_once_take_a_fraction_of_their_size():
    # Sixteen times 64 MiB, unpacked, would be a gigabyte.
    packed = gzip.compress(bytes(64 * 1024 * 1024), 1)
    with RawServer(lambda _r, _c: ok(packed, "Content-Encoding: gzip")) as server:
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), server.url]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        ended = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
        )
    least, peak_mb = map(int, ended.stdout.split())
    assert least == 64 * 1024 * 1024
    assert peak_mb < 500
