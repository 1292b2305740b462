"""Numbers and strangers' texts as people read them: one notation for the display, the tables and the report."""

from typing import Final

_THOUSAND: Final = 1000
_FEW: Final = 10.0


def duration(seconds: float) -> str:
    """Two units at most: `0.4 s`, `12 s`, `3 min 20 s`, `5 h 2 min`, `3 d 4 h`."""
    if seconds < _FEW:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    days, hours_left = divmod(hours, 24)
    if not days:
        return f"{hours} h {minutes_left} min" if minutes_left else f"{hours} h"
    return f"{days} d {hours_left} h" if hours_left else f"{days} d"


def rough(seconds: float) -> str:
    """One unit: what an estimate is worth."""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * unit:
            return f"{round(seconds / unit)} {name}"
    return f"{max(1, round(seconds))} s"


def size(count: float) -> str:
    """`812 B`, `1.4 MB`: powers of 1000."""
    if count < _THOUSAND:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= _THOUSAND
        if count < 999.95:  # noqa: PLR2004 - what would be shown as 1000.0
            return f"{count:.1f} {unit}"
    return f"{count / _THOUSAND:.1f} PB"


def number(count: int) -> str:
    """With a comma at each thousand."""
    return f"{count:,}"


def rate(per_s: float) -> str:
    """So many per second; fractions where they matter."""
    return f"{per_s:,.0f}" if per_s >= _FEW else f"{per_s:.1f}"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """`1 page`, `2 pages`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def clean(text: str, limit: int = 200) -> str:
    """What came from elsewhere, safe for a terminal: no control characters, not endless."""
    shown = "".join(char if char.isprintable() else "�" for char in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
