"""Holdfast runs long crawls that can't be lost.

The way of a URL: `domain` (rules), `crawl` (fetch, parse, links), `engine` (run, lease, recover), `stores`
(truth). Who may import whom is written in pyproject.toml and checked by `make check`.
"""

__version__ = "0.1.0"
