"""The head of the page."""

from typing import Final

from holdfast.domain.words import clean, duration, number, plural, rate, size
from holdfast.output.report.figures import Figures
from holdfast.output.report.html import Html, address, joined, tag
from holdfast.output.report.times import stamp

_STATES: Final = {
    "in_progress": "interrupted",
    "timeout": "time limit reached",
    "pending": "waiting for a worker",
}


def header(figures: Figures) -> Html:
    """What it is about, in a sentence, six numbers and the essentials."""
    about, counters = figures.about, figures.counters
    state = "still running" if about.running else _STATES.get(about.status, about.status)
    reason = f" ({about.reason})" if about.reason and not about.running else ""
    big = (
        (number(counters.done), "pages"),
        (number(counters.failed), "failed"),
        (size(counters.bytes), "fetched"),
        ("0" if about.pages_per_s is None else rate(about.pages_per_s), "pages/s"),
        (duration(about.active_s), "at work"),
        (number(figures.timeline.kills), "kill" if figures.timeline.kills == 1 else "kills"),
    )
    return tag(
        "header",
        tag(
            "p",
            "Holdfast crawl report",
            tag("button", "dark", id="theme", type="button", hidden=True),
            class_="kicker",
        ),
        tag("h1", tag("bdi", name_of(figures))),
        tag(
            "p",
            tag("span", f"{state}{reason}", class_=f"state {'running' if about.running else about.status}"),
            " ",
            _standfirst(figures),
            class_="standfirst",
        ),
        _so_far(figures),
        tag("ul", [tag("li", tag("strong", value), tag("span", word)) for value, word in big], class_="big"),
        tag(
            "dl",
            [tag("div", tag("dt", name), tag("dd", value)) for name, value in _facts(figures)],
            class_="facts",
        ),
    )


def name_of(figures: Figures) -> str:
    """The job's name, else where it began."""
    about = figures.about
    if about.name:
        return about.name
    starts = about.start_urls
    if not starts:
        return f"job {about.short_id}"
    first = clean(starts[0].partition("//")[2].rstrip("/"), 80)
    return first if len(starts) == 1 else f"{first} and {plural(len(starts) - 1, 'more', 'more')}"


def _standfirst(figures: Figures) -> str:
    counters, line = figures.counters, figures.timeline
    found = f"{plural(counters.done, 'page')} of {plural(counters.found, 'address', 'addresses')} found"
    broken = f", {number(counters.failed)} failed" if counters.failed else ", none failed"
    waiting = f", {number(counters.queued)} still queued" if counters.queued else ""
    told = f"{found}{broken}{waiting}."
    stops = [stop for stop in line.stops if stop.resumed_at is not None]
    if not stops:
        return told
    killed = f"killed {_times(line.kills)}" if line.kills else ""
    others = len(stops) - sum(stop.kind == "killed" for stop in stops)
    stopped = f"stopped {_times(others)}" if others else ""
    whole = all(stop.carried_on is not False for stop in stops)
    each = " each time" if len(stops) > 1 else ""
    then = f"went on{each} from its last checkpoint, with all that stood there" if whole else f"went on{each}"
    return f"{told} It was {' and '.join(filter(None, (killed, stopped)))}, and {then}."


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{number(count)} times")


def _so_far(figures: Figures) -> Html | None:
    if not figures.about.running:
        return None
    words = (
        f"The crawl is still running: this is what it had at {stamp(figures.about.made_at)}. Parts were read one "
        f"after the other within {duration(figures.about.gathered_s)}, so they may differ by what came meanwhile."
    )
    return tag("p", words, class_="so-far")


def _facts(figures: Figures) -> list[tuple[str, Html]]:
    about = figures.about
    paused = f", {duration(about.paused_s)} paused" if about.paused_s else ""
    speed = "none yet"
    if about.pages_per_s is not None:
        speed = f"{rate(about.pages_per_s)} pages/s, {size(about.bytes_per_s or 0)}/s"
    starts = tag("ul", [tag("li", address(url, 70)) for url in about.start_urls])
    return [
        ("start", starts),
        *((name, joined(value)) for name, value in about.asked),
        ("job", tag("code", about.job)),
        ("started", joined(stamp(about.started_at))),
        ("ended", joined(stamp(about.finished_at))),
        ("time", joined(f"{duration(about.active_s)} active{paused}")),
        ("throughput", joined(speed)),
        ("written by", joined(f"Holdfast {about.version}, {stamp(about.made_at)}")),
    ]
