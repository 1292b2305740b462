"""A real browser: Chromium without a window, spoken to through a pipe in its own protocol."""

import base64
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

PATIENCE_S: Final = 60.0
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_QUIETLY: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--no-first-run",
    "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def program() -> str | None:
    """Where a Chromium is, if there is one."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@dataclass
class Tab:
    """One page of the browser."""

    _send: Any
    _receive: Any
    _session: str = ""
    complaints: list[str] = field(default_factory=list)
    """What it wrote to its console as an error or a warning, and what it refused to load."""
    requests: list[str] = field(default_factory=list)
    """Every URL that it asked for."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and wait for what it gives."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        self._send(message | ({"sessionId": self._session} if self._session else {}))
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def open(self, url: str, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page at that width, and wait until it is there. What was noted of the one before it is forgotten."""
        self.complaints.clear()
        self.requests.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        while self._receive_event() != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """What a piece of JavaScript gives."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path: Path, *, top: int = 0, height: int | None = None) -> None:
        """The whole page, or a part of it, as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0,
            "y": top,
            "width": size["width"],
            "height": height or size["height"] - top,
            "scale": 1,
        }
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _receive_event(self) -> str:
        message = self._receive()
        self._note(message)
        return str(message.get("method", ""))

    def _note(self, message: Any) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(str(parameters["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """A browser with one page, its profile in a folder of its own; gone at the end of the block."""
    found = program()
    assert found is not None
    to_browser, ours_out = os.pipe()
    ours_in, from_browser = os.pipe()
    # The browser reads from descriptor 3 and writes to 4.
    script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
    process = subprocess.Popen(
        [
            "bash", "-c", script, "-", str(to_browser), str(from_browser),
            found, *_QUIETLY, f"--user-data-dir={folder}", "about:blank",
        ],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    with open(ours_out, "wb", buffering=0) as out, open(ours_in, "rb") as incoming:  # noqa: PTH123 - descriptors

        def send(message: Any) -> None:
            out.write(json.dumps(message).encode() + b"\0")

        held = bytearray()

        def receive() -> Any:
            while (end := held.find(0)) < 0:
                piece = os.read(incoming.fileno(), 1 << 20)
                assert piece, "the browser has gone"
                held.extend(piece)
            message = json.loads(bytes(held[:end]))
            del held[: end + 1]
            return message

        try:
            one = Tab(send, receive)
            target = next(t for t in one.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
            session = one.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)[
                "sessionId"
            ]
            one._session = session
            for domain in ("Page", "Runtime", "Log", "Network"):
                one.call(f"{domain}.enable")
            yield one
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
