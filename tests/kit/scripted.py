"""A site that shows nothing without scripts: one shell for all addresses, whose content is fetch()ed by a router."""

import json
from typing import Final

from tests.kit.server import Answer, Site

JS: Final = (("Content-Type", "text/javascript"),)
JSON: Final = (("Content-Type", "application/json"),)
_ROUTER: Final = """
const show = async () => {
  const root = document.getElementById("root");
  const answer = await fetch("/api" + location.pathname);
  if (!answer.ok) { root.textContent = "No such page."; return; }
  const page = await answer.json();
  document.title = page.title;
  root.innerHTML = "<h1>" + page.title + "</h1><p>" + page.text + "</p>"
    + page.links.map(link => '<a href="' + link + '">' + link + "</a>").join(" ");
};
document.addEventListener("click", event => {
  if (event.target.href) { event.preventDefault(); history.pushState({}, "", event.target.href); show(); }
});
show();
"""
SHELL: Final = (
    b"<!doctype html><html><head><meta charset=utf-8><title>Loading</title><link rel=icon href=/favicon.ico>"
    b"<link rel=stylesheet href=/app.css></head>"
    b"<body><noscript>You need to enable JavaScript to run this app.</noscript>"
    b"<div id=root></div><script src=/app.js></script></body></html>"
)


def pages(count: int = 12) -> dict[str, list[str]]:
    """The site's pages and where each leads: a tree by threes, all of whose links only scripts make."""
    return {
        _path(n): [_path(child) for child in range(3 * n + 1, 3 * n + 4) if child < count]
        for n in range(count)
    }


def scripted(count: int = 12, **more: Answer) -> Site:
    """The site, and what else there is: path (with `/` for `__`) to answer."""
    answers = {"/app.js": Answer(200, _ROUTER.encode(), JS), "/app.css": Answer(200, b"h1 { color: teal }")}
    for n, (path, links) in enumerate(pages(count).items()):
        said = {"title": f"Page {n}", "text": f"Only a script wrote these words of page {n}.", "links": links}
        answers[path] = Answer(200, SHELL)
        answers[f"/api{path}"] = Answer(200, json.dumps(said).encode(), JSON)
    return Site(answers | {f"/{name.replace('__', '/')}": answer for name, answer in more.items()})


def _path(n: int) -> str:
    return f"/view/{n}" if n else "/"
