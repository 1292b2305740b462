"""`holdfast crawl --dry-run`: what the command would do, with nothing written anywhere."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast.cli.changed import told
from holdfast.cli.opened import in_home, settings_here
from holdfast.cli.outcome import counted, json_line
from holdfast.cli.stderr import write_line
from holdfast.cli.words import clean, number, plural, rough
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Job, NewJob

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.pipelines.site.rehearsal import Rehearsal

_FIRST: Final = 20
_HOSTS: Final = 10


def dry_run(new: NewJob, options: Mapping[str, Any]) -> int:
    """Tell what the command would do to the job that is there, or where a new one would begin."""
    from holdfast.bootstrap import is_home

    as_json: bool = options["json"]

    async def of_job(home: "Home") -> dict[str, Any] | None:
        job = await home.tools.jobs.by_identity(new.identity)
        return None if job is None else await _of_job(home, job, new)

    found = None
    if not options["fresh"] and is_home(settings_here()):
        found = in_home(of_job)
    if found is None:
        found = _of_site(new)
    lines = found.pop("lines")
    if as_json:
        click.echo(json_line(found))
    else:
        click.echo("\n".join(lines))
    return 0


# -- a job that is there


async def _of_job(home: "Home", job: Job, new: NewJob) -> dict[str, Any]:
    from holdfast.engine.revising import Preview, preview, taken_over, upcoming
    from holdfast.engine.start import decide

    if job.id in await home.tools.jobs.unfinished():
        raise UsageError(
            f"a change of job {job.short_id} was interrupted; run the command without --dry-run first"
        )
    new, revision = taken_over(home.tools, job, new)
    change = Preview() if revision is None else await preview(home.tools, job, new, revision)
    holder = await home.tools.jobs.holder(job.id)
    step = decide(job, new, holder_lives=holder is not None, lets_in=change.lets_in).step
    first = await upcoming(home.tools, job, new, revision, limit=_FIRST)
    hosts = [host for host in await home.tools.jobs.hosts(job.id, _HOSTS) if host.queued]
    lines = [f"job {job.short_id}, {job.status}: {counted(job)}"]
    if revision is not None:
        lines += [
            "by the rules of this command:",
            *(_indented(told(change, job)) or ["  nothing of its queue changes"]),
        ]
    lines += _listed("queued now, by host:", [f"{clean(host.name)}  {number(host.queued)}" for host in hosts])
    lines += _listed("would be asked for first:", [clean(url) for url in (*change.begun, *first)][:_FIRST])
    return {
        "job": job.public_id,
        "status": job.status,
        "would": step.name.lower(),
        "queued": job.counters.queued,
        "leave": dict(change.leave),
        "back": dict(change.back),
        "at_least": bool(change.uncounted),
        "begins": change.begun,
        "outside": change.outside,
        "hosts": {host.name: host.queued for host in hosts},
        "first": first,
        "lines": lines,
    }


# -- a new one


def _of_site(new: NewJob) -> dict[str, Any]:
    from holdfast.pipelines.site.rehearsal import MAX_ASKED
    from holdfast.pipelines.site.spec import KIND

    if new.kind != KIND:
        raise UsageError(
            "what a pipeline of one's own leads to shows when it runs; --dry-run is for a job of it that is there"
        )

    async def look() -> "Rehearsal":
        from holdfast.bootstrap import rehearsing
        from holdfast.pipelines.site.pipeline import SitePipeline
        from holdfast.pipelines.site.rehearsal import rehearse

        async with rehearsing(settings_here(), new) as (handler, clock):
            seeds = SitePipeline().seeds(new.spec, new.limits)
            return await rehearse(handler, seeds, clock, lambda s: asyncio.sleep(max(0.0, s)))

    write_line(
        f"holdfast: looking at where it would begin, {plural(MAX_ASKED, 'request')} at most; nothing is kept."
    )
    seen = asyncio.run(look())
    follows = seen.follows.total()
    lines = _listed("asked for:", [f"{clean(url)}  {clean(came)}" for url, came in seen.asked])
    more = "" if seen.whole else ", and there was more to look at"
    lines.append(f"would follow {number(follows)} of the addresses that are known by now{more}")
    lines += _indented([clean(url) for url in seen.first])
    if follows > len(seen.first):
        lines.append(f"  and {number(follows - len(seen.first))} more")
    lines.append(f"would leave out {number(seen.leaves_out.total())}")
    for reason, count in seen.leaves_out.most_common():
        lines.append(f"  {reason.replace('_', ' ')} {number(count)}, such as")
        lines += [f"    {clean(url)}" for url in seen.examples.get(reason, ())]
    lines += _pace(seen, new)
    return {
        "job": None,
        "asked": [{"url": url, "came": came} for url, came in seen.asked],
        "follows": follows,
        "hosts": dict(seen.follows.most_common(_HOSTS)),
        "first": seen.first,
        "leaves_out": dict(seen.leaves_out),
        "examples": seen.examples,
        "whole": seen.whole,
        "delay_s": {host: pace.delay_s for host, pace in seen.paces.items()},
        "takes_s": seen.duration_s(new.limits.max_pages),
        "lines": lines,
    }


def _pace(seen: "Rehearsal", new: NewJob) -> list[str]:
    takes_s = seen.duration_s(new.limits.max_pages)
    delays = {host: pace.delay_s for host, pace in seen.paces.items() if pace.delay_s}
    if takes_s is None or not delays:
        return ["no delay between requests: as fast as the site answers"]
    slowest = max(delays.values())
    takes = f"at {slowest:g} s between requests to a host, that takes about {rough(takes_s)}"
    return [f"{takes}; a thousand pages of one host take {rough(1000 * slowest)}"]


def _listed(heading: str, entries: list[str]) -> list[str]:
    return [heading, *_indented(entries)] if entries else []


def _indented(entries: list[str]) -> list[str]:
    return [f"  {entry}" for entry in entries]
