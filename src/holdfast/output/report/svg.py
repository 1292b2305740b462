"""What all drawings are made of, and the bars that stand within tables."""

from collections.abc import Sequence
from typing import Final

from holdfast.output.report.html import Html, tag

WIDE: Final = 1_072.0
NARROW: Final = 358.0
"""The two widths for which everything with words in it is drawn: text keeps its size on both."""


def drawing(width: float, height: float, *children: Html, label: str, class_: str = "") -> Html:
    """An SVG with a name, for those who see it and for those who hear it."""
    return tag(
        "svg",
        *children,
        class_=f"drawing {class_}".strip(),
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
    )


def bar(parts: Sequence[tuple[str, float, str]], whole: float) -> Html:
    """A bar of parts (class, amount, what it means), as long as they are of the whole."""
    drawn, at = [], 0.0
    for name, amount, meaning in parts:
        if amount <= 0 or whole <= 0:
            continue
        # What is there is seen, be it one in a million.
        width = max(0.8, 100 * amount / whole)
        drawn.append(tag("rect", tag("title", meaning), x=at, y=0, width=width, height=10, class_=name))
        at += width
    return tag(
        "svg", *drawn, class_="bar", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true"
    )
