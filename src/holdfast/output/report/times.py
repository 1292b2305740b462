"""Moments as a report says them: in UTC, because nobody knows where it is read."""

from datetime import UTC, datetime


def stamp(at: float | None) -> str:
    """`2026-01-02 03:04:05 UTC`."""
    if at is None:
        return "not yet"
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
