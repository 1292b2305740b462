"""Which IP addresses are public, and what the others are for."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.address import Kind, kind_of, kind_of_host


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", Kind.LOOPBACK),
        ("127.255.0.3", Kind.LOOPBACK),
        ("::1", Kind.LOOPBACK),
        ("10.1.2.3", Kind.PRIVATE),
        ("172.16.0.1", Kind.PRIVATE),
        ("172.31.255.255", Kind.PRIVATE),
        ("172.32.0.0", None),
        ("192.168.1.1", Kind.PRIVATE),
        ("fd00::1", Kind.PRIVATE),
        ("169.254.169.254", Kind.LINK_LOCAL),
        ("fe80::1", Kind.LINK_LOCAL),
        ("fe80::1%eth0", Kind.LINK_LOCAL),
        ("100.64.0.1", Kind.SHARED),
        ("100.63.255.255", None),
        ("0.0.0.0", Kind.UNSPECIFIED),
        ("::", Kind.UNSPECIFIED),
        ("224.0.0.1", Kind.MULTICAST),
        ("ff02::1", Kind.MULTICAST),
        ("255.255.255.255", Kind.RESERVED),
        ("198.18.0.1", Kind.RESERVED),
        ("2001:db8::1", Kind.RESERVED),
        ("4000::1", Kind.RESERVED),
        ("::ffff:127.0.0.1", Kind.LOOPBACK),
        ("::ffff:10.0.0.1", Kind.PRIVATE),
        ("::ffff:8.8.8.8", None),
        ("::127.0.0.1", Kind.LOOPBACK),
        ("64:ff9b::7f00:1", Kind.LOOPBACK),
        ("64:ff9b:1::1", Kind.RESERVED),
        ("2002:7f00:1::", Kind.LOOPBACK),
        ("2002:808:808::", None),
        ("2001:0:1:1:1:1:80ff:fffe", Kind.LOOPBACK),
        ("8.8.8.8", None),
        ("2606:4700::1111", None),
    ],
)
def test_what_an_address_is_for(address, kind):
    assert kind_of(address) is kind


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("localhost", Kind.LOOPBACK),
        ("a.localhost", Kind.LOOPBACK),
        ("[::1]", Kind.LOOPBACK),
        ("10.0.0.1", Kind.PRIVATE),
        ("localhost.example", None),
        ("example.com", None),
        ("intranet", None),
    ],
)
def test_what_a_host_says_of_itself(host, kind):
    assert kind_of_host(host) is kind


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_counts_as_public_that_the_standard_library_knows_to_be_private(address):
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        inner = getattr(address, "ipv4_mapped", None)
        assert kind_of(str(address)) is not None or (inner and kind_of(str(inner)) is None) or _newer(address)


def _newer(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Parts of special blocks that IANA has since declared to be global; older Pythons don't know."""
    return any(address in block for block in _GLOBAL_AFTER_ALL if block.version == address.version)


_GLOBAL_AFTER_ALL = [ipaddress.ip_network("192.0.0.9/32"), ipaddress.ip_network("2001::/23")]
