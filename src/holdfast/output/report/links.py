"""Who holds a link to what failed: one pass over the stored pages, which are read for their links once more."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from holdfast.domain.item import Record
from holdfast.domain.job import Job
from holdfast.domain.url import fingerprint
from holdfast.output.report.figures import BrokenLink, Holder
from holdfast.ports.jobs import Failure
from holdfast.ports.ledger import RecordRow
from holdfast.ports.pipeline import Pipeline
from holdfast.ports.segments import DamagedRecord, Segments

HOLDERS: Final = 20
"""So many pages are named for each broken address; all are counted."""


class Wanted:
    """The broken addresses, and the redirects that lead to one: whoever links there is noted."""

    def __init__(self, failed: Sequence[Failure], leading: Mapping[str, str]) -> None:
        """`leading`: redirects that end at a broken address, with that address."""
        self._failed = {item.url: item for item in failed}
        self._by_fingerprint: dict[bytes, tuple[str, str | None]] = {
            fingerprint(url): (url, None) for url in self._failed
        }
        for source, target in leading.items():
            self._by_fingerprint.setdefault(fingerprint(source), (target, source))
        self._held_by: dict[str, int] = dict.fromkeys(self._failed, 0)
        self._holders: dict[str, list[Holder]] = {}

    def __bool__(self) -> bool:
        return bool(self._failed)

    def note(self, url: str, fingerprints: Iterable[bytes]) -> None:
        """The page at that URL leads to all of these."""
        met: dict[str, str | None] = {}
        for one in fingerprints:
            wanted = self._by_fingerprint.get(one)
            if wanted is not None:
                target, via = wanted
                # Whoever names the target itself is no holder by a redirect as well.
                met[target] = via if met.get(target, via) is not None else None
        for target, via in met.items():
            self._held_by[target] += 1
            holders = self._holders.setdefault(target, [])
            if len(holders) < HOLDERS:
                holders.append(Holder(url, via))

    def note_first(self) -> None:
        """Without reading any page: each was found on one, and that is known."""
        for item in self._failed.values():
            if item.parent_url is not None:
                self.note(item.parent_url, (fingerprint(item.url),))

    def broken(self, most: int) -> tuple[BrokenLink, ...]:
        """Those that most pages hold first."""
        ordered = sorted(self._failed.values(), key=lambda item: -self._held_by[item.url])
        return tuple(
            BrokenLink(
                url=item.url,
                reason=item.reason,
                attempts=item.attempts,
                start=item.parent_url is None,
                held_by=self._held_by[item.url],
                holders=tuple(self._holders.get(item.url, ())),
            )
            for item in ordered[:most]
        )


class Reader:
    """Reads stored pages again, one job's."""

    def __init__(self, segments: Segments, pipeline: Pipeline, job: Job, cursor: Mapping[str, Any]) -> None:
        self._segments = segments
        self._pipeline = pipeline
        self._job = job
        self._cursor = cursor
        self.unread = 0
        """Pages that can't be read again."""

    def note(self, rows: Sequence[RecordRow], wanted: Wanted) -> None:
        """Tell `wanted` where each of these pages leads."""
        for row in rows:
            wanted.note(row.item.url, self._links(row))

    def _links(self, row: RecordRow) -> list[bytes]:
        place = row.body
        if place is None:
            return []
        try:
            reading = self._segments.read(self._job, place)
        except DamagedRecord:
            self.unread += 1
            return []
        record = Record(row.kind, row.data)
        try:
            found = self._pipeline.relink(self._job, self._cursor, row.item, record, reading)
            return [one.fingerprint for one in found]
        except (ValueError, KeyError, TypeError, AttributeError):
            # The row's data isn't what its pipeline wrote: verify names it.
            self.unread += 1
            return []
