"""Conditions on failed pages are understood, or refused in a sentence."""

import pytest

from holdfast.domain.errors import UsageError
from holdfast.domain.failures import Which

URL = "http://example.org:8000/old/page?x=1"


@pytest.mark.parametrize(
    "condition",
    [
        "reason=http_503",
        " reason = http_503 ",
        "status=503",
        "host=example.org",
        "host=EXAMPLE.org:8000",
        "host=http://example.org:8000",
        "url~=/old/",
        r"url~=\?x=\d$",
    ],
)
def test_a_condition_that_holds(condition):
    assert Which.asked([condition]).fits(URL, "http_503")


@pytest.mark.parametrize(
    "condition", ["reason=http_50", "status=500", "host=org", "host=example.org:80", "url~=^/old/"]
)
def test_a_condition_that_does_not_hold(condition):
    assert not Which.asked([condition]).fits(URL, "http_503")


def test_all_conditions_must_hold_and_none_holds_for_all():
    assert Which().fits(URL, "timeout")
    assert Which.asked(["status=503", "url~=old"]).fits(URL, "http_503")
    assert not Which.asked(["status=503", "url~=new"]).fits(URL, "http_503")


@pytest.mark.parametrize(
    "condition",
    ["", "timeout", "reason", "reason=", "reason~=x", "url=x", "status=5xx", "depth=3", "url~=(", "=x"],
)
def test_what_is_no_condition_is_refused(condition):
    with pytest.raises(UsageError):
        Which.asked([condition])
