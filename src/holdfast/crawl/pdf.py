"""PDFs, read by PDFium in a process of its own: whatever one does there, the crawl goes on.

A hostile PDF can make any parser run for ever, take all memory or crash. So a child reads them, one after the other,
bounded by pages, time and bytes (`pdf_child`). One that exceeds them costs its own text and links, and the next PDF
gets a new child. The child ends with us: at the end of its input, or of the processor time that it may use.
"""

import atexit
import json
import os
import struct
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from holdfast.crawl.document import Document, Kind

TIME_S: Final = 20.0
"""So long one PDF may take."""
MAX_TITLE_CHARS: Final = 1000

MAGIC: Final = b"%PDF-"
_MAGIC_WITHIN: Final = 1024
_CHILD: Final = Path(__file__).with_name("pdf_child.py")
_READERS: "weakref.WeakSet[PdfReader]" = weakref.WeakSet()
_LENGTH: Final = struct.Struct("!cQ")
_ANSWER: Final = struct.Struct("!Q")


def may_be_one(body: bytes) -> bool:
    """Whether it says so, where PDFs do: what doesn't is damaged, and no child is asked about it."""
    return MAGIC in body[:_MAGIC_WITHIN]


class PdfReader:
    """Hands PDFs to a child of its own, one at a time, from whatever thread. It starts with the first of them."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._owner = os.getpid()
        _READERS.add(self)

    def __del__(self) -> None:
        """Nobody is left to ask."""
        if self._child is not None and self._owner == os.getpid():
            self._forget()

    def read(self, body: bytes) -> Document:
        """Its title and links; `unread` says why there are none where it can't be read."""
        said = self._ask(b"L", body) if may_be_one(body) else {"error": "damaged"}
        return Document(
            Kind.PDF,
            title=" ".join(str(said.get("title", ""))[: 4 * MAX_TITLE_CHARS].split())[:MAX_TITLE_CHARS],
            links=[str(link) for link in said.get("links", ())],
            cut=bool(said.get("cut")),
            unread=str(said.get("error", "")),
        )

    def text(self, body: bytes) -> str:
        """The text of its pages, as far as it has any: a scanned page has none."""
        return str(self._ask(b"T", body).get("text", "")) if may_be_one(body) else ""

    def stop(self) -> None:
        """For good: whoever reads or waits to is told at once that it was stopped."""
        self._stopped = True
        child = self._child
        if child is not None:
            child.kill()
        with self._turn:
            self._forget()

    def _ask(self, what: bytes, body: bytes) -> dict[str, Any]:
        """What the child says of a body; `error` where it says nothing."""
        if self._owner != os.getpid():
            # Another process has our memory since a fork: the child is none of its own.
            self._owner, self._turn, self._child = os.getpid(), threading.Lock(), None
        with self._turn:
            if self._stopped:
                return {"error": "stopped"}
            child = self._child
            if child is None or child.poll() is not None:
                self._forget()
                child = self._child = _started()
            timed_out = threading.Event()
            timer = threading.Timer(TIME_S, _expire, (child, timed_out))
            timer.daemon = True
            timer.start()
            try:
                return _exchange(child, what, body)
            except (OSError, ValueError, struct.error):
                self._forget()
                return {"error": "timeout" if timed_out.is_set() else "damaged"}
            finally:
                timer.cancel()

    def _forget(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def _started() -> "subprocess.Popen[bytes]":
    # A session of its own: Ctrl-C is for us, and what we have in hand comes to its end.
    return subprocess.Popen(
        [sys.executable, "-I", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _exchange(child: "subprocess.Popen[bytes]", what: bytes, body: bytes) -> dict[str, Any]:
    assert child.stdin is not None  # noqa: S101 - both are pipes
    assert child.stdout is not None  # noqa: S101
    child.stdin.write(_LENGTH.pack(what, len(body)))
    child.stdin.write(body)
    child.stdin.flush()
    (length,) = _ANSWER.unpack(child.stdout.read(_ANSWER.size))
    said = json.loads(child.stdout.read(length))
    return said if isinstance(said, dict) else {}


def _expire(child: "subprocess.Popen[bytes]", timed_out: threading.Event) -> None:
    timed_out.set()
    child.kill()


def _stop_all() -> None:
    for reader in list(_READERS):
        reader.stop()


atexit.register(_stop_all)
SHARED: Final = PdfReader()
"""For whoever reads what is stored; a crawl has one of its own, which ends with it."""
