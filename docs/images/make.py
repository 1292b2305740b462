"""The README's pictures, from a real crawl: live.svg is the display at work, report.png the page that `report` writes.

    python docs/images/make.py     (or `make pictures`)

Both crawl Debian's python3-doc behind nginx on loopback. The crawl of the report is killed twice and paused once on its
way. The display is drawn by the product's own code from what it saw while the crawl ran.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from tests.e2e.test_real_site import documentation
from tests.kit import chromium, nginx
from tests.kit.process import Fault, Holdfast, until

from holdfast.cli import screen
from holdfast.cli.main import run
from holdfast.cli.picture import picture
from holdfast.ports.faults import FaultPoint

if TYPE_CHECKING:
    from holdfast.cli.view import View

HERE: Final = Path(__file__).parent
COLUMNS: Final = 92
THEME: Final = TerminalTheme(
    (18, 24, 29),
    (233, 230, 221),
    [(42, 52, 60), (240, 128, 107), (109, 187, 147), (217, 183, 92), (124, 163, 219), (190, 150, 210), (79, 179, 195),
     (233, 230, 221)],
    [(110, 120, 128), (240, 128, 107), (109, 187, 147), (217, 183, 92), (124, 163, 219), (190, 150, 210),
     (127, 208, 220), (255, 255, 255)],
)  # fmt: skip
SVG: Final = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The live display of a crawl</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


class Watching:
    """A screen that remembers what it was shown."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.views: list[View] = []

    def say(self, sentence: str) -> None:
        """Keep the line."""
        self.said.append(f"holdfast: {sentence}")

    def show(self, view: View) -> None:
        """Keep the look."""
        self.views.append(view)

    def close(self) -> None:
        """Nothing to take away."""

    def abandon(self) -> None:
        """Likewise."""


def live(url: str, folder: Path) -> None:
    """One look at a crawl, when half of its pages are done."""
    watching = Watching()
    screen.screen = lambda **_: watching  # the one thing that is not as a person would have it
    words = ["crawl", url, "--name", "python-docs"]
    code = run(["--home", str(folder / "live"), *words, "--delay", "0.03"])
    assert code == 0, code
    half = max(one.job.counters.done for one in watching.views) / 2
    look = min(watching.views, key=lambda one: abs(one.job.counters.done - half))

    console = Console(
        record=True, width=COLUMNS, force_terminal=True, color_system="truecolor", file=sys.stderr
    )
    console.print(f"[bold]$[/] holdfast {' '.join(words)}", highlight=False)
    console.print(watching.said[0], highlight=False)
    console.print()
    console.print(picture(look))
    drawn = console.export_svg(title="holdfast", theme=THEME, code_format=SVG, unique_id="live")
    (HERE / "live.svg").write_text(drawn, encoding="utf-8")


def report(url: str, folder: Path) -> None:
    """The upper part of the page, of a crawl that was killed twice and paused once."""
    words = ("--name", "python-docs", "--delay", "0.02")
    with Holdfast(folder / "report") as holdfast:
        for nth in (14, 17):
            holdfast.crawl_and_die(url, *words, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=nth))
        before = holdfast.commits()
        running = holdfast.crawl(url, *words)
        until(lambda: holdfast.commits() > before + 10, "it is under way", running=running)
        assert holdfast.run("pause").code == 0
        running.ended()
        time.sleep(8)  # so that there is a pause to be seen
        assert holdfast.crawl(url, *words).ended().code == 0
        page = folder / "report.html"
        assert holdfast.run("report", "-o", page).code == 0
    with chromium.tab(folder / "profile") as tab:
        tab.open(page.as_uri(), width=1120)
        tab.screenshot(HERE / "report.png", height=1430)


def main() -> None:
    """Both."""
    root = documentation()
    if root is None or nginx.program() is None or chromium.program() is None:
        sys.exit(
            "python3-doc, nginx and Chromium are needed; `make test-system` installs them as root on Debian"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with nginx.serving(root, folder) as server:
            live(f"{server.url}/", folder)
            report(f"{server.url}/", folder)
    for picture_file in ("live.svg", "report.png"):
        print(f"{HERE / picture_file}: {(HERE / picture_file).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
