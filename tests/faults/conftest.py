"""A site, its server, and holdfast in a home of its own, for each test."""

import pytest
from tests.kit.process import Holdfast
from tests.kit.server import generated, serving


@pytest.fixture(scope="session")
def site():
    return generated(400)


@pytest.fixture
def server(site, tmp_path):
    with serving(site, tmp_path / "access.log") as server:
        yield server


@pytest.fixture
def holdfast(tmp_path):
    with Holdfast(tmp_path / "home") as holdfast:
        yield holdfast
