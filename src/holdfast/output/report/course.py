"""How it went: the drawing, what stopped it, and its checkpoints."""

from typing import Final

from holdfast.domain.words import duration, number, plural
from holdfast.output.report.figures import Figures, Stop
from holdfast.output.report.html import Html, joined, tag
from holdfast.output.report.parts import bars, card, cards, cell, legend, nothing, section, table
from holdfast.output.report.reasons import meaning
from holdfast.output.report.svg import NARROW, WIDE
from holdfast.output.report.timechart import said_of, time_chart
from holdfast.output.report.times import stamp

_STOPS_SHOWN: Final = 50


def course(figures: Figures) -> Html:
    """How it went."""
    line = figures.timeline
    if not line.spans:
        return section("course", "How it went", nothing("No process has worked on it yet."))
    if not line.commits or not any(line.commits):
        charts: Html = nothing("Nothing has been committed yet.")
    else:
        charts = joined(time_chart(line, WIDE, class_="wide"), time_chart(line, NARROW, class_="narrow"))
    meant = [("done", "pages"), ("checkpoint", "checkpoints"), ("claim", "a process at work")]
    if figures.counters.failed:
        meant.insert(1, ("failed", "failures"))
    if line.kills:
        meant.append(("kill", "killed"))
    return section(
        "course",
        "How it went",
        tag("figure", charts, legend(*meant)),
        _stops(figures),
        lead=_lead(figures),
    )


def _lead(figures: Figures) -> str:
    line, about = figures.timeline, figures.about
    workers = plural(len(line.spans), "process", "processes")
    one_by_one = ", one after the other," if len(line.spans) > 1 else ""
    made = sum(line.commits)
    apart = f" at most {duration(line.longest_s)} apart" if made else ""
    worked = f"{workers}{one_by_one} worked on it for {duration(line.working_s)}"
    told = f"{worked}, with {plural(made, 'checkpoint')}{apart}."
    if len(line.spans) > 1:
        told += " The axis is that working time: a stop takes no room on it, however long it was."
    if line.kills:
        most = plural(about.checkpoint_items + about.concurrency, "page")
        told += f" A kill costs what was not committed yet: at most {most} here, which the next process fetched again."
    return told


def _stops(figures: Figures) -> Html | None:
    stops = [
        stop for stop in figures.timeline.stops if stop.resumed_at is not None or stop.kind != "completed"
    ]
    if not stops:
        return nothing("Nothing stopped it on the way.", good=True) if figures.timeline.stops else None
    rows = [
        (
            cell(
                tag(
                    "span",
                    stop.kind,
                    class_=f"word {'kill' if stop.kind == 'killed' else 'stop'}",
                    title=said_of(stop),
                )
            ),
            cell(stamp(stop.at), key=stop.at, class_="soft wide-only"),
            cell(
                "still" if stop.resumed_at is None else duration(stop.resumed_at - stop.at),
                key=(stop.resumed_at or stop.at) - stop.at,
                class_="n",
            ),
            cell(number(stop.checkpoint), class_="n", key=stop.checkpoint),
            cell(number(stop.pages), class_="n", key=stop.pages),
            cell(number(stop.queued), class_="n wide-only", key=stop.queued),
            cell(_after(stop)),
        )
        for stop in stops[:_STOPS_SHOWN]
    ]
    heads = [
        ("stop", ""),
        ("last seen", "wide-only"),
        ("for", "n"),
        ("checkpoint", "n"),
        ("pages", "n"),
        ("queued", "n wide-only"),
        ("then", ""),
    ]
    more = len(stops) - _STOPS_SHOWN
    return joined(
        tag("h3", "What stopped it, and what stood then"),
        table(heads, rows, name="stops", sortable=False),
        tag("p", f"… and {plural(more, 'stop')} more", class_="note") if more > 0 else None,
    )


def _after(stop: Stop) -> str:
    if stop.carried_on is None:
        return "stands there" if stop.resumed_at is None else "no commit since"
    return "carried on, all there" if stop.carried_on else "some was fetched again"


def checkpoints(figures: Figures) -> Html:
    """What was committed, and when."""
    line = figures.timeline
    total = sum(share.count for share in line.commit_reasons)
    if not total:
        return section("checkpoints", "Checkpoints", nothing("None yet."))
    names = [
        tag("span", share.label, tag("small", f" {meaning(share.label)}")) for share in line.commit_reasons
    ]
    return section(
        "checkpoints",
        "Checkpoints",
        cards(
            card(
                "Made because",
                bars(line.commit_reasons, class_="claim", head=("reason", "checkpoints"), labels=names),
                wide=True,
            )
        ),
        lead=f"{plural(total, 'checkpoint')}, each one transaction of outcomes, rows, new addresses and counters: "
        f"{line.handled / total:.1f} addresses and {duration(line.working_s / total)} each on average.",
    )
