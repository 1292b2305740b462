"""Whoever reads the page can tell its words from what they stand on, in light and dark."""

import re
from importlib.resources import files

import pytest

STYLE = files("holdfast.output.report").joinpath("style.css").read_text(encoding="utf-8")
LIGHT, DARK, DARK_BY_SYSTEM = re.findall(r":root[^{]*\{([^{}]*--paper: #[0-9a-f]{6}[^{}]*)\}", STYLE)
READ = [
    (ink, ground) for ink in ("ink", "soft", "link", "failed", "stop", "good") for ground in ("paper", "card")
]
READ += [(f"on{shade}", f"shade{shade}") for shade in range(5)]
SEEN = [(fill, ground) for fill in ("done", "failed", "claim", "checkpoint") for ground in ("paper", "card")]


def colours(block):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("block", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_that_of_wcag_aa(block):
    known = colours(block)
    for ink, ground in READ:
        assert contrast(known[ink], known[ground]) >= 4.5, (ink, ground)
    for fill, ground in SEEN:
        assert contrast(known[fill], known[ground]) >= 3, (fill, ground)


def test_dark_is_the_same_by_the_system_and_by_the_button():
    assert colours(DARK) == colours(DARK_BY_SYSTEM)
    assert set(colours(DARK)) == set(colours(LIGHT)), "each colour has its dark one"
