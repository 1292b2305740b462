"""What the engine is handed to run a job with: every port it uses, wired by bootstrap."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.domain.lease import LeaseTimes
from holdfast.ports.clock import Clock
from holdfast.ports.jobs import Jobs
from holdfast.ports.ledger import Ledger
from holdfast.ports.pipeline import Handler, Pipeline, PipelineRun
from holdfast.ports.segments import Segments
from holdfast.ports.workers import Workers


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports, and the numbers that are settings."""

    jobs: Jobs
    ledger: Ledger
    segments: Segments
    workers: Workers
    clock: Clock
    pipeline_of: Callable[[str, Mapping[str, Any]], Pipeline]
    """The pipeline of a job of that kind with that spec; UnknownKind if nobody here has it."""
    open_handler: Callable[[PipelineRun], Handler]
    another_ledger: Callable[[], Ledger]
    """A ledger with a connection of its own, for the keeper's thread."""
    times: LeaseTimes
    min_free_bytes: int
    unsynced_bytes: int = 64 * 1024 * 1024
    """After so many appended bytes the segment is fsynced, which bounds what opening has to read back."""
