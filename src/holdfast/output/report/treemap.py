"""The section map: a rectangle for each part of the site, as large as it has pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.domain.words import plural, size
from holdfast.output.report.figures import Section
from holdfast.output.report.html import Html, tag
from holdfast.output.report.svg import drawing

SHADES: Final = 5
_CHAR_PX: Final = 7.3
_HEAD_PX: Final = 20.0
_SMALLEST_PX: Final = 3.0


@dataclass(frozen=True, slots=True)
class Box:
    """A place in the drawing."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Shades:
    """Five shades for how heavy a page is on average; each edge is where the next one begins."""

    edges: tuple[float, ...]

    @classmethod
    def of(cls, section: Section) -> "Shades":
        """So that the parts that are shown are spread over them."""
        weights = sorted(_weight(part) for part in section.children if part.pages)
        if len(set(weights)) < SHADES:
            return cls(tuple(sorted(set(weights)))[1:])
        return cls(tuple(weights[len(weights) * place // SHADES] for place in range(1, SHADES)))

    def shade(self, section: Section) -> int:
        """From 0 to 4."""
        return sum(_weight(section) >= edge for edge in self.edges)


def treemap(section: Section, box: Box, shades: Shades, *, class_: str, link: str = "") -> Html:
    """The parts of a section with their own parts in them. `link` is what their anchors begin with."""
    parts = [*section.children, *_here(section)]
    drawn = []
    boxes = squarified([part.pages for part in parts], box)
    for place, (part, at) in enumerate(zip(parts, boxes, strict=True)):
        cell = _cell(part, at, shades)
        inside = link and part.children
        drawn.append(tag("a", cell, href=f"#{link}{place}") if inside else tag("g", cell))
    said = f"Section map of {section.name or 'all hosts'}: {plural(section.pages, 'page')}"
    return drawing(box.width, box.height, *drawn, label=said, class_=f"map {class_}")


def _here(section: Section) -> list[Section]:
    """What lies in no part that is shown, as a part of its own."""
    pages = section.pages - sum(part.pages for part in section.children)
    size = section.bytes - sum(part.bytes for part in section.children)
    return [Section("(here)", section.path, pages, size)] if pages > 0 else []


def _cell(part: Section, box: Box, shades: Shades) -> list[Html]:
    shade = shades.shade(part)
    said = (
        f"{part.path}{'' if part.name == '(here)' else '/'}: {plural(part.pages, 'page')}, {size(part.bytes)}"
    )
    drawn = [
        tag(
            "rect", tag("title", said), x=box.x + 0.75, y=box.y + 0.75, width=max(0.5, box.width - 1.5),
            height=max(0.5, box.height - 1.5), class_=f"shade{shade}", rx=2,
        )
    ]  # fmt: skip
    room = int((box.width - 12) / _CHAR_PX)
    if room >= 3 and box.height > _HEAD_PX:  # noqa: PLR2004 - what shows more than a dot
        name = part.name if len(part.name) <= room else f"{part.name[: room - 1]}…"
        drawn.append(tag("text", name, x=box.x + 7, y=box.y + 16, class_=f"cell on{shade}"))
        if box.height > 2 * _HEAD_PX and not part.children:
            drawn.append(
                tag("text", f"{part.pages:,}", x=box.x + 7, y=box.y + 32, class_=f"cell count on{shade}")
            )
    if part.children and box.height > 2 * _HEAD_PX:
        inner = Box(box.x + 5, box.y + _HEAD_PX + 3, box.width - 10, box.height - _HEAD_PX - 8)
        below = [*part.children, *_here(part)]
        for one, place in zip(below, squarified([part.pages for part in below], inner), strict=True):
            if min(place.width, place.height) >= _SMALLEST_PX:
                drawn += _leaf(one, place, shade)
    return drawn


def _leaf(part: Section, box: Box, shade: int) -> list[Html]:
    said = (
        f"{part.path}{'' if part.name == '(here)' else '/'}: {plural(part.pages, 'page')}, {size(part.bytes)}"
    )
    drawn = [
        tag(
            "rect", tag("title", said), x=box.x + 0.5, y=box.y + 0.5, width=max(0.5, box.width - 1),
            height=max(0.5, box.height - 1), class_=f"leaf on{shade}", rx=1,
        )
    ]  # fmt: skip
    room = int((box.width - 8) / _CHAR_PX)
    if room >= 4 and box.height > 16:  # noqa: PLR2004 - as above
        name = part.name if len(part.name) <= room else f"{part.name[: room - 1]}…"
        drawn.append(tag("text", name, x=box.x + 5, y=box.y + 14, class_=f"cell small on{shade}"))
    return drawn


def squarified(values: Sequence[int], box: Box) -> list[Box]:
    """A box for each value, in their order, together as large as `box`, and none of them needlessly thin.

    After Bruls, Huizing and van Wijk: a row takes one more value as long as that makes its worst box no thinner.
    The values have to be ordered, the largest first, but for the last.
    """
    total = sum(values)
    if not values or total <= 0 or box.width <= 0 or box.height <= 0:
        return [Box(box.x, box.y, 0, 0) for _ in values]
    scale = box.width * box.height / total
    areas = [max(value * scale, 1e-9) for value in values]
    placed: list[Box] = []
    left = box
    start = 0
    while start < len(areas):
        side = min(left.width, left.height)
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(areas[start:end], side):
            end += 1
        row, left = _row(areas[start:end], left)
        placed += row
        start = end
    return placed


def _worst(areas: Sequence[float], side: float) -> float:
    total = sum(areas)
    if not side:
        return float("inf")
    return max(side * side * max(areas) / (total * total), total * total / (side * side * min(areas)))


def _row(areas: Sequence[float], box: Box) -> tuple[list[Box], Box]:
    """A row along the shorter side, and what is left of the box."""
    total = sum(areas)
    boxes = []
    if box.width >= box.height:
        thick = min(box.width, total / box.height) if box.height else 0.0
        y = box.y
        for area in areas:
            tall = box.height * area / total
            boxes.append(Box(box.x, y, thick, tall))
            y += tall
        return boxes, Box(box.x + thick, box.y, max(0.0, box.width - thick), box.height)
    thick = min(box.height, total / box.width) if box.width else 0.0
    x = box.x
    for area in areas:
        wide = box.width * area / total
        boxes.append(Box(x, box.y, wide, thick))
        x += wide
    return boxes, Box(box.x, box.y + thick, box.width, max(0.0, box.height - thick))


def _weight(section: Section) -> float:
    return section.bytes / section.pages if section.pages else 0.0
