"""A generated web site: the same pages, links and sizes for the same arguments, on any machine.

Page i links to pages 3i+1, 3i+2 and 3i+3, so that every page is reachable; the other links go to
the navigation, to neighbours and anywhere. Each page has 40-60 links and 10-20 KB of HTML.
"""

# ruff: noqa: A005 - never imported but as benchmarks.site

from __future__ import annotations

import argparse
import html
import json
import posixpath
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 2  # raise it when the same arguments would give other pages
SECTIONS = 40
FOLDERS = 25
SYLLABLES = "ba co di fu ga he ki lo mu na pe qui ro su ta ve wi xo yu za".split()  # noqa: SIM905
ACCENTED = ("café", "über", "niño", "straße", "œuvre")
NAVIGATION = 8


@dataclass(frozen=True)
class Site:
    """A site on disk: its document root and the path of every page, in page order."""

    root: Path
    base_url: str
    paths: tuple[str, ...]

    @property
    def start_url(self) -> str:
        """The page from which all others can be reached."""
        return self.base_url + self.paths[0]

    def path_of(self, url: str) -> str:
        """The path under which the access log knows a URL of this site."""
        return url.partition("#")[0].removeprefix(self.base_url)


def generate(pages: int, port: int, *, folder: Path | None = None, seed: int = 1) -> Site:
    """Return the site of that many pages for 127.0.0.1:port, writing it unless it stands already.

    The port is part of the site, because some of its links are absolute.
    """
    home = folder or Path(tempfile.gettempdir()) / "holdfast-bench"
    target = home / f"site-v{FORMAT}-{pages}-{port}-{seed}"
    base_url = f"http://127.0.0.1:{port}"
    paths = tuple(_paths(pages, seed))
    if not target.exists():
        home.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="partial-", dir=home))
        partial.chmod(0o755)
        _write(partial, base_url, paths, seed)
        try:
            partial.rename(target)
        except OSError:  # another run was faster, with the same pages
            shutil.rmtree(partial)
    return Site(target, base_url, paths)


def _paths(pages: int, seed: int) -> Iterator[str]:
    rng = Random(f"paths-{seed}")
    sections = [_word(rng) + f"-{n}" for n in range(SECTIONS)]
    for page in range(pages):
        slug = f"{_word(rng)}-{_word(rng)}-{page}"
        folder = f"/{sections[page % SECTIONS]}/{page // SECTIONS % FOLDERS:02d}"
        yield f"{folder}/{slug}.html" if page else "/"


def _write(root: Path, base_url: str, paths: tuple[str, ...], seed: int) -> None:
    sentences = list(_sentences(Random(f"text-{seed}"), 3000))
    for folder in {posixpath.dirname(path) for path in paths}:
        (root / folder[1:]).mkdir(parents=True, exist_ok=True)
    for page, path in enumerate(paths):
        writer = _PageWriter(page, paths, base_url, sentences, Random(f"page-{seed}-{page}"))
        file = root / (path[1:] or "index.html")
        file.write_text(writer.document(), encoding="utf-8")
    (root / "robots.txt").write_text("User-agent: *\nAllow: /\n", encoding="ascii")


def _word(rng: Random) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randrange(2, 5)))


def _sentences(rng: Random, count: int) -> Iterator[str]:
    words = [_word(rng) for _ in range(2000)] + [*ACCENTED] * 10
    for _ in range(count):
        text = " ".join(rng.choice(words) for _ in range(rng.randrange(7, 16))).capitalize()
        yield html.escape(text + rng.choice((".", ".", ".", "?", " & so on.", " \u2013 that's all.")))


@dataclass(frozen=True)
class _PageWriter:
    page: int
    paths: tuple[str, ...]
    base_url: str
    sentences: list[str]
    rng: Random

    def document(self) -> str:
        """The page's HTML, filled with text up to its size."""
        size, title = self.rng.randrange(10_500, 19_500), f"Page {self.page}: {self._sentence()}"
        body = self.rng.randrange(40, 61) - 4  # skip link, note, mail and one external link
        targets = self._targets(body)
        head = self._head(title) + self._navigation(targets[:NAVIGATION])
        anchors = [self._anchor(target) for target in targets[NAVIGATION:]]
        foot = self._foot()
        room = size - len((head + foot + "".join(anchors)).encode()) - 9 * len(anchors)
        parts = [self._paragraph(anchor, room // len(anchors)) for anchor in anchors]
        third = len(parts) // 3
        parts.insert(third, "<h2 id='notes'>Notes</h2>\n")
        parts.insert(2 * third, "<h2 id='more'>More</h2>\n")
        return head + "".join(parts) + foot

    def _targets(self, count: int) -> list[int]:
        """Page numbers to link to: the navigation first, then the tree, neighbours, anything."""
        total = len(self.paths)
        chosen = [page % total for page in range(NAVIGATION)]
        chosen += [c for c in range(3 * self.page + 1, 3 * self.page + 4) if c < total]
        chosen.append((self.page - 1) // 3 if self.page else 0)
        chosen += [(self.page + step) % total for step in (1, 2, SECTIONS, 2 * SECTIONS)]
        return chosen + [self.rng.randrange(total) for _ in range(count - len(chosen))]

    def _href(self, target: int) -> str:
        path, form = self.paths[target], self.rng.random()
        if form < 0.15:
            return self.base_url + path
        if form < 0.5 and path != "/":
            return posixpath.relpath(path, posixpath.dirname(self.paths[self.page]))
        return path

    def _anchor(self, target: int) -> str:
        return f'<a href="{self._href(target)}">{self._sentence()[:24].split("&")[0]}</a>'

    def _sentence(self) -> str:
        return self.sentences[int(self.rng.random() * len(self.sentences))]

    def _paragraph(self, anchor: str, room: int) -> str:
        text, length = [], 0
        while length < room - 40:
            text.append(self._sentence())
            length += len(text[-1].encode()) + 1
        text.insert(len(text) // 2, anchor)
        return f"<p>{' '.join(text)}</p>\n"

    def _head(self, title: str) -> str:
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<title>{title}</title>\n<meta name="description" content="{self._sentence()}">\n'
            f'<link rel="canonical" href="{self.base_url}{self.paths[self.page]}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            "<style>body { font: 16px/1.5 serif } nav li { display: inline }</style>\n"
            f"<script>window.page = {{id: {self.page}}};</script>\n</head>\n<body>\n"
            f'<a class="skip" href="#content">Skip to content</a>\n<h1 id="content">{title}</h1>\n'
        )

    def _navigation(self, targets: list[int]) -> str:
        items = "".join(f"<li>{self._anchor(target)}</li>\n" for target in targets)
        return f'<nav class="main"><ul>\n{items}</ul></nav>\n<main>\n'

    def _foot(self) -> str:
        noted = self.paths[self.rng.randrange(len(self.paths))]
        return (
            f'</main>\n<footer><p>See <a href="{noted}#notes">the notes</a>, write to '
            '<a href="mailto:someone@example.org">us</a>, or read '
            f'<a href="https://example.org/about?page={self.page}">elsewhere</a>.</p></footer>\n'
            "</body>\n</html>\n"
        )


def main() -> None:
    """Write a site and say what it is like."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--port", type=int, default=8947)
    arguments = parser.parse_args()
    site = generate(arguments.pages, arguments.port)
    sizes = sorted(file.stat().st_size for file in site.root.rglob("*.html"))
    summary = {
        "root": str(site.root),
        "start": site.start_url,
        "pages": len(sizes),
        "bytes": {"min": sizes[0], "median": sizes[len(sizes) // 2], "max": sizes[-1]},
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
