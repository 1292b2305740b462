"""Which addresses belong to a crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.url import canonical
from holdfast.pipelines.site.judge import Judge, SkipReason
from holdfast.pipelines.site.spec import Scope, SiteSpec


def verdict(scope, start, url, depth=1, max_depth=None, **more):
    spec = SiteSpec((start,), Scope(scope), **more)
    return Judge(spec, max_depth, spec.start_urls).judge(canonical(url), depth)


@pytest.mark.parametrize(
    ("scope", "start", "inside", "outside"),
    [
        ("host", "https://example.com/d/x", "http://example.com/y", "https://www.example.com/"),
        ("host", "https://example.com/d/x", "https://example.com/", "https://example.com:8443/"),
        ("host", "http://localhost:8000/", "http://localhost:8000/x", "http://localhost:8001/x"),
        ("domain", "https://www.example.co.uk/", "http://a.b.example.co.uk:81/", "https://other.co.uk/"),
        ("domain", "https://me.github.io/", "https://x.me.github.io/", "https://you.github.io/"),
        ("domain", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/x", "http://127.0.0.1:8001/"),
        ("domain", "http://10.0.0.1/", "http://10.0.0.1/x", "http://11.0.0.1/x"),
        ("domain", "http://[::1]:81/", "http://[::1]:81/x", "http://[::2]:81/"),
        ("domain", "http://localhost/", "http://localhost/x", "http://localhost:81/"),
        ("domain", "https://co.uk/", "https://co.uk/x", "https://example.co.uk/"),
        ("domain", "https://bücher.example/", "https://www.bücher.example/", "https://other.example/"),
        ("prefix", "https://example.com/d/index.html", "http://example.com/d/e/f", "https://example.com/da"),
        ("prefix", "https://example.com/d/?q=/a/b", "https://example.com/d/x", "https://example.com/d?q"),
        ("prefix", "https://example.com/", "https://example.com/x", "https://example.com:81/x"),
    ],
)
def test_scopes(scope, start, inside, outside):
    assert verdict(scope, canonical(start), inside) is None
    assert verdict(scope, canonical(start), outside) is SkipReason.EXTERNAL


def test_any_is_the_whole_web():
    assert verdict("any", "https://example.com/", "http://o.org:81/x") is None


def test_patterns_and_their_order():
    start = "https://example.com/"
    rules = {"include": ("/docs/", "^https://example.com/blog/"), "exclude": (r"\.pdf$", "/private/")}
    assert verdict("host", start, "https://example.com/docs/a", **rules) is None
    assert verdict("host", start, "https://example.com/blog/a", **rules) is None
    assert verdict("host", start, "https://example.com/shop", **rules) == "not_included"
    assert verdict("host", start, "https://example.com/docs/a.pdf", **rules) == "excluded"
    assert verdict("host", start, "https://example.com/a.pdf", **rules) == "excluded"
    assert verdict("host", start, "https://o.org/docs/", **rules) == "external"


def test_start_urls_are_admitted_whatever_the_rules_say():
    start = "https://example.com/"
    assert verdict("host", start, start, depth=9, max_depth=1, include=("/docs/",), exclude=(".",)) is None


@given(st.integers(0, 9), st.integers(0, 9))
def test_depth(depth, max_depth):
    answer = verdict("host", "https://example.com/", "https://example.com/x", depth, max_depth)
    assert (answer is None) == (depth <= max_depth)
    assert answer in {None, "depth"}


HOSTS = st.sampled_from(
    ["a.example", "b.a.example", "c.example", "10.0.0.1", "localhost", "a.example:81", "[::1]"]
)
URLS = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.sampled_from(["", "d/", "d/x", "d/e/f?g", "y"]),
).map(canonical)


@given(URLS, URLS, st.sampled_from(list(Scope)))
def test_wider_scopes_hold_what_narrower_ones_do(start, url, scope):
    order = [Scope.PREFIX, Scope.HOST, Scope.DOMAIN, Scope.ANY]
    if verdict(scope, start, url) is None:
        for wider in order[order.index(scope) :]:
            assert verdict(wider, start, url) is None
    assert verdict(scope, start, start) is None


@given(URLS, URLS, URLS, st.sampled_from(list(Scope)))
def test_more_seeds_never_take_anything_away(start, seed, url, scope):
    spec = SiteSpec((start,), scope)
    if Judge(spec, None, [start]).judge(url, 1) is None:
        assert Judge(spec, None, [start, seed]).judge(url, 1) is None
