"""Each row against the bytes that it names: whole record, address, digest, body, and where that leads."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any

from holdfast.domain.commit import Location
from holdfast.domain.item import COUNTED, Found, Record, digest_of
from holdfast.domain.job import Job
from holdfast.engine.tools import Tools
from holdfast.engine.verify_report import Report
from holdfast.engine.verify_segments import Places, empty_places, pages_of_records
from holdfast.ports.ledger import Discrepancy, RecordRow
from holdfast.ports.segments import DamagedRecord, Reading, as_rendered, standing_for

REMEMBERED = 200_000


@dataclass(slots=True)
class Examined:
    """What looking at one row gave."""

    row: RecordRow
    complaints: list[Discrepancy]
    found: list[Found]
    """Findings of which it isn't known yet whether they are items."""
    links: int

    def complain(self, kind: str, detail: str) -> None:
        """Something about the row's item doesn't hold."""
        self.complaints.append(Discrepancy(kind, self.row.item.url, detail))


class Seen:
    """Addresses that are items for certain; may forget."""

    def __init__(self) -> None:
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()

    def __contains__(self, fingerprint: bytes) -> bool:
        return fingerprint in self._young or fingerprint in self._old

    def update(self, fingerprints: set[bytes]) -> None:
        """Remember these."""
        self._young |= fingerprints
        if len(self._young) > REMEMBERED // 2:
            self._old, self._young = self._young, set()


async def check_records(tools: Tools, job: Job, report: Report) -> Mapping[str, Places]:
    """Each row of the job; gives the places that they name, by segment."""
    places = empty_places()
    examiner = Examiner(tools, job, await tools.ledger.cursor(job.id, run=job.run))
    async for rows in pages_of_records(tools, job, report):
        examined = await asyncio.to_thread(examiner.examine_all, rows)
        for row in rows:
            if row.location is not None:
                places[row.location.segment].add(row.location)
        for one in examined:
            report.add(*one.complaints)
            report.links += one.links
        report.add(*await examiner.strays(examined))
        report.records += len(rows)
        report.pages += sum(row.status == "done" and not row.ordinal for row in rows)
        report.progress.more(len(rows))
    return places


class Examiner:
    """Looks at the rows of one job."""

    def __init__(self, tools: Tools, job: Job, cursor: Mapping[str, Any]) -> None:
        self._tools = tools
        self._job = job
        self._cursor = cursor
        self._pipeline = tools.pipeline_of(job.kind, job.spec)
        self._seen = Seen()
        self._shut_out = Seen()
        """Those that are items and stand shut out: nobody needs to ask again for a link that is shut out as well."""

    def examine_all(self, rows: list[RecordRow]) -> list[Examined]:
        """Some rows in one go."""
        examined = []
        for _, of_item in groupby(rows, key=lambda row: row.item.id):
            whole = [self._examine(row) for row in of_item]
            _compare_behind(whole)
            examined += whole
        return examined

    def _examine(self, row: RecordRow) -> Examined:
        """Read what a row names, once, and compare. No body outlives this call."""
        examined = Examined(row, [], [], 0)
        if row.location is None:
            if "sha256" in row.data:
                examined.complain("record", "names no stored response")
            return examined
        try:
            reading = self._tools.segments.read(self._job, row.location)
        except DamagedRecord as error:
            examined.complain("record", f"its stored response is damaged: {error}")
            return examined
        _compare(examined, reading)
        if row.revisit_of is not None:
            whole = self._with_body(examined, reading, row.revisit_of)
        else:
            whole = None if reading.revisit else reading
        if whole is not None:
            _compare_body(examined, whole)
            whole = self._as_shown(examined, whole)
        if whole is not None:
            self._extract(examined, whole)
        return examined

    def _as_shown(self, examined: Examined, reading: Reading) -> Reading | None:
        """The document that the page's links were taken from. A rendering is a row of its own, and judged there."""
        row = examined.row
        if row.rendering is None:
            if row.data.get("rendered"):
                examined.complain("page", "was shown by a browser, and what that made of it is not stored")
                return None
            return reading
        try:
            return as_rendered(reading, self._tools.segments.read(self._job, row.rendering.body))
        except DamagedRecord:
            return None

    def _with_body(self, examined: Examined, revisit: Reading, place: Location) -> Reading | None:
        """A revisit, with the body that it stands for if that is the right one; all else is its own."""
        try:
            original = self._tools.segments.read(self._job, place)
        except DamagedRecord as error:
            examined.complain("revisit", f"the body that it stands for is damaged: {error}")
            return None
        if original.revisit or original.digest != examined.row.digest:
            detail = f"stands for what is stored of {original.url}, which is not its body"
            examined.complain("revisit", detail)
            return None
        return standing_for(revisit, original)

    def _extract(self, examined: Examined, reading: Reading) -> None:
        """Where the stored body leads to."""
        row, seen, shut_out = examined.row, self._seen, self._shut_out
        try:
            findings = self._pipeline.relink(
                self._job, self._cursor, row.item, Record(row.kind, row.data), reading
            )
            for found in findings:
                examined.links += 1
                if found.fingerprint in seen or (found.skip is not None and found.fingerprint in shut_out):
                    continue
                examined.found.append(found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # The row's data isn't what its pipeline wrote.
            examined.complain("page", f"can't be read again from its stored body: {error!r}")

    async def strays(self, examined: list[Examined]) -> list[Discrepancy]:
        """Findings that are no items, nor only counted by their page; and those let in that stand shut out."""
        sought = {found.fingerprint for one in examined for found in one.found}
        if not sought:
            return []
        known = await self._tools.ledger.known(self._job.id, list(sought), run=self._job.run)
        self._seen.update({fingerprint for fingerprint, reason in known.items() if reason is None})
        self._shut_out.update({fingerprint for fingerprint, reason in known.items() if reason is not None})
        strays = []
        for one in examined:
            strays += _strays(one.row, [found for found in one.found if found.fingerprint not in known])
            if not one.row.item.rejudge:
                strays += _shut_out(one, known)
        return strays


def _shut_out(examined: Examined, known: Mapping[bytes, str | None]) -> list[Discrepancy]:
    """Links that the job admits at their depth, and whose items stand as if nobody had let them in."""
    return [
        Discrepancy(
            "link", found.url, f"{examined.row.item.url} lets it in, and it stands as skipped ({reason})"
        )
        for found in examined.found
        if found.skip is None and (reason := known.get(found.fingerprint)) is not None
    ]


def _compare(examined: Examined, reading: Reading) -> None:
    """The row against the head of its stored response."""
    row = examined.row
    if reading.url != row.item.url:
        examined.complain("record", f"its stored response is that of {reading.url}")
    if reading.digest != row.digest:
        said = "none" if row.digest is None else row.digest.hex()
        examined.complain("digest", f"the ledger says {said}, its bytes give {reading.digest.hex()}")
    # A page that has not changed has the status of its body; what was answered then is "not modified".
    said_status = row.data.get("answered") or row.data.get("status", reading.status)
    if reading.status != said_status:
        examined.complain("record", f"the ledger says status {said_status}, its response {reading.status}")
    if reading.revisit and row.revisit_of is None:
        examined.complain("revisit", "what is stored is a revisit, and the row names no body")
    if not reading.revisit and row.revisit_of is not None:
        examined.complain("revisit", "the row stands for another body, and what is stored has its own")


def _compare_behind(examined: list[Examined]) -> None:
    """What a page's record says that its pipeline made of it against the records behind it."""
    first, *behind = examined
    said = first.row.data.get("records_sha256")
    if said is not None and said != digest_of(one.row.data.get("row", {}) for one in behind):
        first.complain(
            "record", f"the {len(behind)} records behind it aren't those that its pipeline made of it"
        )


def _compare_body(examined: Examined, reading: Reading) -> None:
    """What the row says of the decoded body."""
    data, body = examined.row.data, reading.body
    said = data.get("size", len(body))
    if said != len(body):
        examined.complain("page", f"the row says {said} bytes, the body has {len(body)}")
    plain = body is reading.payload or body == reading.payload
    digest = (reading.digest if plain else sha256(body).digest()).hex()
    said = data.get("sha256", digest)
    if said != digest:
        examined.complain("page", f"the row says SHA-256 {said}, the body has {digest}")


def _strays(row: RecordRow, missing: list[Found]) -> list[Discrepancy]:
    lost = [found for found in missing if found.skip != COUNTED]
    counted = [found for found in missing if found.skip == COUNTED]
    allowed = int(row.data.get("unkept", 0))
    if not allowed:
        lost, counted = missing, []
    elif row.item.rejudge:
        # The scope has grown since: of what was counted then, some is in scope now, and not looked at yet.
        lost, counted = [], missing
    strays = [
        Discrepancy("link", found.url, f"{row.item.url} leads there, and it is no item") for found in lost
    ]
    if len(counted) > allowed:
        detail = f"leads to {len(counted)} addresses out of scope that are no items, and counted {allowed}"
        strays.append(Discrepancy("link", row.item.url, detail))
    return strays
