"""How a text differs from another one, line by line, in bounded time."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff

MOST_LINES = 2_000
"""So many lines that differ on either side are compared; what is beyond takes minutes, and nobody reads it."""
CONTEXT = 3


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The lines of a unified diff, without its two headlines; and how many came and went."""

    lines: tuple[str, ...]
    added: int
    removed: int
    whole: bool = True
    """False: too much differs to be told line by line; the numbers are those of what lies between the common ends."""


def text_diff(old: str, new: str) -> TextDiff:
    """What leads from one text to the other."""
    before, now = old.splitlines(), new.splitlines()
    start = _common(before, now)
    end = _common(before[start:][::-1], now[start:][::-1])
    gone, come = len(before) - start - end, len(now) - start - end
    if max(gone, come) > MOST_LINES:
        return TextDiff((), come, gone, whole=False)
    # What both begin and end with is cut off but for the context, and the line numbers are put right again.
    lead = max(0, start - CONTEXT)
    tail = max(0, end - CONTEXT)
    lines = list(
        unified_diff(before[lead : len(before) - tail], now[lead : len(now) - tail], n=CONTEXT, lineterm="")
    )[2:]
    shown = tuple(_moved(line, lead) if line.startswith("@@") else line for line in lines)
    added = sum(line.startswith("+") for line in shown)
    return TextDiff(shown, added, sum(line.startswith("-") for line in shown))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _moved(head: str, lines: int) -> str:
    """A hunk's head, so many lines further down."""
    _, old, new, _ = head.split(" ", 3)
    return f"@@ {_from(old, lines)} {_from(new, lines)} @@"


def _from(span: str, lines: int) -> str:
    sign, (start, comma, length) = span[0], span[1:].partition(",")
    return f"{sign}{int(start) + lines}{comma}{length}"
