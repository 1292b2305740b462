"""Holdfast runs long crawls that can't be lost.

The way of a URL: `domain` (rules), `crawl` (fetch, parse, links), `engine` (run, lease, recover), `stores`
(truth). Who may import whom is written in pyproject.toml and checked by `make check`.
"""

__version__ = "0.1.0"

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.domain.errors import (
        AmbiguousJob,
        DamagedJob,
        HoldfastError,
        HomeError,
        JobHeld,
        LeaseLost,
        SpecChanged,
        StorageFailed,
        StorageFull,
        UnknownJob,
        UnknownKind,
        UsageError,
        WrongState,
    )
    from holdfast.domain.states import Status
    from holdfast.library import CrawlOptions, Holdfast, Job, Page, open  # noqa: A004 - called as holdfast.open

__all__ = [
    "AmbiguousJob",
    "CrawlOptions",
    "DamagedJob",
    "Holdfast",
    "HoldfastError",
    "HomeError",
    "Job",
    "JobHeld",
    "LeaseLost",
    "Page",
    "SpecChanged",
    "Status",
    "StorageFailed",
    "StorageFull",
    "UnknownJob",
    "UnknownKind",
    "UsageError",
    "WrongState",
    "open",
]

_LIBRARY = frozenset({"CrawlOptions", "Holdfast", "Job", "Page", "open"})


def __getattr__(name: str) -> object:
    """What stands in `__all__`, loaded when it is asked for: the command starts without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - not worth the time that it takes the command to start

    place = "library" if name in _LIBRARY else "domain.states" if name == "Status" else "domain.errors"
    return getattr(import_module(f"{__name__}.{place}"), name)
