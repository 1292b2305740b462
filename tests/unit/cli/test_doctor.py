"""doctor looks at what a crawl uses."""

import re
import tomllib
from pathlib import Path

from holdfast.cli.checkup import LIBRARIES, examine
from holdfast.settings import Settings
from holdfast.web.transfer import trusted_roots

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def test_every_library_that_is_needed_is_looked_for():
    needed = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    assert sorted(LIBRARIES) == sorted(re.split(r"[<>=]", one)[0] for one in needed)


def test_the_roots_are_those_that_the_fetcher_believes(tmp_path):
    found = {finding.what: finding.found for finding in examine(Settings(home=tmp_path / "home"))}
    assert found["TLS roots"] == trusted_roots()
