"""Holdfast Harbour: a made-up site of some sixty pages to try a crawl on, without a network.

`pages` writes it, `server` serves it on loopback, `python -m holdfast.sample` does that and crawls it.
Nothing else of Holdfast is imported here: to the crawler this is a site like any other.
"""

from holdfast.sample.server import DEFAULT_PORT, PortTakenError, serve

__all__ = ["DEFAULT_PORT", "PortTakenError", "serve"]
