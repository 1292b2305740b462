"""How it went, drawn: pages in all, pages per second, checkpoints and claims, on one axis of working time."""

from dataclasses import dataclass, replace
from typing import Final

from holdfast.domain.words import duration, number, plural
from holdfast.output.report.figures import Stop, Timeline
from holdfast.output.report.html import Html, joined, tag
from holdfast.output.report.scales import ticks, time_ticks
from holdfast.output.report.svg import drawing

_TICK_PX: Final = 78
_LABEL_PX: Final = 6.4
"""About the width of a character."""
_ROWS: Final = 3
_EXACT_S: Final = 10.0
_ROW_PX: Final = 16.0
_MOST_MARKS: Final = 200


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where things stand in a drawing of that width."""

    width: float
    length_s: float
    left: float = 46.0
    right: float = 14.0
    marks: float = 20.0
    """The height of what is written above."""
    total: float = 150.0
    gap: float = 30.0
    rate: float = 92.0
    lane: float = 60.0

    def x(self, at_s: float) -> float:
        inner = self.width - self.left - self.right
        return self.left + inner * min(1.0, at_s / self.length_s)

    @property
    def total_foot(self) -> float:
        return self.marks + self.total

    @property
    def rate_foot(self) -> float:
        return self.total_foot + self.gap + self.rate

    @property
    def height(self) -> float:
        return self.rate_foot + self.lane


def time_chart(line: Timeline, width: float, *, class_: str) -> Html:
    """The drawing, that many units wide; its text has the size of the page's only if it is shown as wide as that."""
    highest = f"{ticks(sum(line.pages))[-1]:,.0f}"
    left = max(46.0, _LABEL_PX * len(highest) + 14)
    frame = _Frame(width, max(line.working_s, line.bin_s), left)
    marks = _placed(frame, line)
    frame = replace(frame, marks=_ROW_PX * (2 + max((mark.row for mark in marks), default=-1)))
    parts = (
        _totals(frame, line),
        _rates(frame, line),
        _lane(frame, line),
        _axis(frame),
        _stops(frame, line, marks),
    )
    return drawing(width, frame.height, *map(joined, parts), label=_said(line), class_=f"time {class_}")


def _said(line: Timeline) -> str:
    stops = ", ".join(f"{stop.kind} at {plural(stop.pages, 'page')}" for stop in line.stops[:20])
    pages = number(round(sum(line.pages)))
    return f"Pages over {duration(line.working_s)} of working time: {pages}. Stops: {stops or 'none'}."


def _totals(frame: _Frame, line: Timeline) -> list[Html]:
    sums, total = [0.0], 0.0
    for pages in line.pages:
        total += pages
        sums.append(total)
    marks = ticks(total)
    scale = frame.total / marks[-1]
    foot = frame.total_foot
    points = [(frame.x(place * line.bin_s), foot - scale * value) for place, value in enumerate(sums)]
    path = " ".join(f"{'L' if place else 'M'}{x:.1f},{y:.1f}" for place, (x, y) in enumerate(points))
    area = f"{path} L{points[-1][0]:.1f},{foot:.1f} L{points[0][0]:.1f},{foot:.1f} Z"
    return [
        *_grid(frame, marks, foot, scale, "pages in all"),
        tag("path", d=area, class_="area"),
        tag("path", d=path, class_="line"),
    ]


def _rates(frame: _Frame, line: Timeline) -> list[Html]:
    rates = [pages / line.bin_s for pages in line.pages]
    failures = [failed / line.bin_s for failed in line.failed]
    highest = max((one + other for one, other in zip(rates, failures, strict=True)), default=0)
    marks = ticks(highest, 3)
    scale = frame.rate / marks[-1]
    foot = frame.rate_foot
    drawn = _grid(frame, marks, foot, scale, "per second")
    for place, (rate, failed) in enumerate(zip(rates, failures, strict=True)):
        x, until = frame.x(place * line.bin_s), frame.x((place + 1) * line.bin_s)
        wide = max(0.5, until - x - 0.8)
        said = f"{duration(place * line.bin_s)}: {rate:.1f} pages/s"
        if rate:
            tall = scale * rate
            drawn.append(_rect((x, foot - tall, wide, tall), "done", said))
        if failed:
            tall = max(2.0, scale * failed)
            drawn.append(
                _rect((x, foot - scale * rate - tall, wide, tall), "failed", f"{said}, {failed:.1f} failed/s")
            )
    return drawn


def _lane(frame: _Frame, line: Timeline) -> list[Html]:
    """A tick for each bin with checkpoints, stronger where there are more; below it the claims."""
    top = frame.rate_foot + 8
    most = max(line.commits, default=0)
    drawn = []
    for place, count in enumerate(line.commits):
        if count:
            x = frame.x((place + 0.5) * line.bin_s)
            tick = {"x1": x, "x2": x, "y1": top, "y2": top + 8.0, "opacity": 0.35 + 0.65 * count / most}
            drawn.append(tag("line", tag("title", plural(count, "checkpoint")), class_="checkpoint", **tick))
    if len(line.spans) > _MOST_MARKS:
        whole = frame.x(line.working_s) - frame.left
        drawn.append(
            _rect((frame.left, top + 12, whole, 8), "claim", plural(len(line.spans), "process", "processes"))
        )
        return drawn
    for place, span in enumerate(line.spans):
        x, until = frame.x(span.begins_s), frame.x(span.ends_s)
        said = f"process {place + 1}: {duration(span.ends_s - span.begins_s)}, {plural(span.commits, 'checkpoint')}"
        drawn.append(_rect((x, top + 12, max(1.0, until - x - 2), 8), "claim", said))
    return drawn


@dataclass(frozen=True, slots=True)
class _Mark:
    """A stop's word above the drawing."""

    stop: Stop
    words: str
    x: float
    row: int


def _placed(frame: _Frame, line: Timeline) -> list[_Mark]:
    """The words of those stops for which there is room."""
    # The lowest row begins behind the name of what is drawn below it.
    ends = [frame.left + 90] + [frame.left] * (_ROWS - 1)
    marks = []
    for stop in _drawn(line):
        away = (stop.resumed_at or stop.at) - stop.at
        words = stop.kind if away < 1 else f"{stop.kind} {duration(away)}"
        wide = _LABEL_PX * len(words) + 10
        start = min(max(frame.x(stop.at_s) - wide / 2, frame.left), frame.width - wide)
        row = next((row for row in range(_ROWS) if start >= ends[row]), None)
        if row is not None:
            ends[row] = start + wide
            marks.append(_Mark(stop, words, start + wide / 2, row))
    return marks


def _drawn(line: Timeline) -> list[Stop]:
    return [stop for stop in line.stops if stop.resumed_at is not None][:_MOST_MARKS]


def _stops(frame: _Frame, line: Timeline, marks: list[_Mark]) -> list[Html]:
    """A line through everything for each stop but the end; it reaches up to its word."""
    words = {id(mark.stop): mark for mark in marks}
    drawn: list[Html] = []
    for stop in _drawn(line):
        x, name, top = frame.x(stop.at_s), _class_of(stop), frame.marks - 4
        mark = words.get(id(stop))
        if mark is not None:
            top = frame.marks - 6 - _ROW_PX * mark.row
            drawn.append(tag("text", mark.words, x=mark.x, y=top - 4, class_=f"mark {name}"))
        foot = frame.rate_foot + 30
        drawn.append(tag("line", tag("title", said_of(stop)), x1=x, x2=x, y1=top, y2=foot, class_=name))
    return drawn


def _class_of(stop: Stop) -> str:
    return "kill" if stop.kind == "killed" else "stop"


def _moment(at_s: float) -> str:
    if at_s < _EXACT_S:
        return f"{at_s:g} s" if at_s else "0"
    return duration(at_s)


def said_of(stop: Stop) -> str:
    """A stop in a sentence."""
    stood = f"{plural(stop.pages, 'page')}, {number(stop.queued)} queued"
    then = f"{stop.kind} at checkpoint {number(stop.checkpoint)} with {stood}"
    if stop.resumed_at is None:
        return then
    return f"{then}; went on after {duration(stop.resumed_at - stop.at)}"


def _axis(frame: _Frame) -> list[Html]:
    foot = frame.rate_foot + 32
    drawn = []
    for moment in time_ticks(frame.length_s, max(2, int(frame.width / _TICK_PX))):
        x = frame.x(moment)
        drawn += [
            tag("line", x1=x, x2=x, y1=foot, y2=foot + 4, class_="axis"),
            tag("text", _moment(moment), x=x, y=foot + 18, class_="tick middle"),
        ]
    return drawn


def _grid(frame: _Frame, marks: list[float], foot: float, scale: float, name: str) -> list[Html]:
    drawn = [tag("text", name, x=frame.left, y=foot - scale * marks[-1] - 7, class_="tick name")]
    for mark in marks:
        y = foot - scale * mark
        drawn += [
            tag(
                "line",
                x1=frame.left,
                x2=frame.width - frame.right,
                y1=y,
                y2=y,
                class_="grid" if mark else "axis",
            ),
            tag(
                "text",
                f"{mark:,g}" if mark < 1 else f"{mark:,.0f}",
                x=frame.left - 6,
                y=y + 4,
                class_="tick end",
            ),
        ]
    return drawn


def _rect(box: tuple[float, float, float, float], name: str, said: str) -> Html:
    x, y, width, height = box
    return tag("rect", tag("title", said), x=x, y=y, width=width, height=height, class_=name)
