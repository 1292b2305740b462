"""The whole page: one file that needs no network, no other file and no script to be read."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from holdfast.domain.words import duration
from holdfast.output.report import course, site, trouble
from holdfast.output.report.figures import Figures
from holdfast.output.report.header import header, name_of
from holdfast.output.report.html import Html, joined, tag

_SECTIONS: Final = (
    ("course", "How it went", course.course),
    ("outcomes", "Outcomes", site.outcomes),
    ("makeup", "Make-up", site.makeup),
    ("weight", "Speed and size", site.weight),
    ("failures", "Broken links", trouble.failures),
    ("redirects", "Redirects", trouble.redirects),
    ("duplicates", "Duplicates", trouble.duplicates),
    ("left-out", "Left out", trouble.left_out),
    ("checkpoints", "Checkpoints", course.checkpoints),
)


def page(figures: Figures) -> bytes:
    """The page of these figures."""
    style, script = _resource("style.css"), _resource("script.js")
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="robots", content="noindex"),
        tag("meta", name="generator", content=f"Holdfast {figures.about.version}"),
        tag("title", f"{name_of(figures)}: crawl report"),
        # Ours, and hashed: the one style and the one script that the policy lets in.
        Html(f"<style>{style}</style>"),
    )
    body = tag(
        "body",
        tag("a", "Skip to the figures", href="#course", class_="skip"),
        header(figures),
        tag(
            "nav",
            tag("ul", [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in _SECTIONS]),
            aria_label="Sections",
        ),
        tag("main", [made(figures) for _, _, made in _SECTIONS]),
        _footer(figures),
        Html(f"<script>{script}</script>"),
    )
    document = joined(Html("<!doctype html>\n"), tag("html", head, Html("\n"), body, lang="en"), Html("\n"))
    return document.encode("utf-8", "replace")


def _footer(figures: Figures) -> Html:
    words = (
        f"Figures of run {figures.about.run} of job {figures.about.short_id}, read from its ledger and its stored "
        f"pages in {duration(figures.about.gathered_s)}. Lists hold the largest; every number counts all. "
        "The same figures for programs: holdfast report --json."
    )
    return tag("footer", tag("p", words))


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
