"""Settings mean what they say, or are refused by name."""

import pytest

from holdfast import settings
from holdfast.domain.errors import UsageError
from holdfast.web.transfer import FetchLimits
from holdfast.web.warc.segments import RECORD_BYTES


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"HOLDFAST_RENEW_S": "120"}, ["HOLDFAST_RENEW_S", "HOLDFAST_EXPIRE_S"]),
        ({"HOLDFAST_EXPIRE_S": "5"}, ["HOLDFAST_RENEW_S", "HOLDFAST_EXPIRE_S"]),
        ({"HOLDFAST_STALL_S": "4000"}, ["HOLDFAST_STALL_S", "HOLDFAST_STALE_S"]),
        ({"HOLDFAST_BODY_MB": "0"}, ["HOLDFAST_BODY_MB", "above 0"]),
        ({"HOLDFAST_BODY_MB": "0.0000001"}, ["HOLDFAST_BODY_MB", "above 0"]),
        ({"HOLDFAST_BODY_MB": "101"}, ["HOLDFAST_BODY_MB", "up to 100"]),
    ],
)
def test_what_can_not_be_meant_is_refused_by_name(given, named):
    with pytest.raises(UsageError) as refused:
        settings.load(given)
    for word in named:
        assert word in str(refused.value)


def test_the_largest_body_can_be_read_back():
    assert settings.load({"HOLDFAST_BODY_MB": "100"}).fetch.body_bytes == settings.MAX_BODY_BYTES
    assert settings.MAX_BODY_BYTES + 2 * FetchLimits().header_bytes < RECORD_BYTES
