"""The options of `crawl`, under the headings of its help. `cli.asking` makes a job of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from holdfast.cli.params import AT_ONCE, COUNT, DURATION, FILE, RATE, SECONDS, SIZE, TARGET
from holdfast.cli.wanted import FORMAT, OUTPUT
from holdfast.domain.job import Durability, Pace

if TYPE_CHECKING:
    from click.decorators import FC
else:
    FC = TypeVar("FC")

POLITE = Pace(concurrency=16, per_host=2, delay_s=1.0, target=1.0)
"""For strangers' sites."""
FAST = Pace(concurrency=16, per_host=16, delay_s=0.0)
"""For sites on this very machine."""

SOURCES: tuple[str, ...] = ("input",)
"""The options, by click's names, that say where a crawl begins, beside its URLs: with one of them no URL is needed."""

_PATTERN_HELP = "a regular expression, searched for in the whole URL; may be given again."


class Option(click.Option):
    """An option that stands under a heading of the help."""

    def __init__(self, *args: Any, heading: str = "Options", **kwargs: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **kwargs)
        self.heading = heading

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Without the range: bounds so wide only guard us, and a complaint names them."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class Headed(click.Command):
    """A command whose help lists its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """In the order in which the headings first appear; what every command has comes last."""
        headings: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(self.get_params(ctx), key=lambda each: not isinstance(each, Option)):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                headings.setdefault(getattr(parameter, "heading", "Options"), []).append(record)
        for heading, records in headings.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def option(*names: str, **how: Any) -> Callable[[str], Callable[[FC], FC]]:  # noqa: ANN401 - click's own
    """One option, still without its heading."""
    return lambda heading: click.option(*names, cls=Option, heading=heading, **how)


def crawl_options(command: FC) -> FC:
    """All options of a crawl."""
    return _with(command, _HEADINGS)


def run_options(command: FC) -> FC:
    """Those of them that have nothing to do with what a crawl follows and what its rows are."""
    headings = {
        heading: tuple(add for add in options if add not in _FOR_SITES)
        for heading, options in _HEADINGS.items()
        if heading not in _ABOUT_SITES
    }
    return _with(command, headings)


def _with(command: FC, headings: "dict[str, tuple[Add, ...]]") -> FC:
    for heading, options in reversed(headings.items()):
        for add in reversed(options):
            command = add(heading)(command)
    return command


FIELD: Final = ("--field", "fields")
"""The option by which crawl and export are asked for columns of one's own; FIELD_HOW is what click is told of it."""
FIELD_HOW: Final[dict[str, Any]] = {
    "multiple": True,
    "metavar": "NAME=HOW",
    "help": "A column of one's own, such as price='number css:.price'; also xpath: and regex:. May be given again.",
}

Add = Callable[[str], Callable[[Any], Any]]
"""Adds an option under a heading."""

_CONFIG = option(
    "--config",
    type=FILE,
    expose_value=False,
    metavar="FILE",
    help="Options and named crawls [default: holdfast.toml, here or in a directory above].",
)
_FIELD = option(*FIELD, **FIELD_HOW)
_FORMAT = option("--format", **FORMAT)
_ABOUT_SITES: Final = {"Where it begins", "What belongs to it", "Discovery"}
_FOR_SITES: Final = {_CONFIG, _FIELD, _FORMAT}

_HEADINGS: dict[str, tuple[Add, ...]] = {
    "Where it begins": (
        option(
            "-i",
            "--input",
            type=FILE,
            metavar="FILE",
            help="Begin also at the URLs in FILE, one per line; - reads standard input.",
        ),
    ),
    "The job": (
        option("--name", metavar="N", help="Call the job N; the same name is the same job."),
        _CONFIG,
        option("--fresh", is_flag=True, help="Start a new job, whatever is there."),
        option("--wait", is_flag=True, help="If another process works on the job, wait for it."),
        option("--dry-run", is_flag=True, help="Only show what would be crawled; nothing is written."),
        option("--yes", is_flag=True, help="Apply other rules to a job that is there without asking."),
    ),
    "Limits": (
        option("-n", "--max-pages", type=COUNT, metavar="N", help="Stop after exactly N pages."),
        option(
            "-d",
            "--max-depth",
            type=click.IntRange(0, 10**9),
            metavar="N",
            help="Follow N links deep at most.",
        ),
        option(
            "--max-bytes",
            type=SIZE,
            metavar="B",
            help="Stop before the bodies fetched take more than B, such as 500MB.",
        ),
        option("--host-pages", type=COUNT, metavar="N", help="Exactly N pages of each host at most."),
        option(
            "--host-bytes",
            type=SIZE,
            metavar="B",
            help="Ask a host for no more once the bodies of its pages have come to B.",
        ),
        option(
            "--time-limit", type=DURATION, metavar="T", help="Stop after so much active time, such as 30m."
        ),
    ),
    "What belongs to it": (
        option(
            "--scope",
            type=click.Choice(["host", "domain", "prefix", "any"]),
            default="host",
            show_default=True,
            help="Which URLs belong to it.",
        ),
        option("--include", multiple=True, metavar="RE", help=f"Follow only URLs that fit: {_PATTERN_HELP}"),
        option("--exclude", multiple=True, metavar="RE", help=f"Don't follow URLs that fit: {_PATTERN_HELP}"),
        option(
            "--strip-param",
            multiple=True,
            metavar="NAME",
            help="Read links without this parameter, such as 'utm_*'; may be given again.",
        ),
        option("--no-traps", is_flag=True, help="Follow also what looks like a trap for crawlers."),
    ),
    "Discovery": (
        option(
            "--sitemaps/--no-sitemaps",
            default=True,
            help="Look for sitemaps, in robots.txt and at /sitemap.xml of the start hosts [default: yes].",
        ),
        option(
            "--feeds/--no-feeds",
            default=False,
            help="Read the feeds that pages name in their heads [default: no].",
        ),
        option(
            "--llms/--no-llms",
            default=False,
            help="Look for llms.txt and llms-full.txt of the start hosts [default: no].",
        ),
        option(
            "--mime",
            multiple=True,
            metavar="TYPE",
            help="Keep only such documents: application/pdf, image/*; may be given again.",
        ),
        option(
            "--no-mime", multiple=True, metavar="TYPE", help="Don't keep such documents; may be given again."
        ),
        option("--follow-nofollow", is_flag=True, help="Follow links that a page asks not to follow."),
    ),
    "JavaScript": (
        option(
            "--render",
            type=click.Choice(["never", "auto", "always"]),
            default="never",
            show_default=True,
            help="Show pages by a Chromium before they are read: those that show nothing without scripts, or all.",
        ),
        option(
            "--render-at-once",
            type=click.IntRange(1, 64),
            default=2,
            show_default=True,
            metavar="N",
            help="So many pages at a time.",
        ),
    ),
    "Pace": (
        option(
            "-c",
            "--concurrency",
            type=AT_ONCE,
            metavar="N",
            help=f"Requests at a time in all [default: {POLITE.concurrency}].",
        ),
        option(
            "--per-host",
            type=AT_ONCE,
            metavar="N",
            help=f"Requests at a time to one host [default: {POLITE.per_host}; on loopback {FAST.per_host}].",
        ),
        option(
            "--delay",
            type=SECONDS,
            metavar="S",
            help=f"Seconds between two requests to a host [default: {POLITE.delay_s:g}; on loopback 0].",
        ),
        option(
            "--autothrottle/--no-autothrottle",
            default=None,
            help="Ask hosts less often that answer slowly or refuse [default: yes; on loopback no].",
        ),
        option(
            "--target-concurrency",
            type=TARGET,
            metavar="N",
            help="With it, so many requests at a time to a host on average [default: half of --per-host].",
        ),
        option(
            "--max-delay",
            type=SECONDS,
            default=60.0,
            metavar="S",
            help="With it, no more than S seconds between two requests to a host [default: 60].",
        ),
        option("--max-rate", type=RATE, metavar="N", help="At most N requests a second in all."),
        option(
            "--bandwidth",
            type=SIZE,
            metavar="B",
            help="Take no more than B per second from all hosts together, such as 500KB.",
        ),
    ),
    "Manners": (
        option("--ignore-robots", is_flag=True, help="Don't ask for robots.txt."),
        option(
            "--contact",
            metavar="URL|MAIL",
            help="Whom a site's owner may ask; we call ourselves Holdfast/VERSION (+CONTACT).",
        ),
        option("--user-agent", metavar="UA", help="What to call ourselves instead; name a contact in it."),
    ),
    "Reach": (
        option(
            "--access",
            type=FILE,
            metavar="FILE",
            help="Passwords, tokens, headers and cookies for the hosts that FILE (TOML) names, and proxies"
            " [default: $HOLDFAST_ACCESS].",
        ),
        option(
            "--cookies",
            type=FILE,
            metavar="FILE",
            help="Cookies from FILE, as browsers and curl export them.",
        ),
        option("--keep-cookies", is_flag=True, help="Send back the cookies that responses set."),
        option(
            "--header",
            multiple=True,
            metavar="NAME: VALUE",
            help="A header for every request; not for secrets.",
        ),
        option(
            "--proxy",
            multiple=True,
            metavar="URL",
            help="Go by this proxy, http, https, socks5 or socks5h; several are taken in turn. env:NAME takes the URL"
            " from a variable.",
        ),
        option("--insecure", is_flag=True, help="Believe any certificate."),
        option(
            "--allow-private",
            is_flag=True,
            help="Let links, redirects and names lead to loopback, private and link-local addresses.",
        ),
    ),
    "Checkpoints": (
        option(
            "--checkpoint-items",
            type=COUNT,
            default=10,
            show_default=True,
            metavar="N",
            help="Commit after N pages,",
        ),
        option(
            "--checkpoint-seconds",
            type=DURATION,
            default=120.0,
            metavar="S",
            help="or after S seconds [default: 120].",
        ),
        option(
            "--durability",
            type=click.Choice([one.value for one in Durability]),
            default=Durability.PROCESS.value,
            show_default=True,
            help="What a committed page survives: any kill, or a power cut as well.",
        ),
    ),
    "Output": (
        _FIELD,
        option(
            "-o",
            "--output",
            help="Write the pages to FILE; .jsonl grows while the crawl runs, others are written at the end.",
            **OUTPUT,
        ),
        _FORMAT,
        option("--json", is_flag=True, help="Print one JSON object on stdout at the end."),
        option("--quiet", is_flag=True, help="Nothing on stderr but warnings and errors."),
    ),
}
