"""The one table that changes a job's status. docs/ARCHITECTURE.md's diagram is drawn from it.

A missing entry is the error: `after` names the status it found and what would be allowed there.
"""

from enum import StrEnum

from holdfast.domain.errors import UsageError, WrongState


class Status(StrEnum):
    """Where a job (and each of its chunks) stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class Action(StrEnum):
    """What can happen to a job."""

    CLAIM = "claim"
    COMPLETE = "complete"
    FAIL = "fail"
    TIME_OUT = "time out"
    RECOVER = "recover"
    RELEASE = "release"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RESTART = "restart"
    RETRY = "retry"
    EXTEND = "extend"
    RESCAN = "rescan"
    ROLL_BACK = "roll back"


_S, _A = Status, Action

TRANSITIONS: dict[Status, dict[Action, Status]] = {
    _S.PENDING: {_A.CLAIM: _S.IN_PROGRESS, _A.CANCEL: _S.CANCELLED, _A.ROLL_BACK: _S.PAUSED},
    _S.IN_PROGRESS: {
        _A.COMPLETE: _S.COMPLETED,
        _A.FAIL: _S.FAILED,
        _A.TIME_OUT: _S.TIMEOUT,
        _A.RECOVER: _S.PENDING,
        _A.RELEASE: _S.PENDING,
        _A.PAUSE: _S.PAUSED,
        _A.CANCEL: _S.CANCELLED,
    },
    _S.PAUSED: {
        _A.RESUME: _S.PENDING,
        _A.RETRY: _S.PENDING,
        _A.CANCEL: _S.CANCELLED,
        _A.RESTART: _S.PENDING,
        _A.ROLL_BACK: _S.PAUSED,
    },
    _S.TIMEOUT: {
        _A.RESUME: _S.PENDING,
        _A.CANCEL: _S.CANCELLED,
        _A.RESTART: _S.PENDING,
        _A.ROLL_BACK: _S.PAUSED,
    },
    _S.FAILED: {
        _A.RETRY: _S.PENDING,
        _A.RESUME: _S.PENDING,
        _A.CANCEL: _S.CANCELLED,
        _A.RESTART: _S.PENDING,
        _A.ROLL_BACK: _S.PAUSED,
    },
    _S.COMPLETED: {
        _A.EXTEND: _S.PENDING,
        _A.RETRY: _S.PENDING,
        _A.RESCAN: _S.PENDING,
        _A.RESTART: _S.PENDING,
        _A.ROLL_BACK: _S.PAUSED,
    },
    _S.CANCELLED: {_A.RESTART: _S.PENDING, _A.ROLL_BACK: _S.PAUSED},
}

_ALIASES = {"running": Status.IN_PROGRESS, "processing": Status.IN_PROGRESS, "queued": Status.PENDING}

STOPPED = frozenset({Status.PAUSED, Status.COMPLETED, Status.FAILED, Status.TIMEOUT, Status.CANCELLED})


def after(status: Status, action: Action) -> Status:
    """The status that follows; WrongState where the table has no entry."""
    try:
        return TRANSITIONS[status][action]
    except KeyError:
        raise WrongState(status, action, tuple(TRANSITIONS[status])) from None


def parse_status(text: str) -> Status:
    """Read a status from outside, aliases included."""
    folded = text.strip().lower()
    if folded in _ALIASES:
        return _ALIASES[folded]
    try:
        return Status(folded)
    except ValueError:
        known = ", ".join([*Status, *_ALIASES])
        message = f"there is no status {text!r}; use one of: {known}"
        raise UsageError(message) from None


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> pending: submit", "    [*] --> paused: fork"]
    for status, actions in TRANSITIONS.items():
        by_target: dict[Status, list[str]] = {}
        for action, target in actions.items():
            by_target.setdefault(target, []).append(action)
        lines += [f"    {status} --> {target}: {' / '.join(names)}" for target, names in by_target.items()]
    return "\n".join(lines) + "\n"
