"""Which pages a person wants to be shown by a browser before they are read."""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.domain.errors import UsageError

MOST_AT_ONCE = 64


class Render(StrEnum):
    """Which pages are shown by a browser before they are read."""

    NEVER = "never"
    AUTO = "auto"
    """Those that show nothing without scripts."""
    ALWAYS = "always"
    """Every HTML page that has something to run; showing another one would change nothing about it."""


@dataclass(frozen=True, slots=True)
class RenderRules:
    """What was asked for: `never`, unless a person says otherwise.

    What a crawl gives must not depend on what happens to be installed beside it; a page that is shown costs some
    hundred times an ordinary one; and strangers' code is run for it.
    """

    mode: Render = Render.NEVER
    at_once: int = 2
    """So many pages are shown at a time."""

    def __post_init__(self) -> None:
        if not 1 <= self.at_once <= MOST_AT_ONCE:
            raise UsageError(f"a browser shows 1 to {MOST_AT_ONCE} pages at a time, not {self.at_once}")
