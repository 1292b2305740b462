"""The real command against a real site, in a home of its own for each test."""

import pytest
from tests.kit.process import Holdfast
from tests.kit.server import generated, serving

from holdfast.sample import serve


@pytest.fixture(scope="session")
def site():
    return generated(120)


@pytest.fixture
def server(site, tmp_path):
    with serving(site, tmp_path / "access.log") as server:
        yield server


@pytest.fixture(scope="session")
def harbour():
    """The sample site, whose one page that answers 503 the first time only does so for the first crawl."""
    with serve() as base_url:
        yield f"{base_url}/"


@pytest.fixture
def holdfast(tmp_path):
    with Holdfast(tmp_path / "home") as holdfast:
        yield holdfast
