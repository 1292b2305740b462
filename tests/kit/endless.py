"""Sites without end: real pages, each with a way into something that answers whatever is asked for."""

from calendar import Calendar
from collections.abc import Callable
from typing import Any, Final

from tests.kit.server import Answer

REAL: Final = ["/", *(f"/page/{n}" for n in range(12))]


def page(title: str, *links: str) -> Answer:
    """A page that says its title and where it leads."""
    anchors = "".join(f"<li><a href='{link}'>{link}</a>" for link in links)
    return Answer(200, f"<!doctype html><title>{title}</title><p>{title}</p><ul>{anchors}</ul>".encode())


class Endless(dict[str, Answer]):
    """The real pages, each with a way into the trap; whatever else is asked for, the trap answers."""

    def __init__(self, trap: Callable[[str], Answer | None], *ways: str) -> None:
        super().__init__({path: page(path, *REAL, *ways) for path in REAL})
        self._trap = trap

    def get(self, path: str, default: Any = None) -> Any:
        """What the server asks."""
        return super().get(path) or self._trap(path) or default


CALENDAR: Final = "/calendar?month=11&year=2026"


def calendar(path: str) -> Answer | None:
    """A month with its days in weeks, and the ways to the next and the one before, without end."""
    if not path.startswith("/calendar?"):
        return None
    asked = dict(pair.split("=") for pair in path.partition("?")[2].split("&"))
    year, month = int(asked["year"]), int(asked["month"])
    weeks = Calendar().monthdayscalendar(year, month)
    days = "".join(f"<tr>{''.join(f'<td>{day or str()}' for day in week)}" for week in weeks)
    months = [(year * 12 + month - 1 + step) for step in (-1, 1)]
    ways = "".join(f"<a href='/calendar?month={n % 12 + 1}&year={n // 12}'>way</a>" for n in months)
    return Answer(200, f"<title>{month}/{year}</title><h1>{year}</h1><table>{days}</table>{ways}".encode())
