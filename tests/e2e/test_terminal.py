"""On a terminal: a display that changes in place, and a terminal that is left as it was."""

import os
import pty
import signal
import subprocess
import sys
import threading

import pytest
from tests.kit.process import IMPATIENT, ROOT, until

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture
def on_terminal(holdfast):
    """Start the command with a terminal for stderr; gives the process and a function that says what is on it."""
    started = []

    def start(*words, asks=False, **environment):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "--home", str(holdfast.home), *words],
            env={"PYTHONPATH": str(ROOT / "src"), "TERM": "xterm-256color", **IMPATIENT, **environment},
            stdin=theirs if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        read = bytearray()

        def follow():
            try:
                while piece := os.read(ours, 65536):
                    read.extend(piece)
            except OSError:
                pass  # the other side is gone

        thread = threading.Thread(target=follow)
        thread.start()
        started.append((process, thread, ours))
        return (process, read.decode, lambda keys: os.write(ours, keys)) if asks else (process, read.decode)

    yield start
    for process, thread, ours in started:
        process.kill()
        process.communicate()
        thread.join()
        os.close(ours)


def test_the_display_comes_and_goes(on_terminal, server):
    server.delay_s = 0.05
    process, seen = on_terminal("crawl", server.start, "--per-host", "4")
    assert process.wait(60) == 0
    assert process.stdout.read() == b""
    text = seen()
    assert "queued" in text
    assert "checkpoint" in text
    assert text.rindex(SHOW) > text.rindex(HIDE)
    assert text.rindex("completed:") > text.rindex(HIDE)


def test_no_color_means_none(on_terminal, server):
    process, seen = on_terminal("crawl", server.start, NO_COLOR="1")
    assert process.wait(60) == 0
    assert "\x1b[32m" not in seen()


def test_a_dumb_terminal_gets_plain_lines(on_terminal, server):
    process, seen = on_terminal("crawl", server.start, TERM="dumb")
    assert process.wait(60) == 0
    assert "\x1b" not in seen()


def test_a_second_ctrl_c_gives_the_cursor_back(on_terminal, server):
    process, seen = on_terminal("crawl", server.start, HOLDFAST_DRAIN_S="60")
    server.delay_s = 60.0
    until(lambda: HIDE in seen(), "the display is there")
    process.send_signal(signal.SIGINT)
    until(lambda: "Ctrl-C again" in seen(), "it was heard")
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 3
    until(lambda: "stopped at once" in seen(), "it is said")
    text = seen()
    assert text.rindex(SHOW) > text.rindex(HIDE)


@pytest.mark.parametrize("keys", [b"\n", b"n\n", b"\x03"], ids=["enter", "no", "ctrl-c"])
def test_other_rules_are_asked_about_and_nothing_changes_unless_somebody_agrees(
    holdfast, on_terminal, server, keys
):
    assert holdfast.run("crawl", server.start, "-n", "20").code == 0
    before, served = holdfast.everything(), server.served
    words = ("crawl", server.start, "--exclude", "/p/[1-4]")
    process, seen, press = on_terminal(*words, asks=True)
    until(lambda: "Do that? [y/N]" in seen(), "it asks")
    assert "leave the queue (excluded" in seen()
    if keys == b"\x03":
        process.send_signal(signal.SIGINT)
    else:
        press(keys)
    assert process.wait(60) == (3 if keys == b"\x03" else 2)
    assert (holdfast.everything(), server.served) == (before, served)


def test_other_rules_are_applied_once_somebody_agrees(holdfast, on_terminal, server):
    assert holdfast.run("crawl", server.start, "-n", "20").code == 0
    process, seen, press = on_terminal("crawl", server.start, "--exclude", "/p/[1-4]", asks=True)
    until(lambda: "Do that? [y/N]" in seen(), "it asks")
    press(b"y\n")
    assert process.wait(60) == 0
    assert holdfast.run("verify").code == 0
    assert holdfast.show()["status"] == "completed"
