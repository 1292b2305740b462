"""A home for a command: settings with --home applied, logging set up, one event loop around it."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from holdfast import settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from holdfast.bootstrap import Home

T = TypeVar("T")


def in_home(work: "Callable[[Home], Awaitable[T]]", *, create: bool = False, runs: bool = False) -> T:
    """Open the home that the command names, run `work` in it, and close it. `runs`: `work` runs a job."""
    context = click.get_current_context()
    asked = context.ensure_object(dict)
    asked["runs"] = runs
    wanted = settings_for(asked)
    _set_up_logging(asked)

    async def main() -> T:
        async with opened(wanted, create=create) as home:
            asked["home_path"] = home.path
            return await work(home)

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        # A signal that came before there was a claim to end (see engine.signals).
        raise KeyboardInterrupt from None


def settings_here() -> settings.Settings:
    """The settings of the command that is being run."""
    return settings_for(click.get_current_context().ensure_object(dict))


def settings_for(asked: dict[str, Any]) -> settings.Settings:
    """Settings of the environment, with what the command line says over them."""
    loaded = settings.load()
    home = asked.get("home")
    return loaded if home is None else replace(loaded, home=Path(home))


@asynccontextmanager
async def opened(wanted: settings.Settings, *, create: bool) -> "AsyncIterator[Home]":
    """The home, open."""
    from holdfast.bootstrap import open_home

    async with open_home(wanted, create=create) as home:
        yield home


def home_words() -> list[str]:
    """`--home DIR` if the command line said so: for a command that we tell a person to type."""
    home = click.get_current_context().ensure_object(dict).get("home")
    return [] if home is None else ["--home", str(home)]


def _set_up_logging(asked: dict[str, Any]) -> None:
    from holdfast.cli.logs import set_up

    set_up(verbose=bool(asked.get("verbose")))
