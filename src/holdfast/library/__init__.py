"""Holdfast from Python: an open home, its jobs, their pages. `import holdfast` gives all of it by name.

A thin layer like the command line, with the same options and the same words; docs/reference/python.md describes it.
"""

from holdfast.library.home import Holdfast, open  # noqa: A004 - called as holdfast.open
from holdfast.library.job import Job
from holdfast.library.options import CrawlOptions
from holdfast.library.page import Page

__all__ = ["CrawlOptions", "Holdfast", "Job", "Page", "open"]
