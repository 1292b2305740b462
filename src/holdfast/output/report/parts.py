"""What sections are put together from: figures, bars, tables, and the words for nothing."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from holdfast.domain.url import origin
from holdfast.domain.words import number, size
from holdfast.output.report.figures import Figures, Share
from holdfast.output.report.html import Child, Html, address, tag
from holdfast.output.report.svg import bar

Address = Callable[..., Html]


def of_site(figures: Figures) -> Address:
    """How to show addresses: without the origin if the job has but one."""
    origins = {share.label for share in figures.hosts} or {origin(url) for url in figures.about.start_urls}
    return partial(address, within=origins.pop() if len(origins) == 1 else "")


def section(name: str, title: str, *children: Child, lead: Child = None) -> Html:
    """A section that the page's table of contents names."""
    heading = tag("h2", title, id=f"{name}-title")
    return tag(
        "section",
        heading,
        tag("p", lead, class_="lead") if lead else None,
        *children,
        id=name,
        aria_labelledby=f"{name}-title",
    )


def card(title: str, *children: Child, note: Child = None, wide: bool = False) -> Html:
    """A titled box within a section."""
    return tag(
        "div", tag("h3", title), *children, tag("p", note, class_="note") if note else None,
        class_="card wide" if wide else "card",
    )  # fmt: skip


def cards(*children: Child) -> Html:
    """Boxes beside each other, where there is room."""
    return tag("div", *children, class_="cards")


def nothing(words: str, *, good: bool = False) -> Html:
    """An empty state: said, not left blank."""
    return tag(
        "p",
        tag("span", "✓" if good else "0", class_="sign", aria_hidden="true"),
        words,
        class_="nothing good" if good else "nothing",
    )


def bars(
    shares: Sequence[Share],
    *,
    class_: str | Sequence[str],
    head: tuple[str, str],
    labels: Sequence[Child] | None = None,
    sizes: bool = False,
) -> Html:
    """A row for each share: its name, a bar, its count."""
    most = max((share.count for share in shares), default=0)
    total = sum(share.count for share in shares) or 1
    rows = []
    for place, share in enumerate(shares):
        part = f"{100 * share.count / total:.1f} %"
        drawn = bar(
            [
                (
                    class_ if isinstance(class_, str) else class_[place],
                    share.count,
                    f"{share.label}: {number(share.count)} ({part})",
                )
            ],
            most,
        )
        cells = [
            tag("th", labels[place] if labels else tag("bdi", share.label), scope="row"),
            tag("td", drawn, class_="plot"),
            tag("td", number(share.count), class_="n"),
            tag("td", size(share.bytes) if sizes else part, class_="n soft"),
        ]
        rows.append(tag("tr", cells))
    heading = tag(
        "tr", tag("th", head[0], scope="col"), tag("th", tag("span", "share", class_="unseen"), scope="col"),
        tag("th", head[1], scope="col", class_="n"), tag("th", "bytes" if sizes else "part", scope="col", class_="n"),
    )  # fmt: skip
    return tag("table", tag("thead", heading), tag("tbody", rows), class_="bars")


def table(
    heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[Html]], *, name: str, sortable: bool = True
) -> Html:
    """Heads are (title, class); a cell is made by `cell`."""
    heading = tag("tr", [tag("th", title, scope="col", class_=class_ or None) for title, class_ in heads])
    body = tag("tbody", [tag("tr", row) for row in rows])
    return tag(
        "div", tag("table", tag("thead", heading), body, class_="rows", id=name, data_sortable=sortable),
        class_="scroll", tabindex="0", role="region", aria_label=name.replace("-", " "),
    )  # fmt: skip


def cell(*children: Child, key: float | str | None = None, class_: str | None = None) -> Html:
    """A cell; `key` is what it is sorted by, where that isn't its text."""
    return tag("td", *children, data_key=key, class_=class_)


def legend(*entries: tuple[str, str]) -> Html:
    """What the colours (classes) mean."""
    items = [
        tag("li", tag("span", class_=f"swatch {name}", aria_hidden="true"), words) for name, words in entries
    ]
    return tag("ul", items, class_="legend")
