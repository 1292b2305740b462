"""A job's pages as a folder of files, in memory that doesn't grow with them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import holdfast
from holdfast.domain.errors import StorageFailed
from holdfast.domain.job import Job
from holdfast.output.export import Exported, OnProgress, Source, pages_of, refuse_emptied, stored_body
from holdfast.output.folder import whole_folder
from holdfast.ports.ledger import RecordRow
from holdfast.ports.segments import DamagedRecord, Reading


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file of the folder."""

    path: str
    """Relative to the folder, with slashes; nothing in it leads out."""
    data: bytes
    append: bool = False
    """To what is there, rather than to be all of it."""


class Tree(Protocol):
    """What a folder of files is made of."""

    @property
    def form(self) -> str:
        """How people call it."""

    @property
    def kind(self) -> str:
        """Which records it is made of."""

    async def files(self, record: RecordRow, reading: Reading | None) -> Sequence[TreeFile]:
        """The files of one record; `reading` is None where its stored body is damaged. None of them, perhaps."""

    async def frame(self) -> Sequence[TreeFile]:
        """What stands there beside, whatever the records are. Asked first."""


async def export_tree(source: Source, job: Job, tree: Tree, path: Path, on_progress: OnProgress) -> Exported:
    """Write the job's results up to its last commit as a folder; on whatever is raised, what stood there still does."""
    damaged: list[str] = []
    written = Written()
    about = {"form": tree.form, "job": job.public_id, "run": job.run, "holdfast": holdfast.__version__}
    with whole_folder(path, about) as folder:
        written.put(folder, await tree.frame())
        count = 0
        async for record in _records(source, job, tree.kind):
            files = await tree.files(record, _body(source, job, record, damaged))
            await asyncio.to_thread(written.put, folder, files)
            count += 1
            on_progress(count)
        await refuse_emptied(source, job)
    return Exported(path, written.count, "file", written.bytes, tuple(damaged))


@dataclass(slots=True)
class Written:
    """What stands in the folder."""

    count: int = 0
    bytes: int = 0

    def put(self, folder: Path, files: Sequence[TreeFile]) -> None:
        """Write the files, each of which is new."""
        for file in files:
            place = folder / file.path
            if file.append:
                with place.open("ab") as open_file:
                    open_file.write(file.data)
                self.bytes += len(file.data)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                with place.open("xb") as open_file:
                    open_file.write(file.data)
            except FileExistsError:
                message = (
                    f"two pages would both be {file.path}; this is a bug of Holdfast's: please report it"
                )
                raise StorageFailed(message) from None
            self.count += 1
            self.bytes += len(file.data)


async def _records(source: Source, job: Job, kind: str) -> AsyncIterator[RecordRow]:
    async for page in pages_of(source.ledger, job, kind, upto=job.commit_no):
        for record in page:
            yield record


def _body(source: Source, job: Job, record: RecordRow, damaged: list[str]) -> Reading | None:
    try:
        return stored_body(source.segments, job, record)
    except DamagedRecord as error:
        damaged.append(f"{record.item.url}: {error}")
        return None
