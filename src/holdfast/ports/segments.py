"""The seam to where bodies live: append-only files.

Each is written by one claim, and read by anybody up to its committed length.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from holdfast.domain.commit import Appended, Location
from holdfast.domain.job import Durability, Job
from holdfast.domain.lease import Lease
from holdfast.ports.fetcher import Response

NOT_MODIFIED: Final = 304
RENDERED: Final = "rendered"
"""The kind of a record that holds what a browser made of a page, and its `encoding`: no response's body is the same."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A response on its way into a segment, with the digest (SHA-256) of its payload."""

    response: Response
    digest: bytes
    original: "Original | None" = None
    """The stored body that it stands for: of a 304, or because it came once more."""
    rendering: bool = False
    """It is no response, but what a browser made of the one before it, in the form of one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A stored exchange read back, or what a browser made of one: that has neither a status nor headers."""

    location: Location
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    payload: bytes
    """As stored: still content-encoded. Empty for a revisit."""
    body: bytes
    """Decoded, exactly as the fetcher gave it."""
    revisit: bool
    digest: bytes
    """Computed from the payload now, not copied from a header; for a revisit, the digest that it claims."""


@dataclass(frozen=True, slots=True)
class Original:
    """A body that is stored already, for a revisit record to point to."""

    location: Location
    url: str
    fetched_at: float
    encoding: str = ""
    """Its Content-Encoding: the same bytes under another one are another body."""
    digest: bytes = b""
    """SHA-256 of its payload, where the one who asked doesn't know."""


def headers_since(
    stored: tuple[tuple[str, str], ...], said: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """The headers of a stored response of which it was only said, with those, that it has not changed (RFC 9111)."""
    anew = {name.lower() for name, _ in said}
    return (*(header for header in stored if header[0].lower() not in anew), *said)


def standing_for(revisit: Reading, original: Reading) -> Reading:
    """A revisit with the body that it stands for. Its headers are its own, as far as it says any."""
    headers = revisit.headers
    if revisit.status == NOT_MODIFIED:
        headers = headers_since(original.headers, revisit.headers)
    return replace(revisit, headers=headers, payload=original.payload, body=original.body)


def as_rendered(served: Reading, rendering: Reading) -> Reading:
    """A page whose scripts have run: what its server said of it, with the document that they left."""
    return replace(served, payload=rendering.payload, body=rendering.body)


class DamagedRecord(Exception):
    """Bytes that should be a whole record are not one."""


class SegmentWriter(Protocol):
    """One claim's own files. Nobody else ever writes or truncates them."""

    async def append(self, exchanges: Sequence[Exchange], known: Mapping[bytes, Original]) -> Appended:
        """Write the exchanges in order, as one range of one segment.

        An exchange that names its original, or whose digest is in `known` or came earlier in the same call, becomes a
        revisit record.
        A crash in here leaves bytes past the committed length, which nobody reads.
        Raises StorageFull or StorageFailed; the file is then abandoned and never written again.
        """

    async def sync(self) -> tuple[str, int] | None:
        """Make what was appended survive a power cut.

        Gives the segment and how far it is safe now, or None if it was already.
        """

    async def close(self) -> None:
        """Let go of the file."""


class Segments(Protocol):
    """All segments of a home."""

    def writer(self, job: Job, lease: Lease, durability: Durability) -> SegmentWriter:
        """A writer for this claim; its files are named by chunk and epoch and created with O_EXCL, lazily."""

    def read(self, job: Job, location: Location) -> Reading:
        """The exchange at that place; DamagedRecord if it isn't a whole one, StorageFailed if it can't be read now."""

    def scan(self, job: Job, segment: str, committed: int) -> Iterator[Reading | DamagedRecord]:
        """Every response and revisit record up to the committed length, in order, independent of the ledger's rows.

        StorageFailed if the file is there and can't be read now.
        """

    def size(self, job: Job, segment: str) -> int:
        """The file's length; 0 if it is missing."""

    def crc(self, job: Job, segment: str, start: int, end: int) -> int | None:
        """The checksum of that range; None where the file is shorter."""

    def settle(self, job: Job, segment: str) -> None:
        """Make a file that nobody writes any more survive a power cut."""

    def link(self, source: Job, target: Job, names: Sequence[str]) -> None:
        """Give the target these files of the source as they are, and make them survive a power cut.

        Each is one file with two names: neither is ever written again, and removing one leaves the other.
        """

    def discard(self, job: Job, names: Sequence[str]) -> None:
        """Delete these files of the job; those that are gone already are no matter."""

    def remove(self, job: Job) -> None:
        """Delete all segments of the job."""

    def free_bytes(self) -> int:
        """Room left on the disk that holds the segments."""
