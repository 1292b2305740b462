"""HTML that can't be broken by what stands in it: every text is escaped, whoever wrote it, unless it was made here.

A plain `str` is always text. Only `tag` makes markup (`Html`), so what was forgotten is shown, never run. Control
characters and those that turn the direction of writing are replaced, URLs are links only where they are http(s), and no
element can carry a script or a style of its own: the page's Content-Security-Policy would refuse those, too.
"""

from collections.abc import Iterable
from html import escape
from typing import Final

from holdfast.domain.words import clean

MAX_SHOWN: Final = 90
_MAX_TITLE: Final = 1_000
_MAX_HREF: Final = 2_000
_VOID: Final = frozenset({"meta", "br", "hr", "input", "path", "rect", "line", "circle", "use", "polyline"})
_LINKS: Final = ("http://", "https://", "#")


class Html(str):
    """Markup that is safe as it stands."""

    __slots__ = ()


Value = str | float | bool | None
Child = str | int | None | Iterable["Child"]


def text(value: str) -> Html:
    """Anybody's text as markup."""
    return Html(escape(clean(value, len(value)), quote=True))


def joined(*children: Child) -> Html:
    """The children one after the other."""
    return Html("".join(_pieces(children)))


def _pieces(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str):
            yield text(child)
        elif isinstance(child, int):
            yield str(child)
        elif child is not None:
            yield from _pieces(child)


def tag(name: str, /, *children: Child, **attributes: Value) -> Html:
    """An element. `class_` stands for class, `data_x` for data-x; an attribute that is None or False is left out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    opening = f"<{name}{written}>"
    if name in _VOID and not children:
        # In SVG an element ends by itself or not at all.
        return Html(f"{opening[:-1]}/>")
    return Html(f"{opening}{joined(*children)}</{name}>")


def _attribute(key: str, value: Value) -> str:
    name = key.rstrip("_").replace("_", "-")
    if name.startswith("on") or name in {"style", "src", "srcdoc"}:
        raise ValueError(f"no element of ours has {name}")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if not isinstance(value, str):
        return f' {name}="{round(value, 2):g}"'
    if name == "href" and not value.startswith(_LINKS):
        return ""
    return f' {name}="{text(value)}"'


def shortened(value: str, most: int = MAX_SHOWN) -> str:
    """The beginning and the end of what is too long."""
    if len(value) <= most:
        return value
    tail = most // 3
    return f"{value[: most - tail - 1]}…{value[-tail:]}"


def address(url: str, most: int = MAX_SHOWN, *, within: str = "") -> Html:
    """A URL as a link that tells nobody where it was followed from; what is no http(s) URL is plain text.

    What lies `within` that origin is shown without it, and what is too long is whole in its title.
    """
    inside = bool(within) and url.startswith(f"{within}/")
    short = url[len(within) :] if inside else url.removeprefix("https://").removeprefix("http://")
    shown = tag("bdi", shortened(short, most))
    title = url[:_MAX_TITLE] if len(short) > most else None
    if not url.startswith(_LINKS[:2]) or len(url) > _MAX_HREF or not url.isprintable():
        return tag("span", shown, class_="url", title=title)
    return tag("a", shown, class_="url", href=url, title=title, rel="noopener noreferrer nofollow")
