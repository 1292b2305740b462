"""What a site crawl was asked for: checked, stored, known again."""

import orjson
import pytest

from holdfast.domain.errors import UsageError
from holdfast.pipelines.site.spec import Scope, SiteSpec, identity

SPEC = SiteSpec(
    ("https://example.com/", "https://o.org/x"),
    Scope.PREFIX,
    include=("/a",),
    exclude=("b$",),
    ignore_robots=True,
    user_agent="me (+mailto:me@example.com)",
    max_external=7,
)


def test_json_and_back():
    assert SiteSpec.from_json(orjson.loads(orjson.dumps(SPEC.to_json()))) == SPEC
    plain = SiteSpec(("https://example.com/",))
    assert SiteSpec.from_json(orjson.loads(orjson.dumps(plain.to_json()))) == plain


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "galaxy"},
        {"include": "abc"},
        {"include": [1]},
        {"include": ["("]},
        {"start_urls": []},
        {"start_urls": ["nonsense"]},
        {"ignore_robots": 1},
        {"max_external": True},
        {"max_external": -1},
        {"user_agent": "a\nb"},
        {"surprise": 1},
    ],
)
def test_reading_is_strict(change):
    with pytest.raises(UsageError):
        SiteSpec.from_json(SPEC.to_json() | change)


def test_a_missing_part_is_named():
    data = SPEC.to_json()
    del data["start_urls"]
    with pytest.raises(UsageError, match="site spec needs 'start_urls'"):
        SiteSpec.from_json(data)


def test_a_part_that_an_older_version_did_not_write_takes_its_default():
    assert SiteSpec.from_json({"start_urls": ["https://example.com/"]}) == SiteSpec(("https://example.com/",))


def test_what_a_person_asks_for():
    spec = SiteSpec.asked(
        ["example.com", "https://example.com/#top", "localhost:8000"], "domain", exclude=("x",)
    )
    assert spec.start_urls == ("https://example.com/", "http://localhost:8000/")
    assert spec.scope is Scope.DOMAIN
    assert spec.exclude == ("x",)


@pytest.mark.parametrize(
    ("urls", "more", "hint"),
    [
        ([], {}, "at least one start URL"),
        (["nonsense"], {}, "did you mean https://nonsense/"),
        (["example.com"], {"scope": "wide"}, "host, domain, prefix, any"),
        (["example.com"], {"include": ("(",)}, "not a regular expression"),
        (["example.com"], {"exclude": ("*a",)}, "not a regular expression"),
    ],
)
def test_complaints_say_what_to_do(urls, more, hint):
    with pytest.raises(UsageError, match=hint):
        SiteSpec.asked(urls, **more)


def test_identity():
    turned = SiteSpec(SPEC.start_urls[::-1])
    assert identity(None, SPEC) == identity(None, turned) == "site:https://example.com/ https://o.org/x"
    assert identity("nightly", SPEC) == "name:nightly"
    many = SiteSpec(tuple(f"https://example.com/{n}" for n in range(1000)))
    more = SiteSpec(tuple(f"https://example.com/{n}" for n in range(1001)))
    assert len(identity(None, many)) < 500
    assert identity(None, many) != identity(None, more)
