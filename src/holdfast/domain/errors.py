"""Errors, told apart by what to do next.

HoldfastError                 the sentence for the user is the message; `exit_code` is what a command ends with
├── UsageError                the request itself is wrong: change it                              (exit 2)
│   ├── WrongState            the job's status does not allow this; names what would be allowed
│   ├── UnknownJob            no job answers to that name
│   ├── AmbiguousJob          more than one does
│   ├── JobHeld               a living process works on it: wait, or stop that one
│   ├── HalfRestarted         a restart of it was interrupted: restart it again
│   ├── SpecChanged           the same job by other rules: nobody agreed to what they do, or start afresh
│   ├── UnknownKind           its pipeline isn't installed: install it
│   └── AccessRefused         secrets, cookies or proxies that can't be used as they are given
├── HomeError                 the home can't be used: unreadable, newer schema, not a directory    (exit 2)
├── DamagedJob                the ledger's row of that job can't be read, those of others can     (exit 1)
├── BrowserFailed             the browser that pages are to be shown by doesn't start: mend it        (exit 1)
├── LeaseLost                 somebody else owns the chunk now: drop everything and stop           (exit 1)
├── StorageFull               no room: pause, keep what is committed                               (exit 3)
└── StorageFailed             a write or an fsync failed: stop, the last commit stands             (exit 1)
"""


class HoldfastError(Exception):
    """Something went wrong, and the message says what to do about it."""

    exit_code = 1


class UsageError(HoldfastError):
    """The request can't be met as it was made."""

    exit_code = 2


class UnknownKind(UsageError):
    """Nobody here knows what to do with jobs of that kind. What they have can be read all the same."""


class WrongState(UsageError):
    """The job's status does not allow the action."""

    def __init__(self, status: str, action: str, allowed: tuple[str, ...]) -> None:
        self.status = status
        self.action = action
        self.allowed = allowed
        options = ", ".join(allowed) if allowed else "nothing"
        super().__init__(f"can't {action} a job that is {status}; from there you can: {options}")


class UnknownJob(UsageError):
    """No job has that id, prefix or name."""


class AmbiguousJob(UsageError):
    """The prefix fits more than one job."""


class JobHeld(UsageError):
    """A living process works on the job."""


class HalfRestarted(UsageError):
    """A restart of the job was begun and not finished: what it had is partly gone."""

    def __init__(self, short_id: str) -> None:
        super().__init__(
            f"a restart of job {short_id} was interrupted, or is under way; "
            f"carry it to its end with `holdfast restart {short_id}`"
        )


class SpecChanged(UsageError):
    """The same job was asked for by other rules: nobody agreed to what they do, or they make it another one."""


class AccessRefused(UsageError):
    """A file of secrets, a variable that it refers to, or a proxy can't be used. Never quotes a value."""


class HomeError(HoldfastError):
    """The home can't be used as it is."""

    exit_code = 2


class DamagedJob(HoldfastError):
    """What the ledger holds of a job is not what was written."""

    def __init__(self, public_id: str, column: str) -> None:
        super().__init__(
            f"job {public_id[-8:]} can't be read: its `{column}` in the ledger is damaged, or a newer Holdfast's. "
            "The other jobs are not concerned; crawl this one anew with --fresh, or restore a backup of the home"
        )


class BrowserFailed(HoldfastError):
    """The browser doesn't start, or not any more. No page's fault: the job goes on where it stands once one does."""

    def __init__(self, program: str, why: str) -> None:
        super().__init__(
            f"the browser {program} doesn't start ({why}): see `holdfast doctor`, or name another one with "
            "HOLDFAST_BROWSER; then run the same command again"
        )


class LeaseLost(HoldfastError):
    """The chunk belongs to another claim by now; nothing more may be written."""


class StorageFull(HoldfastError):
    """The disk, or what may be used of it, is full."""

    exit_code = 3


class StorageFailed(HoldfastError):
    """The disk or the database refused a write."""
