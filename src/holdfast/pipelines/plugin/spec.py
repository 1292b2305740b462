"""What a job of such a kind was asked for. All that reading its results takes stands in here, without the plugin."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from holdfast.crawl import stored
from holdfast.crawl.reach import Reach, check_user_agent

FIXED = frozenset({"options"})
"""What makes it another job: changing it takes --fresh."""


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """A job, checked; its kind stands with the job."""

    start_urls: tuple[str, ...]
    """Canonical."""
    options: dict[str, Any] = field(default_factory=dict)
    """The fields of its pipeline."""
    columns: dict[str, str] = field(default_factory=dict)
    """What its records hold, each with the name of its type."""
    place: str | None = None
    """`module:Class` where the pipeline was named so, and not by its kind."""
    ignore_robots: bool = False
    user_agent: str | None = None
    """None means Holdfast's own, whatever its version."""
    reach: Reach = field(default_factory=Reach)

    def __post_init__(self) -> None:
        check_user_agent(self.user_agent)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, for the ledger."""
        return stored.to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The spec that `to_json` gave. UsageError for anything unknown, missing or of the wrong type."""
        return stored.from_json(cls, data)


def identity(name: str | None, kind: str, options: Mapping[str, Any]) -> str:
    """What makes two commands the same job: the name, else the kind and the options."""
    if name is not None:
        return f"name:{name}"
    asked = repr(sorted(options.items())).encode()
    return f"{kind}:{hashlib.blake2b(asked, digest_size=16).hexdigest()}"
