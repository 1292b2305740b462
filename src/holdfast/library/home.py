"""An open home: where jobs are asked for and found."""

import os
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from holdfast import settings
from holdfast.domain.errors import DamagedJob, SpecChanged
from holdfast.domain.lease import Heartbeat
from holdfast.domain.states import Status
from holdfast.library.job import Job
from holdfast.library.options import CrawlOptions, asked, asked_to_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.bootstrap import Home
    from holdfast.domain.job import Job as Stored
    from holdfast.domain.job import NewJob
    from holdfast.engine.revising import Preview
    from holdfast.plugin import Pipeline


@asynccontextmanager
async def open(  # noqa: A001 - called as holdfast.open
    home: str | os.PathLike[str] | None = None, *, create: bool = True
) -> "AsyncIterator[Holdfast]":
    """The home in that directory; None: where HOLDFAST_HOME says, else `./.holdfast`, as for the command.

    Made if it isn't there, unless `create` is False (then HomeError). The other HOLDFAST_ settings hold as well.
    """
    from holdfast.bootstrap import open_home  # noqa: PLC0415 - `import holdfast` costs nothing until it is used

    wanted = settings.load()
    wanted = wanted if home is None else replace(wanted, home=Path(home))
    async with open_home(wanted, create=create) as opened:
        yield Holdfast(opened)


class Holdfast:
    """An open home. Several crawls may run in it at once, as tasks of one loop or in other processes."""

    def __init__(self, home: "Home") -> None:
        self._home = home

    @property
    def path(self) -> Path:
        """The directory."""
        return self._home.path

    async def crawl(
        self,
        *urls: str,
        fresh: bool = False,
        wait: bool = False,
        yes: bool = False,
        **options: Unpack[CrawlOptions],
    ) -> Job:
        """Crawl until it is done, and give the job as it then stands; look at its `status`.

        The same call again resumes: a job is known by its name, else by its start URLs. `fresh` starts a new one,
        `wait` waits for a process that works on it already (else JobHeld). Other rules than the job had (scope,
        patterns, depth) are applied with `yes`; without it, those that change its queue raise SpecChanged, which says
        how. Cancelling the task commits what is in hand and gives the job back: the same call carries on.
        """
        job = await self.submit(*urls, fresh=fresh, wait=wait, yes=yes, **options)
        return await job.run() if job.status == Status.PENDING else job

    async def submit(
        self,
        *urls: str,
        fresh: bool = False,
        wait: bool = False,
        yes: bool = False,
        **options: Unpack[CrawlOptions],
    ) -> Job:
        """The job that `crawl` would work on: pending, and whoever wants may `run` it; or completed already."""
        return await self._started(asked(urls, options), fresh=fresh, wait=wait, yes=yes)

    async def run(
        self,
        pipeline: "Pipeline",
        *,
        fresh: bool = False,
        wait: bool = False,
        yes: bool = False,
        **options: Unpack[CrawlOptions],
    ) -> Job:
        """Likewise with a pipeline of one's own, until it is done; the job is known by its name, else by its fields."""
        job = await self.submit_run(pipeline, fresh=fresh, wait=wait, yes=yes, **options)
        return await job.run() if job.status == Status.PENDING else job

    async def submit_run(
        self,
        pipeline: "Pipeline",
        *,
        fresh: bool = False,
        wait: bool = False,
        yes: bool = False,
        **options: Unpack[CrawlOptions],
    ) -> Job:
        """The job that `run` would work on."""
        return await self._started(asked_to_run(pipeline, options), fresh=fresh, wait=wait, yes=yes)

    async def _started(self, new: "NewJob", *, fresh: bool, wait: bool, yes: bool) -> Job:
        from holdfast.engine.start import start  # noqa: PLC0415

        started = await start(
            self._home.tools,
            new,
            fresh=fresh,
            wait=wait,
            random=os.urandom,
            on_wait=_in_silence,
            agree=_taken if yes else _refused,
        )
        return Job(self._home, started.job)

    async def job(self, reference: str | None = None) -> Job:
        """One job by its id, the beginning or end of one, or its name; None: the latest. Else UnknownJob."""
        return Job(self._home, await self._home.tools.jobs.find(reference))

    async def jobs(self) -> list[Job]:
        """All jobs, the latest first. DamagedJob if the ledger's row of one can't be read."""
        found = []
        for job in await self._home.tools.jobs.all():
            if isinstance(job, DamagedJob):
                raise job
            found.append(Job(self._home, job))
        return found


def _taken(_job: "Stored", _preview: "Preview") -> None:
    """Whatever it does to the queue."""


def _refused(job: "Stored", preview: "Preview") -> None:
    """SpecChanged where it does anything to the queue."""
    from holdfast.cli.changed import sentence  # noqa: PLC0415

    if preview.moves:
        raise SpecChanged(f"{sentence(preview, job)}. Nothing of it is changed yet: yes=True does it")


def _in_silence(_holder: Heartbeat) -> None:
    """Somebody else works on it; who waits has asked for that."""
