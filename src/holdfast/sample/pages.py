"""Holdfast Harbour, written out: every page of the sample site as bytes, from the facts in `content`.

The site is the same each time. It has what a crawler meets in the wild, a little of each: several depths, pages told
apart only by their query, a page under two addresses, redirects, a dead link, an address that fails the first time,
a part that robots.txt closes, links that lead away, and files that aren't pages.
"""

import math
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import NamedTuple

from holdfast.sample.content import EVENTS, FEES, GUIDE, LIGHTS, NOTICES, WEATHER, Light

DEAD_LINK = "/lights/drowned-light/"
UNREADY = "/tides/live"
"""Answers 503 with Retry-After the first time that it is asked for, and then like any other page."""
PRIVATE = "/staff/"
"""robots.txt closes it, and the home page links to it."""
REDIRECTS: Mapping[str, str] = {
    "/about": "/harbour/",
    "/lighthouses": "/lights/",
    "/harbour/prices": "/harbour/fees",
}
DUPLICATES: Mapping[str, str] = {"/print/fees": "/harbour/fees"}
"""Addresses that give the very bytes of another one."""

_NOTICES_PER_PAGE = 5
_MONTHS = ("January", "February", "March", "April", "May", "June")


class Page(NamedTuple):
    """A body and what it is."""

    content_type: str
    body: bytes


def site() -> dict[str, Page]:
    """Every address of the site (path and query) that answers 200, with its page."""
    pages = {address: _page(title, body) for address, title, body in _documents()}
    pages |= {address: pages[original] for address, original in DUPLICATES.items()}
    pages["/assets/harbour.css"] = Page(
        "text/css; charset=utf-8", files("holdfast.sample").joinpath("harbour.css").read_bytes()
    )
    pages["/tides/year.csv"] = Page("text/csv; charset=utf-8", _tides_csv().encode())
    return pages


def robots_txt(base_url: str) -> Page:
    """Closes PRIVATE and names the sitemap; `base_url` has no slash at its end."""
    return Page(
        "text/plain; charset=utf-8",
        f"User-agent: *\nDisallow: {PRIVATE}\n\nSitemap: {base_url}/sitemap.xml\n".encode(),
    )


def sitemap_xml(base_url: str) -> Page:
    """Names the sections and the lights, not every page; `base_url` has no slash at its end."""
    listed = [
        "/",
        "/harbour/",
        "/lights/",
        "/tides/",
        "/notices/",
        "/guide/",
        *(f"/lights/{light.slug}/" for light in LIGHTS),
    ]
    urls = "".join(f"<url><loc>{base_url}{address}</loc></url>\n" for address in listed)
    return Page(
        "application/xml",
        f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'.encode(),
    )


def not_found() -> Page:
    """The body of a 404."""
    return _page("Nothing here but water", "<p>No chart of ours shows this place.</p>")


# Each of these yields (address, title, body).
def _documents() -> Iterator[tuple[str, str, str]]:
    yield "/", "Holdfast Harbour", _home()
    yield from _harbour()
    yield from _lights()
    yield from _tides()
    yield from _notices()
    yield from _guide()
    yield f"{PRIVATE}rota", "Rota", "<p>Who has the watch is nobody's business but ours.</p>"


def _home() -> str:
    cards = "".join(
        _card(address, title, text)
        for address, title, text in (
            (
                "/lights/",
                "The lights",
                f"Twelve lights, from the piers to Far Skerry, {sum(light.height_m for light in LIGHTS)} m in all.",
            ),
            ("/tides/", "The tides", "High and low water, for the patient and for the hurried."),
            (
                "/notices/",
                "Notices to mariners",
                f"{len(NOTICES)} this year. Read them before the sea does it for you.",
            ),
            ("/guide/", "Pilot's guide", "Arriving, anchoring, leaving, and what to do between."),
            ("/harbour/", "The harbour", "Fees, offices, people."),
            (UNREADY, "Water level now", "From the gauge at Customs Steps, when it is awake."),
        )
    )
    return (
        "<p class=lead>A safe harbour since 1795: whatever happens out there, you can come back and carry on.</p>"
        f"<div class=cards>{cards}</div>"
        f'<p class=small><a href="/about">About us</a> · <a href="{PRIVATE}rota">Staff</a> · <a href="{DEAD_LINK}">The Drowned Light</a> · '
        '<a href="https://example.org/met-office">Weather</a> · <a href="https://example.com/lifeboats">Lifeboats</a> · '
        '<a href="mailto:watch@harbour.example">Write to us</a></p>'
    )


def _harbour() -> Iterator[tuple[str, str, str]]:
    links = _list(
        (f"/harbour/{slug}", title)
        for slug, title in (("fees", "Fees"), ("offices", "Offices"), ("prices", "Prices (old address)"))
    )
    yield (
        "/harbour/",
        "The harbour",
        f"<p>Two piers, one mole, forty berths, and a bakery that opens at four.</p>{links}",
    )
    rows = _table(("Stay", "Crowns"), ((name, str(price)) for name, price in FEES))
    yield (
        "/harbour/fees",
        "Fees",
        f'{rows}<p>Whoever comes in from a storm pays nothing for that night. <a href="/print/fees">Print</a></p>',
    )
    keepers = _table(
        ("Keeper", "Light"), ((light.keeper, _link(f"/lights/{light.slug}/", light.name)) for light in LIGHTS)
    )
    yield (
        "/harbour/offices",
        "Offices",
        f"<p>The office at Customs Steps is open whenever its lamp is lit.</p>{keepers}",
    )


def _lights() -> Iterator[tuple[str, str, str]]:
    yield (
        "/lights/",
        "The lights",
        f"<div class=cards>{''.join(_light_card(light) for light in LIGHTS)}</div>",
    )
    for place, light in enumerate(LIGHTS):
        address = f"/lights/{light.slug}/"
        before, after = LIGHTS[place - 1], LIGHTS[(place + 1) % len(LIGHTS)]
        facts = _table(
            ("", ""),
            (
                ("Built", str(light.built)),
                ("Height", f"{light.height_m} m"),
                ("Character", light.character),
                ("Range", f"{light.range_nm} nm"),
                ("Keeper", escape(light.keeper)),
            ),
        )
        links = f"← {_link(f'../{before.slug}/', before.name)} · {_link(f'../{after.slug}/', after.name)} →"
        story = f"{_tower(light)}<p class=lead>{escape(light.story)}</p>{facts}"
        yield address, light.name, f"{story}<p>{_link('log', 'The log')}</p><p class=small>{links}</p>"
        entries = _table(("Day", "Weather", "Entry"), _log(place))
        yield (
            f"{address}log",
            f"Log of {light.name}",
            f"{entries}<p>{_link('./', f'Back to {light.name}')}</p>",
        )


def _log(place: int) -> Iterator[tuple[str, str, str]]:
    for day in range(1, 13):
        turn = day * (place + 3) + place
        yield str(day), WEATHER[turn % len(WEATHER)], EVENTS[(turn * 5 + day) % len(EVENTS)]


def _tides() -> Iterator[tuple[str, str, str]]:
    months = _list((f"/tides/?month={number}", name) for number, name in enumerate(_MONTHS, 1))
    yield (
        "/tides/",
        "The tides",
        f'<p>Choose a month, or take <a href="year.csv">the half year as a file</a>.</p>{months}',
    )
    for number, name in enumerate(_MONTHS, 1):
        rows = _table(("Day", "High water", "Low water"), _tide_rows(number))
        yield f"/tides/?month={number}", f"Tides in {name}", f"{rows}<p>{_link('/tides/', 'All months')}</p>"
    yield (
        UNREADY,
        "Water level now",
        "<p class=lead>3.42 m, rising.</p><p>The gauge sleeps; the first one to ask wakes it up.</p>",
    )


def _tide_rows(month: int) -> Iterator[tuple[str, str, str]]:
    for day in range(1, 31):
        spring = math.cos((30 * month + day) * 2 * math.pi / 14.77)
        yield str(day), f"{4.1 + 0.8 * spring:.2f} m", f"{1.3 - 0.6 * spring:.2f} m"


def _tides_csv() -> str:
    rows = (",".join((str(month), *row)) for month in range(1, len(_MONTHS) + 1) for row in _tide_rows(month))
    return "month,day,high,low\n" + "\n".join(rows) + "\n"


def _notices() -> Iterator[tuple[str, str, str]]:
    last = math.ceil(len(NOTICES) / _NOTICES_PER_PAGE)
    for page in range(1, last + 1):
        first = (page - 1) * _NOTICES_PER_PAGE
        shown = enumerate(NOTICES[first : first + _NOTICES_PER_PAGE], first + 1)
        cards = "".join(
            _card(f"/notices/{number}", f"{number}. {notice.title}", notice.month) for number, notice in shown
        )
        onward = f"<p>{_link(f'/notices/?page={page + 1}', 'Older notices')}</p>" if page < last else ""
        yield (
            ("/notices/" if page == 1 else f"/notices/?page={page}"),
            f"Notices, page {page}",
            f"<div class=cards>{cards}</div>{onward}",
        )
    for number, notice in enumerate(NOTICES, 1):
        yield (
            f"/notices/{number}",
            notice.title,
            f"<p class=lead>{escape(notice.text)}</p><p>{notice.month}. {_link('./', 'All notices')}</p>",
        )


def _guide() -> Iterator[tuple[str, str, str]]:
    contents = _list((slug, title) for slug, title, _ in GUIDE)
    yield (
        "/guide/",
        "Pilot's guide",
        f"<p>Read it from the top. See also {_link('/lighthouses', 'the lighthouses')}.</p>{contents}",
    )
    for place, (slug, title, text) in enumerate(GUIDE):
        onward = (
            f"Next: {_link(GUIDE[place + 1][0], GUIDE[place + 1][1])}"
            if place + 1 < len(GUIDE)
            else _link("./", "Contents")
        )
        yield f"/guide/{slug}", title, f"<p class=lead>{escape(text)}</p><p>{onward}</p>"


# What pages are made of.


def _page(title: str, body: str) -> Page:
    nav = " ".join(
        _link(f"/{section}/", section.title())
        for section in ("harbour", "lights", "tides", "notices", "guide")
    )
    html = (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f'<title>{escape(title)}</title>\n<meta name="description" content="{escape(title)}, at Holdfast Harbour">\n'
        '<link rel="stylesheet" href="/assets/harbour.css"></head>\n'
        f'<body><header><a class=home href="/">Holdfast Harbour</a><nav>{nav}</nav></header>\n'
        f"<main><h1>{escape(title)}</h1>\n{body}\n</main>\n<footer>A made-up harbour, for trying out a crawl.</footer></body>\n</html>\n"
    )
    return Page("text/html; charset=utf-8", html.encode())


def _link(address: str, text: str) -> str:
    return f'<a href="{escape(address)}">{escape(text)}</a>'


def _list(links: Iterator[tuple[str, str]]) -> str:
    return f"<ul>{''.join(f'<li>{_link(address, text)}</li>' for address, text in links)}</ul>"


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]] | tuple[tuple[str, ...], ...]) -> str:
    """Cells are HTML already: some hold links."""
    top = f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>" if any(head) else ""
    return f"<table>{top}{''.join('<tr>' + ''.join(f'<td>{cell}</td>' for cell in row) + '</tr>' for row in rows)}</table>"


def _card(address: str, title: str, text: str) -> str:
    return f'<a class=card href="{escape(address)}"><b>{escape(title)}</b><span>{escape(text)}</span></a>'


def _light_card(light: Light) -> str:
    return (
        f'<a class=card href="{light.slug}/">{_tower(light)}<b>{escape(light.name)}</b>'
        f"<span>{light.character} · {light.range_nm} nm · {light.built}</span></a>"
    )


def _tower(light: Light) -> str:
    """A drawing of the light that flashes as the light does."""
    style = f"--colour:var(--{light.colour});animation-duration:{light.period_s / light.flashes:.2f}s"
    return (
        '<svg class=tower viewBox="0 0 60 60" aria-hidden="true"><path d="M24 55 27 20h6l3 35z" fill="#f4efe6"/>'
        '<path d="M25.7 35h8.6l.9 9h-10.4z" fill="#c8463c"/><path d="M25 20h10v-2h-10zM27 18v-7h6v7zM26 11l4-5 4 5z" fill="#22333f"/>'
        f'<circle class=lamp cx="30" cy="14.5" r="3" style="{style}"/><path d="M0 55q15-4 30 0t30 0v5H0z" fill="#3f7f93"/></svg>'
    )
