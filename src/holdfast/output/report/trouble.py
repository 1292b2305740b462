"""What failed and who leads there, what moved, what is the same, what was left out."""

from holdfast.domain.words import number, plural, size
from holdfast.output.report.figures import BrokenLink, Chain, Figures
from holdfast.output.report.html import Html, joined, tag
from holdfast.output.report.parts import Address, bars, card, cards, cell, nothing, of_site, section, table
from holdfast.output.report.reasons import label, meaning, phrase


def failures(figures: Figures) -> Html:
    """What failed, and who leads there."""
    shown = of_site(figures)
    if not figures.failures:
        return section("failures", "Failed pages and broken links", nothing("No page failed.", good=True))
    causes = [
        tag("span", label(share.label), tag("small", f" {meaning(share.label)}"))
        for share in figures.failures
    ]
    total = sum(share.count for share in figures.failures)
    held = (
        "Each broken address with all the pages that lead there, found by reading every stored page again."
        if figures.links_read
        else "Each broken address with the page on which it was found first."
    )
    note = (
        f" {plural(figures.unread, 'stored page')} could not be read: see `holdfast verify`."
        if figures.unread
        else ""
    )
    more = total - len(figures.broken)
    rows = [
        (
            cell(shown(one.url), key=one.url),
            cell(tag("span", label(one.reason), title=meaning(one.reason)), class_="nowrap"),
            cell(number(one.held_by), key=one.held_by, class_="n"),
            cell(_holders(one, shown)),
        )
        for one in figures.broken
    ]
    return section(
        "failures",
        "Failed pages and broken links",
        cards(
            card(
                "By cause",
                bars(figures.failures, class_="failed", head=("cause", "pages"), labels=causes),
                wide=True,
            )
        ),
        tag("h3", "Broken links"),
        table(
            [("address", ""), ("cause", ""), ("on pages", "n"), ("which are", "")], rows, name="broken-links"
        ),
        tag("p", f"… and {number(more)} more; these are led to by the most pages.", class_="note")
        if more > 0
        else None,
        lead=held + note,
    )


def _holders(broken: BrokenLink, shown: Address) -> Html:
    holders, held_by = broken.holders, broken.held_by
    if not holders:
        return tag("span", "a start URL" if broken.start else "no page any more", class_="soft")
    lines = [
        tag("li", shown(one.url, 70), joined(" by way of ", shown(one.via, 50)) if one.via else None)
        for one in holders
    ]
    if len(lines) == 1 and held_by == 1:
        return tag("ul", lines, class_="holders")
    if held_by > len(lines):
        lines.append(tag("li", f"… and {number(held_by - len(lines))} more", class_="soft"))
    return tag("details", tag("summary", plural(held_by, "page")), tag("ul", lines, class_="holders"))


def redirects(figures: Figures) -> Html:
    """Where addresses moved to."""
    shown = of_site(figures)
    found = figures.redirects
    if not found.by_status:
        return section("redirects", "Redirects", nothing("Nothing redirects.", good=True))
    names = [tag("span", share.label, tag("small", f" {phrase(share.label)}")) for share in found.by_status]
    rows = [
        (cell(_chain(chain, shown)), cell(len(chain.urls) - 1, class_="n"), cell(_ending(chain)))
        for chain in found.chains
    ]
    total = sum(share.count for share in found.by_status)
    note = None
    if total > found.followed:
        note = f"Of {number(total)} redirects the first {number(found.followed)} were followed."
    return section(
        "redirects",
        "Redirects",
        cards(
            card(
                "By status",
                bars(found.by_status, class_="redirected", head=("status", "redirects"), labels=names),
                wide=True,
            )
        ),
        tag("h3", "Chains"),
        table([("from, and where it leads", ""), ("hops", "n"), ("ends", "")], rows, name="redirect-chains"),
        tag("p", note, class_="note") if note else None,
        lead="Those that come to nothing first, then the longest.",
    )


def _chain(chain: Chain, shown: Address) -> Html:
    return tag("ol", [tag("li", shown(url, 80)) for url in chain.urls], class_="chain")


def _ending(chain: Chain) -> Html:
    kind, _, reason = chain.ends.partition(": ")
    said = {
        "page": "at a page",
        "failed": f"broken: {label(reason)}",
        "skipped": f"left out: {label(reason)}",
    }.get(kind, kind)
    return tag("span", said, class_="word kill" if kind in {"failed", "loop", "too long"} else "word")


def duplicates(figures: Figures) -> Html:
    """Pages that are exactly another one."""
    shown = of_site(figures)
    found = figures.duplicates
    if not found.pages:
        return section("duplicates", "Duplicates", nothing("No two pages have the same body.", good=True))
    rows = [
        (
            cell(shown(one.url) if one.url else "its body can't be read", key=one.url),
            cell(number(one.count), key=one.count, class_="n"),
            cell(size(one.size), key=one.size, class_="n"),
            cell(tag("ul", [tag("li", shown(url, 70)) for url in one.examples], class_="holders")),
        )
        for one in found.groups
    ]
    return section(
        "duplicates",
        "Duplicates",
        table(
            [("body", ""), ("copies", "n"), ("each", "n"), ("such as", "")], rows, name="duplicates-by-body"
        ),
        lead=f"{plural(found.pages, 'page has', 'pages have')} byte for byte the body of another one, by its "
        f"SHA-256: {size(found.bytes)} that were not stored again.",
    )


def left_out(figures: Figures) -> Html:
    """What was not followed, and why."""
    shown = of_site(figures)
    if not figures.left_out:
        return section(
            "left-out", "Left out", nothing("Every address that was found was followed.", good=True)
        )
    rows = [
        (
            cell(tag("span", label(share.label), tag("small", f" {meaning(share.label)}"))),
            cell(number(share.count), key=share.count, class_="n"),
            cell(shown(share.example) if share.example else ""),
        )
        for share in figures.left_out
    ]
    return section(
        "left-out",
        "Left out",
        table([("reason", ""), ("addresses", "n"), ("such as", "")], rows, name="left-out-by-reason"),
        lead="Found and not followed, by the first reason that held. It is not forgotten: a wider limit lets it in.",
    )
