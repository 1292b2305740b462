"""Another spec for a crawl that is there: what of it is new, and what its judge says of addresses that are known."""

from dataclasses import replace

import pytest

from holdfast.domain.job import Limits
from holdfast.pipelines.site.discovery import Discovery
from holdfast.pipelines.site.judge import SkipReason
from holdfast.pipelines.site.pipeline import SitePipeline
from holdfast.pipelines.site.spec import Scope, SiteSpec
from holdfast.pipelines.site.traps import Trap, TrapRules
from holdfast.ports.pipeline import Revised

SPEC = SiteSpec.asked(["http://site/"], exclude=("old",), include=("a", "b"))


def revised(**changes):
    return SitePipeline().revised(SPEC.to_json(), replace(SPEC, **changes).to_json())


def test_the_same_rules_in_another_order_change_nothing():
    same = revised(include=("b", "a"), ignore_robots=False, user_agent="me", fields=("x=css:y",))
    assert same == Revised(same.spec)


@pytest.mark.parametrize(
    ("changes", "relinks"),
    [
        ({"exclude": ("old", "more")}, False),
        ({"include": ("a",)}, False),
        ({"exclude": ()}, True),
        ({"include": ()}, True),
        ({"include": ("a", "c")}, True),
        ({"scope": Scope.ANY}, True),
        ({"scope": Scope.PREFIX}, True),
        ({"traps": TrapRules(avoid=False)}, True),
        ({"start_urls": ("http://site/", "http://other/")}, True),
    ],
)
def test_only_rules_that_shut_out_more_than_they_did_leave_links_as_they_were_judged(changes, relinks):
    change = revised(**changes)
    assert (change.judged, change.relinks) == (True, relinks)


def test_links_that_were_not_to_be_followed_are_let_in_by_their_reason():
    change = revised(discovery=Discovery(follow_nofollow=True))
    assert (change.judged, change.readmitted) == (False, {SkipReason.NOFOLLOW})
    assert revised(ignore_robots=True).readmitted == {"robots"}


def test_start_urls_are_added_and_never_taken_away():
    change = revised(start_urls=("http://other/", "http://third/"))
    assert change.spec["start_urls"] == ["http://site/", "http://other/", "http://third/"]
    assert change.begins
    again = SitePipeline().revised(change.spec, SPEC.to_json())
    assert again.spec == change.spec
    assert (again.begins, again.judged) == (False, False)


@pytest.mark.parametrize(
    ("url", "depth", "kind", "verdict"),
    [
        ("http://site/a", 2, "page", None),
        ("http://site/a", 3, "page", "depth"),
        ("http://site/old/a", 9, "page", "excluded"),
        ("http://site/c", 1, "page", "not_included"),
        ("http://moved/a", 1, "page", None),
        ("http://other/a", 1, "page", "external"),
        ("http://site/", 9, "page", None),
        ("http://site/a;jsessionid=1", 1, "page", "trap_session"),
        ("http://elsewhere/old/sitemap.xml", 1, "sitemap", None),
        ("http://elsewhere/feed", 3, "feed", "depth"),
    ],
)
def test_known_addresses_are_judged_as_links_are(url, depth, kind, verdict):
    pipeline = SitePipeline()
    judged = pipeline.verdict(SPEC.to_json(), Limits(max_depth=2), {"seeds": ["http://moved/"]})
    assert judged(url, depth, kind) == verdict
    assert verdict is None or verdict in pipeline.judged


def test_what_only_a_page_or_a_turn_can_tell_is_not_the_judges():
    apart = {Trap.LOOP, Trap.BARREN, Trap.ORDER, Trap.FACETS}
    assert set(Trap) - SitePipeline().judged == apart
    assert SkipReason.NOFOLLOW not in SitePipeline().judged
