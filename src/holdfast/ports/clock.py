"""Time as an argument: wall-clock for what people read, monotonic for periods."""

from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def wall(self) -> float:
        """Seconds since 1970, as the machine believes; may jump either way."""

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean anything."""
