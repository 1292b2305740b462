"""A home and a store of each kind."""

import asyncio

import pytest
from tests.contract.stores import OPENERS, Home
from tests.kit.clock import run_async_test


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return run_async_test(pyfuncitem)


@pytest.fixture(params=sorted(OPENERS))
def home(request, tmp_path):
    home = Home(request.param, tmp_path / "home", [])
    yield home
    for store in home.opened:
        asyncio.run(store.close())


@pytest.fixture
def store(home):
    return home.open()
