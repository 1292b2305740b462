"""A command whose options may stand in a holdfast.toml. What is typed wins over the file, the file over defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from holdfast.cli.crawlfile import (
    FILE_NAME,
    URLS,
    Chosen,
    CrawlFile,
    choose,
    is_name,
    nearest,
    read,
    refuse_strangers,
)
from holdfast.cli.options import SOURCES, Headed
from holdfast.cli.words import clean
from holdfast.domain.errors import UsageError

_CHOSEN: Final = "holdfast.chosen"


class FromFile(Headed):
    """Reads the file before click reads the options, so that click takes from it what was not typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click, with the file's options as defaults. UsageError names file, table and key."""
        if not ctx.resilient_parsing:
            typed, _, _ = self.make_parser(ctx).parse_args(list(args))
            asks_for_help = self.get_help_option(ctx)
            if asks_for_help is None or asks_for_help.name not in typed:
                self._look(ctx, typed)
        return super().parse_args(ctx, args)

    def _look(self, ctx: click.Context, typed: Mapping[str, Any]) -> None:
        words = typed.get(URLS)
        # Without any there is a mark of click's own.
        words = words if isinstance(words, tuple) else ()
        begins = bool(words) or any(source in typed for source in SOURCES)
        file = _file(typed.get("config"))
        name = _named(words, file)
        if name is None and file is not None and not begins:
            name = _only(file)
        if file is not None:
            found = choose(file, self, ctx, name)
            ctx.default_map = dict(found.defaults)
            ctx.meta[_CHOSEN] = found
            begins = begins or bool(found.urls) or any(source in found.defaults for source in SOURCES)
        if not begins:
            urls = next(param for param in self.get_params(ctx) if param.name == URLS)
            raise click.MissingParameter(ctx=ctx, param=urls)


def chosen(ctx: click.Context) -> Chosen | None:
    """What a file said for this command, if there is one."""
    found: Chosen | None = ctx.meta.get(_CHOSEN)
    return found


def blamed(error: UsageError, ctx: click.Context) -> UsageError:
    """The error, for options that only clash or fail when all are seen together, with where they may have come from."""
    found = chosen(ctx)
    if found is None or not found.defaults:
        return error
    return UsageError(f"{error} (with the options of {found.said})")


def urls_of(ctx: click.Context, _param: click.Parameter, typed: tuple[str, ...]) -> tuple[str, ...]:
    """The URLs that were typed, or those of the crawl that was named."""
    found = chosen(ctx)
    return typed if found is None or found.name is None else found.urls


def _file(named: str | None) -> CrawlFile | None:
    if named is not None:
        return read(Path(named))
    path = nearest(Path.cwd())
    if path is None:
        return None
    refuse_strangers(path)
    return read(path)


def _named(words: tuple[str, ...], file: CrawlFile | None) -> str | None:
    """The crawl that the words name; None if they are URLs, or if there are none."""
    names = [word for word in words if is_name(word)]
    if not names:
        return None
    if file is None or len(words) > 1 or names[0] not in file.crawls:
        raise UsageError(_neither(names[0], file))
    return names[0]


def _only(file: CrawlFile) -> str | None:
    if len(file.crawls) > 1:
        raise UsageError(f"{file.shown} has several crawls; name one of them: {', '.join(file.crawls)}")
    return next(iter(file.crawls), None)


def _neither(word: str, file: CrawlFile | None) -> str:
    if file is not None and word in file.crawls:
        return f"'{word}' is a crawl of {file.shown}: name it alone, without URLs or other crawls"
    url = f"'{word}' is no URL (did you mean https://{word.lower()}/ ?)"
    if file is None:
        return f"{url}, nor a crawl: there is no {FILE_NAME} here or above"
    known = f"has: {', '.join(file.crawls)}" if file.crawls else "has none"
    return f"{url}, nor a crawl of {file.shown}, which {clean(known, 500)}"
