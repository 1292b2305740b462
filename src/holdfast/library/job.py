"""A job in hand: how it stands, running and steering it, and what it has."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from holdfast.domain.checkpoint import Counters
from holdfast.domain.errors import HoldfastError
from holdfast.domain.states import STOPPED, Action, Status
from holdfast.library.page import Page

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.domain.job import Job as Stored
    from holdfast.engine.verify import Verification
    from holdfast.engine.worker import Worker
    from holdfast.output.export import Exported

_COMMITS: Final = 20
"""Commits whose pages are read from the ledger at a time: no reader keeps a snapshot for long."""


class Job:
    """A job as it stood when it was last looked at; `refresh` looks again."""

    def __init__(self, home: "Home", stored: "Stored") -> None:
        self._home, self._stored = home, stored

    def __repr__(self) -> str:
        return f"<Job {self._stored.short_id} {self.status}, {self.counters.done} pages>"

    @property
    def id(self) -> str:
        """The whole id."""
        return self._stored.public_id

    @property
    def name(self) -> str | None:
        """As it was named."""
        return self._stored.name

    @property
    def status(self) -> Status:
        """A text as well: `job.status == "completed"`."""
        return self._stored.status

    @property
    def reason(self) -> str | None:
        """Why it stands there, where there is more to say."""
        return self._stored.reason

    @property
    def counters(self) -> Counters:
        """Pages `done`, and what else the job has come to."""
        return self._stored.counters

    @property
    def checkpoint(self) -> int:
        """The number of its last checkpoint."""
        return self._stored.commit_no

    async def refresh(self) -> "Job":
        """This job as it stands now."""
        self._stored = await self._home.tools.ledger.job(self._stored.id)
        return self

    # -- running and steering

    async def run(self) -> "Job":
        """Work on it, here, until it ends. It has to be pending, as `submit` and `resume` leave it; else JobHeld.

        Cancelling the task commits what is in hand and gives the job back.
        """
        from holdfast.engine.run import run  # noqa: PLC0415 - costs a fetcher and a parser

        stop = _Stop()
        running = asyncio.create_task(run(self._home.tools, self._stored, self._home.worker_id(), stop))
        try:
            self._stored = await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.release()
            with suppress(HoldfastError):
                await running
            raise
        return self

    async def resume(self) -> "Job":
        """A stopped job back to pending, its work kept; `run` it then. WrongState names what is allowed instead."""
        from holdfast.domain.states import after  # noqa: PLC0415
        from holdfast.engine.start import finish_change, free, take_up  # noqa: PLC0415

        await finish_change(self._home.tools, self._stored)
        found = await free(self._home.tools, self._stored, None, wait=False, on_wait=lambda _: None)
        if found.status is not Status.PENDING:
            after(found.status, Action.RESUME)
        await take_up(self._home.tools, found)
        return await self.refresh()

    async def pause(self) -> "Job":
        """Ask for a pause; whoever works on the job hears within a second. Without a worker it is paused at once."""
        holder = await self._home.tools.jobs.holder(self._stored.id)
        dead = holder is not None and self._home.workers.lives(holder.worker_id) is False
        now = self._home.tools.clock.wall()
        await self._home.tools.jobs.pause(self._stored.id, now=now, dead=holder if dead else None)
        return await self.refresh()

    async def cancel(self) -> "Job":
        """Stop it for good; what it has stays readable, and no worker can write any more."""
        await self._home.tools.jobs.cancel(self._stored.id, now=self._home.tools.clock.wall())
        return await self.refresh()

    async def remove(self) -> None:
        """Forget it with all that it has. JobHeld while somebody works on it."""
        from holdfast.engine.start import free, remove  # noqa: PLC0415

        await free(self._home.tools, self._stored, None, wait=False, on_wait=lambda _: None)
        await remove(self._home.tools, self._stored)

    # -- what it has

    async def pages(self, *, follow: bool = False) -> AsyncIterator[Page]:
        """Its pages, each once, in the order in which they were committed.

        `follow`: go on with what is committed meanwhile, by whomever, until the job has stopped. One that waits for a
        worker is waited for.
        """
        from holdfast.cli.pages import pages  # noqa: PLC0415

        upto, table = 0, pages(self._stored)
        while True:
            await self.refresh()
            stopped = self._stored.status in STOPPED
            while upto < self._stored.commit_no:
                until = min(self._stored.commit_no, upto + _COMMITS)
                for record in await self._home.tools.ledger.written(
                    self._stored.id, after=upto, until=until, kind="page"
                ):
                    yield Page(self._home, self._stored, record, table)
                upto = until
            if stopped or not follow:
                return
            await asyncio.sleep(self._home.tools.times.poll_s)

    async def records(self) -> AsyncIterator[Mapping[str, Any]]:
        """What a pipeline of one's own made of the pages: the rows of an export, in the order of their commits."""
        from holdfast.cli.pages import records  # noqa: PLC0415

        table, upto = records(self._stored), 0
        await self.refresh()
        while upto < self._stored.commit_no:
            until = min(self._stored.commit_no, upto + _COMMITS)
            for record in await self._home.tools.ledger.written(
                self._stored.id, after=upto, until=until, kind=table.kind
            ):
                yield table.row_of(record, None)
            upto = until

    async def export(
        self, path: str | PathLike[str], *, folder: Literal["markdown", "mirror"] | None = None
    ) -> "Exported":
        """Write its pages, as `holdfast export -o` does: to a file whose ending says how, or to a folder of files."""
        from holdfast.cli.export import exported, source  # noqa: PLC0415
        from holdfast.cli.wanted import Output  # noqa: PLC0415
        from holdfast.engine.start import refuse_half_restarted  # noqa: PLC0415

        output = Output(Path(path), folder)
        output.check()
        await refuse_half_restarted(self._home.tools, await self._fresh())
        return await exported(source(self._home), self._stored, output, lambda _: None)

    async def verify(self) -> "Verification":
        """Read everything that it committed again; `holds` says whether the promise does."""
        from holdfast.engine.verify import verify  # noqa: PLC0415

        return await verify(self._home.tools, await self._fresh())

    async def _fresh(self) -> "Stored":
        await self.refresh()
        return self._stored


class _Stop:
    """How a cancelled task ends a claim in order: as a shutdown does, so that the job resumes by itself."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._released = False

    def claimed(self) -> None:
        """There is a claim; it ends in order in any case."""

    def listen(self, worker: "Worker") -> None:
        """Tell this worker, at once if it was asked for before."""
        self._worker = worker
        if self._released:
            self.release()

    def release(self) -> None:
        """Commit what is in hand, and give the job back."""
        self._released = True
        if self._worker is not None:
            self._worker.end(Action.RELEASE, "shutdown")
