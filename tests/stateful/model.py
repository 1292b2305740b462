"""The ledger as design.md describes it, in plain dictionaries: no SQL, no counters, nothing incremental."""

from collections import Counter
from dataclasses import dataclass, field, replace

from holdfast.domain.commit import Streamed
from holdfast.domain.failures import Which
from holdfast.domain.item import (
    Consulted,
    Done,
    Failed,
    Found,
    Item,
    Outcome,
    Redirected,
    Rejudged,
    RetryAt,
    Skipped,
)

MAX_RECOVERIES = 3
MAX_STALLS = 2
DUE_CAP_S = 6 * 3600.0
READ = {"done", "redirected", "consulted"}


@dataclass
class Page:
    """An item."""

    url: str
    depth: int
    status: str = "pending"
    reason: str = ""
    due_at: float | None = None
    rejudge: bool = False
    skipped_by_handler: bool = False
    lastmod: str | None = None
    stage: int = 0
    found: int = 0
    """By which commit."""
    settled: int | None = None

    def reopen(self) -> None:
        """As if it had never been tried."""
        self.status, self.reason, self.due_at, self.rejudge, self.settled = "pending", "", None, False, None

    def as_of(self, number: int) -> "Page":
        """As it stood at that commit, by what is known of it now."""
        page = replace(self)
        shut_out = page.status == "skipped" and not page.skipped_by_handler
        if page.settled is not None and (page.settled <= number or shut_out):
            page.settled = min(page.settled, number)
        else:
            page.reopen()
        return page


@dataclass(frozen=True)
class Bytes:
    """A range of a segment."""

    segment: str
    start: int
    end: int

    def beyond(self, segment: str, good: int) -> bool:
        """It reaches past what is good of that segment."""
        return self.segment == segment and self.end > good


@dataclass
class Row:
    """A record: its own bytes, and the body that it is a revisit of."""

    own: Bytes
    body: Bytes | None
    commit: int = 0


@dataclass
class Model:
    """One job."""

    max_depth: int | None = None
    status: str = "pending"
    desired: str | None = None
    run: int = 1
    commits: int = 0
    pages: dict[str, Page] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    segments: dict[str, int] = field(default_factory=dict)
    lent: dict[str, int] = field(default_factory=dict)
    """Segments of earlier runs, for the bodies in them."""
    numbers: list[int] = field(default_factory=list)
    """Of the commits that the run has, those that it was given included."""
    spans: list[tuple[int, str, int]] = field(default_factory=list)
    """Commits with their segment and where in it they ended."""
    rescan_of: int | None = None
    earlier: dict[int, "Model"] = field(default_factory=dict)
    """The runs before this one, as they ended."""
    streamed: Streamed | None = None
    """What is noted of a file of rows."""
    fruitless: int = 0
    """Claims in a row that died without any progress."""
    progressed: bool = False
    """The claim that holds the chunk has committed something."""
    stalls: int = 0
    recovered: bool = False
    marked: str | None = None
    marked_now: bool = False
    """By the claim that holds the chunk."""
    deaths: int = 0

    def claim(self) -> None:
        """Somebody works on it."""
        self.status, self.desired, self.recovered, self.progressed = "in_progress", None, False, False
        self.marked_now = False

    # -- what was found

    def seed(self, *seeds: Found) -> None:
        """The start items."""
        for found in seeds:
            self.pages[found.url] = Page(found.url, found.depth, stage=found.stage, found=self.commits)

    def discover(self, findings: list[Found]) -> None:
        """All findings of a batch: nothing is forgotten, the least depth counts, admitted is admitted."""
        by_url: dict[str, list[Found]] = {}
        for found in findings:
            by_url.setdefault(found.url, []).append(found)
        for url, each in by_url.items():
            depth = min(found.depth for found in each)
            admitted = any(found.skip is None for found in each)
            known = self.pages.get(url)
            if known is None:
                reasons = sorted((found.depth, index) for index, found in enumerate(each))
                reason = "" if admitted else each[reasons[0][1]].skip or ""
                status, stage = "pending" if admitted else "skipped", each[0].stage
                known = self.pages[url] = Page(url, depth, status, reason, stage=stage)
                known.found, known.settled = self.commits, None if admitted else self.commits
            elif known.status == "skipped" and admitted and not known.skipped_by_handler:
                known.status, known.reason, known.depth = "pending", "", min(known.depth, depth)
                known.settled = None
            elif depth < known.depth:
                known.depth = depth
                known.rejudge |= admitted and known.status in READ
            known.lastmod = next((found.lastmod for found in each if found.lastmod), known.lastmod)

    # -- what was handled

    def handle(self, item: Item, outcome: Outcome) -> None:
        """One outcome, given from the depth at which the item was taken."""
        page = self.pages[item.url]
        if isinstance(outcome, Rejudged):
            if page.depth == item.depth:
                page.rejudge = False
            return
        assert page.status == "pending", "an item is settled once"
        page.due_at = None
        match outcome:
            case Done():
                page.status = "done"
            case Redirected(reason=reason):
                page.status, page.reason = "redirected", reason
            case Consulted(reason=reason):
                page.status, page.reason = "consulted", reason or ""
            case Failed(reason=reason):
                page.status, page.reason = "failed", reason
            case Skipped(reason=reason):
                page.status, page.reason, page.skipped_by_handler = "skipped", reason, True
            case RetryAt(due_at=due_at):
                page.due_at = due_at
        page.rejudge = page.status in READ and page.depth < item.depth
        page.settled = None if page.status == "pending" else self.commits

    def widen(self) -> None:
        """The scope grew: whatever was settled by its links is to be judged again."""
        for url in self.rows:
            page = self.pages[url]
            page.rejudge |= page.status in {"done", "consulted"} or (
                page.status == "redirected" and page.depth > 0
            )

    def progress(self) -> None:
        """Something was handled and committed."""
        self.fruitless = self.stalls = self.deaths = 0
        self.marked, self.marked_now, self.progressed = None, False, True

    def take_back(self, *, stalled: bool, person: bool) -> str:
        """The claim's worker is gone; the status that follows."""
        self.recovered = True
        self.deaths += int(self.marked_now)
        if person:
            self.fruitless = self.stalls = 0
            failed = False
        else:
            self.fruitless += int(not self.progressed)
            self.stalls += int(stalled)
            failed = self.fruitless > MAX_RECOVERIES or (stalled and self.stalls >= MAX_STALLS)
        self.status = "failed" if failed else "paused" if self.desired else "pending"
        self.desired = None
        return self.status

    def resume(self) -> None:
        """A person wants it to go on: every count starts anew."""
        self.status = "pending"
        self.fruitless = self.stalls = 0

    def tear(self, segment: str, good: int) -> int:
        """Bytes are gone: what needs them is pending again, and nothing else changes."""
        torn = [
            url
            for url, row in self.rows.items()
            if row.own.beyond(segment, good) or (row.body is not None and row.body.beyond(segment, good))
        ]
        for url in torn:
            del self.rows[url]
            self.pages[url].reopen()
        if torn:
            self.streamed = None
        if segment in self.segments:
            self.segments[segment] = min(self.segments[segment], good)
        if segment in self.lent:
            self.lent[segment] = min(self.lent[segment], good)
        self.spans = [
            (number, name, min(end, good) if name == segment else end) for number, name, end in self.spans
        ]
        return len(torn)

    def bound(self, max_depth: int | None) -> None:
        """Another depth limit moves what it judges otherwise: what was torn since stays pending, however deep."""
        was, self.max_depth = self.max_depth, max_depth
        for page in self.pages.values():
            too_deep = max_depth is not None and page.depth > max_depth
            was_too_deep = was is not None and page.depth > was
            if page.status == "pending" and too_deep and not was_too_deep:
                page.status, page.reason, page.due_at = "skipped", "depth", None
                page.settled = self.commits
            elif page.status == "skipped" and page.reason == "depth" and was_too_deep and not too_deep:
                page.reopen()

    def retry(self, which: Which) -> int:
        """What failed and is meant is pending again; its row is gone."""
        meant = [
            page
            for page in self.pages.values()
            if page.status == "failed"
            and which.fits(page.url, page.reason)
            and (self.max_depth is None or page.depth <= self.max_depth)
        ]
        for page in meant:
            page.reopen()
            self.rows.pop(page.url, None)
        if meant:
            self.resume()
        return len(meant)

    def restart(self, *seeds: Found) -> None:
        """From nothing."""
        numbers, run, max_depth = self.commits, self.run, self.max_depth
        self.__init__(max_depth=max_depth, commits=numbers, run=run + 1)  # type: ignore[misc]
        self.seed(*seeds)

    # -- runs

    def as_of(self, number: int) -> "Model":
        """What stood at that commit: found by then, settled by then or else pending."""
        spans = [span for span in self.spans if span[0] <= number]
        return Model(
            max_depth=self.max_depth,
            pages={url: page.as_of(number) for url, page in self.pages.items() if page.found <= number},
            rows={url: row for url, row in self.rows.items() if row.commit <= number},
            segments={name: max(end for _, each, end in spans if each == name) for _, name, _ in spans},
            lent=dict(self.lent),
            numbers=[each for each in self.numbers if each <= number],
            spans=spans,
        )

    def all_runs(self) -> dict[int, "Model"]:
        """Every run that is kept."""
        return {**self.earlier, self.run: self}

    def roll_back(self, number: int) -> "Model":
        """A new run, from the latest one that has that commit."""
        base = max(
            (run for run in self.all_runs().values() if number in run.numbers), key=lambda run: run.run
        )
        made = base.as_of(number)
        made.run, made.commits, made.status = self.run + 1, self.commits, "paused"
        made.earlier = self.all_runs()
        made.rescan_of = base.rescan_of if base.rescan_of in made.earlier else None
        made.bound(self.max_depth)
        return made

    def rescan(self, seeds: list[Found], whole: dict[str, int], keep: int) -> "Model":
        """A new run that asks for the pages of this one again."""
        for run in self.all_runs().values():
            needed = {row.body.segment for row in run.rows.values() if row.body is not None}
            run.lent = {name: end for name, end in run.lent.items() if name in needed}
        made = Model(max_depth=self.max_depth, commits=self.commits, run=self.run + 1, rescan_of=self.run)
        made.seed(*seeds)
        for page in self.pages.values():
            if page.status in {"done", "redirected"} and page.url not in made.pages:
                again = made.pages[page.url] = Page(
                    page.url, page.depth, lastmod=page.lastmod, stage=page.stage, found=self.commits
                )
                if self.max_depth is not None and page.depth > self.max_depth:
                    again.status, again.reason, again.settled = "skipped", "depth", self.commits
        made.lent = {name: whole[name] for name in (*self.lent, *self.segments)}
        made.earlier = {number: run for number, run in self.all_runs().items() if number > made.run - keep}
        return made

    def known(self) -> set[str]:
        """Addresses of which the run that this one asks again for has a body that can be pointed to."""
        base = self.earlier.get(self.rescan_of or 0)
        if base is None:
            return set()
        bodies = {
            url: row.body or row.own for url, row in base.rows.items() if base.pages[url].status == "done"
        }
        return {url for url, body in bodies.items() if body.end <= self.lent.get(body.segment, -1)}

    # -- what can be asked

    def urls(self, status: str, reason: str | None = None) -> list[str]:
        """Addresses in that status."""
        return sorted(
            page.url
            for page in self.pages.values()
            if page.status == status and (reason is None or page.reason == reason)
        )

    def ready(self, stage: int) -> dict[str, int]:
        """Depths of what may be handled at once in that phase."""
        return {
            page.url: page.depth
            for page in self.pages.values()
            if page.status == "pending" and page.due_at is None and page.stage <= stage
        }

    def due(self, now: float, stage: int) -> dict[str, int]:
        """Depths of what has waited long enough, or for a time that no clock would give."""
        return {
            page.url: page.depth
            for page in self.pages.values()
            if page.due_at is not None
            and (page.due_at <= now or page.due_at > now + DUE_CAP_S)
            and page.stage <= stage
        }

    def next_due(self, after: float, stage: int) -> float | None:
        """The earliest due time of that phase."""
        waiting = [
            page.due_at for page in self.pages.values() if page.due_at is not None and page.stage <= stage
        ]
        return min((due_at for due_at in waiting if due_at > after), default=None)

    def to_rejudge(self) -> dict[str, int]:
        """Depths of what is to be judged again."""
        return {page.url: page.depth for page in self.pages.values() if page.rejudge}

    def tallies(self) -> dict[tuple[str, str], int]:
        """Items by status and reason."""
        return dict(Counter((page.status, page.reason) for page in self.pages.values()))
