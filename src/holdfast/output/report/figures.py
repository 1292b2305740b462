"""What a report says, as plain values. `--json` prints exactly these; the page draws them."""

from dataclasses import dataclass

from holdfast.domain.checkpoint import Counters


@dataclass(frozen=True, slots=True)
class Seen:
    """What a report looks at in a stored response. Whoever knows the records' data makes these."""

    url: str
    kind: str
    """`page`, `redirect`, `error`."""
    status: int
    title: str
    content_type: str
    size: int
    elapsed_ms: float
    links: int
    """How many links the page has: none means that its body needs no second look."""
    target: str = ""
    """Where a redirect leads."""


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a whole: how many, how many bytes, and an address of that kind."""

    label: str
    count: int
    bytes: int = 0
    example: str = ""


@dataclass(frozen=True, slots=True)
class Depth:
    """What was found so deep, by what became of it."""

    depth: int
    done: int = 0
    redirected: int = 0
    consulted: int = 0
    failed: int = 0
    skipped: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Top:
    """A page that leads a list."""

    url: str
    title: str
    status: int
    content_type: str
    size: int
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many lie between one edge and the next; the last edge has no end."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    median: float | None
    """About: as if those of a class were spread evenly over it."""
    highest: float | None


@dataclass(frozen=True, slots=True)
class Holder:
    """A page that holds a link. `via` is the redirect that it names, where it doesn't name the target itself."""

    url: str
    via: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """An address that failed, with the pages that lead there."""

    url: str
    reason: str
    attempts: int
    start: bool
    """It is a start URL: nobody needs to hold it."""
    held_by: int
    """How many pages do; those that are listed may be fewer."""
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Redirects one after the other, from the first address that no other redirect leads to."""

    urls: tuple[str, ...]
    ends: str
    """`page` (fetched, or still in the queue), `failed: REASON`, `skipped: REASON`, `loop` or `too long`."""


@dataclass(frozen=True, slots=True)
class Redirects:
    """All redirects of a job, and its longest chains."""

    by_status: tuple[Share, ...]
    chains: tuple[Chain, ...]
    followed: int
    """How many were looked at for chains; the rest were too many to keep."""


@dataclass(frozen=True, slots=True)
class Copies:
    """A body that several addresses share."""

    url: str
    """The one with which it is stored."""
    count: int
    """How many others have the same."""
    size: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Pages whose body is exactly that of another one, by its digest."""

    pages: int
    bytes: int
    groups: tuple[Copies, ...]
    """The largest."""
    uncounted: int
    """Pages whose group was one too many to keep."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the site: a host, or a directory of its paths."""

    name: str
    path: str
    pages: int
    """All below it included."""
    bytes: int
    children: tuple["Section", ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A claim at work. `begins_s` and `ends_s` are on the axis of working time, on which no stop takes any room."""

    at: float
    until: float
    begins_s: float
    ends_s: float
    commits: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a claim ended."""

    kind: str
    """`killed`, `paused`, `shut down`, `failed`, `timeout`, `cancelled`, `completed`."""
    detail: str
    at: float
    """Of a kill: the last commit before it."""
    at_s: float
    """On the axis of working time."""
    resumed_at: float | None
    checkpoint: int
    """The last one before it."""
    pages: int
    queued: int
    carried_on: bool | None
    """Everything that was found and done then was still there at the next commit; None if there was none."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """How it went. Lists go by bins of `bin_s` of working time."""

    bin_s: float
    pages: tuple[float, ...]
    failed: tuple[float, ...]
    commits: tuple[int, ...]
    working_s: float
    spans: tuple[Span, ...]
    stops: tuple[Stop, ...]
    commit_reasons: tuple[Share, ...]
    handled: int
    """Items that the commits carried."""
    longest_s: float
    """The longest that a commit was after the one before it, or after its claim."""

    @property
    def kills(self) -> int:
        """How often the process was killed."""
        return sum(stop.kind == "killed" for stop in self.stops)


@dataclass(frozen=True, slots=True)
class Essentials:
    """What the report is about."""

    job: str
    short_id: str
    name: str | None
    run: int
    status: str
    reason: str | None
    running: bool
    start_urls: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]
    """What it was asked for beyond that, in words."""
    created_at: float
    started_at: float | None
    finished_at: float | None
    active_s: float
    paused_s: float
    commits: int
    checkpoint_items: int
    concurrency: int
    pages_per_s: float | None
    bytes_per_s: float | None
    version: str
    made_at: float
    gathered_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """All that a report says."""

    about: Essentials
    counters: Counters
    timeline: Timeline
    statuses: tuple[Share, ...]
    depths: tuple[Depth, ...]
    content_types: tuple[Share, ...]
    hosts: tuple[Share, ...]
    sections: Section
    times: Histogram
    sizes: Histogram
    slowest: tuple[Top, ...]
    biggest: tuple[Top, ...]
    failures: tuple[Share, ...]
    broken: tuple[BrokenLink, ...]
    links_read: bool
    """Whether the stored pages were read for all that hold a link, or the first holder alone is named."""
    unread: int
    """Pages whose stored body could not be read."""
    redirects: Redirects
    duplicates: Duplicates
    left_out: tuple[Share, ...]
