"""`python -m holdfast.sample [options of crawl]`: serves the sample site on loopback and crawls it.

`python -m holdfast.sample chaos [options of chaos]` torments it, counting by the site's own access log.

This process becomes the crawl and a child of it serves the site, not the other way round: so signals, kills
and exit codes are the crawl's own, just as with any other site. The child leaves when the crawl is gone,
however it went: it reads a pipe whose other end only the crawl holds.

`python -m holdfast.sample --serve` serves the site and crawls nothing, for a look at it in a browser.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Never

from holdfast.sample.server import DEFAULT_PORT, PortTakenError, serve

_USAGE_ERROR = 2


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say; returns only where no crawl was started."""
    match arguments:
        case ["--serve"]:
            return _serve_until_interrupted(DEFAULT_PORT)
        case ["--serve-attached", port, *log]:
            return _serve_until_eof(int(port), Path(*log) if log else None)
        case ["chaos", *rest]:
            return _torment(rest)
    base_url = start_attached_site(DEFAULT_PORT)
    if base_url is not None:
        become([sys.executable, "-m", "holdfast", "crawl", f"{base_url}/", *arguments])
    return _USAGE_ERROR


def _torment(arguments: Sequence[str]) -> int:
    file, name = tempfile.mkstemp(prefix="holdfast-harbour-", suffix=".log")
    os.close(file)
    base_url = start_attached_site(DEFAULT_PORT, Path(name))
    if base_url is not None:
        become([sys.executable, "-m", "holdfast", "chaos", f"{base_url}/", "--access-log", name, *arguments])
    Path(name).unlink(missing_ok=True)
    return _USAGE_ERROR


def start_attached_site(port: int, log: Path | None = None) -> str | None:
    """Start serving in a child that lives as long as this process; None if it could not (it has said why).

    `log`: a file to which each answer is written, and which goes when the site goes.
    """
    for_child, held_open = os.pipe()
    # A session of its own: Ctrl-C at the terminal is for the crawl, which wants to finish what is in flight.
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "holdfast.sample",
            "--serve-attached",
            str(port),
            *([str(log)] if log else []),
        ],
        stdin=for_child,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(for_child)
    os.set_inheritable(held_open, True)  # noqa: FBT003 - takes it by position only
    assert child.stdout is not None  # noqa: S101 - it was asked for above
    with child.stdout as ready:
        base_url = ready.readline().decode().strip()
    if not base_url:
        child.wait()
    return base_url or None


def become(command: list[str]) -> Never:
    """Replace this process by `command`."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def _serve_until_eof(port: int, log: Path | None) -> int:
    try:
        # The site of a crawl that was killed a moment ago may be on its way out still.
        with serve(port, patience_s=2.0, log=log) as base_url:
            print(base_url, flush=True)
            sys.stdin.buffer.read()
    except PortTakenError as error:
        print(error, file=sys.stderr)
        return _USAGE_ERROR
    finally:
        if log is not None:
            log.unlink(missing_ok=True)
    return 0


def _serve_until_interrupted(port: int) -> int:
    try:
        with serve(port) as base_url:
            print(f"Holdfast Harbour is at {base_url}/ (Ctrl-C ends it)", flush=True)
            threading.Event().wait()
    except PortTakenError as error:
        print(error, file=sys.stderr)
        return _USAGE_ERROR
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
