"""IP addresses: which of them belong to the public internet, and what the others are for.

Our own table instead of `ipaddress.is_global`: what that says changed between versions of Python, and a refusal
names its kind.
"""

from enum import StrEnum
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network


class Kind(StrEnum):
    """What an address that isn't public is for."""

    LOOPBACK = "loopback"
    """This very machine."""
    PRIVATE = "private"
    """A network of one's own."""
    LINK_LOCAL = "link-local"
    """The same cable; where clouds hand out credentials (169.254.169.254)."""
    SHARED = "shared"
    """A provider's side of carrier-grade NAT."""
    UNSPECIFIED = "unspecified"
    """No address; Linux takes it for this very machine."""
    MULTICAST = "multicast"
    RESERVED = "reserved"
    """For documentation, benchmarks, protocols, broadcasts, or nothing yet."""


def kind_of(address: str) -> Kind | None:
    """What an IP address is for; None for a public one. ValueError for what is none.

    An IPv6 address that stands for an IPv4 one (mapped, compatible, NAT64, 6to4) is judged by that.
    """
    ip = ip_address(address.partition("%")[0])
    networks = _networks()
    for network, kind in networks:
        if ip in network:
            return kind
    if isinstance(ip, IPv6Address):
        inner = _embedded(ip)
        if inner is not None:
            return kind_of(str(inner))
        if ip not in _GLOBAL_UNICAST:
            return Kind.RESERVED
    return None


def kind_of_host(host: str) -> Kind | None:
    """The same of a canonical URL's host, as far as it says so itself: an address, or `localhost`. Else None."""
    if host == "localhost" or host.endswith(".localhost"):
        return Kind.LOOPBACK
    try:
        return kind_of(host.strip("[]"))
    except ValueError:
        return None


_GLOBAL_UNICAST = IPv6Network("2000::/3")
_TABLE = {
    Kind.LOOPBACK: ("127.0.0.0/8", "::1/128"),
    Kind.PRIVATE: ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    Kind.LINK_LOCAL: ("169.254.0.0/16", "fe80::/10"),
    Kind.SHARED: ("100.64.0.0/10",),
    Kind.UNSPECIFIED: ("0.0.0.0/8", "::/128"),
    Kind.MULTICAST: ("224.0.0.0/4", "ff00::/8"),
    # RFC 6890 and IANA's registries of special-purpose addresses. 64:ff9b:1::/48 is NAT64 of one's own network.
    Kind.RESERVED: (
        *(
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
        ),
        *(
            "240.0.0.0/4",
            "2001:2::/48",
            "2001:10::/28",
            "2001:db8::/32",
            "3fff::/20",
            "64:ff9b:1::/48",
            "100::/64",
        ),
    ),
}
_TEREDO = IPv6Network("2001::/32")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_LAST_32_BITS = (IPv6Network("::ffff:0:0/96"), IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))


@cache
def _networks() -> tuple[tuple[IPv4Network | IPv6Network, Kind], ...]:
    return tuple((ip_network(text), kind) for kind, texts in _TABLE.items() for text in texts)


def _embedded(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a packet to it ends up at."""
    if any(ip in network for network in _LAST_32_BITS):
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in _SIX_TO_FOUR:
        return ip.sixtofour
    return ip.teredo[1] if ip in _TEREDO and ip.teredo else None
