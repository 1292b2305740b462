"""The live display as a picture of one look. Pure: the same look gives the same picture."""

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.cli.view import View
from holdfast.cli.words import clean, duration, number, rate, rough, size
from holdfast.domain.states import Status
from holdfast.ports.jobs import HostReport

_BARS = "▁▂▃▄▅▆▇█"
_HOSTS_SHOWN = 3
_BAR_CELLS = 44
_LABEL_CELLS = 12


def picture(view: View) -> RenderableType:
    """A handful of calm lines."""
    lines = [
        _title(view),
        _bar(view),
        _labelled("pages", _pages(view)),
        _labelled("speed", _speed(view)),
        _labelled("time", Text(_time(view))),
        _labelled("checkpoint", Text(checkpoint(view))),
    ]
    if view.at_work:
        lines.append(_labelled("at work", Text(_at_work(view))))
    if view.hosts:
        lines.append(_labelled("queued at", Text(_hosts(view))))
    return Group(*lines)


def _labelled(label: str, value: Text) -> Text:
    """One line, cut with an ellipsis where the terminal ends."""
    line = Text(no_wrap=True, overflow="ellipsis")
    return line.append(f"{label:<{_LABEL_CELLS}}", "dim").append_text(value)


def checkpoint(view: View) -> str:
    """`12, 3 s ago (items)`."""
    last = view.checkpoint
    if last is None:
        return "none yet"
    return f"{number(last.number)}, {rough_ago(view.at - last.at)} ({last.reason.value})"


def rough_ago(seconds: float) -> str:
    """`just now`, `12 s ago`."""
    return "just now" if seconds < 1 else f"{rough(seconds)} ago"


def _title(view: View) -> Text:
    job = view.job
    start = clean(str(next(iter(job.spec.get("start_urls", ())), job.kind)), 60)
    more = len(job.spec.get("start_urls", ())) - 1
    busy = job.status is Status.IN_PROGRESS
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append("● " if busy else "○ ", "green" if busy else "yellow")
    title.append(view.state, "bold")
    title.append(f"  {start}")
    if more > 0:
        title.append(f" and {more} more", "dim")
    title.append(f"  job {clean(job.name or job.short_id, 40)}", "dim")
    return title


def _bar(view: View) -> Text:
    counters = view.job.counters
    settled = counters.found - counters.queued
    budget = view.job.limits.max_pages
    shares = [settled / counters.found if counters.found else 0.0]
    if budget:
        shares.append(counters.done / budget)
    share = min(1.0, max(shares))
    cells = int(share * _BAR_CELLS)
    bar = Text("  ", no_wrap=True, overflow="ellipsis")
    bar.append("━" * cells, "green")
    bar.append("─" * (_BAR_CELLS - cells), "dim")
    bar.append(f"  {int(share * 100)} %", "dim")
    return bar


def _pages(view: View) -> Text:
    counters = view.job.counters
    text = Text()
    text.append(number(counters.done), "bold")
    limit = view.job.limits.max_pages
    text.append(f" of {number(limit)} done" if limit else " done")
    text.append(f"   {number(counters.queued)} queued")
    text.append("   ")
    text.append(f"{number(counters.failed)} failed", "red" if counters.failed else "dim")
    return text


def _speed(view: View) -> Text:
    text = Text()
    text.append("-" if view.pages_per_s is None else f"{rate(view.pages_per_s)} pages/s")
    if view.sparks:
        text.append(f"  {spark_line(view.sparks[-24:])}", "cyan")
    text.append(f"  {size(view.job.counters.bytes)}")
    if view.bytes_per_s is not None:
        text.append(f" ({size(view.bytes_per_s)}/s)", "dim")
    return text


def spark_line(values: tuple[float, ...]) -> str:
    """One character for each value, from nothing to the highest of them."""
    top = max(values, default=0.0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values)


def _time(view: View) -> str:
    parts = [duration(view.active_s)]
    limit = view.job.limits.time_limit_s
    if limit is not None:
        parts[0] += f" of {duration(limit + view.job.granted_s)}"
    if view.left is not None:
        parts.append(str(view.left))
    return ", ".join(parts)


def _at_work(view: View) -> str:
    shown = [f"{clean(name, 40)} ({number(count)})" for name, count in view.at_work[:_HOSTS_SHOWN]]
    rest = len(view.at_work) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _hosts(view: View) -> str:
    shown = [_queue(host, view.at) for host in view.hosts[:_HOSTS_SHOWN]]
    rest = len(view.hosts) - len(shown)
    more = f"at least {rest}" if view.other_hosts else str(rest)
    return ", ".join(shown) + (f" and {more} more" if rest else "")


def _queue(host: HostReport, now: float) -> str:
    """`example.org (300)`, or `example.org (300, in 2 min)` where it is not to be asked before."""
    wait = "" if host.due_at is None or host.due_at - now < 1 else f", in {rough(host.due_at - now)}"
    return f"{clean(host.name, 40)} ({number(host.queued)}{wait})"
