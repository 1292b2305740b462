"""The examples run, as they stand, against the sample site."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kit.process import IMPATIENT, ROOT


def run(example: str, *words: str | Path) -> list[str]:
    ended = subprocess.run(
        [sys.executable, ROOT / "examples" / example, *words],
        env={**os.environ, **IMPATIENT, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr
    return ended.stdout.splitlines()


def test_titles_are_printed_and_a_second_run_fetches_nothing(harbour, tmp_path):
    first, *pages = run("titles.py", harbour, tmp_path / "home")
    assert first == "completed: 65 pages, 1 failed"
    assert len(pages) == len(set(pages)) == 65
    assert run("titles.py", harbour, tmp_path / "home") == [first, *pages]


@pytest.mark.parametrize("again", [False, True])
def test_pages_come_each_once_while_the_crawl_goes_on(harbour, tmp_path, again):
    lines = run("as_they_come.py", harbour, tmp_path / "home")
    if again:
        assert run("as_they_come.py", harbour, tmp_path / "home") == lines
    assert len(lines) == len(set(lines)) == 65
