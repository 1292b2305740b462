"""The way to stderr. Whoever reads there may be gone (a closed window, a dead pipe): a crawl goes on without."""

import io
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.console import Console


class _Stderr(io.TextIOBase):
    """stderr as it is at each moment; what can't be written goes nowhere."""

    def write(self, text: str) -> int:
        """All of it, or nothing that anybody could see."""
        with suppress(OSError, ValueError):
            if sys.stderr is not None:
                sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Likewise."""
        with suppress(OSError, ValueError):
            if sys.stderr is not None:
                sys.stderr.flush()

    def isatty(self) -> bool:
        """Whether a person may be looking."""
        return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed has a plain attribute
        """What characters it takes."""
        return getattr(sys.stderr, "encoding", None) or "utf-8"


STDERR = _Stderr()


def write_line(line: str) -> None:
    """One line."""
    STDERR.write(f"{line}\n")
    STDERR.flush()


def console() -> "Console":
    """For displays."""
    from rich.console import Console

    return Console(file=cast("IO[str]", STDERR), highlight=False)
