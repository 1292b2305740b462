"""Numbers as people read and write them: durations, sizes, counts."""

import re
from typing import Final

_UNITS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION: Final = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+(?:\.\d+)?)s)?")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_THOUSAND: Final = 1000
_SOON: Final = 10.0


def read_duration(text: str) -> float:
    """Seconds in `90`, `1.5`, `30m`, `1h30m`, `2d`. ValueError for anything else, and for nothing."""
    folded = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", folded):
        return float(folded)
    match = _DURATION.fullmatch(folded)
    if not folded or match is None:
        raise ValueError(text)
    return sum(
        float(part) * unit
        for part, unit in zip(match.groups(), _UNITS.values(), strict=True)
        if part is not None
    )


def read_size(text: str) -> int:
    """Bytes in `1000`, `10MB` (millions), `10MiB` (of 1024 x 1024), `1.5g`. ValueError for anything else."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    number, unit, binary = match.groups()
    if binary and not unit:
        raise ValueError(text)
    try:
        return int(float(number) * (1024 if binary else _THOUSAND) ** _POWERS[unit.lower()])
    except OverflowError:
        raise ValueError(text) from None


def duration(seconds: float) -> str:
    """Two units at most: `0.4 s`, `12 s`, `3 min 20 s`, `5 h 2 min`, `3 d 4 h`."""
    if seconds < _SOON:
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


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """`1 page`, `2 pages`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def clean(text: str, limit: int = 200) -> str:
    """What came from elsewhere, safe for a terminal: no control characters, not endless."""
    shown = "".join(char if char.isprintable() else "�" for char in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
