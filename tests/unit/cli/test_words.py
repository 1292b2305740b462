"""Numbers as people read and write them."""

import re

import pytest

from holdfast.cli import words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1.5", 1.5),
        ("30m", 1800),
        ("1h30m", 5400),
        ("2d", 172800),
        (" 1H 5s ", 3605),
        ("0.5s", 0.5),
    ],
)
def test_durations_are_read(text, seconds):
    assert words.read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "m", "30x", "1m1h", "-5", "1.5m", "nan", "inf", "1e3", "3 0"])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        words.read_duration(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1000", 1000),
        ("10MB", 10_000_000),
        ("10MiB", 10_485_760),
        ("1.5g", 1_500_000_000),
        ("2 kb", 2000),
        ("7B", 7),
    ],
)
def test_sizes_are_read(text, count):
    assert words.read_size(text) == count


@pytest.mark.parametrize("text", ["", "MB", "10XB", "-1", "1e6", "1iB", "10 M B"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        words.read_size(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (0.44, "0.4 s"),
        (12.4, "12 s"),
        (59.7, "1 min"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (18_120, "5 h 2 min"),
        (86_400, "1 d"),
        (273_600, "3 d 4 h"),
    ],
)
def test_durations_are_written(seconds, text):
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (80, "80 s"), (90, "2 min"), (6000, "2 h"), (200_000, "2 d")]
)
def test_estimates_are_rough(seconds, text):
    assert words.rough(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (2.5e15, "2.5 PB")]
)
def test_sizes_are_written(count, text):
    assert words.size(count) == text


def test_nothing_from_elsewhere_reaches_the_terminal_raw():
    assert words.clean("a\x1b[31mb\nc\u202ed") == "a�[31mb�c�d"
    assert words.clean("x" * 10, 5) == "xxxx…"
