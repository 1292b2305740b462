"""WACZ 1.1.1: stored responses as they are, an index of them and a list of pages, in one ZIP that a browser replays.

https://specs.webrecorder.net/wacz/1.1.1/. The WARC files stand in it uncompressed (their records are compressed), so
that a reader can take out any one of them by its place.
"""

import asyncio
import hashlib
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, Self

import orjson

from holdfast import __version__
from holdfast.domain.job import Job
from holdfast.output.cdxj import Entry, EntryOf, SortedLines, line_of, runs_of, segments_of, stored
from holdfast.output.export import Exported, OnProgress, Source, committed_pieces, refuse_emptied
from holdfast.output.formats import sound
from holdfast.output.target import whole_file

_PIECE: Final = 1024 * 1024
_VERSION: Final = "1.1.1"
_LARGE: Final = 2 * 1024**3
"""From here on an entry's header leaves room for more than 4 GiB."""


async def export_wacz(
    source: Source, job: Job, entry_of: EntryOf, path: Path, on_progress: OnProgress
) -> Exported:
    """Write the job's responses up to its last commit, each of its segments as a WARC file.

    Those of earlier runs are in it, too: what a later run found unchanged has its body there. The pages are the run's.
    """
    runs = runs_of(job)
    segments = await segments_of(source, runs)
    with whole_file(path) as file, ExitStack() as scratch:
        index = scratch.enter_context(SortedLines(path.parent))
        starts, others = (
            scratch.enter_context(_Pages(path.parent, name)) for name in ("pages", "extra-pages")
        )
        for run in runs:
            async for record, place in stored(source, run):
                entry = entry_of(record)
                index.add(line_of(entry, record, place.segment, place.offset))
                if entry.title is not None and run == job:
                    (starts if entry.start else others).add(entry, record.item.id)
        package = _Package(file, datetime.fromtimestamp(job.last_checkpoint_at or job.created_at, UTC))
        with package:
            for segment in segments.values():
                pieces = committed_pieces(source.segment_path(job, segment.name), segment.committed)
                await asyncio.to_thread(
                    package.put, f"archive/{segment.name}", _told(pieces, on_progress), size=segment.committed
                )
            package.put("indexes/index.cdxj", index, packed=True)
            package.put("pages/pages.jsonl", starts.lines(), packed=True)
            if others.count:
                package.put("pages/extraPages.jsonl", others.lines(), packed=True)
            package.describe(_about(job, starts.first or others.first))
        size = file.tell()
        await refuse_emptied(source, job)
    return Exported(path, starts.count + others.count, "page", size)


def _about(job: Job, first: Entry | None) -> dict[str, Any]:
    about: dict[str, Any] = {"title": job.name or (first and (first.title or first.url)) or job.public_id}
    if first is not None:
        about |= {"mainPageUrl": first.url, "mainPageDate": _iso(first.at)}
    return about


def _told(pieces: Iterable[bytes], on_progress: OnProgress) -> Iterator[bytes]:
    written = 0
    for piece in pieces:
        yield piece
        written += len(piece)
        on_progress(written)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Pages:
    """A list of pages, kept on the disk until its turn comes. The file vanishes by itself."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__
        self._name = name
        self.count = 0
        self.first: Entry | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def add(self, entry: Entry, number: int) -> None:
        """One more page."""
        self.first = self.first or entry
        self.count += 1
        said = {"id": str(number), "url": entry.url, "ts": _iso(entry.at), "title": entry.title}
        self._file.write(orjson.dumps(sound(said)) + b"\n")

    def lines(self) -> Iterator[bytes]:
        """The list as a file."""
        title = "Start pages" if self._name == "pages" else "Other pages"
        yield orjson.dumps({"format": "json-pages-1.0", "id": self._name, "title": title}) + b"\n"
        self._file.seek(0)
        yield from self._file


@dataclass
class _Package:
    """The ZIP, and what it says of itself."""

    file: BinaryIO
    created: datetime
    _resources: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._zip = zipfile.ZipFile(self.file, "w", allowZip64=True)
        return self

    def __exit__(self, kind: object, *_error: object) -> None:
        # After an error nobody wants the directory, and the disk may be full.
        if kind is None:
            self._zip.close()

    def put(self, name: str, pieces: Iterable[bytes], *, size: int = 0, packed: bool = False) -> None:
        """One entry, noted with its length and digest."""
        digest = hashlib.sha256()
        length = 0
        with self._zip.open(self._entry(name, packed=packed), "w", force_zip64=size >= _LARGE) as entry:
            for piece in pieces:
                entry.write(piece)
                digest.update(piece)
                length += len(piece)
        self._resources.append(
            {
                "name": name.rpartition("/")[2].lower(),
                "path": name,
                "hash": f"sha256:{digest.hexdigest()}",
                "bytes": length,
            }
        )

    def describe(self, about: dict[str, Any]) -> None:
        """The package's own description, and its digest: last, because it names all others."""
        package = {
            "profile": "data-package",
            "wacz_version": _VERSION,
            "software": f"Holdfast/{__version__}",
            "created": _iso(self.created.timestamp()),
            **about,
            "resources": self._resources,
        }
        text = orjson.dumps(sound(package), option=orjson.OPT_INDENT_2)
        self._zip.writestr(self._entry("datapackage.json", packed=True), text)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        signed = orjson.dumps(digest, option=orjson.OPT_INDENT_2)
        self._zip.writestr(self._entry("datapackage-digest.json", packed=True), signed)

    def _entry(self, name: str, *, packed: bool) -> zipfile.ZipInfo:
        entry = zipfile.ZipInfo(name, self.created.timetuple()[:6])
        entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        entry.external_attr = 0o644 << 16
        return entry
