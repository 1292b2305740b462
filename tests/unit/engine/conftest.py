"""Engine tests run in a loop that leaps over every wait, if they ask for `leap`."""

import pytest
from tests.kit.clock import ManualClock, run_async_test


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return run_async_test(pyfuncitem)


@pytest.fixture
def leap():
    return ManualClock()
