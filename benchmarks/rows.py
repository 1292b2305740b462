"""What a crawler's output holds: rows, the pages they stand for, and what is wrong with them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.site import Site


@dataclass(frozen=True)
class Rows:
    """The output of a crawl, compared with the site."""

    rows: int
    pages: int
    missing: int
    duplicates: int
    torn: int

    @property
    def exact(self) -> bool:
        """Each page once, and nothing else."""
        return self.missing == self.duplicates == self.torn == 0 and self.rows == self.pages


def read_rows(file: Path, site: Site) -> Rows:
    """Compare a JSONL file of rows that have a `url` with the pages of the site."""
    seen: Counter[str] = Counter()
    torn = 0
    if file.exists():
        with file.open("rb") as lines:
            for line in lines:
                try:
                    seen[site.path_of(json.loads(line)["url"])] += 1
                except (ValueError, KeyError, TypeError):
                    torn += 1
    pages = seen.keys() & set(site.paths)
    return Rows(
        rows=seen.total(),
        pages=len(pages),
        missing=len(site.paths) - len(pages),
        duplicates=seen.total() - len(seen),
        torn=torn,
    )
