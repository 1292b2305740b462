"""Whom we may connect to: strangers' links, redirects and name servers must not lead into networks of one's own.

What is judged is the address that a socket is about to be opened to, so neither a name that changes its address between
two looks nor a redirect gets past; connections that are kept were judged when they were made. Behind a proxy the
proxy connects: then only what a URL's host says by itself can be judged.
"""

from collections.abc import Iterable
from typing import Self

from holdfast.domain.address import Kind, kind_of, kind_of_host
from holdfast.domain.url import hostname


class Guard:
    """Lets through what is public, and the kinds that were asked for."""

    def __init__(self, wanted: frozenset[Kind] = frozenset()) -> None:
        self._wanted = wanted

    @classmethod
    def around(cls, start_urls: Iterable[str]) -> Self:
        """Who starts at an address of some kind wants that kind.

        A name says nothing: which address it has is for others to choose.
        """
        kinds = {kind_of_host(hostname(url)) for url in start_urls}
        return cls(frozenset(kind for kind in kinds if kind is not None))

    def refuses(self, address: str) -> Kind | None:
        """What is wrong with connecting to that IP address; None if nothing is."""
        return self._unwanted(kind_of(address))

    def refuses_host(self, host: str) -> Kind | None:
        """The same of a canonical URL's host, as far as it says so itself."""
        return self._unwanted(kind_of_host(host))

    def _unwanted(self, kind: Kind | None) -> Kind | None:
        return None if kind in self._wanted else kind
