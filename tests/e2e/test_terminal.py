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

    def start(*words, **environment):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "--home", str(holdfast.home), *words],
            env={"PYTHONPATH": str(ROOT / "src"), "TERM": "xterm-256color", **IMPATIENT, **environment},
            stdin=subprocess.DEVNULL,
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
        return process, read.decode

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
