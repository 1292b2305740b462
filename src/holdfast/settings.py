"""The only reader of the environment: what a person sets for every command, as small frozen groups.

Each setting is a variable HOLDFAST_<NAME>; docs/reference/settings.md lists them. A value that can't be read is an
error that names the variable, never a default taken in silence.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from holdfast.domain.errors import UsageError
from holdfast.domain.lease import LeaseTimes

T = TypeVar("T")
_LEAST_S, _MOST_S = 0.001, 1e8
"""Less than a millisecond means nothing to the network library; three years mean nothing to anybody."""
_MOST = 10**9
MB = 1_000_000
MAX_BODY_BYTES = 100 * MB
"""With its headers, such a body is still read back as one record, whatever the setting is by then."""


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """What may be used of the disk, and how."""

    min_free_bytes: int = 500 * MB
    segment_bytes: int = 256 * MB
    unsynced_bytes: int = 64 * MB


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """When a fetch is given up."""

    connect_s: float = 10.0
    total_s: float = 120.0
    body_bytes: int = 32 * MB
    max_tries: int = 4
    retry_base_s: float = 2.0
    retry_cap_s: float = 300.0
    outage_s: float = 3600.0
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """What shows pages that need JavaScript, and when it is given up."""

    program: Path | None = None
    """None: the first of the usual ones."""
    page_s: float = 30.0
    memory_bytes: int = 2000 * MB
    sandbox: bool | None = None
    """None: unless we are root, under whom Chromium has none."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it."""

    home: Path = Path(".holdfast")
    times: LeaseTimes = field(default_factory=LeaseTimes)
    storage: StorageSettings = field(default_factory=StorageSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    browser: BrowserSettings = field(default_factory=BrowserSettings)
    access: Path | None = None


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment."""
    env = os.environ if environment is None else environment

    def read(name: str, convert: Callable[[str], T], default: T) -> T:
        text = env.get(f"HOLDFAST_{name}")
        if text is None or not text.strip():
            return default
        try:
            return convert(text.strip())
        except (ValueError, KeyError):
            raise UsageError(f"HOLDFAST_{name}={text!r} can't be read; it takes {_TAKES[convert]}") from None

    times, storage, fetch, browser = LeaseTimes(), StorageSettings(), FetchSettings(), BrowserSettings()
    settings = Settings(
        home=read("HOME", Path, Path(".holdfast")),
        times=LeaseTimes(
            renew_s=read("RENEW_S", _seconds, times.renew_s),
            expire_s=read("EXPIRE_S", _seconds, times.expire_s),
            stall_s=read("STALL_S", _seconds, times.stall_s),
            stale_s=read("STALE_S", _seconds, times.stale_s),
            poll_s=read("POLL_S", _seconds, times.poll_s),
            drain_s=read("DRAIN_S", _seconds, times.drain_s),
            sweep_s=read("SWEEP_S", _seconds, times.sweep_s),
            max_retries=read("MAX_RETRIES", _count, times.max_retries),
        ),
        storage=StorageSettings(
            min_free_bytes=read("MIN_FREE_MB", _megabytes, storage.min_free_bytes),
            segment_bytes=read("SEGMENT_MB", _megabytes, storage.segment_bytes),
            unsynced_bytes=read("UNSYNCED_MB", _megabytes, storage.unsynced_bytes),
        ),
        fetch=FetchSettings(
            connect_s=read("CONNECT_S", _seconds, fetch.connect_s),
            total_s=read("FETCH_S", _seconds, fetch.total_s),
            body_bytes=read("BODY_MB", _body_megabytes, fetch.body_bytes),
            max_tries=read("MAX_TRIES", _count, fetch.max_tries),
            retry_base_s=read("RETRY_BASE_S", _seconds, fetch.retry_base_s),
            retry_cap_s=read("RETRY_CAP_S", _seconds, fetch.retry_cap_s),
            outage_s=read("OUTAGE_S", _seconds, fetch.outage_s),
            ca_file=read("CA_FILE", _file, fetch.ca_file),
        ),
        browser=BrowserSettings(
            program=read("BROWSER", _file, browser.program),
            page_s=read("RENDER_S", _seconds, browser.page_s),
            memory_bytes=read("BROWSER_MB", _megabytes, browser.memory_bytes),
            sandbox=read("BROWSER_SANDBOX", _yes_or_no, browser.sandbox),
        ),
        access=read("ACCESS", _file, None),
    )
    _look_at(settings.times)
    return settings


def variable(name: str) -> str | None:
    """What a person keeps in a variable of their own choosing, and refers to as env:NAME."""
    return os.environ.get(name)


def _look_at(times: LeaseTimes) -> None:
    """UsageError where two intervals contradict each other."""
    if times.renew_s >= times.expire_s:
        raise UsageError(
            f"HOLDFAST_RENEW_S ({times.renew_s:g}) has to be less than HOLDFAST_EXPIRE_S ({times.expire_s:g}): "
            "else a living worker loses its work before it shows that it lives"
        )
    if times.stale_s < times.stall_s:
        raise UsageError(
            f"HOLDFAST_STALE_S ({times.stale_s:g}) can't be less than HOLDFAST_STALL_S ({times.stall_s:g}): "
            "a job fails only after a stall"
        )


def _seconds(text: str) -> float:
    value = float(text)
    if not _LEAST_S <= value <= _MOST_S:
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= _MOST:
        raise ValueError(text)
    return value


def _file(text: str) -> Path | None:
    return None if text == "none" else Path(text)


def _yes_or_no(text: str) -> bool | None:
    return {"yes": True, "no": False, "auto": None}[text]


def _megabytes(text: str) -> int:
    value = float(text)
    if not 0 <= value <= _MOST:
        raise ValueError(text)
    return int(value * MB)


def _body_megabytes(text: str) -> int:
    value = _megabytes(text)
    if not 0 < value <= MAX_BODY_BYTES:
        raise ValueError(text)
    return value


_TAKES: Mapping[Callable[[str], object], str] = {
    _seconds: f"seconds from {_LEAST_S:g} to {_MOST_S:,.0f}, such as 0.5",
    _count: f"a whole number from 0 to {_MOST:,}",
    _megabytes: f"megabytes from 0 to {_MOST:,}, such as 256",
    _body_megabytes: f"megabytes above 0 and up to {MAX_BODY_BYTES // MB}, such as 32",
    _yes_or_no: "yes, no or auto",
    Path: "a path",
    _file: "a path, or none",
}
