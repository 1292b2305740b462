"""URLs from a file, or from what is piped in: one per line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from holdfast.cli.words import clean, number, plural
from holdfast.domain.errors import UsageError
from holdfast.domain.url import BadUrl, from_user

MAX_URLS: Final = 10_000
"""So many start URLs a job may have."""
STDIN: Final = Path("-")
_MAX_LINE_BYTES: Final = 16_384
_SHOWN: Final = 3


def listed(path: Path) -> tuple[str, ...]:
    """The canonical URLs of a list, in its order. Blank lines and those that begin with # are left out.

    UsageError names the lines that are none, by their numbers; nothing of such a list is crawled.
    """
    shown = "standard input" if path == STDIN else clean(str(path), 500)
    try:
        if path == STDIN:
            return _read(sys.stdin.buffer, shown)
        with path.open("rb") as file:
            return _read(file, shown)
    except OSError as error:
        raise UsageError(f"can't read {shown}: {error.strerror or error}") from None


def _read(file: BinaryIO, shown: str) -> tuple[str, ...]:
    urls: dict[str, None] = {}
    wrong: list[str] = []
    count = 0
    for line_no, text in _lines(file):
        count += 1
        try:
            urls[from_user(text)] = None
        except BadUrl as error:
            wrong.append(f"line {number(line_no)}: {error}")
            if len(wrong) > _SHOWN:
                break
        if len(urls) > MAX_URLS:
            raise UsageError(
                f"{shown} has more than {number(MAX_URLS)} URLs; split it, and crawl each part as a job of its own"
            )
    if wrong:
        more = "; and there are more" if len(wrong) > _SHOWN else ""
        raise UsageError(f"{shown}, {'; '.join(wrong[:_SHOWN])}{more}")
    if not urls:
        raise UsageError(f"{shown} has no URLs; write one per line ({plural(count, 'line')} read)")
    return tuple(urls)


def _lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers; of an endless one the beginning."""
    line_no = 0
    while raw := file.readline(_MAX_LINE_BYTES):
        line_no += 1
        while raw[-1:] != b"\n" and (rest := file.readline(_MAX_LINE_BYTES)):
            raw = raw[:_MAX_LINE_BYTES] + rest[-1:]
        text = raw.decode("utf-8-sig" if line_no == 1 else "utf-8", "replace").strip()
        if text and not text.startswith("#"):
            yield line_no, text
