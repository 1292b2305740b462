"""What options take, and the options that every command has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from holdfast.cli.words import clean, read_duration, read_size

Command = TypeVar("Command", bound=Callable[..., Any])


_TOO_BIG = 2**62
_LONGEST_S = 100 * 365 * 86_400.0
_SLOWEST, _FASTEST = 1 / 86_400, 1e6


class Duration(click.ParamType[float]):
    """Seconds, minutes, hours, days; above zero."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As words.read_duration."""
        if isinstance(value, float):
            return value
        try:
            seconds = read_duration(str(value))
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= _LONGEST_S:
            self.fail(
                f"{clean(repr(value), 40)} is no duration; write 90 (seconds), 30m, 1h30m or 2d", param, ctx
            )
        return seconds


class Size(click.ParamType[int]):
    """Bytes; above zero."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """As words.read_size."""
        if isinstance(value, int):
            return value
        try:
            count = read_size(str(value))
        except ValueError:
            count = 0
        if not 0 < count < _TOO_BIG:
            self.fail(f"{clean(repr(value), 40)} is no size; write 500000, 10MB or 1.5GiB", param, ctx)
        return count


class Seconds(click.ParamType[float]):
    """Seconds from 0 on, fractions included."""

    name = "seconds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A number that a crawl may live to see the end of."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= _LONGEST_S:
            self.fail(f"{clean(repr(value), 40)} is no number of seconds; write 0, 0.5 or 2", param, ctx)
        return seconds


class Rate(click.ParamType[float]):
    """So many in a second, fractions included."""

    name = "rate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """One a day to more than any machine sends."""
        try:
            rate = float(str(value))
        except ValueError:
            rate = 0.0
        if not _SLOWEST <= rate <= _FASTEST:
            self.fail(
                f"{clean(repr(value), 40)} is no number of requests a second; write 50 or 0.5", param, ctx
            )
        return rate


COUNT = click.IntRange(min=1, max=10**15)
AT_ONCE = click.IntRange(min=1, max=1000)
TARGET = click.FloatRange(min=0.01, max=1000)
SECONDS = Seconds()
RATE = Rate()
FILE = click.Path(path_type=Path, readable=False)
"""Any path: whether it can be used is for us to say, in our words."""
DURATION = Duration()
SIZE = Size()


def common(command: Command) -> Command:
    """`--home` and `-v`, which may stand before the subcommand as well."""
    home = click.option(
        "--home",
        type=FILE,
        expose_value=False,
        callback=_keep("home"),
        metavar="DIR",
        help="Where jobs live [default: $HOLDFAST_HOME, else ./.holdfast].",
    )
    verbose = click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_keep("verbose"),
        help="Say more on stderr.",
    )
    return home(verbose(command))


def job_argument(command: Command) -> Command:
    """JOB: an id, the beginning or the end of one, or a name; nothing means the latest job."""
    return click.argument("job", required=False, metavar="[JOB]")(command)


def _keep(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def keep(ctx: click.Context, _param: click.Parameter, value: object) -> None:
        if value:
            ctx.ensure_object(dict)[name] = value

    return keep
