"""What went wrong, as one sentence on stderr and an exit code. Never a traceback."""

import errno
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from holdfast.cli.stderr import write_line
from holdfast.domain.errors import HoldfastError, WrongState
from holdfast.domain.states import Action

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_STOPPED = 3
EXIT_INTERRUPTED = 130
_EXIT_DEAF = 141
_BY_COMMAND = {
    Action.CLAIM: "`holdfast resume`",
    Action.RESUME: "`holdfast resume`",
    Action.PAUSE: "`holdfast pause`",
    Action.CANCEL: "`holdfast cancel`",
    Action.RESTART: "`holdfast restart`",
    Action.RETRY: "`holdfast retry`",
    Action.RESCAN: "`holdfast rescan`",
    Action.ROLL_BACK: "`holdfast rollback`",
    Action.EXTEND: "`holdfast crawl` with a higher limit",
}
"""What a person types for what the table of states allows; the others are the machine's."""


def say(sentence: str) -> None:
    """One line on stderr, marked as ours."""
    write_line(f"holdfast: {sentence}")


def usage(error: click.ClickException) -> int:
    """What click has to say about the command line, in our style."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        write_line(error.format_message())
        return EXIT_USAGE
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "holdfast"
    sentence = _sentence(error.format_message())
    say(f"{sentence} See `{path} --help`." if isinstance(error, click.UsageError) else sentence)
    return EXIT_USAGE


def refuse_garbled(arguments: Sequence[str]) -> None:
    """UsageError for bytes that are no text: they could be neither stored nor shown."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"{argument!r} is not UTF-8 text; write it in UTF-8") from None


def interrupted(context: Mapping[str, object]) -> int:
    """Ctrl-C where no run had to come to an end of its own: before it, after it, or where there was none."""
    if context.get("runs"):
        say("interrupted. What was committed is safe; run the same command again to go on.")
        return EXIT_STOPPED
    say("interrupted.")
    return EXIT_INTERRUPTED


def deaf() -> int:
    """Whoever read our output has gone. What Python would still flush into the pipe goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _EXIT_DEAF


def tell(error: Exception, context: Mapping[str, object]) -> int:
    """An error of ours says what to do itself; any other is a bug, and its traceback goes to a file."""
    if isinstance(error, WrongState):
        say(wrong_state(error))
        return error.exit_code
    if isinstance(error, HoldfastError):
        say(_sentence(str(error)))
        return error.exit_code
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        say(
            f"the disk is full ({error}). What was committed is safe. Free some space, then run the same command again."
        )
        return EXIT_STOPPED
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    place = _write_down(error, context)
    seen = "" if place is None else f" The traceback is in {place}; please report it with that."
    say(f"that should not have happened ({what}). What was committed is safe.{seen}")
    return EXIT_FAILED


def wrong_state(error: WrongState) -> str:
    """The status that was found, and the commands that it allows."""
    commands = dict.fromkeys(
        _BY_COMMAND[action] for action in map(Action, error.allowed) if action in _BY_COMMAND
    )
    return f"can't {error.action} a job that is {error.status}; from there you can: {', '.join(commands)}."


def _sentence(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if one_line.endswith((".", "!", "?", "`")) else f"{one_line}."


def _write_down(error: Exception, context: Mapping[str, object]) -> Path | None:
    home = context.get("home_path")
    folders = [home] if isinstance(home, Path) and home.is_dir() else []
    for folder in [*folders, Path(tempfile.gettempdir())]:
        path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        try:
            path.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="replace")
        except OSError:
            continue
        return path
    return None
