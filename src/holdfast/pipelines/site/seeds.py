"""Start URLs, what they redirect to, and what else a site crawl notes down with its commits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from holdfast.pipelines.site.judge import Judge
from holdfast.pipelines.site.spec import SiteSpec


@dataclass(frozen=True, slots=True)
class Notes:
    """The cursor of a site crawl."""

    seeds: tuple[str, ...] = ()
    """What the start URLs redirect to (example.com -> www.example.com): the scope holds their sites too."""
    barren: tuple[str, ...] = ()
    """Families of addresses that are closed; see `families`."""

    @classmethod
    def read(cls, cursor: Mapping[str, Any]) -> Self:
        """From what `to_json` gave; an empty cursor is that of a new job."""
        return cls(tuple(cursor.get("seeds", ())), tuple(cursor.get("barren", ())))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, for the ledger."""
        return {"seeds": list(self.seeds)} | ({"barren": list(self.barren)} if self.barren else {})


def judge_for(spec: SiteSpec, max_depth: int | None, notes: Notes) -> Judge:
    """The judge with the seeds that are known by now."""
    return Judge(spec, max_depth, (*spec.start_urls, *notes.seeds))
