"""Homes with a real crawl in them, made in this process; and what it takes to break a copy of one on purpose."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw

from holdfast.bootstrap import open_home
from holdfast.domain.job import Job, Limits, NewJob, Pace
from holdfast.engine.run import run
from holdfast.engine.start import Step, start
from holdfast.engine.verify import Verification, verify
from holdfast.engine.worker import Worker
from holdfast.pipelines.site.discovery import Discovery
from holdfast.pipelines.site.spec import MAX_EXTERNAL, SiteSpec, identity
from holdfast.settings import Settings, StorageSettings

LEDGER = "holdfast.db"


class NobodyStops:
    """A run that goes on to its end."""

    def claimed(self) -> None:
        """Nothing was asked."""

    def listen(self, worker: Worker) -> None:
        """Nothing to pass on."""


@dataclass(frozen=True)
class Crawled:
    """A home and the one job in it."""

    path: Path
    job: Job

    def copy(self, target: Path) -> "Crawled":
        """The same home again, to be broken."""
        shutil.copytree(self.path, target)
        return replace(self, path=target)

    def segments(self) -> list[Path]:
        """The job's segment files, in the order in which they were written."""
        folder = self.path / "segments" / self.job.public_id
        return sorted(folder.iterdir(), key=lambda path: int(path.name.split("-")[2].partition(".")[0]))

    @contextmanager
    def ledger(self) -> Iterator[apsw.Connection]:
        """The ledger with none of its guards: any row can be written."""
        db = apsw.Connection(str(self.path / LEDGER))
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("PRAGMA ignore_check_constraints = ON")
        try:
            yield db
        finally:
            db.close()

    def asks(self, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
        """Rows of the ledger."""
        with self.ledger() as db:
            return db.execute(sql, bindings).fetchall()

    def breaks(self, sql: str, *bindings: object, rows: int = 1) -> None:
        """Change so many rows; another number means that the test doesn't break what it thinks it does."""
        with self.ledger() as db:
            db.execute(sql, bindings)
            assert db.changes() == rows, f"{db.changes()} rows changed: {sql}"

    def item(self, url_end: str) -> tuple[int, str]:
        """Id and URL of the one item whose URL ends so."""
        ((item_id, url),) = self.asks("SELECT id, url FROM items WHERE url LIKE '%' || ?", url_end)
        return item_id, url

    def verified(self) -> Verification:
        """What verify says of it."""
        return asyncio.run(_verified(self.path, self.job.id))


def settings_for(home: Path, *, segment_bytes: int = 256 << 20) -> Settings:
    """Settings that don't mind how full the machine's disk is."""
    return Settings(home=home, storage=StorageSettings(min_free_bytes=0, segment_bytes=segment_bytes))


def crawl(
    url: str,
    home: Path,
    *,
    limits: Limits | None = None,
    segment_bytes: int = 256 << 20,
    concurrency: int = 8,
    max_external: int = MAX_EXTERNAL,
    sitemaps: bool = True,
) -> Crawled:
    """Crawl from that URL to the end (or carry on), without any delay."""
    spec = SiteSpec.asked([url], max_external=max_external, discovery=Discovery(sitemaps=sitemaps))
    new = NewJob(
        kind="site",
        identity=identity(None, spec),
        spec=spec.to_json(),
        limits=limits or Limits(),
        pace=Pace(concurrency=concurrency, per_host=concurrency, delay_s=0.0),
    )
    return Crawled(home, asyncio.run(_crawl(settings_for(home, segment_bytes=segment_bytes), new)))


def verified_job(home: Path) -> Verification:
    """What verify says of the latest job of a home that something else has made."""
    return asyncio.run(_verified(home, None))


async def _crawl(settings: Settings, new: NewJob) -> Job:
    async with open_home(settings) as home:
        started = await start(
            home.tools, new, random=os.urandom, on_wait=lambda _: None, agree=lambda _job, _preview: None
        )
        if started.step is Step.NOTHING:
            return started.job
        return await run(home.tools, started.job, home.worker_id(), NobodyStops())


async def _verified(path: Path, job_id: int | None) -> Verification:
    async with open_home(settings_for(path), create=False) as home:
        tools = home.tools
        job = await tools.jobs.find(None) if job_id is None else await tools.ledger.job(job_id)
        return await verify(tools, job)
