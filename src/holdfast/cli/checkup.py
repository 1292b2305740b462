"""What `holdfast doctor` looks at. Each examination stands on its own: one that fails hides no other."""

import importlib
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from holdfast.cli.words import clean, plural, size
from holdfast.domain.errors import DamagedJob, HoldfastError, UsageError
from holdfast.settings import Settings

_FEW_FILES: Final = 256
_LITTLE_MEMORY: Final = 512 * 1024 * 1024
_SQLITE_FLOOR: Final = (3, 51, 3)
"""Older ones can corrupt a WAL that several processes write."""
LIBRARIES: Final = (
    "ada-url",
    "apsw",
    "brotli",
    "certifi",
    "click",
    "google-re2",
    "isal",
    "lxml",
    "orjson",
    "protego",
    "publicsuffixlist",
    "pyarrow",
    "pycurl",
    "pypdfium2",
    "rich",
    "selectolax",
    "zstandard",
)
_NETWORK_DISKS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"})


class Grade(Enum):
    """How good it is."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    grade: Grade
    what: str
    found: str
    advice: str = ""


def examine(settings: Settings) -> Iterator[Finding]:
    """All findings, in order."""
    examinations: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _machine,
        _files,
        _home,
        _disk,
        _sqlite,
        _curl,
        _libraries,
        _browser,
    )
    for examination in examinations:
        try:
            yield from examination(settings)
        except Exception as error:  # noqa: BLE001 - a doctor reports what it can't examine
            what = examination.__name__.removeprefix("_")
            yield Finding(
                Grade.BAD, what, clean(f"{type(error).__name__}: {error}"), "mend this, then ask again"
            )


def _machine(_settings: Settings) -> Iterator[Finding]:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = f"{python}, {system}, {cores} cores, {size(memory)} of memory"
    if memory < _LITTLE_MEMORY:
        yield Finding(Grade.WARN, "machine", found, "crawl with a lower --concurrency: little memory")
    else:
        yield Finding(Grade.OK, "machine", found)


def _files(_settings: Settings) -> Iterator[Finding]:
    import resource

    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft} at a time"
    if soft != resource.RLIM_INFINITY and soft < _FEW_FILES:
        yield Finding(
            Grade.WARN, "open files", found, "raise it with `ulimit -n 1024` before a crawl of many hosts"
        )
    else:
        yield Finding(Grade.OK, "open files", found)


def _home(settings: Settings) -> Iterator[Finding]:
    home = settings.home.expanduser()
    if _there(home) and not home.is_dir():
        yield Finding(
            Grade.BAD, "home", f"{home} is a file", "move it away, or name another home with --home"
        )
        return
    place = _nearest(home)
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        advice = "change its permissions, or name another home with --home"
        yield Finding(Grade.BAD, "home", f"{place} can't be written to", advice)
        return
    kind = _file_system(place)
    if kind in _NETWORK_DISKS:
        advice = "SQLite's locks and WAL need a local disk; name another home with --home"
        yield Finding(Grade.BAD, "home", f"{home} is on a network disk ({kind})", advice)
        return
    there = f"{home}" if _there(home) else f"{home}, made by the first crawl"
    yield Finding(Grade.OK, "home", f"{there}{f' ({kind})' if kind else ''}")
    yield from _ledger(settings)


def _ledger(settings: Settings) -> Iterator[Finding]:
    import asyncio

    from holdfast.bootstrap import open_home

    async def count() -> str:
        async with open_home(settings, create=False) as home:
            jobs = await home.tools.jobs.all()
            for job in jobs:
                if isinstance(job, DamagedJob):
                    raise job
            unfinished = await home.tools.jobs.unfinished()
            return plural(len(jobs), "job") + (
                f", {len(unfinished)} with an interrupted change" if unfinished else ""
            )

    if not (settings.home.expanduser() / "holdfast.db").exists():
        return
    try:
        found = asyncio.run(count())
    except HoldfastError as error:
        yield Finding(Grade.BAD, "ledger", str(error))
    else:
        yield Finding(Grade.OK, "ledger", found)


def _disk(settings: Settings) -> Iterator[Finding]:
    room = os.statvfs(_nearest(settings.home.expanduser()))
    free, floor = room.f_bavail * room.f_frsize, settings.storage.min_free_bytes
    found = f"{size(free)} free; a crawl pauses itself below {size(floor)}"
    if free < floor:
        yield Finding(Grade.BAD, "disk", found, "free some space, or lower HOLDFAST_MIN_FREE_MB")
    elif free < 2 * floor:
        yield Finding(Grade.WARN, "disk", found, "free some space before a large crawl")
    else:
        yield Finding(Grade.OK, "disk", found)


def _sqlite(_settings: Settings) -> Iterator[Finding]:
    import apsw

    text = apsw.sqlite_lib_version()
    found = f"{text}, by apsw {apsw.apsw_version()}"
    if tuple(int(part) for part in text.split(".")[:3]) < _SQLITE_FLOOR:
        yield Finding(Grade.BAD, "SQLite", found, "upgrade apsw: this SQLite has a known bug in its WAL")
    elif "THREADSAFE=0" in apsw.compile_options:
        yield Finding(Grade.BAD, "SQLite", found, "install an apsw that is built for threads")
    else:
        yield Finding(Grade.OK, "SQLite", found)


def _curl(settings: Settings) -> Iterator[Finding]:
    import pycurl  # type: ignore[import-untyped]  # has no types

    info = pycurl.version_info()
    tls, features = info[5], info[4]
    http2 = bool(features & pycurl.VERSION_HTTP2)
    found = f"{info[1]} ({clean(tls or 'no TLS')}), HTTP/2 {'yes' if http2 else 'no'}"
    if not tls:
        yield Finding(Grade.BAD, "libcurl", found, "install a pycurl with TLS: https can't be crawled")
    elif not http2:
        yield Finding(Grade.WARN, "libcurl", found, "a pycurl with HTTP/2 crawls some sites faster")
    else:
        yield Finding(Grade.OK, "libcurl", found)
    yield from _roots(settings)


def _roots(settings: Settings) -> Iterator[Finding]:
    from holdfast.bootstrap import tls_roots

    roots = tls_roots(settings)
    if roots.is_file():
        yield Finding(Grade.OK, "TLS roots", str(roots))
    else:
        advice = "install the system's ca-certificates, or certifi again"
        yield Finding(Grade.BAD, "TLS roots", f"{roots} is missing", advice)


def _libraries(_settings: Settings) -> Iterator[Finding]:
    missing = []
    for name in LIBRARIES:
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Finding(Grade.BAD, "libraries", f"missing: {', '.join(missing)}", "run `make setup`")
        return
    for module in ("isal.igzip", "selectolax.lexbor", "ada_url", "orjson", "protego", "zstandard", "brotli"):
        importlib.import_module(module)
    shown = ("selectolax", "ada-url", "isal", "pyarrow")
    yield Finding(Grade.OK, "libraries", ", ".join(f"{name} {version(name)}" for name in shown))


def _browser(settings: Settings) -> Iterator[Finding]:
    from holdfast.bootstrap import browser

    try:
        version("playwright")
    except PackageNotFoundError:
        found = "not installed: only --render needs it, for pages that need JavaScript"
        yield Finding(Grade.OK, "browser", found)
        return
    try:
        yield Finding(
            Grade.OK, "browser", f"{clean(browser(settings))}, by playwright {version('playwright')}"
        )
    except (UsageError, OSError) as error:
        named = settings.browser.program is not None
        yield Finding(Grade.BAD if named else Grade.WARN, "browser", "none that could show pages", str(error))


def _nearest(path: Path) -> Path:
    place = path.absolute()
    while not _there(place) and place != place.parent:
        place = place.parent
    return place


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _file_system(place: Path) -> str:
    """The kind of file system that holds it; empty where the system doesn't say."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    best, kind = "", ""
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        _, point, fs, *_ = line.split(" ")
        inside = place.resolve().is_relative_to(point.replace("\\040", " "))
        if inside and len(point) >= len(best):
            best, kind = point, fs
    return kind
