"""Where progress goes: a live display on a terminal, plain lines elsewhere, nowhere when quiet."""

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from holdfast.cli.logs import HANDLER
from holdfast.cli.stderr import STDERR, console, write_line
from holdfast.cli.view import View
from holdfast.cli.words import number, plural, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

_PLAIN_EVERY_S: Final = 5.0
_SHOW_CURSOR: Final = b"\x1b[?25h"


class Screen(Protocol):
    """One command's progress on stderr."""

    def say(self, sentence: str) -> None:
        """A line that stays."""

    def show(self, view: View) -> None:
        """The job as it is now."""

    def close(self) -> None:
        """Nothing more will change; the terminal is as it was."""

    def abandon(self) -> None:
        """The process ends this very moment: only what the terminal needs."""


def screen(*, quiet: bool) -> Screen:
    """The screen for this command."""
    if quiet:
        return Silence()
    if STDERR.isatty():
        terminal = console()
        if not terminal.is_dumb_terminal:
            return LiveScreen(terminal)
    return PlainScreen()


class Silence:
    """Says nothing; warnings and errors come through the log and as the command's last sentence."""

    def say(self, sentence: str) -> None:
        """Nothing."""

    def show(self, view: View) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def abandon(self) -> None:
        """Nothing."""


class PlainScreen:
    """Lines without control characters: one of progress every few seconds, and only if there was any."""

    def __init__(self) -> None:
        self._shown_at = time.monotonic()
        self._shown = (0, 0)

    def say(self, sentence: str) -> None:
        """Write the line."""
        write_line(f"holdfast: {sentence}")

    def show(self, view: View) -> None:
        """Write a line if one is due."""
        now = time.monotonic()
        news = (view.job.id, view.job.commit_no)
        if now - self._shown_at < _PLAIN_EVERY_S or news == self._shown:
            return
        self._shown_at, self._shown = now, news
        self.say(progress_line(view))

    def close(self) -> None:
        """Nothing to take away."""

    def abandon(self) -> None:
        """Likewise."""


def progress_line(view: View) -> str:
    """`crawl: 120 done, 35 queued, 2 failed, 1.2 MB, 24.0 pages/s, 2 to 3 s left, checkpoint 12, 2 hosts at work`."""
    counters = view.job.counters
    parts = [
        f"{number(counters.done)} done",
        f"{number(counters.queued)} queued",
        f"{number(counters.failed)} failed",
        size(counters.bytes),
    ]
    if view.pages_per_s is not None:
        parts.append(f"{view.pages_per_s:.1f} pages/s")
    if view.left is not None:
        parts.append(str(view.left))
    parts.append(f"checkpoint {number(view.job.commit_no)}")
    if view.at_work:
        parts.append(plural(len(view.at_work), "host at work", "hosts at work"))
    return f"{view.state}: {', '.join(parts)}"


class LiveScreen:
    """A few lines at the end of the terminal that change in place, and vanish at the end."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._live: Live | None = None
        HANDLER.through = self._line

    def say(self, sentence: str) -> None:
        """Write the line above the display."""
        self._line(f"holdfast: {sentence}")

    def show(self, view: View) -> None:
        """Draw this look instead of the last."""
        from holdfast.cli.picture import picture

        if self._live is None:
            self._live = _live(self._console)
            self._live.start()
        self._live.update(picture(view), refresh=True)

    def close(self) -> None:
        """Take the display away."""
        HANDLER.through = None
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def abandon(self) -> None:
        """Give the cursor back without asking anybody for a lock."""
        if self._live is not None:
            with suppress(OSError):
                os.write(sys.stderr.fileno(), _SHOW_CURSOR + b"\r\n")

    def _line(self, line: str) -> None:
        if self._live is None:
            write_line(line)
        else:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _live(console: "Console") -> "Live":
    from rich.live import Live

    return Live(
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
