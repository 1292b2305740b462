"""The browsers that a crawl started: which of their processes still live."""

import os
import re
from pathlib import Path

import pytest

from holdfast.web.browser.program import find_program, has_playwright

needs_browser = [
    pytest.mark.integration,
    pytest.mark.skipif(
        find_program(None) is None, reason="no Chromium is installed (`make test-system` does that)"
    ),
    pytest.mark.skipif(not has_playwright(), reason="the extra `browser` is not installed"),
    pytest.mark.xdist_group("browser"),  # one at a time is heavy enough
]
"""For `pytestmark`: what such a test needs."""


def descendants(pid: int) -> set[int]:
    """All processes that a living one has started, by whatever way."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    more = {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found


def names(pids: set[int]) -> dict[int, str]:
    """What those that still live are called; a zombie lives no more."""
    living = {}
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        name, state = re.findall(r"\((.*)\) (\S)", stat)[0]
        if state not in {"Z", "X"}:
            living[pid] = name
    return living


def own_group(pid: int) -> bool:
    """Whether that process heeds no Ctrl-C of its terminal: it leads a group of its own."""
    return os.getpgid(pid) == pid
