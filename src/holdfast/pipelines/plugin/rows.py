"""The rows of such a job: what its pipeline made of the pages, each with the address of its page."""

from collections.abc import Mapping
from typing import Any, Final

ROW: Final = "record"
"""The kind of such records in the ledger."""


def row_of(columns: tuple[str, ...], url: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a record; None where an earlier version of the pipeline knew no such column."""
    said: Mapping[str, Any] = data["row"]
    return {"url": url} | {column: said.get(column) for column in columns}
