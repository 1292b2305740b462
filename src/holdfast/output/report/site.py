"""What became of each address, what the site is made of, how fast it answered."""

from collections.abc import Callable
from typing import Final

from holdfast.domain.words import number, plural, size
from holdfast.output.report.figures import Depth, Figures, Histogram, Section, Share, Top
from holdfast.output.report.html import Html, joined, shortened, tag
from holdfast.output.report.parts import (
    Address,
    bars,
    card,
    cards,
    cell,
    legend,
    nothing,
    of_site,
    section,
    table,
)
from holdfast.output.report.reasons import phrase
from holdfast.output.report.svg import NARROW, WIDE, bar
from holdfast.output.report.treemap import Box, Shades, treemap

_TOPS: Final = 10
_OUTCOMES: Final = (
    ("done", "pages"),
    ("redirected", "redirects"),
    ("consulted", "consulted"),
    ("failed", "failed"),
    ("skipped", "left out"),
    ("pending", "queued"),
)


def outcomes(figures: Figures) -> Html:
    """What became of each address."""
    counters = figures.counters
    counts = {
        "done": counters.done,
        "redirected": counters.redirected,
        "consulted": counters.consulted,
        "failed": counters.failed,
        "skipped": counters.skipped,
        "pending": counters.queued,
    }
    parts = [(name, counts[name], f"{word}: {number(counts[name])}") for name, word in _OUTCOMES]
    whole = tag("div", bar(parts, counters.found), class_="whole")
    colours = legend(*((name, f"{number(counts[name])} {word}") for name, word in _OUTCOMES if counts[name]))
    statuses = [
        tag("span", share.label, tag("small", f" {phrase(share.label)}")) for share in figures.statuses
    ]
    answers = (
        bars(
            figures.statuses,
            class_=[_class_of(share.label) for share in figures.statuses],
            head=("status", "answers"),
            labels=statuses,
        )
        if figures.statuses
        else nothing("No answer yet.")
    )
    return section(
        "outcomes",
        "What became of each address",
        tag("figure", whole, colours),
        cards(
            card("Answers by HTTP status", answers),
            card("By depth", _depths(figures.depths), note="How many links from a start URL."),
        ),
        lead=f"{plural(counters.found, 'address', 'addresses')} found, each in exactly one place.",
    )


def _class_of(status: str) -> str:
    return {"2": "done", "3": "redirected"}.get(status[:1], "failed")


def _depths(depths: tuple[Depth, ...]) -> Html:
    if not depths:
        return nothing("Nothing found yet.")
    sums = [sum(getattr(depth, name) for name, _ in _OUTCOMES) for depth in depths]
    rows = []
    for depth, total in zip(depths, sums, strict=True):
        parts = [
            (name, getattr(depth, name), f"depth {depth.depth}, {word}: {number(getattr(depth, name))}")
            for name, word in _OUTCOMES
        ]
        rows.append(
            tag(
                "tr", tag("th", depth.depth, scope="row"), tag("td", bar(parts, max(sums)), class_="plot"),
                tag("td", number(depth.done), class_="n"), tag("td", number(total), class_="n soft"),
            )
        )  # fmt: skip
    heading = tag(
        "tr", tag("th", "depth", scope="col"), tag("th", tag("span", "share", class_="unseen"), scope="col"),
        tag("th", "pages", scope="col", class_="n"), tag("th", "all", scope="col", class_="n"),
    )  # fmt: skip
    return tag("table", tag("thead", heading), tag("tbody", rows), class_="bars")


def makeup(figures: Figures) -> Html:
    """What the site is made of."""
    if not figures.content_types:
        return section("makeup", "What it is made of", nothing("No page yet."))
    return section(
        "makeup",
        "What it is made of",
        _map(figures.sections),
        cards(
            card(
                "Content types",
                bars(figures.content_types, class_="done", head=("type", "pages"), sizes=True),
            ),
            card("Hosts", bars(figures.hosts, class_="done", head=("host", "pages"), sizes=True)),
        ),
        lead="Each rectangle is a part of the site, as large as it has pages. Its colour says how heavy they are.",
    )


def _map(whole: Section) -> Html:
    shades = Shades.of(whole)
    zoomed = []
    for place, part in enumerate(whole.children):
        if part.children:
            back = tag(
                "p",
                tag("a", "← the whole map", href="#map"),
                " ",
                tag("strong", tag("bdi", part.path)),
                f": {plural(part.pages, 'page')}, {size(part.bytes)}",
            )
            zoomed.append(tag("div", back, *_maps(part, shades, ""), class_="zoom", id=f"part-{place}"))
    return tag(
        "figure",
        tag("div", *_maps(whole, shades, "part-"), class_="unzoomed"),
        *zoomed,
        _shades(shades),
        tag(
            "figcaption",
            f"{plural(whole.pages, 'page')}, {size(whole.bytes)}",
            " below ",
            tag("bdi", whole.name or "all hosts"),
            ". A part with parts of its own opens when it is chosen." if zoomed else ".",
        ),
        id="map",
        class_="maps",
    )


def _shades(shades: Shades) -> Html | None:
    edges = shades.edges
    if not edges:
        return None
    words = [f"below {size(edges[0])} a page", *(f"from {size(edge)}" for edge in edges)]
    return legend(*((f"shade{place}", word) for place, word in enumerate(words)))


def _maps(part: Section, shades: Shades, link: str) -> list[Html]:
    # Few parts need little room to be told apart.
    tall = min(1.0, 0.35 + len(part.children) / 12)
    return [
        treemap(part, Box(0, 0, WIDE, 420 * tall), shades, class_="wide", link=link),
        treemap(part, Box(0, 0, NARROW, 460 * tall), shades, class_="narrow", link=link),
    ]


def weight(figures: Figures) -> Html:
    """How fast it answered and how much it sent."""
    if not figures.slowest:
        return section("weight", "How fast, how heavy", nothing("No page yet."))
    shown = of_site(figures)
    return section(
        "weight",
        "How fast, how heavy",
        cards(
            card("Answer times", _classes(figures.times, _ms), note=_spread(figures.times, _ms)),
            card("Sizes", _classes(figures.sizes, size), note=_spread(figures.sizes, size)),
            card("Slowest", _tops(figures.slowest, "slowest", shown)),
            card("Biggest", _tops(figures.biggest, "biggest", shown)),
        ),
        lead="Times are those of the fetch that was kept, sizes those of decoded bodies.",
    )


def _ms(value: float) -> str:
    return f"{value:.0f} ms" if value < 1_000 else f"{value / 1_000:g} s"  # noqa: PLR2004 - a second


def _spread(histogram: Histogram, shown: Callable[[float], str]) -> str | None:
    if histogram.median is None or histogram.highest is None:
        return None
    return (
        f"Half are below about {shown(histogram.median)}; the highest is {shown(round(histogram.highest))}."
    )


def _classes(histogram: Histogram, shown: Callable[[float], str]) -> Html:
    used = [place for place, count in enumerate(histogram.counts) if count]
    shares = []
    for place in range(used[0], used[-1] + 1):
        low = histogram.edges[place]
        last = place + 1 == len(histogram.edges)
        name = f"{shown(low)} or more" if last else f"up to {shown(histogram.edges[place + 1])}"
        shares.append(Share(name, histogram.counts[place]))
    return bars(shares, class_="done", head=("", "pages"))


def _tops(tops: tuple[Top, ...], name: str, shown: Address) -> Html:
    rows = [
        (
            cell(_named(top, shown), key=top.url),
            cell(_ms(top.elapsed_ms), key=top.elapsed_ms, class_="n"),
            cell(size(top.size), key=top.size, class_="n"),
        )
        for top in tops[:_TOPS]
    ]
    return table([("page", ""), ("time", "n"), ("size", "n")], rows, name=name)


def _named(top: Top, shown: Address) -> Html:
    title = tag("bdi", shortened(top.title, 90), class_="title") if top.title else None
    return joined(title, shown(top.url, 60))
