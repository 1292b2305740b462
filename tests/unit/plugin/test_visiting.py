"""What a pipeline says of itself and of a page is looked at before anybody believes it."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from holdfast.domain.errors import UsageError
from holdfast.pipelines.plugin import visiting
from holdfast.pipelines.plugin.finding import kept_options, looked_at, made, options_of
from holdfast.pipelines.plugin.visiting import VisitFailed, Visitor
from holdfast.plugin import Lead, Page, Pipeline

HTML = b"""<!doctype html><title>A page</title><base href="/deep/"><h1>One</h1><b class=price>1,299.00 EUR</b>
<a class=next href="more?x=1#y">on</a> <a href="mailto:me@example.com">mail</a> <a href="/p">p</a>"""


@dataclass(frozen=True)
class Talks(Pipeline):
    kind = "talks"
    phases = ("days", "talks")
    columns: ClassVar = {"name": str, "minutes": float, "speakers": list, "n": int}

    years: tuple[int, ...] = ()
    host: str = "example.com"
    deep: bool = False
    gives: ClassVar = ()

    def start(self):
        return [f"https://{self.host}/"]

    def visit(self, page):
        yield from self.gives


def page(body=HTML, kind="days"):
    headers = (("Content-Type", "text/html"), ("X-Two", "a"), ("x-two", "b"))
    return Page("https://example.com/", kind, 200, headers, body)


def visited(*gives):
    return Visitor(type("Giving", (Talks,), {"gives": gives})()).visit(page())


def test_leads_are_canonical_each_once_and_never_the_page_itself():
    one = page()
    leads = one.follow("more?x=1#y"), one.follow("/deep/more?x=1", "days"), one.follow("/", "talks")
    seen = visited(*leads, one.follow("mailto:me@example.com"), one.follow(None), Lead("https://EXAMPLE.com"))
    assert seen.leads == (("days", "https://example.com/deep/more?x=1"), ("talks", "https://example.com/"))


def test_records_have_every_column_and_a_digest_that_says_whether_they_are_the_same():
    first = visited({"name": "a", "minutes": 3}, {"speakers": ["x", {"y": None}]})
    assert first.rows == (
        {"name": "a", "minutes": 3.0, "speakers": None, "n": None},
        {"name": None, "minutes": None, "speakers": ["x", {"y": None}], "n": None},
    )
    assert first.digest == visited({"minutes": 3.0, "name": "a"}, {"speakers": ["x", {"y": None}]}).digest
    assert first.digest != visited({"name": "a", "minutes": 3}).digest


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"title": "x"}, "a record has 'title', which is none of its columns"),
        ({"name": 3}, "the column 'name' holds str, not 3"),
        ({"n": True}, "the column 'n' holds int, not True"),
        ({"n": 2**70}, "can't be written as JSON"),
        ({"name": "\ud800"}, "can't be written as JSON"),
        ({"speakers": [object()]}, "can't be written as JSON"),
        ("https://example.com/", "leads and records"),
        (Lead("https://example.com/", "rooms"), "there is no kind of item 'rooms'; there are: days, talks"),
        (Lead("javascript:void(0)"), "leads to no page"),
    ],
)
def test_what_it_may_not_give_is_named(given, says):
    with pytest.raises(VisitFailed) as refused:
        visited(given)
    assert says in str(refused.value)


@pytest.mark.parametrize("error", [ValueError("so"), SystemExit(3), RecursionError(), UsageError("ours")])
def test_whatever_it_raises_is_a_failed_visit(error):
    class Raising(Talks):
        def visit(self, page):
            raise error

    with pytest.raises(VisitFailed) as failed:
        Visitor(Raising()).visit(page())
    assert failed.value.__cause__ is error


def test_visit_may_give_a_list_or_nothing_and_is_no_coroutine():
    class Plain(Talks):
        def visit(self, page):
            return None if page.kind == "days" else [{"n": 1}]

    class Async(Talks):
        async def visit(self, page):  # type: ignore[override]
            return []

    assert Visitor(Plain()).visit(page()).rows == ()
    assert len(Visitor(Plain()).visit(page(kind="talks")).rows) == 1
    with pytest.raises(VisitFailed, match="is not async"):
        Visitor(Async()).visit(page())
    with pytest.raises(UsageError, match="not async"):
        looked_at(Async, "here:Async")


def test_a_page_gives_no_more_than_fits(monkeypatch):
    monkeypatch.setattr(visiting, "MAX_GIVEN", 10)
    monkeypatch.setattr(visiting, "MAX_ROWS_BYTES", 1000)
    with pytest.raises(VisitFailed, match="more than 10 leads and records"):
        visited(*[None] * 11)
    with pytest.raises(VisitFailed, match="larger than 1,000 bytes"):
        visited({"name": "x" * 1000})


def test_a_page_is_asked_as_fields_are():
    one = page()
    assert (one.title, one.css("h1"), one.css("a.next@href")) == ("A page", ["One"], ["more?x=1#y"])
    assert one.xpath("//a/@href") == ["more?x=1#y", "mailto:me@example.com", "/p"]
    assert one.field("number css:.price") == 1299.0
    assert one.field("css:.none") is None
    assert one.links == ("https://example.com/deep/more?x=1", "https://example.com/p")
    assert (one.header("X-TWO"), one.header("Age")) == ("a", "")
    assert "One" in one.text
    assert page(b'{"a": [1]}').json() == {"a": [1]}


def test_options_are_read_by_the_types_of_their_fields_and_kept_where_they_differ():
    typed = [("years", "2024"), ("years", "2025"), ("deep", "yes")]
    talks = made(Talks, options_of(Talks, typed))
    assert talks == Talks((2024, 2025), deep=True)
    assert kept_options(talks) == {"years": [2024, 2025], "deep": True}
    assert made(Talks, kept_options(talks)) == talks


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("years", "soon"), "years is a whole number, not 'soon'"),
        (("deep", "2"), "deep is true or false"),
        (("room", "1"), "knows no 'room'; it has: years, host, deep"),
    ],
)
def test_options_that_cannot_be_are_named(typed, says):
    with pytest.raises(UsageError, match=says):
        options_of(Talks, [typed])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "site"}, "its kind is 'site'"),
        ({"kind": "My Talks"}, "its kind is 'My Talks'"),
        ({"phases": ()}, "its phases are a tuple"),
        ({"phases": "days"}, "its phases are a tuple"),
        ({"phases": ("a", "a")}, "two of its phases"),
        ({"phases": ("completed",)}, "'completed' can't be a phase"),
        ({"kinds": {"day": "rooms"}}, "'rooms', named in its kinds"),
        ({"columns": {"url": str}}, "its column 'url'"),
        ({"columns": {"when": bytes}}, "its column 'when'"),
    ],
)
def test_a_class_that_cannot_be_run_says_why(changes, says):
    with pytest.raises(UsageError, match=says):
        looked_at(dataclass(frozen=True)(type("Changed", (Talks,), changes)), "here:Changed")


def test_a_class_without_its_decorator_is_told_so():
    class Bare(Talks):
        more: str

    with pytest.raises(UsageError, match="put @dataclass"):
        looked_at(Bare, "here:Bare")


def test_kinds_are_given_phases():
    class Rich(Talks):
        kinds: ClassVar = {"day": "days", "talk": "talks", "speaker": "talks"}

    visitor = Visitor(Rich())
    assert visitor.stages == {"day": 0, "talk": 1, "speaker": 1}
    assert visitor.first_leads() == [("day", "https://example.com/")]
