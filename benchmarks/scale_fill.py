"""Fills a home with millions of known URLs, by the product's own commits; and times commits at that size.

Run by benchmarks.scale with the interpreter of the holdfast under test:
    python -m benchmarks.scale_fill HOME START_URL KNOWN QUEUED
prints one JSON object: seconds to fill, bytes of the ledger per known URL, milliseconds of 200 commits.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from holdfast.bootstrap import open_home
from holdfast.domain.checkpoint import CheckpointReason
from holdfast.domain.commit import Commit, Ending
from holdfast.domain.item import Done, Failed, Found, Handled, Item, Record, Rejudged
from holdfast.domain.job import NewJob, Pace
from holdfast.domain.states import Action
from holdfast.domain.url import fingerprint, origin
from holdfast.engine.start import start
from holdfast.pipelines.site.spec import SiteSpec, identity
from holdfast.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.domain.lease import Lease
    from holdfast.ports.ledger import Ledger

SLICE = 5_000
COMMITS = 200
DEPTH = 9
WORDS = ("alpha", "archive", "catalogue", "documents", "gallery", "item", "library", "notes", "reference")


def address(start_url: str, n: int) -> str:
    """A plausible URL of about 70 characters, another one for each n."""
    mixed = (n * 2_654_435_761) % 4_294_967_296
    words = WORDS[mixed % 9], WORDS[mixed // 9 % 9]
    return f"{origin(start_url)}/{words[0]}/{words[1]}-{mixed % 997}/{n:08d}-{mixed:08x}.html"


def finding(start_url: str, n: int, parent: int | None) -> Found:
    """The n-th synthetic URL as a finding, deeper than any real page."""
    url = address(start_url, n)
    return Found(url, fingerprint(url), origin(url), DEPTH, parent_id=parent)


async def put(
    ledger: Ledger, lease: Lease, handled: tuple[Handled, ...], ending: Ending | None = None
) -> Lease:
    """One commit."""
    done = await ledger.commit(lease, Commit(CheckpointReason.ITEMS, time.time(), handled, ending=ending))
    return replace(lease, seq=done.seq)


async def timed(
    ledger: Ledger, lease: Lease, start_url: str, known: int, items: list[Item]
) -> tuple[Lease, list[float]]:
    """Commits of 10 pages with 500 links, 100 of them new, each timed."""
    chance = random.Random(known)
    took = []
    new = known + 50_000_000
    for at in range(0, COMMITS * 10, 10):
        handled = []
        for item in items[at : at + 10]:
            old = [finding(start_url, chance.randrange(known), item.id) for _ in range(40)]
            fresh = [finding(start_url, new + k, item.id) for k in range(10)]
            new += 10
            record = Record(
                "page", {"size": 15_000, "status": 200, "title": "A page " * 8, "sha256": "0" * 64}
            )
            handled.append(Handled(item, Done((record,), (*old, *fresh))))
        began = time.perf_counter()
        lease = await put(ledger, lease, tuple(handled))
        took.append((time.perf_counter() - began) * 1000)
    return lease, took


def slices(start_url: str, seed: Item, known: int) -> Iterator[tuple[Handled, ...]]:
    """All findings, a slice at a time."""
    for at in range(0, known, SLICE):
        found = tuple(finding(start_url, n, seed.id) for n in range(at, min(known, at + SLICE)))
        yield (Handled(seed, Rejudged(found)),)


async def settle(ledger: Ledger, lease: Lease, seed: Item) -> Lease:
    """Take what the last slice brought, and be done with it."""
    items = await ledger.take(lease, seed.host_id, limit=SLICE, taken=[seed.id])
    return await put(ledger, lease, tuple(Handled(item, Failed("fill")) for item in items))


def size_of(home_path: Path) -> int:
    """Bytes of the ledger, what is still in its WAL included; the WAL's own file is of one size, however many URLs."""
    db = apsw.Connection(str(home_path / "holdfast.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(db.pragma("page_count")) * int(db.pragma("page_size"))
    finally:
        db.close()


async def fill(home_path: Path, start_url: str, known: int, queued: int) -> dict[str, object]:
    """A released job with that many items, on which `holdfast crawl START_URL` goes on."""
    spec = SiteSpec.asked([start_url])
    new = NewJob("site", identity(None, spec), spec.to_json(), pace=Pace(16, 16, 0.0))
    async with open_home(replace(Settings(), home=home_path)) as home:
        tools = home.tools
        job = (await start(tools, new, random=os.urandom, on_wait=print)).job
        claim = await tools.ledger.claim(job.id, home.worker_id(), now=time.time())
        assert claim is not None
        ledger, lease = tools.ledger, claim.lease
        (seed,) = await ledger.take(lease, 1, limit=1, taken=[])
        began = time.perf_counter()
        for at, handled in enumerate(slices(start_url, seed, known)):
            lease = await put(ledger, lease, handled)
            if (at + 1) * SLICE <= known - queued:
                lease = await settle(ledger, lease, seed)
        fill_s = time.perf_counter() - began
        size = size_of(home_path)
        items = await ledger.take(lease, seed.host_id, limit=COMMITS * 10 + 1, taken=[seed.id])
        lease, took = await timed(ledger, lease, start_url, known, items)
        await put(ledger, lease, (), Ending(Action.RELEASE, "benchmark"))
    return {"fill_s": fill_s, "bytes_per_url": size / known, "commit_ms": took}


if __name__ == "__main__":
    home, url, *sizes = sys.argv[1:]
    print(json.dumps(asyncio.run(fill(Path(home), url, int(sizes[0]), int(sizes[1])))))
