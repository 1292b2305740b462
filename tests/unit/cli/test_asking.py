"""From the command line to the job that is asked for."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from protego import Protego as Robots

from holdfast import __version__
from holdfast.cli import crawl as command
from holdfast.cli.asking import asked_for, on_loopback
from holdfast.cli.options import FAST, POLITE
from holdfast.domain.checkpoint import CheckpointPolicy
from holdfast.domain.errors import UsageError
from holdfast.domain.job import Durability, Limits, Pace

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from holdfast.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)
"""


def asked(*words):
    context = command.crawl.make_context("crawl", list(words), obj={})
    options: Any = dict(context.params)
    return asked_for(options.pop("urls"), options)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8000/", True),
        ("http://127.9.9.9/", True),
        ("http://[::1]/", True),
        ("https://localhost/", True),
        ("http://site.localhost/", True),
        ("http://localhost.example/", False),
        ("http://10.0.0.1/", False),
        ("https://example.com/", False),
    ],
)
def test_what_is_on_this_machine(url, here):
    assert on_loopback(url) is here


@pytest.mark.parametrize(
    ("contact", "said"),
    [
        ("https://example.org/bot", "(+https://example.org/bot)"),
        ("me@example.org", "(+mailto:me@example.org)"),
        ("mailto:me@example.org", "(+mailto:me@example.org)"),
    ],
)
def test_a_contact_stands_behind_our_own_name(contact, said):
    new = asked("https://example.org/", "--contact", contact)
    assert new.spec["user_agent"] == f"Holdfast/{__version__} {said}"
    rules = Robots.parse("User-agent: holdfast\nDisallow: /closed")
    assert not rules.can_fetch("https://example.org/closed", new.spec["user_agent"])


def test_a_contact_is_not_lost_behind_a_name_of_ones_own():
    with pytest.raises(UsageError, match="--contact"):
        asked("https://example.org/", "--contact", "me@example.org", "--user-agent", "me")


def test_strangers_are_treated_politely_and_our_own_sites_fast():
    assert asked("example.com").pace == POLITE == Pace(16, 2, 1.0, target=1.0)
    assert asked("localhost:8000").pace == FAST == Pace(16, 16, 0.0)
    assert asked("localhost:8000", "example.com").pace == POLITE
    assert asked("example.com", "-c", "3", "--per-host", "1", "--delay", "0").pace == Pace(
        3, 1, 0.0, target=0.5
    )
    assert asked("localhost", "--delay", "0.5").pace.delay_s == 0.5


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["example.com"], 1.0),
        (["example.com", "--per-host", "6"], 3.0),
        (["example.com", "--target-concurrency", "0.5"], 0.5),
        (["example.com", "--no-autothrottle"], None),
        (["localhost"], None),
        (["localhost", "--autothrottle"], 8.0),
        (["localhost", "--target-concurrency", "2"], 2.0),
    ],
)
def test_strangers_that_answer_slowly_are_asked_less_often_unless_told_otherwise(words, target):
    assert asked(*words).pace.target == target


def test_a_target_for_nothing_is_refused():
    with pytest.raises(UsageError, match="leave out --no-autothrottle"):
        asked("example.com", "--no-autothrottle", "--target-concurrency", "2")


@pytest.mark.parametrize("rate", ["0", "-1", "many", "nan", "inf"])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(click.UsageError, match="no number of requests a second"):
        asked("example.com", "--max-rate", rate)


def test_budgets_and_caps_arrive():
    new = asked(
        *["localhost", "--host-pages", "7", "--host-bytes", "2MB", "--max-rate", "0.5", "--max-delay", "9"]
    )
    assert (new.limits.host_pages, new.limits.host_bytes) == (7, 2_000_000)
    assert (new.pace.max_rate, new.pace.max_delay_s) == (0.5, 9.0)


def test_every_option_arrives():
    new = asked(
        *["example.com", "http://a.example/b", "--name", "N", "-n", "5", "-d", "2", "--max-bytes", "1MB"],
        *["--time-limit", "1h30m", "--scope", "domain", "--include", "a", "--include", "b", "--exclude", "c"],
        *["--ignore-robots", "--user-agent", "me", "--checkpoint-items", "3", "--checkpoint-seconds", "2m"],
        *["--durability", "power", "--no-traps", "--strip-param", "utm_*", "--strip-param", "ref"],
    )
    assert new.limits == Limits(5, 2, 1_000_000, 5400.0)
    assert new.checkpoints == CheckpointPolicy(3, 120.0)
    assert new.durability is Durability.POWER
    assert (new.kind, new.name, new.identity) == ("site", "N", "name:N")
    assert new.spec["start_urls"] == ["https://example.com/", "http://a.example/b"]
    assert (new.spec["scope"], new.spec["include"], new.spec["exclude"]) == ("domain", ["a", "b"], ["c"])
    assert (new.spec["ignore_robots"], new.spec["user_agent"]) == (True, "me")
    assert (new.spec["traps"], new.spec["strip_params"]) == ({"avoid": False}, ["utm_*", "ref"])
    looked_for = {"discovery.sitemaps", "discovery.feeds", "discovery.llms"}
    assert new.fixed == {"strip_params", "mime"} | looked_for


def test_without_a_name_the_start_urls_are_the_job():
    assert asked("example.com", "a.example").identity == asked("a.example", "example.com").identity
    assert asked("example.com").identity != asked("example.com/a").identity


@pytest.mark.parametrize(
    ("words", "slow"),
    [
        (["--version"], {"click", "apsw", "rich", "pycurl", "asyncio"}),
        (["--help"], {"apsw", "rich", "pycurl", "pyarrow", "asyncio"}),
        (["crawl", "--help"], {"apsw", "rich", "pycurl", "pyarrow"}),
        (["ls"], {"rich", "pycurl", "pyarrow", "certifi"}),
    ],
)
def test_nothing_is_loaded_that_a_command_does_not_need(tmp_path, words, slow):
    (tmp_path / "home").mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={"HOLDFAST_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not slow & set(ended.stderr.splitlines()[-1].split())
