"""What a person allows, and lends, a crawl to get at pages: whom it may reach, by which ways, with what in hand."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """The way to the pages. Of secrets it holds only where they are: a file's path, a variable's name."""

    allow_private: bool = False
    """Loopback, private and link-local addresses may be reached, whatever the start URLs are."""
