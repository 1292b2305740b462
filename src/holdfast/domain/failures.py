"""Which failed items are meant: the conditions that a person writes, as values that can be stored and asked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from holdfast.domain.errors import UsageError
from holdfast.domain.url import authority, hostname, origin

_CONDITION = re.compile(r"\s*(\w+)\s*(~?=)\s*(.*?)\s*", re.DOTALL)
_KNOWN = "reason=WORD, status=NUMBER, host=NAME or url~=RE"


@dataclass(frozen=True, slots=True)
class Which:
    """Failed items for which all of the conditions hold; without any, all failed items."""

    conditions: tuple[str, ...] = ()
    """As they were written: `reason=timeout`, `status=503`, `host=example.org`, `url~=/old/`."""

    @classmethod
    def asked(cls, conditions: Iterable[str]) -> Self:
        """The conditions, looked at: UsageError for one that can't be understood."""
        which = cls(tuple(conditions))
        for condition in which.conditions:
            _read(condition)
        return which

    def fits(self, url: str, reason: str) -> bool:
        """Whether an item is meant that failed for that reason."""
        return all(_holds(*_read(condition), url, reason) for condition in self.conditions)

    def __str__(self) -> str:
        return " and ".join(self.conditions)


def _read(condition: str) -> tuple[str, str]:
    """What is asked about, and the value; a pattern has been compiled once."""
    match = _CONDITION.fullmatch(condition)
    if match is None or not match[3]:
        raise UsageError(f"{condition!r} is no condition; write {_KNOWN}")
    name, sign, value = match.groups()
    if (name, sign) not in {("reason", "="), ("status", "="), ("host", "="), ("url", "~=")}:
        raise UsageError(f"{condition!r} is no condition on failed pages; write {_KNOWN}")
    if name == "status" and not re.fullmatch(r"[1-9]\d\d", value):
        raise UsageError(f"{value!r} is no HTTP status; write a number such as status=503")
    if name == "url":
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(f"{value!r} is not a regular expression: {error}") from None
    return name, value


def _holds(name: str, value: str, url: str, reason: str) -> bool:
    match name:
        case "reason":
            return reason == value
        case "status":
            return reason == f"http_{value}"
        case "host":
            return value.lower() in {hostname(url), authority(url), origin(url)}
        case _:
            return re.search(value, url) is not None
