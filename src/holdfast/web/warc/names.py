"""What lies where: `<home>/segments/<job>/c<chunk>-e<epoch>-<n>.warc.gz`."""

import re
from pathlib import Path
from typing import Final

from holdfast.domain.job import Job
from holdfast.domain.lease import Lease

_SEGMENT: Final = re.compile(r"c\d+-e\d+-\d+\.warc\.gz")
REMOVED: Final = ".removed-"
"""How the name of a job's folder begins while it is being deleted."""


def segments_folder(home: Path) -> Path:
    """Where all segments of a home live."""
    return home / "segments"


def job_folder(home: Path, job: Job) -> Path:
    """Where a job's segments live."""
    return segments_folder(home) / job.public_id


def segment_name(lease: Lease, n: int) -> str:
    """The n-th file of a claim. Chunk and epoch make it the claim's own."""
    return f"c{lease.chunk_id}-e{lease.epoch}-{n}.warc.gz"


def is_segment_name(name: str) -> bool:
    """Whether a name is a segment's: what comes from a ledger must not lead elsewhere."""
    return _SEGMENT.fullmatch(name) is not None
