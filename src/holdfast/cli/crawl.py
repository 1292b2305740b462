"""`holdfast crawl`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack
from urllib.parse import urlsplit

import click

from holdfast.cli.opened import in_home
from holdfast.cli.outcome import counted
from holdfast.cli.params import AT_ONCE, COUNT, DURATION, FILE, SECONDS, SIZE, common
from holdfast.cli.words import clean, plural
from holdfast.domain.checkpoint import CheckpointPolicy
from holdfast.domain.errors import JobHeld, UsageError
from holdfast.domain.job import Durability, Job, Limits, NewJob, Pace
from holdfast.domain.lease import Heartbeat

if TYPE_CHECKING:
    from holdfast.bootstrap import Home
    from holdfast.cli.foreground import Ask
    from holdfast.cli.screen import Screen
    from holdfast.engine.start import Started

POLITE = Pace(concurrency=16, per_host=2, delay_s=1.0)
"""For strangers' sites."""
FAST = Pace(concurrency=16, per_host=16, delay_s=0.0)
"""For sites on this very machine."""
FIXED = frozenset({"start_urls", "scope", "include", "exclude"})
"""What makes it another crawl: changing it takes --fresh."""


class Options(TypedDict):
    """The command line's options, as click names them."""

    name: str | None
    max_pages: int | None
    max_depth: int | None
    max_bytes: int | None
    time_limit: float | None
    scope: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    concurrency: int | None
    per_host: int | None
    delay: float | None
    ignore_robots: bool
    contact: str | None
    user_agent: str | None
    checkpoint_items: int
    checkpoint_seconds: float
    durability: str
    output: Path | None
    fresh: bool
    wait: bool
    json: bool
    quiet: bool


_PATTERN_HELP = "a regular expression, searched for in the whole URL; may be given again."


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--name", metavar="N", help="Call the job N; the same name is the same job.")
@click.option("-n", "--max-pages", type=COUNT, metavar="N", help="Stop after exactly N pages.")
@click.option(
    "-d", "--max-depth", type=click.IntRange(0, 10**9), metavar="N", help="Follow N links deep at most."
)
@click.option(
    "--max-bytes",
    type=SIZE,
    metavar="B",
    help="Stop before the bodies fetched take more than B, such as 500MB.",
)
@click.option("--time-limit", type=DURATION, metavar="T", help="Stop after so much active time, such as 30m.")
@click.option(
    "--scope",
    type=click.Choice(["host", "domain", "prefix", "any"]),
    default="host",
    show_default=True,
    help="Which URLs belong to it.",
)
@click.option("--include", multiple=True, metavar="RE", help=f"Follow only URLs that fit: {_PATTERN_HELP}")
@click.option("--exclude", multiple=True, metavar="RE", help=f"Don't follow URLs that fit: {_PATTERN_HELP}")
@click.option(
    "-c",
    "--concurrency",
    type=AT_ONCE,
    metavar="N",
    help=f"Requests at a time in all [default: {POLITE.concurrency}].",
)
@click.option(
    "--per-host",
    type=AT_ONCE,
    metavar="N",
    help=f"Requests at a time to one host [default: {POLITE.per_host}; on loopback {FAST.per_host}].",
)
@click.option(
    "--delay",
    type=SECONDS,
    metavar="S",
    help=f"Seconds between two requests to a host [default: {POLITE.delay_s:g}; on loopback 0].",
)
@click.option("--ignore-robots", is_flag=True, help="Don't ask for robots.txt.")
@click.option(
    "--contact",
    metavar="URL|MAIL",
    help="Whom a site's owner may ask; we call ourselves Holdfast/VERSION (+CONTACT).",
)
@click.option("--user-agent", metavar="UA", help="What to call ourselves instead; name a contact in it.")
@click.option(
    "--checkpoint-items", type=COUNT, default=10, show_default=True, metavar="N", help="Commit after N pages,"
)
@click.option(
    "--checkpoint-seconds",
    type=DURATION,
    default=120.0,
    metavar="S",
    help="or after S seconds [default: 120].",
)
@click.option(
    "--durability",
    type=click.Choice([one.value for one in Durability]),
    default=Durability.PROCESS.value,
    show_default=True,
    help="What a committed page survives: any kill, or a power cut as well.",
)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Export to FILE at the end.")
@click.option("--fresh", is_flag=True, help="Start a new job, whatever is there.")
@click.option("--wait", is_flag=True, help="If another process works on the job, wait for it.")
@click.option("--json", is_flag=True, help="Print one JSON object on stdout at the end.")
@click.option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors.")
@common
def crawl(urls: tuple[str, ...], **options: Unpack[Options]) -> int:
    """Crawl a site, here, until it is done.

    The same command again resumes: a job is known by its --name, else by its start URLs. Other limits are
    applied to it. Ctrl-C pauses; a second one stops at once, and loses nothing that was committed.

    \b
    Exit codes: 0 completed, 1 failed, 2 wrong usage or state, 3 paused or shut down,
                4 time limit reached, 5 cancelled
    """  # noqa: D301 - click wants a real backspace there
    from holdfast.cli.foreground import Ask

    new = asked_for(urls, options)
    output = options["output"]
    if output is not None:
        from holdfast.cli.export import check

        check(output)

    async def work(home: "Home") -> int:
        return await _crawl(home, new, options, Ask(options["json"], output))

    return in_home(work, create=True, runs=True)


def asked_for(urls: tuple[str, ...], options: Options) -> NewJob:
    """The job that the command line describes. UsageError says what is wrong with it."""
    from holdfast.pipelines.site.spec import KIND, SiteSpec, identity

    name = options["name"]
    if name is not None and not (name.strip() and name.isprintable()):
        raise UsageError("a name is some printable text, such as --name docs")
    spec = SiteSpec.asked(
        urls,
        options["scope"],
        include=options["include"],
        exclude=options["exclude"],
        ignore_robots=options["ignore_robots"],
        user_agent=_user_agent(options["user_agent"], options["contact"]),
    )
    default = FAST if all(map(on_loopback, spec.start_urls)) else POLITE
    delay = options["delay"]
    return NewJob(
        kind=KIND,
        identity=identity(name, spec),
        spec=spec.to_json(),
        name=name,
        limits=Limits(
            max_pages=options["max_pages"],
            max_depth=options["max_depth"],
            max_bytes=options["max_bytes"],
            time_limit_s=options["time_limit"],
        ),
        pace=Pace(
            concurrency=options["concurrency"] or default.concurrency,
            per_host=options["per_host"] or default.per_host,
            delay_s=default.delay_s if delay is None else delay,
        ),
        checkpoints=CheckpointPolicy(options["checkpoint_items"], options["checkpoint_seconds"]),
        durability=Durability(options["durability"]),
        fixed=FIXED,
    )


def _user_agent(own: str | None, contact: str | None) -> str | None:
    if contact is None:
        return own
    if own is not None:
        raise UsageError("--user-agent replaces the name that --contact is added to; name the contact in it")
    from holdfast.bootstrap import USER_AGENT

    is_mail = "@" in contact and ":" not in contact
    return f"{USER_AGENT} (+{'mailto:' if is_mail else ''}{contact})"


def on_loopback(url: str) -> bool:
    """Whether a canonical URL leads to this very machine, as far as its host says so itself."""
    from ipaddress import ip_address

    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def _crawl(home: "Home", new: NewJob, options: Options, ask: "Ask") -> int:
    from holdfast.cli.foreground import finish, listening, run_here
    from holdfast.cli.screen import screen
    from holdfast.engine.start import Step

    shown = screen(quiet=options["quiet"])
    here = await listening(shown, ask)
    while True:
        started = await _start(home, new, options, shown)
        if started.step is Step.NOTHING:
            shown.say(_complete_already(started.job))
            return await finish(home, started.job, shown, ask)
        shown.say(_begins(started))
        _keeps(started.job, new, shown)
        try:
            return await run_here(home, started.job, here)
        except JobHeld:
            # Two processes, one command: the other one claimed it first.
            if not options["wait"]:
                raise


async def _start(home: "Home", new: NewJob, options: Options, shown: "Screen") -> "Started":
    from holdfast.engine.start import start

    def waits(holder: Heartbeat) -> None:
        machine, pid, _ = holder.worker_id.split("/", 2)
        shown.say(f"process {pid} on {machine} works on this job; waiting for it to end.")

    return await start(
        home.tools, new, fresh=options["fresh"], wait=options["wait"], random=os.urandom, on_wait=waits
    )


def _begins(started: "Started") -> str:
    from holdfast.engine.start import Step

    job = started.job
    if started.step is Step.EXTEND:
        return f"going on with job {job.short_id} beyond its old limit: {counted(job)}."
    if job.commit_no:
        return f"resuming job {job.short_id} from checkpoint {job.commit_no}: {counted(job)}."
    urls = job.spec["start_urls"]
    more = f" and {plural(len(urls) - 1, 'other')}" if len(urls) > 1 else ""
    pace = f", {job.pace.delay_s:g} s between requests to a host" if job.pace.delay_s else ""
    return f"job {job.short_id}: crawling {clean(urls[0])}{more}{pace}."


def _keeps(job: Job, new: NewJob, shown: "Screen") -> None:
    if job.durability is not new.durability:
        shown.say(f"job {job.short_id} keeps the durability that it began with ({job.durability}).")


def _complete_already(job: Job) -> str:
    at = f" at its {job.reason}" if job.reason else ""
    more = "a higher limit lets it go on" if job.reason else "--fresh starts a new one"
    return f"job {job.short_id} is completed already{at}: {counted(job)}. Nothing to fetch; {more}."
