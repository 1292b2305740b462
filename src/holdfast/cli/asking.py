"""From the options of a crawl to the job that is asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.options import FAST, POLITE
from holdfast.domain.checkpoint import CheckpointPolicy
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Durability, Limits, NewJob, Pace

if TYPE_CHECKING:
    from holdfast.crawl.reach import Reach
    from holdfast.plugin import Pipeline

_FILES = ("access", "cookies")
FIXED = frozenset({"strip_params", "mime", "discovery.sitemaps", "discovery.feeds", "discovery.llms"})
"""What makes it another crawl, by its place in the spec: changing it takes --fresh."""
MAX_STARTS = 1_000
"""So many of the addresses with which a pipeline begins are noted in what was asked for; all of them become items."""


def asked_for(urls: tuple[str, ...], options: Mapping[str, Any]) -> NewJob:
    """The job that the options, by click's names for them, describe. UsageError says what is wrong with it."""
    from holdfast.pipelines.site.discovery import Discovery
    from holdfast.pipelines.site.mime import MimeRules
    from holdfast.pipelines.site.renderrules import Render, RenderRules
    from holdfast.pipelines.site.spec import KIND, SiteSpec, identity
    from holdfast.pipelines.site.traps import TrapRules

    name = options["name"]
    if name is not None:
        checked_name(name)
    spec = SiteSpec.asked(
        _start_urls(urls, options["input"]),
        options["scope"],
        include=options["include"],
        exclude=options["exclude"],
        ignore_robots=options["ignore_robots"],
        user_agent=_user_agent(options["user_agent"], options["contact"]),
        reach=_reach(options),
        traps=TrapRules(avoid=not options["no_traps"]),
        strip_params=options["strip_param"],
        fields=_fields(options["fields"]),
        mime=MimeRules(_lower(options["mime"]), _lower(options["no_mime"])),
        discovery=Discovery(
            sitemaps=options["sitemaps"],
            feeds=options["feeds"],
            llms=options["llms"],
            follow_nofollow=options["follow_nofollow"],
        ),
        render=RenderRules(Render(options["render"]), options["render_at_once"]),
    )
    return _new_job((KIND, identity(name, spec), FIXED), spec.to_json(), options)


def run_asked_for(pipeline: str, typed: Sequence[tuple[str, str]], options: Mapping[str, Any]) -> NewJob:
    """Likewise, of a pipeline that somebody else wrote, by its kind or place; `typed` are its own options."""
    from holdfast.pipelines.plugin.finding import made, named, options_of

    plugin, place = named(pipeline)
    return plugin_asked_for(made(plugin, options_of(plugin, typed)), place, options)


def plugin_asked_for(pipeline: "Pipeline", place: str | None, options: Mapping[str, Any]) -> NewJob:
    """Likewise, of a pipeline in hand."""
    from holdfast.pipelines.plugin.finding import TYPES, kept_options
    from holdfast.pipelines.plugin.spec import FIXED, PluginSpec, identity
    from holdfast.pipelines.plugin.visiting import VisitFailed, Visitor

    name = options["name"]
    if name is not None:
        checked_name(name)
    try:
        leads = Visitor(pipeline).first_leads()
    except VisitFailed as error:
        raise UsageError(f"the pipeline {pipeline.kind!r} can't begin: {error}") from error
    spec = PluginSpec(
        start_urls=tuple(dict.fromkeys(url for _, url in leads[:MAX_STARTS])),
        options=kept_options(pipeline),
        columns={column: TYPES[of_type] for column, of_type in pipeline.columns.items()},
        place=place,
        ignore_robots=options["ignore_robots"],
        user_agent=_user_agent(options["user_agent"], options["contact"]),
        reach=_reach(options),
    )
    known_by = (pipeline.kind, identity(name, pipeline.kind, spec.options), FIXED)
    return _new_job(known_by, spec.to_json(), options)


def _new_job(
    known_by: tuple[str, str, frozenset[str]], spec: Mapping[str, Any], options: Mapping[str, Any]
) -> NewJob:
    """With what is asked of every job: `known_by` are its kind, its identity, and what of its spec is fixed."""
    kind, identity, fixed = known_by
    return NewJob(
        kind=kind,
        identity=identity,
        spec=spec,
        name=options["name"],
        limits=Limits(
            max_pages=options["max_pages"],
            max_depth=options["max_depth"],
            max_bytes=options["max_bytes"],
            time_limit_s=options["time_limit"],
            host_pages=options["host_pages"],
            host_bytes=options["host_bytes"],
        ),
        pace=_pace(FAST if all(map(on_loopback, spec["start_urls"])) else POLITE, options),
        checkpoints=CheckpointPolicy(options["checkpoint_items"], options["checkpoint_seconds"]),
        durability=Durability(options["durability"]),
        fixed=fixed,
    )


def _fields(asked: tuple[str, ...]) -> tuple[str, ...]:
    """As they were written, once each of them is known to be one that can be found."""
    if asked:
        from holdfast.pipelines.site.rows import extractor

        extractor(asked)
    return asked


def checked_name(name: str) -> None:
    """UsageError for what can't be a job's name."""
    if not (name.strip() and name.isprintable()):
        raise UsageError("a name is some printable text, such as --name docs")


def _start_urls(urls: tuple[str, ...], listed_in: Path | None) -> tuple[str, ...]:
    if listed_in is None:
        return urls
    from holdfast.cli.urllist import listed

    return (*urls, *listed(listed_in))


def _lower(types: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one.strip().lower() for one in types)


def _pace(default: Pace, options: Mapping[str, Any]) -> Pace:
    delay = options["delay"]
    per_host = options["per_host"] or default.per_host
    return Pace(
        concurrency=options["concurrency"] or default.concurrency,
        per_host=per_host,
        delay_s=default.delay_s if delay is None else delay,
        max_rate=options["max_rate"],
        target=_target(default, per_host, options),
        max_delay_s=options["max_delay"],
    )


def _target(default: Pace, per_host: int, options: Mapping[str, Any]) -> float | None:
    """How many requests a slow host is to have under way on average; None: however slow it is, as many as may be."""
    asked: bool | None = options["autothrottle"]
    target: float | None = options["target_concurrency"]
    if asked is False and target is not None:
        raise UsageError("--target-concurrency says how --autothrottle works; leave out --no-autothrottle")
    if asked or target is not None or (asked is None and default.target is not None):
        return target or per_host / 2
    return None


def _reach(options: Mapping[str, Any]) -> "Reach":
    from holdfast.crawl.reach import Reach

    access, cookies = (None if path is None else str(path.absolute()) for path in map(options.get, _FILES))
    return Reach(
        access=access,
        cookies=cookies,
        keep_cookies=options["keep_cookies"],
        headers=options["header"],
        proxies=options["proxy"],
        insecure=options["insecure"],
        allow_private=options["allow_private"],
        bandwidth=options["bandwidth"],
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
    from holdfast.domain.address import Kind, kind_of_host
    from holdfast.domain.url import hostname

    return kind_of_host(hostname(url)) is Kind.LOOPBACK
