"""A shop to be visited by examples/shop.py, and that example as a package that is installed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.kit.process import ROOT
from tests.kit.server import Answer, Site

PER_LISTING: Final = 10


def shop(products: int = 100) -> Site:
    """A catalogue of so many products, ten on each of its pages, each page naming the next; one product has moved."""
    answers = {}
    listings = range(0, products, PER_LISTING)
    for first in listings:
        numbers = range(first, min(first + PER_LISTING, products))
        answers[listing(first)] = Answer(200, _listing(numbers, listing(first + PER_LISTING), products))
        for number in numbers:
            answers[product(number)] = Answer(200, _product(number))
    answers[product(0)] = Answer(301, b"", (("Location", "/p/moved"),))
    answers["/p/moved"] = Answer(200, _product(0))
    return Site(answers)


def listing(first: int) -> str:
    """The path of the page that begins with that product."""
    return f"/c/{first}" if first else "/"


def product(number: int) -> str:
    """The path of a product."""
    return f"/p/{number}"


def expected(base: str, products: int = 100) -> list[dict[str, object]]:
    """The rows of a whole run, by URL."""
    paths = ["/p/moved", *(product(number) for number in range(1, products))]
    return [
        {"url": base + path, "name": f"Product {number}", "price": number + 0.5, "tags": ["new", str(number)]}
        for number, path in enumerate(paths)
    ]


def installed(folder: Path, points: Iterable[str] = ("shop = shop:Shop",)) -> str:
    """A folder for PYTHONPATH in which the example is installed as a package would be, with those entry points."""
    folder.mkdir(exist_ok=True)
    (folder / "shop.py").write_bytes((ROOT / "examples" / "shop.py").read_bytes())
    info = folder / "a_shop-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-shop\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n".join(["[holdfast.pipelines]", *points]), encoding="utf-8")
    return str(folder)


def _listing(numbers: range, following: str, products: int) -> bytes:
    links = "".join(f'<a class=product href="{product(number)}">{number}</a>' for number in numbers)
    more = f'<a rel=next href="{following}">more</a>' if numbers.stop < products else ""
    return f"<!doctype html><title>Catalogue</title>{links}{more}".encode()


def _product(number: int) -> bytes:
    tags = f"<i class=tag>new</i><i class=tag>{number}</i>"
    home = '<a href="/">home</a>'
    return f"<!doctype html><h1>Product {number}</h1><b class=price>{number}.50 EUR</b>{tags}{home}".encode()
