"""The one place that wires things together: settings in, ports with their adapters out."""

import ctypes
import gc
import os
import random
import resource
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast.domain.checkpoint import Counters
from holdfast.domain.errors import AccessRefused, HomeError, UsageError
from holdfast.domain.job import Job, NewJob
from holdfast.domain.retry import Backoff, RetryPolicy
from holdfast.domain.states import Status
from holdfast.engine.tools import Tools
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.spec import KIND
from holdfast.ports.jobs import Jobs
from holdfast.ports.pipeline import Handler, Pipeline, PipelineRun
from holdfast.settings import FetchSettings, Settings, variable
from holdfast.stores.sqlite.connection import FILE_NAME, Database
from holdfast.stores.sqlite.jobs import SqliteJobs
from holdfast.stores.sqlite.ledger import SqliteLedger
from holdfast.stores.workers import LockedWorkers
from holdfast.web.warc import WarcSegments
from holdfast.web.warc.names import job_folder

if TYPE_CHECKING:
    from holdfast.crawl.reach import Reach
    from holdfast.pipelines.plugin.pipeline import PluginPipeline
    from holdfast.pipelines.site.handler import SiteHandler
    from holdfast.pipelines.site.renderrules import RenderRules
    from holdfast.ports.fetcher import Fetcher
    from holdfast.ports.renderer import Renderer
    from holdfast.web.transfer import FetchLimits
    from holdfast.web.ways import Ways

MANY_FILES = 4_096
"""As many as a crawl may have open, where the machine lets it."""

USER_AGENT = f"Holdfast/{holdfast.__version__}"


class SystemClock:
    """The machine's clocks."""

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Home:
    """A home that is open: everything that a command needs."""

    path: Path
    settings: Settings
    tools: Tools
    workers: LockedWorkers

    def worker_id(self) -> str:
        """A new worker id of this process."""
        return self.workers.name(os.urandom(4).hex())

    def another_jobs(self) -> Jobs:
        """The jobs by a connection of its own: whoever looks never waits for a crawl's commits. Close it."""
        return SqliteJobs(Database(self.path))

    def segment_path(self, job: Job, name: str) -> Path:
        """Where a segment of the job lies, to be copied as it is."""
        return job_folder(self.path, job) / name


@asynccontextmanager
async def open_home(settings: Settings, *, create: bool = True) -> AsyncIterator[Home]:
    """The home that the settings name; `create` False is for commands that make no sense without one."""
    try:
        path = settings.home.expanduser()
    except RuntimeError as error:
        raise HomeError(f"can't tell where {settings.home} is: {error}. Name a home with --home.") from None
    _look_at(path, create=create)
    clock = SystemClock()
    database = Database(path)
    pipelines = Pipelines()
    workers = LockedWorkers(path)
    tools = Tools(
        jobs=SqliteJobs(database),
        ledger=SqliteLedger(database),
        segments=WarcSegments(path, clock, segment_bytes=settings.storage.segment_bytes),
        workers=workers,
        clock=clock,
        pipeline_of=pipelines.of,
        open_handler=lambda run: _handler(run, pipelines, settings, clock),
        another_ledger=lambda: SqliteLedger(Database(path)),
        times=settings.times,
        min_free_bytes=settings.storage.min_free_bytes,
        unsynced_bytes=settings.storage.unsynced_bytes,
    )
    try:
        yield Home(path, settings, tools, workers)
    finally:
        await database.close()


def is_home(settings: Settings) -> bool:
    """Whether there is a home already where the settings name one."""
    try:
        return (settings.home.expanduser() / FILE_NAME).exists()
    except (OSError, RuntimeError):
        return False


def _look_at(path: Path, *, create: bool) -> None:
    """HomeError where there can't be a home, or isn't one."""
    try:
        if path.exists() and not path.is_dir():
            raise HomeError(f"the home {path} is a file. Move it away, or name another home with --home.")
        there = (path / FILE_NAME).exists()
    except OSError as error:
        why = error.strerror or error
        raise HomeError(
            f"can't read the home {path}: {why}. Change its permissions, or name another home with --home."
        ) from error
    if not create and not there:
        raise HomeError(
            f"there is no Holdfast home at {path}. "
            "Start a crawl with `holdfast crawl URL`, or name another with --home."
        )


def tls_roots(settings: Settings) -> Path:
    """The file of certificate authorities that a crawl believes."""
    from holdfast.web.transfer import trusted_roots

    return settings.fetch.ca_file or Path(trusted_roots())


class Pipelines:
    """Who knows what to do with jobs of which kind. Plugins are looked for when the first job of theirs is used."""

    def __init__(self) -> None:
        self._site = SitePipeline()
        self._plugins: dict[tuple[str, str | None], PluginPipeline] = {}

    def of(self, kind: str, spec: Mapping[str, Any]) -> Pipeline:
        """The pipeline of such a job; UnknownKind says what to install."""
        return self._site if kind == KIND else self.plugin(kind, spec)

    def plugin(self, kind: str, spec: Mapping[str, Any]) -> "PluginPipeline":
        """Likewise, of a kind that is none of ours."""
        from holdfast.pipelines.plugin.finding import of_job
        from holdfast.pipelines.plugin.pipeline import PluginPipeline

        key = kind, spec.get("place")
        if key not in self._plugins:
            self._plugins[key] = PluginPipeline(of_job(*key))
        return self._plugins[key]


def look_at_reach(job: Job | NewJob, settings: Settings) -> None:
    """AccessRefused where the files, variables and proxies that a job refers to can't be used as they are now.

    UnknownKind where nobody here knows what to do with it.

    For commands that are about to run it, before they change anything.
    """
    Pipelines().of(job.kind, job.spec)
    _ways(job.spec, settings, SystemClock())
    if _renders(job) is not None:
        _chromium(settings)
    roots = settings.fetch.ca_file
    if roots is not None and not os.access(roots, os.R_OK):
        raise AccessRefused(f"HOLDFAST_CA_FILE={roots} can't be read; name a file of certificates in PEM")


def _reach_of(spec: Mapping[str, Any]) -> "Reach":
    """The part that the specs of all kinds have."""
    from holdfast.crawl import stored
    from holdfast.crawl.reach import Reach

    return stored.from_json(Reach, spec.get("reach", {}))


def _ways(spec: Mapping[str, Any], settings: Settings, clock: SystemClock) -> "Ways":
    from holdfast.web.access.cookies import Jar
    from holdfast.web.access.files import AccessFile, read_access, read_cookies
    from holdfast.web.access.proxies import proxies_of
    from holdfast.web.access.secrets import Access, Credentials
    from holdfast.web.guard import Guard
    from holdfast.web.ways import Ways

    reach = _reach_of(spec)
    file = settings.access if reach.access is None else Path(reach.access)
    said = AccessFile(Access(), ()) if file is None else read_access(file.expanduser(), variable)
    cookies = [] if reach.cookies is None else read_cookies(Path(reach.cookies), clock.wall())
    lends = file is not None or cookies or reach.keep_cookies
    return Ways(
        guard=None if reach.allow_private else Guard.around(spec.get("start_urls", ())),
        headers=reach.header_pairs(),
        credentials=Credentials(said.access, Jar(cookies), keep=reach.keep_cookies) if lends else None,
        proxies=proxies_of(reach.proxies or said.proxies, variable),
        insecure=reach.insecure,
    )


def _chromium(settings: Settings) -> "Path":
    """The browser that pages are shown by; UsageError where there is none, or nothing that could drive it."""
    from holdfast.web.browser.program import find_program, has_playwright

    named = settings.browser.program
    program = find_program(named)
    if not has_playwright():
        raise UsageError("--render takes the extra `browser`: pip install 'holdfast[browser]'")
    if program is None and named is not None:
        raise UsageError(f"HOLDFAST_BROWSER={named} is no program that can be run; name a Chromium's")
    if program is None:
        raise UsageError(
            "--render takes a Chromium: install the system's (on Debian and Ubuntu: apt-get install chromium), or name "
            "one with HOLDFAST_BROWSER"
        )
    return program


def browser(settings: Settings) -> str:
    """What would show pages that need JavaScript, in words; UsageError says what is missing, OSError what is broken."""
    from holdfast.web.browser.program import version_of

    program = _chromium(settings)
    guard = "in its sandbox" if _sandboxed(settings) else "without a sandbox of its own"
    return f"{version_of(program)} ({program}), {guard}"


def _sandboxed(settings: Settings) -> bool:
    asked = settings.browser.sandbox
    return os.geteuid() != 0 if asked is None else asked


def _renders(job: Job | NewJob) -> "RenderRules | None":
    """How pages are shown; None where none is."""
    from holdfast.pipelines.site.renderrules import Render
    from holdfast.pipelines.site.spec import SiteSpec

    if job.kind != KIND:
        return None
    rules = SiteSpec.from_json(job.spec).render
    return None if rules.mode is Render.NEVER else rules


def _renderer(job: Job, settings: Settings, clock: SystemClock) -> "Renderer | None":
    rules = _renders(job)
    if rules is None:
        return None
    program = _chromium(settings)
    from holdfast.web.browser.chromium import Chromium, ChromiumRenderer
    from holdfast.web.browser.showing import ShowLimits

    return ChromiumRenderer(
        Chromium(program, _sandboxed(settings), settings.browser.memory_bytes),
        clock,
        ShowLimits(page_s=settings.browser.page_s, body_bytes=settings.fetch.body_bytes),
        user_agent=user_agent(job),
        at_once=rules.at_once,
    )


def user_agent(job: Job) -> str:
    """What we call ourselves before strangers, unless the job says otherwise."""
    own: str | None = job.spec.get("user_agent")
    return own or USER_AGENT


def _handler(run: PipelineRun, pipelines: Pipelines, settings: Settings, clock: SystemClock) -> Handler:
    from holdfast.crawl.asking import Means

    _keep_freed_memory()
    _look_for_cycles_seldom()
    if run.job.kind == KIND:
        return _site_handler(run, settings, clock)
    from holdfast.pipelines.plugin.handler import PluginHandler

    plugin = pipelines.plugin(run.job.kind, run.job.spec)
    asking = _fetcher(run.job, settings, clock), Means(clock, random.random, _retries(settings.fetch))
    return PluginHandler(run, plugin.visitor(run.job.spec), plugin.phases, asking)


def _site_handler(run: PipelineRun, settings: Settings, clock: SystemClock) -> "SiteHandler":
    from holdfast.pipelines.site.handler import SiteHandler

    fetcher, policy = _fetcher(run.job, settings, clock), _retries(settings.fetch)
    renderer = _renderer(run.job, settings, clock)
    return SiteHandler(run, fetcher, clock, random.random, policy, renderer=renderer)


def _fetcher(job: Job, settings: Settings, clock: SystemClock) -> "Fetcher":
    from holdfast.web.curl import CurlFetcher

    fetch = settings.fetch
    return CurlFetcher(
        user_agent(job),
        clock,
        limits=_fetch_limits(fetch, _reach_of(job.spec).bandwidth, job.pace.concurrency),
        connections=max(job.pace.concurrency, _kept_connections()),
        ca_file=None if fetch.ca_file is None else str(fetch.ca_file),
        ways=_ways(job.spec, settings, clock),
    )


@asynccontextmanager
async def rehearsing(settings: Settings, new: NewJob) -> AsyncIterator[tuple["SiteHandler", SystemClock]]:
    """What would handle a crawl's pages, for a job that nobody submits: no home is touched."""
    clock = SystemClock()
    job = Job(
        **{part.name: getattr(new, part.name) for part in fields(NewJob) if part.name != "fixed"},
        id=0,
        public_id="",
        status=Status.PENDING,
        reason=None,
        phase="",
        run=1,
        commit_no=0,
        desired=None,
        created_at=clock.wall(),
        started_at=None,
        finished_at=None,
        active_s=0.0,
        granted_s=0.0,
        counters=Counters(),
        last_checkpoint_at=None,
    )
    handler = _site_handler(PipelineRun(job, {}), settings, clock)
    try:
        yield handler, clock
    finally:
        await handler.close()


def _fetch_limits(fetch: FetchSettings, bandwidth: int | None, concurrency: int) -> "FetchLimits":
    """Where we hold transfers back ourselves, the largest body's share of the bandwidth gives it the time it needs."""
    from holdfast.web.transfer import FetchLimits

    plain = FetchLimits(connect_s=fetch.connect_s, total_s=fetch.total_s, body_bytes=fetch.body_bytes)
    if bandwidth is None:
        return plain
    share_s = bandwidth / concurrency
    return replace(
        plain,
        bytes_s=bandwidth,
        total_s=fetch.total_s + fetch.body_bytes / share_s,
        slow_bytes_s=max(1, min(plain.slow_bytes_s, int(share_s / 10))),
    )


def _kept_connections() -> int:
    """How many connections may wait for their host's next turn: half of the files that may be open.

    Measured on 2,000 hosts in turn: a connection for each page costs a sixth of a crawl's time.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, MANY_FILES)
    if soft != resource.RLIM_INFINITY and soft < files:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
            soft = files
    return (MANY_FILES if soft == resource.RLIM_INFINITY else min(soft, MANY_FILES)) // 2


def _keep_freed_memory() -> None:
    """Let glibc keep up to 32 MB that it would give back to the kernel after each page and fault in again at the next.

    Measured: an eighth of a crawl's time. Bodies of 4 MB or more still come and go by themselves. Elsewhere than on
    glibc nothing is set.
    """
    trim_threshold, mmap_threshold = -1, -3  # as malloc.h names them
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(trim_threshold, 32 * 1024 * 1024)
        mallopt(mmap_threshold, 4 * 1024 * 1024)


def _look_for_cycles_seldom() -> None:
    """What is loaded by the first crawl stays, and a page leaves few cycles behind.

    Measured: a twenty-fifth of a crawl's time.
    """
    if not gc.get_freeze_count():
        gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def _retries(fetch: FetchSettings) -> RetryPolicy:
    tries, base, cap = fetch.max_tries, fetch.retry_base_s, fetch.retry_cap_s
    return RetryPolicy(
        network=Backoff(tries, base, cap),
        server=Backoff(tries, 2 * base, cap),
        throttled=Backoff(2 * tries, 4 * base, 3 * cap),
        robots=Backoff(tries, 2 * base, cap),
        outage_s=fetch.outage_s,
    )
