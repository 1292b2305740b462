"""Numbers as people write them (durations, sizes), and, from the domain, as they read them."""

import re
from typing import Final

from holdfast.domain.words import clean, duration, number, plural, rate, rough, size

__all__ = ["clean", "duration", "number", "plural", "rate", "read_duration", "read_size", "rough", "size"]

_UNITS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION: Final = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+(?:\.\d+)?)s)?")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_THOUSAND: Final = 1000


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
