"""What the frontier holds of a host: its next items, and when it may be asked again."""

from dataclasses import dataclass, field

from holdfast.domain.item import Item
from holdfast.domain.job import Limits
from holdfast.ports.pipeline import HostPace

NEVER = float("-inf")


@dataclass(slots=True, weakref_slot=True)
class Machine:
    """What hosts share that are one machine to a pipeline (http and https, and its ports): they take turns on it."""

    last_start: float = NEVER
    held_until: float = NEVER
    in_flight: int = 0
    lanes: "dict[int, Lane]" = field(default_factory=dict)
    """Those in memory that have been met."""


@dataclass(slots=True)
class Lane:
    """One host. Times are on the monotonic clock."""

    host_id: int
    name: str
    next_start: float
    pace: HostPace | None = None
    """None until the pipeline has met the host, and when it has to be met again."""
    machine: Machine = field(default_factory=Machine)
    """Its own, until it was met."""
    meeting: bool = False
    # A list: hardly ever more than some dozen, and there are thousands of lanes.
    items: list[Item] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    in_flight: int = 0
    dry: bool = False
    """The ledger had no more for this host when last asked."""
    yields: bool = False
    """The ledger may well have more, and is not asked before others had their turn."""
    handed: int = 0
    """Items that were taken since it was opened."""
    pages: int = 0
    """Pages that the job has of this host, those that wait to be committed included."""
    bytes: int = 0
    """Likewise."""

    @property
    def due(self) -> float:
        """Nothing of it starts before."""
        if self.pace is None:
            return self.next_start
        machine = self.machine
        return max(self.next_start, machine.held_until, machine.last_start + self.pace.delay_s)

    def free(self, limits: Limits) -> bool:
        """Whether one more may be in flight: a page of its budget may be what each of them gives."""
        if self.pace is None or self.machine.in_flight >= self.pace.per_host:
            return False
        return limits.host_pages is None or self.pages + self.in_flight < limits.host_pages

    def spent(self, limits: Limits) -> bool:
        """Whether its budget is used up, whatever what is in flight comes to."""
        pages = limits.host_pages is not None and self.pages >= limits.host_pages
        return pages or (limits.host_bytes is not None and self.bytes >= limits.host_bytes)
