"""Markdown, text and JSON."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl.document import Kind
from holdfast.crawl.plain import read_markdown
from holdfast.crawl.readers import read, text

LLMS = b"""# Example

> What it is.

## Docs

- [Start](/start.md "the title"): first
- [Brackets](</a path>) and [parens](/wiki/Tide_(sea))
- <https://example.com/auto> and ![picture](/p.png)

[ref]: https://example.com/ref  "a title"

```
[code](/not-this)
```
~~~
[more](/nor-this)
~~~
[after](/after)
"""


def test_markdown_gives_its_heading_and_the_links_outside_of_code():
    document = read_markdown(LLMS, None)
    assert (document.kind, document.title) == (Kind.MARKDOWN, "Example")
    assert document.links == [
        "/start.md",
        "/a path",
        "/wiki/Tide_(sea)",
        "https://example.com/auto",
        "/p.png",
        "https://example.com/ref",
        "/after",
    ]


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/plain", Kind.TEXT),
        ("text/csv; charset=utf-8", Kind.TEXT),
        ("text/markdown", Kind.MARKDOWN),
        ("application/json", Kind.JSON),
        ("application/ld+json", Kind.JSON),
        ("application/xml", Kind.XML),
        ("image/svg+xml", Kind.XML),
        ("text/html", Kind.HTML),
        ("application/octet-stream", Kind.OTHER),
        ("image/png", Kind.OTHER),
    ],
)
def test_a_body_is_typed_by_its_content_type(content_type, kind):
    assert read("é".encode(), content_type).kind is kind
    assert text("é".encode(), content_type) == ("" if kind is Kind.OTHER else "é")


@pytest.mark.parametrize(
    "hostile",
    [
        b"](" * 500_000,
        b"](<" * 300_000,
        b"<http://" * 100_000,
        b"<http://" + b"a" * 1_000_000,
        b"[" * 1_000_000,
        (b"[" + b"a" * 600) * 1500,
        b"```\n" * 200_000,
        b"](" + b"(" * 1_000_000,
        (b"](a" + b"(" * 9) * 100_000,
    ],
    ids=range(9),
)
def test_no_markdown_makes_it_slow(hostile):
    started = time.process_time()
    read_markdown(hostile, None)
    assert time.process_time() - started < 5.0


@given(st.text(alphabet="[](){}<>!#`~:\n /ahtp.", max_size=200))
def test_no_markdown_raises_and_each_link_stands_in_it(source):
    for link in read_markdown(source.encode(), None).links:
        assert link in source
        assert link
