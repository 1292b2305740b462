"""Log records on stderr, in the style of everything else that we say there."""

import logging
from typing import TYPE_CHECKING, Final

from holdfast.cli.stderr import write_line
from holdfast.cli.words import clean

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT: Final = ("job_id", "checkpoint_id", "checkpoint_type", "error_type", "retry_count", "fallback_used")
"""What a record may carry in `extra`; shown after its message."""
_LINE_CHARS: Final = 2_000


class Lines(logging.Formatter):
    """`holdfast: warning: message [job_id=... error_type=...]`; an exception's name, or all of it."""

    def __init__(self, *, tracebacks: bool = False) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """One line, without control characters; only a traceback takes more."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        context = [f"{name}={record.__dict__[name]}" for name in CONTEXT if name in record.__dict__]
        text = f"holdfast: {level}{clean(record.getMessage(), _LINE_CHARS)}"
        if context:
            text += clean(f" [{' '.join(context)}]", _LINE_CHARS)
        if record.exc_info and record.exc_info[0] is not None:
            text += f" ({record.exc_info[0].__name__}: {clean(str(record.exc_info[1]))})"
            if self._tracebacks:
                text += f"\n{self.formatException(record.exc_info)}"
        return text


class ToStderr(logging.Handler):
    """Writes to stderr as it is at that moment, or through a display that holds the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.through: Callable[[str], None] | None = None
        self.context: dict[str, object] = {}
        """What every record is about that doesn't say otherwise."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record's line."""
        for name, value in self.context.items():
            record.__dict__.setdefault(name, value)
        try:
            line = self.format(record)
            if self.through is not None:
                self.through(line)
            else:
                write_line(line)
        except Exception:  # noqa: BLE001 - logging must never end a crawl
            self.handleError(record)


HANDLER: Final = ToStderr()


def set_up(*, verbose: bool) -> None:
    """Warnings and worse; with `verbose` what our own modules tell beside."""
    HANDLER.setFormatter(Lines(tracebacks=verbose))
    root = logging.getLogger()
    if HANDLER not in root.handlers:
        root.addHandler(HANDLER)
    root.setLevel(logging.WARNING)
    logging.getLogger("holdfast").setLevel(logging.INFO if verbose else logging.WARNING)
    logging.raiseExceptions = False
