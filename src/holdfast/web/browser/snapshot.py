"""What a page's scripts made of it, read from outside of their reach.

The expression runs in a world of its own: scripts of the page can't see it, nor bend what it calls. It works on a copy
in a document where nothing runs, so reading a page sets nothing off in it.
"""

import json
from collections.abc import Sequence
from typing import Final

_EXPRESSION: Final = """
((url, onward, most) => {
  const inert = document.implementation.createHTMLDocument("");
  const graft = (from, to) => {
    // What is in open shadow trees is seen by readers: it stands behind its host's own children.
    const theirs = document.createTreeWalker(from, 1), ours = inert.createTreeWalker(to, 1), found = [];
    for (let a = theirs.currentNode, b = ours.currentNode; a && b; a = theirs.nextNode(), b = ours.nextNode()) {
      if (a.shadowRoot) found.push([a.shadowRoot, b]);
    }
    for (const [shadow, host] of found) {
      for (const child of shadow.childNodes) {
        const copy = inert.importNode(child, true);
        if (child.nodeType === 1) graft(child, copy);
        host.append(copy);
      }
    }
  };
  const root = document.documentElement;
  if (!root) return "";
  const copy = inert.importNode(root, true);
  graft(root, copy);
  for (const meta of copy.querySelectorAll("meta[charset]")) meta.setAttribute("charset", "utf-8");
  for (const meta of copy.querySelectorAll("meta[http-equiv='content-type' i]")) {
    meta.setAttribute("content", "text/html; charset=utf-8");
  }
  let head = copy.querySelector("head");
  if (!head) { head = inert.createElement("head"); copy.prepend(head); }
  for (const href of onward.reverse()) {
    const link = inert.createElement("link");
    link.setAttribute("rel", "next");
    link.setAttribute("href", href);
    head.prepend(link);
  }
  const here = document.baseURI, moved = location.href.split("#")[0] !== url.split("#")[0];
  if (moved && /^https?:/.test(here)) {
    let base = copy.querySelector("base[href]");
    if (!base) { base = inert.createElement("base"); head.prepend(base); }
    base.setAttribute("href", here);
  }
  const html = "<!doctype html>\\n" + copy.outerHTML;
  return html.length > most ? null : html.toWellFormed();
})(%s, %s, %d)
"""


def expression(url: str, onward: Sequence[str], most: int) -> str:
    """JavaScript that gives the document as HTML; null for one of more than `most` characters.

    `url` is the page's own address; `onward` is where its scripts wanted to go.
    """
    return _EXPRESSION % (json.dumps(url), json.dumps(list(onward)), most)
