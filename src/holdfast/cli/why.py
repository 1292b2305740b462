"""`holdfast why`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from holdfast.cli.opened import in_home
from holdfast.cli.params import common
from holdfast.domain.errors import UsageError
from holdfast.domain.url import fingerprint, origin, steps_from_user

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.domain.job import Job
    from holdfast.engine.trace import Trace
    from holdfast.pipelines.site.judge import Judge, Ruling
    from holdfast.ports.ledger import RecordRow, Whereabouts
    from holdfast.ports.segments import Reading


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is told of an address."""

    job: "Job"
    steps: list[tuple[str, str]]
    """From what was typed to the canonical form."""
    trace: "Trace"
    rulings: "list[Ruling]"
    """The last one decides."""
    robots_line: str | None
    found_at: float | None
    settled_at: float | None
    siblings: "list[Whereabouts]"
    """Where the address is unknown: others that people take for the same, and that are known."""

    @property
    def url(self) -> str:
        """In its canonical form."""
        return self.steps[-1][1]


@click.command()
@click.argument("job_and_url", nargs=-1, required=True, metavar="[JOB] URL")
@click.option("--json", is_flag=True, help="One JSON object on stdout.")
@common
def why(job_and_url: tuple[str, ...], json: bool) -> None:
    """Tell what became of a URL, and why: how it was found, normalised, judged, tried, redirected, stored.

    For a URL that the job doesn't know: whether it would be followed if it were found now.
    """
    *jobs, typed = job_and_url
    if len(jobs) > 1:
        raise click.UsageError("why takes a job and one URL; quote a URL that has blanks or an & in it")
    steps = steps_from_user(typed)

    async def work(home: "Home") -> None:
        found = await home.tools.jobs.find(jobs[0] if jobs else None)
        if "scope" not in found.spec:
            raise UsageError(
                f"why is for crawls, and job {found.short_id} is of the kind {found.kind!r}; "
                f"`holdfast show --failed {found.short_id}` lists what failed"
            )
        answer = await _answer(home, found, steps)
        if json:
            from holdfast.cli.outcome import json_line
            from holdfast.cli.why_told import as_json

            click.echo(json_line(as_json(answer)))
            return
        from holdfast.cli.why_told import tell

        tell(answer)

    in_home(work)


async def _answer(home: "Home", job: "Job", steps: list[tuple[str, str]]) -> Answer:
    from holdfast.engine.trace import trace
    from holdfast.pipelines.site.why import judge_of, writing

    ledger, url = home.tools.ledger, steps[-1][1]
    judge = judge_of(job, await ledger.cursor(job.id))
    if judge.stripped(url) != url and not await ledger.lineage(job.id, fingerprint(url), limit=1):
        url = judge.stripped(url)
        steps = [*steps, ("parameters are left out that this crawl strips from links", url)]
    seen = await trace(home.tools, job, url, writing(job, judge), fingerprint)
    own = seen.own
    return Answer(
        job=job,
        steps=steps,
        trace=seen,
        rulings=_rulings(judge, seen, url),
        robots_line=await _robots_line(home, job, own),
        found_at=await _time_of(home, job, None if own is None else own.found_commit),
        settled_at=await _time_of(home, job, None if own is None else own.settled_commit),
        siblings=[] if own else await _siblings(home, job, url),
    )


def _rulings(judge: "Judge", seen: "Trace", url: str) -> "list[Ruling]":
    if seen.own is None:
        return judge.explain(url, None)
    above = seen.line[-2].at if len(seen.line) > 1 else None
    target = above is not None and above.status == "redirected"
    return judge.explain(url, seen.own.item.depth, target=target)


async def _time_of(home: "Home", job: "Job", number: int | None) -> float | None:
    """When a commit was made; None where there is none."""
    if not number:
        return None
    found = await home.tools.ledger.commits(job.id, after=number - 1, limit=1)
    return found[0].at if found and found[0].number == number else None


async def _robots_line(home: "Home", job: "Job", own: "Whereabouts | None") -> str | None:
    """What in robots.txt shuts it out, if that file was crawled itself and so is stored."""
    from holdfast.pipelines.site.why import robots_line

    if own is None or own.reason != "robots":
        return None
    known = await home.tools.ledger.lineage(
        job.id, fingerprint(f"{origin(own.item.url)}/robots.txt"), limit=1
    )
    record = await home.tools.ledger.record(job.id, known[0].item.id) if known else None
    reading = None if record is None else await _reading(home, job, record)
    return None if reading is None else robots_line(job, own.item.url, reading)


async def _reading(home: "Home", job: "Job", record: "RecordRow") -> "Reading | None":
    from holdfast.domain.errors import StorageFailed
    from holdfast.engine.rejudge import read_body
    from holdfast.ports.segments import DamagedRecord

    try:
        return read_body(home.tools, job, record)
    except (DamagedRecord, StorageFailed):
        return None


async def _siblings(home: "Home", job: "Job", url: str) -> "list[Whereabouts]":
    found = []
    for other in _lookalikes(url):
        found += await home.tools.ledger.lineage(job.id, fingerprint(other), limit=1)
    return found


def _lookalikes(url: str) -> list[str]:
    """By the other scheme, with or without `www.`, a slash at the end, the query."""
    scheme, _, rest = url.partition("://")
    path, _, query = url.partition("?")
    if query:
        shorter = [path]
    else:
        shorter = (
            [path[:-1] if path.endswith("/") else f"{path}/"]
            if rest.count("/") > 1 or path[-1] != "/"
            else []
        )
    return [
        f"{'http' if scheme == 'https' else 'https'}://{rest}",
        f"{scheme}://{rest.removeprefix('www.') if rest.startswith('www.') else 'www.' + rest}",
        *shorter,
    ]
