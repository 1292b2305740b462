"""The options of a crawl as keywords: those of the command line by their long names, with the same meaning."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from holdfast.domain.job import NewJob

if TYPE_CHECKING:
    import click

    from holdfast.plugin import Pipeline


class CrawlOptions(TypedDict, total=False):
    """What `crawl` may be asked for; docs/reference/cli.md describes each. None is as if it had not been given."""

    name: str | None
    max_pages: int | None
    max_depth: int | None
    max_bytes: int | str | None
    host_pages: int | None
    host_bytes: int | str | None
    time_limit: float | str | None
    scope: Literal["host", "domain", "prefix", "any"]
    include: str | Sequence[str]
    exclude: str | Sequence[str]
    strip_param: str | Sequence[str]
    no_traps: bool
    sitemaps: bool
    feeds: bool
    llms: bool
    follow_nofollow: bool
    mime: str | Sequence[str]
    no_mime: str | Sequence[str]
    render: Literal["never", "auto", "always"]
    render_at_once: int
    concurrency: int | None
    per_host: int | None
    delay: float | None
    autothrottle: bool | None
    target_concurrency: float | None
    max_delay: float | None
    max_rate: float | None
    bandwidth: int | str | None
    ignore_robots: bool
    contact: str | None
    user_agent: str | None
    access: str | PathLike[str] | None
    cookies: str | PathLike[str] | None
    keep_cookies: bool
    header: str | Sequence[str] | Mapping[str, str]
    proxy: str | Sequence[str]
    insecure: bool
    allow_private: bool
    checkpoint_items: int
    checkpoint_seconds: float | str
    durability: Literal["process", "power"]
    fields: str | Sequence[str] | Mapping[str, str]


NOT_HERE = frozenset(
    {"set", "config", "fresh", "wait", "yes", "dry_run", "input", "output", "format", "json", "quiet"}
)
"""Options of the command that mean nothing here, or stand beside the others as parameters of their own."""


def asked(urls: Sequence[str], options: Mapping[str, Any]) -> NewJob:
    """The job that the keywords describe, checked as if they had been typed. UsageError names what is wrong."""
    from holdfast.cli.asking import asked_for  # noqa: PLC0415 - `import holdfast` costs nothing until it is used
    from holdfast.cli.crawl import crawl  # noqa: PLC0415

    params = _read(crawl, [], options)
    params.pop("urls")
    return asked_for(tuple(urls), params)


def asked_to_run(pipeline: "Pipeline", options: Mapping[str, Any]) -> NewJob:
    """Likewise, for a pipeline of one's own."""
    from holdfast.cli.asking import plugin_asked_for  # noqa: PLC0415 - likewise
    from holdfast.cli.run import run  # noqa: PLC0415
    from holdfast.pipelines.plugin.finding import place_of  # noqa: PLC0415

    place = place_of(type(pipeline))
    return plugin_asked_for(pipeline, place, _read(run, [pipeline.kind], options))


def _read(command: "click.Command", words: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The command's parameters, by click's names for them."""
    import click  # noqa: PLC0415 - likewise

    from holdfast.cli.crawlfile import checked  # noqa: PLC0415

    context = click.Context(command, info_name=command.name, obj={})
    given = {name: _plain(value) for name, value in options.items() if value is not None}
    where = f"{command.name}()"
    context.default_map = checked(command, context, given, where=where, folder=Path(), strangers=NOT_HERE)
    with context:
        # Not the command's own: a holdfast.toml that lies about is no business of a program.
        click.Command.parse_args(command, context, words)
    return dict(context.params)


def _plain(value: object) -> object:
    if isinstance(value, PathLike):
        return str(value)
    return list(value) if isinstance(value, tuple | set | frozenset) else value
