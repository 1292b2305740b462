"""How many requests may begin in all: a bucket of tokens, on whatever clock it is told the time of."""

BURST_S = 0.05
"""What was not used for so long may be used at once: timers are not exact, and a cap is also to be reached."""


class Rate:
    """So many a second, evenly."""

    def __init__(self, per_s: float) -> None:
        self._gap_s = 1.0 / per_s
        # A whole request, or what comes together in that time: never more than that beyond the rate.
        self._slack_s = max(0.0, BURST_S - self._gap_s)
        self._next = float("-inf")

    def free_at(self, now: float) -> float:
        """When the next one may begin; not after `now` if it may begin at once."""
        return max(self._next - self._slack_s, now)

    def spend(self, now: float) -> None:
        """One begins."""
        self._next = max(self._next, now) + self._gap_s

    def give_back(self) -> None:
        """One that was thought to begin did not."""
        self._next -= self._gap_s


def rate_of(per_s: float | None) -> Rate | None:
    """The cap that was asked for, if any."""
    return None if per_s is None else Rate(per_s)
