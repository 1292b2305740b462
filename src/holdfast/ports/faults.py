"""Named points at which the fault tests kill, stop or break a real process.

Nothing in the product arms them: `reached` costs one look at a global and does nothing.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any


class FaultPoint(StrEnum):
    """The steps of the commit, and of what surrounds it, where a crash must cost nothing that was promised."""

    BEFORE_SEGMENT = "before the segment write"
    MID_RECORD = "mid-record"
    AFTER_SEGMENT = "between segment and transaction"
    IN_TRANSACTION = "inside the transaction"
    AFTER_COMMIT = "after COMMIT"
    AFTER_CLAIM = "after the claim"
    MID_REPAIR = "mid-repair"
    MID_CHANGE = "between two slices"
    MID_EXPORT = "before the export's rename"
    MID_ROWS = "mid-row"
    AFTER_ROWS = "between rows and their note"
    HANDLING = "while an item is handled"
    RENDERING = "while a page is shown"


Hook = Callable[[FaultPoint, Any], None]
_hook: Hook | None = None


def arm(hook: Hook | None) -> None:
    """For tests: call the hook at each point that is reached, with what is at hand there."""
    global _hook  # noqa: PLW0603 - one switch for the process is the point
    _hook = hook


def reached(point: FaultPoint, context: object = None) -> None:
    """The code has come to this point."""
    if _hook is not None:
        _hook(point, context)
