"""How `make docs` builds the site: the pages as they stand, in their four kinds, and nothing fetched from elsewhere."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
_PAGES = {ROOT / "CHANGELOG.md": "/changelog.md", DOCS / "README.md": "/index.md"}
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)")

project = "Holdfast"
author = "The Holdfast authors"
project_copyright = author
version = release = re.findall(r'__version__ = "(.+)"', (ROOT / "src/holdfast/__init__.py").read_text())[0]

extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["README.md", "_build"]  # index.md includes it
# Anchors as GitHub makes them, so that a link works in both places.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = f"Holdfast {version}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e75", "color-brand-content": "#0b6e75"},
    "dark_css_variables": {"color-brand-primary": "#5cc9d1", "color-brand-content": "#5cc9d1"},
}


def setup(app: "Sphinx") -> None:
    """Pages are read in the repository, too: what they link to beyond the docs stays text here."""
    # What draws it on other sites is a script from elsewhere; its source is legible enough.
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", _stay_inside)
    app.connect("include-read", lambda app, _path, name, content: _stay_inside(app, name, content))


def _stay_inside(app: "Sphinx", name: str, content: list[str]) -> None:
    folder = Path(app.env.doc2path(name)).parent

    def inside(link: re.Match[str]) -> str:
        text, target = link.groups()
        place = (folder / target.partition("#")[0]).resolve()
        if place in _PAGES:
            return f"[{text}]({_PAGES[place]}{target[len(target.partition('#')[0]) :]})"
        return link.group() if place.is_file() and place.is_relative_to(DOCS) else text

    content[0] = _LINK.sub(inside, content[0])
