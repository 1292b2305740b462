"""The seam to which workers live: judged by a lock that dies with its process, never by a pid."""

from typing import Protocol


class Presence(Protocol):
    """One worker's sign of life."""

    @property
    def worker_id(self) -> str:
        """The id under which it claims."""

    def leave(self, words: str | None = None) -> None:
        """Take the sign away. With `words` that is a crash, and they are what it could say."""


class Workers(Protocol):
    """The workers of a home."""

    def enter(self, worker_id: str) -> Presence:
        """Set up a sign that only this process's end, or `leave`, takes away."""

    def lives(self, worker_id: str) -> bool | None:
        """Whether that worker's process lives; None where this can't be told, as of one on another machine."""

    def crash(self, worker_id: str) -> str | None:
        """Of a dead worker: what it could say as it crashed; None if it was ended without a trace (kill -9).

        Neither raises: who asks has a lease to keep.
        """
