"""A pipeline of one's own: a shop's catalogue first, page by page, then each of its products, one record of each.

holdfast run examples.shop:Shop --set url=https://shop.example/ -o products.jsonl
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast.plugin import Lead, Page, Pipeline


@dataclass(frozen=True)
class Shop(Pipeline):
    kind = "shop"
    phases = ("catalogue", "products")
    columns: ClassVar = {"name": str, "price": float, "tags": list}

    url: str

    def start(self) -> Iterator[str]:
        yield self.url

    def visit(self, page: Page) -> Iterator[Lead | Mapping[str, Any] | None]:
        if page.kind == "catalogue":
            for href in page.css("a.product@href"):
                yield page.follow(href, "products")
            for href in page.css("a[rel=next]@href"):
                yield page.follow(href)
        else:
            name, price = page.field("css:h1"), page.field("number css:.price")
            yield {"name": name, "price": price, "tags": page.css(".tag")}
