"""A wall clock that never goes back: due times are stored by it, and a machine's clock may be set."""

from holdfast.ports.clock import Clock


class SteadyTime:
    """The machine's wall clock, but never behind the last commit, nor behind the time that has passed since.

    A clock that is set back by an hour would otherwise make an item wait for that hour. One that is set forward is
    believed: what is due comes early.
    """

    def __init__(self, clock: Clock, not_before: float) -> None:
        self._clock = clock
        self._base = max(clock.wall(), not_before)
        self._since = clock.monotonic()

    def now(self) -> float:
        """Seconds since 1970."""
        return max(self._clock.wall(), self._base + self._clock.monotonic() - self._since)

    def from_wall(self, moment: float) -> float:
        """A moment that somebody gave by the machine's clock as it stands now."""
        return moment + self.now() - self._clock.wall()
