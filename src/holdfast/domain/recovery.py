"""What becomes of a chunk whose worker died: retried, retried with caution, or given up."""

from dataclasses import dataclass

DEADLY = 2
"""So many crashes in a row while it is handled, and an item is poison."""
DEADLY_SILENT = 6
"""So many kills without a trace do the same: the kernel's, for want of memory, are among them."""

EXCEEDED = "crashed and exceeded max retries"
STALE = "stale: no progress for too long"


@dataclass(frozen=True, slots=True)
class Recovery:
    """How often a chunk is taken back without progress in between."""

    max_retries: int = 3
    max_stalls: int = 2


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What the ledger knows of the claim that ended."""

    claims_since_progress: int
    """The one that ended included."""
    stalls_since_progress: int
    marked: bool
    """It had named an item itself: what an earlier claim died on is no longer in hand."""
    marked_deaths: int
    """Earlier crashes while the item was named that was named last."""
    marked_silent: int
    """Earlier ends without a trace while it was."""
    silent: bool
    """This one left no trace either: killed from outside, as far as anybody can tell."""
    cautious_left: int
    batch: int
    """How many items may have been in the worker's hands."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to write back."""

    failed: str | None
    claims_since_progress: int
    stalls_since_progress: int
    cautious_left: int
    marked_deaths: int
    marked_silent: int


def judge_recovery(suspicion: Suspicion, rules: Recovery | None, *, stalled: bool) -> Verdict:
    """Exactly `max_retries` recoveries without progress, then failed. No rules: a person asked, the count starts anew.

    A claim that ended without any progress makes the next one careful: one item at a time, each named first, for as
    many items as may have been in hand.
    """
    stalls = suspicion.stalls_since_progress + int(stalled)
    failed = None
    if rules is not None:
        if stalled and stalls >= rules.max_stalls:
            failed = STALE
        elif suspicion.claims_since_progress > rules.max_retries:
            failed = EXCEEDED
    without_progress = suspicion.claims_since_progress > 0
    return Verdict(
        failed=failed,
        claims_since_progress=0 if rules is None else suspicion.claims_since_progress,
        stalls_since_progress=0 if rules is None else stalls,
        cautious_left=suspicion.batch if without_progress else suspicion.cautious_left,
        marked_deaths=suspicion.marked_deaths + int(suspicion.marked and not suspicion.silent),
        marked_silent=suspicion.marked_silent + int(suspicion.marked and suspicion.silent),
    )
