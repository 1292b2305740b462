"""What a page says of itself for machines, in the shapes that real pages have; and in those that nobody should."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.crawl import microdata as items
from holdfast.crawl.content import Content
from holdfast.crawl.structured import (
    COLUMNS,
    MAX_BLOCK_CHARS,
    MAX_BLOCKS,
    MAX_PROPERTIES,
    read_json,
    structured,
)

URL = "https://example.com/a/b"


def said(body):
    return structured(Content(body.encode(), "text/html", "utf-8"), URL)


def json_ld(*blocks):
    return said("".join(f'<script type="application/ld+json">{block}</script>' for block in blocks))[
        "json_ld"
    ]


def microdata(body):
    return said(body)["microdata"]


def test_a_page_without_any_has_none():
    nothing = dict.fromkeys(COLUMNS)
    assert said("<p>x") == nothing
    assert said("<meta name=description content=x><script type=application/ld+json></script>") == nothing
    assert structured(None, URL) == nothing
    assert structured(Content(b"<script type=application/ld+json>{}", "text/plain", None), URL) == nothing


class TestJsonLd:
    def test_blocks_lists_and_graphs(self):
        assert json_ld(
            '{"@type": "A"}', '[{"@type": "B"}, {"@type": "C"}]', '{"@graph": [{"@id": "#d"}]}'
        ) == [
            {"@type": "A"},
            {"@type": "B"},
            {"@type": "C"},
            {"@graph": [{"@id": "#d"}]},
        ]

    def test_one_broken_block_costs_only_itself(self):
        assert json_ld('{"a": ', '{"@type": "B"}', "nonsense", "12", "[]", "{}", "null") == [{"@type": "B"}]

    @pytest.mark.parametrize(
        "written",
        [
            '{"name": "a\nb"}',
            '<!-- {"name": "a\nb"} -->',
            '//<![CDATA[\n{"name": "a\nb"}\n//]]>',
            '<![CDATA[ {"name": "a\\nb"} ]]>',
            '/*<![CDATA[*/ {"name": "a\\nb"} /*]]>*/',
            '{"name": "a\\nb",}',
            '{"name": "a\\nb"};',
            '\ufeff{"name": "a\\nb"}',
        ],
    )
    def test_as_people_write_it(self, written):
        assert json_ld(written) == [{"name": "a\nb"}]

    @pytest.mark.parametrize("type_", ["application/ld+json", "Application/LD+JSON; charset=utf-8"])
    def test_its_type_in_any_writing(self, type_):
        assert said(f"<SCRIPT TYPE='{type_}'>{{\"a\": 1}}</SCRIPT>")["json_ld"] == [{"a": 1}]

    def test_what_no_format_could_hold_is_left_out(self):
        value = json_ld(
            '{"a": NaN, "b": 1e999, "c": 123456789012345678901234567890, "d": "\\ud800x", "e": 1,}'
        )
        assert value == [{"a": None, "b": None, "c": None, "d": "\ufffdx", "e": 1}]
        deep = json_ld('{"a":' * 500 + "1" + "}" * 500)
        assert orjson.loads(orjson.dumps(deep)) == deep

    def test_it_is_bounded(self):
        assert len(json_ld(*['{"a": 1}'] * (MAX_BLOCKS + 1))) == MAX_BLOCKS
        assert json_ld(f'{{"a": "{"x" * MAX_BLOCK_CHARS}"}}', '{"b": 1}') == [{"b": 1}]
        assert json_ld("[" * 200_000) is None
        assert json_ld("{" + " " * 500_000 + "," * 400_000) is None


def test_open_graph():
    body = """<meta property="og:title" content=" T "><meta property="og:image" content="/1.png">
    <meta property="og:image" content="/2.png"><meta property=og:image:width content=10>
    <meta name="twitter:card" content="summary"><META PROPERTY="OG:Locale" CONTENT="de_DE">
    <meta property="article:tag" content="a"><meta name=author content=x><meta property=og:empty><meta content=y>"""
    assert said(body)["open_graph"] == {
        "og:title": "T",
        "og:image": ["/1.png", "/2.png"],
        "og:image:width": "10",
        "twitter:card": "summary",
        "og:locale": "de_DE",
        "article:tag": "a",
    }
    many = said('<meta property="og:x" content=1>' * (MAX_PROPERTIES + 9))["open_graph"]
    assert len(many["og:x"]) == MAX_PROPERTIES


class TestMicrodata:
    def test_an_item_with_values_of_each_kind(self):
        body = """<base href=/base/><div itemscope itemtype="https://schema.org/Product  https://x.org/T" itemid="p 1">
        <h1 itemprop="name alternateName">A <b>thing</b></h1><meta itemprop=sku content=S1>
        <img itemprop=image src=i.png>
        <a itemprop=url href="//x.org/">away</a><data itemprop=price value=12.5>12</data>
        <link itemprop=availability href=/in>
        <time itemprop=when datetime=2026-01-02>today</time><time itemprop=then>3 May</time><a itemprop=none>no href</a>
        <object itemprop=file data=f></object></div>"""
        assert microdata(body) == [
            {
                "type": ["https://schema.org/Product", "https://x.org/T"],
                "id": "https://example.com/base/p%201",
                "properties": {
                    "name": ["A thing"],
                    "alternateName": ["A thing"],
                    "sku": ["S1"],
                    "image": ["https://example.com/base/i.png"],
                    "url": ["https://x.org/"],
                    "price": ["12.5"],
                    "availability": ["https://example.com/in"],
                    "when": ["2026-01-02"],
                    "then": ["3 May"],
                    "none": [""],
                    "file": ["https://example.com/base/f"],
                },
            }
        ]

    def test_items_within_items(self):
        body = """<div itemscope><p itemprop=a>1</p><div itemprop=b itemscope><i itemprop=c>2</i>
        <div itemprop=d itemscope><i itemprop=e>3</i></div></div><i itemprop=a>4</i>
        <div itemscope><i itemprop=f>5</i></div></div>"""
        inner = {"properties": {"c": ["2"], "d": [{"properties": {"e": ["3"]}}]}}
        assert microdata(body) == [
            {"properties": {"a": ["1", "4"], "b": [inner]}},
            {"properties": {"f": ["5"]}},
        ]

    def test_what_stands_elsewhere(self):
        body = """<p id=x itemprop=a>1</p><div itemscope itemref="y x nowhere x"></div>
        <div id=y><i itemprop=b>2</i><i itemprop=c itemscope><b itemprop=d>3</b></i></div>"""
        properties = {"b": ["2"], "c": [{"properties": {"d": ["3"]}}], "a": ["1"]}
        assert microdata(body) == [{"properties": properties}]

    def test_an_item_within_itself_ends(self):
        body = "<div id=x itemprop=a itemscope itemref=x></div><div itemscope itemref='x y'></div><p id=y itemprop=b>1"
        (found,) = microdata(body)
        assert found["properties"]["b"] == ["1"]
        assert found["properties"]["a"] == [{"properties": {}}]

    def test_items_that_refer_to_each_other_many_times_over_end(self):
        rounds = "".join(
            f"<p id=i{n}><i itemprop=a itemscope itemref=i{n + 1}></i><i itemprop=b itemscope itemref=i{n + 1}></i></p>"
            for n in range(40)
        )
        (found,) = microdata(f"<div itemscope itemref=i0></div>{rounds}")
        assert json.dumps(found).count('"properties"') <= 2 * items.MAX_VALUES

    def test_properties_within_properties_are_not_read_over_and_over(self, monkeypatch):
        read = []

        def line_of(_node, most):
            read.append(most)
            return "x"

        monkeypatch.setattr(items, "line_of", line_of)
        microdata("<div itemscope>" + "<b itemprop=a>" * 5_000)
        assert len(read) <= items.MAX_VALUES
        assert set(read) == {items.MAX_LINE_NODES}

    def test_deep_nesting_is_cut(self):
        body = "<div itemscope>" + "<div itemprop=a itemscope>" * 5_000 + "<p itemprop=b>x"
        assert json.dumps(microdata(body)).count('"properties"') <= items.MAX_DEPTH
        assert microdata("<div itemscope>" * 5_000)[0] == {"properties": {}}


PIECES = [
    "<div itemscope>",
    "<p itemprop=a>",
    "</div>",
    "</p>",
    "<i itemprop='a b' itemscope itemref='x y'>",
    "<b id=x>",
]
PIECES += [
    "<b id=y itemprop=c itemscope itemref=x>",
    "<a itemprop=u href='",
    "'>",
    "<base href=",
    "<meta itemprop=m content=",
]
PIECES += [
    "<script type=application/ld+json>",
    "</script>",
    '{"@graph": [',
    "]",
    "}",
    '"\\ud800"',
    ":",
    "1e999",
    "<!--",
]
PIECES += [
    "<meta property=og:x content=",
    "&#xD800;",
    "\0",
    "text ",
    "\n",
    "é",
    "<svg>",
    "<table>",
    "<template>",
    "itemtype=",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_page_is_too_broken(body):
    orjson.dumps(said(body))


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["{", "}", "[", "]", ",", '"a"', ":", "1", "NaN", "-->", "\\u", " "])).map(
        "".join
    )
)
def test_any_json_is_read_or_left(text):
    orjson.dumps(read_json(text))
