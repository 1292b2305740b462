"""Each reason that a crawl may give is told to a reader in words."""

import re

import pytest

from holdfast.crawl.setbacks import ROBOTS
from holdfast.domain.checkpoint import CheckpointReason
from holdfast.output.report.reasons import label, meaning, phrase
from holdfast.pipelines.site.judge import SkipReason
from holdfast.pipelines.site.traps import Trap
from holdfast.web import reasons

FETCH = re.findall(r"^\| (\w+) \|", reasons.__doc__ or "", re.MULTILINE)[1:]


@pytest.mark.parametrize("reason", [*FETCH, *SkipReason, *Trap, ROBOTS, *CheckpointReason, "http_404"])
def test_it_has_a_meaning(reason):
    assert meaning(reason)


def test_what_nobody_knows_is_shown_as_it_is():
    assert (meaning("moon_phase"), label("moon_phase")) == ("", "moon phase")
    assert (label("http_599"), meaning("http_599"), phrase("abc")) == ("HTTP 599", "", "")
