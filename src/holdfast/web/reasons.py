"""Why a fetch gave no whole response, and whether a later try may do better.

| reason | what happened | later? |
| --- | --- | --- |
| bad_url | not an absolute http(s) URL in canonical form, or one with a user name in it | no |
| dns | the name gave no address | yes |
| connect_refused | the host is there, nobody listens on that port | yes |
| connect_timeout | no connection within `connect_s`, or the network gave up first | yes |
| unreachable | no route to the host or its network | yes |
| private_address | its only addresses are private ones, or loopback, that were not asked for: `web.guard` | no |
| tls_expired | the certificate has run out, or isn't valid yet | no |
| tls_host | the certificate is another host's | no |
| tls_authority | the certificate comes from nobody whom we believe | no |
| tls | the certificate doesn't hold for another reason (no), or the handshake broke (yes) | both |
| timeout | connected, but not finished within `total_s` | yes |
| slow | fewer than `slow_bytes_s` for `slow_s` seconds, silence included | yes |
| reset | the connection broke, or was closed without an answer | yes |
| truncated | fewer bytes than the response had announced, or its compression stops midway | yes |
| protocol | what came isn't HTTP as we know it | no |
| stream | the server, or its connection, gave up one HTTP/2 stream | yes |
| header_too_large | the response's head passes `header_bytes` | no |
| too_large | the body passes the cap, announced or counted while streaming | no |
| bomb | the body decodes to more than `decoded_bytes`, or is packed in absurdly many streams or codings | no |
| bad_encoding | the body doesn't decode as its Content-Encoding says, and isn't plain text either | no |
| unwanted | whoever asked didn't want a body of that type | no |
| proxy_dns | the proxy's name gave no address | yes |
| proxy_refused | nobody listens at the proxy's port | yes |
| proxy_timeout | no connection to the proxy within `connect_s` | yes |
| proxy_unreachable | no route to the proxy | yes |
| proxy_auth | the proxy wants a user and a password, or others than ours | yes |
| proxy_tls | the proxy's certificate doesn't hold, or the handshake with it broke | yes |
| proxy_failed | the proxy is there, and gave us no way to the host; which of the two is to blame it doesn't say | yes |
| closed | the fetcher was closed meanwhile | yes |
| internal | libcurl failed in a way that this table doesn't know; the detail has its words | yes |
"""

import errno
from dataclasses import dataclass
from typing import Final

import pycurl  # type: ignore[import-untyped]  # has no types

from holdfast.ports.fetcher import FetchFailed

_PROTOCOL: Final = ("protocol", False)
_STREAM: Final = ("stream", True)
_RESET: Final = ("reset", True)
_HANDSHAKE: Final = ("tls", True)
_UNTRUSTED: Final = ("tls", False)
_BAD_URL: Final = ("bad_url", False)

# libcurl's code -> (reason, transient). Timeouts and failed connections need more than that: `failure`.
_BY_CODE: Final[dict[int, tuple[str, bool]]] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: _PROTOCOL,  # 1: for instance HTTP/0.9
    pycurl.E_URL_MALFORMAT: _BAD_URL,  # 3
    pycurl.E_COULDNT_RESOLVE_HOST: ("dns", True),  # 6
    pycurl.E_FTP_WEIRD_SERVER_REPLY: _PROTOCOL,  # 8: today's CURLE_WEIRD_SERVER_REPLY
    16: _STREAM,  # CURLE_HTTP2: the framing layer
    pycurl.E_PARTIAL_FILE: ("truncated", True),  # 18
    pycurl.E_SSL_CONNECT_ERROR: _HANDSHAKE,  # 35
    pycurl.E_GOT_NOTHING: _RESET,  # 52
    pycurl.E_SEND_ERROR: _RESET,  # 55
    pycurl.E_RECV_ERROR: _RESET,  # 56
    pycurl.E_SSL_CERTPROBLEM: _UNTRUSTED,  # 58
    pycurl.E_SSL_CIPHER: _HANDSHAKE,  # 59
    pycurl.E_PEER_FAILED_VERIFICATION: _UNTRUSTED,  # 60
    pycurl.E_FILESIZE_EXCEEDED: ("too_large", False),  # 63
    pycurl.E_LOGIN_DENIED: _BAD_URL,  # 67: a user name in the URL
    pycurl.E_SSL_CACERT_BADFILE: _UNTRUSTED,  # 77
    pycurl.E_SSL_ISSUER_ERROR: _UNTRUSTED,  # 83
    pycurl.E_CHUNK_FAILED: _PROTOCOL,  # 88
    pycurl.E_SSL_INVALIDCERTSTATUS: _UNTRUSTED,  # 91
    92: _STREAM,  # CURLE_HTTP2_STREAM
    100: ("header_too_large", False),  # CURLE_TOO_LARGE
}

_BY_ERRNO: Final[dict[int, str]] = {
    errno.ECONNREFUSED: "connect_refused",
    errno.ENETUNREACH: "unreachable",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    errno.EADDRNOTAVAIL: "unreachable",
    errno.ETIMEDOUT: "connect_timeout",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """How far a transfer came before libcurl gave it up."""

    code: int
    message: str
    os_errno: int = 0
    resolved_s: float = 0.0
    """When the name had an address, in seconds from the start; 0 for never."""
    ended_s: float = 0.0
    sent_bytes: int = 0
    """Of the request; none until the connection is ready for it."""
    head_bytes: int = 0
    certificate: int = 0
    """OpenSSL's verdict on it; 0 for a good one."""
    proxy: "BrokenProxy | None" = None
    refused: str = ""
    """The address that the guard let nobody connect to, if there was no other."""


@dataclass(frozen=True, slots=True)
class BrokenProxy:
    """How far a transfer through a proxy came."""

    tls: bool
    """One speaks with it by TLS."""
    connected: bool
    through: bool
    """It has let us through to the host, or needn't, for requests that it passes on itself."""
    answer: int
    """Its status for CONNECT; 0 for none."""
    socks: int
    """libcurl's CURLproxycode; 0 for none."""


def failure(broken: Broken, *, total_s: float, header_bytes: int) -> FetchFailed:
    """Libcurl's error in our words."""
    of_proxy = _proxy_failure(broken, broken.proxy) if broken.proxy is not None else None
    if of_proxy is not None:
        return FetchFailed(of_proxy, broken.message, transient=True)
    detail = broken.message or f"curl error {broken.code}"
    if broken.code == pycurl.E_COULDNT_CONNECT and broken.refused:
        reason, transient, detail = "private_address", False, broken.refused
    elif broken.code == pycurl.E_COULDNT_CONNECT:
        reason, transient = _BY_ERRNO.get(broken.os_errno, "unreachable"), True
    elif broken.code == pycurl.E_OPERATION_TIMEDOUT:
        reason, transient = _timed_out(broken, total_s), True
    elif broken.code == pycurl.E_PEER_FAILED_VERIFICATION:
        # libcurl compares the host itself, after OpenSSL found nothing wrong.
        reason, transient = _BY_CERTIFICATE.get(broken.certificate, "tls"), False
    elif broken.code == pycurl.E_RECV_ERROR and broken.head_bytes > header_bytes:
        reason, transient = "header_too_large", False  # curl has a limit of its own
    elif broken.code in _BY_CODE:
        reason, transient = _BY_CODE[broken.code]
    else:
        reason, transient, detail = "internal", True, f"curl error {broken.code}: {broken.message}"
    return FetchFailed(reason, detail, transient=transient)


# OpenSSL's X509_V_ERR_*.
_BY_CERTIFICATE: Final[dict[int, str]] = {
    0: "tls_host",
    1: "tls_host",  # behind a proxy libcurl leaves it at "unspecified"
    9: "tls_expired",  # not yet valid
    10: "tls_expired",
    2: "tls_authority",  # no issuer's certificate
    18: "tls_authority",  # signed by itself
    19: "tls_authority",  # by a root that we don't know
    20: "tls_authority",
    21: "tls_authority",
    62: "tls_host",
    64: "tls_host",
}
# libcurl's CURLproxycode, for SOCKS. What the proxy says about the host is the host's own.
_BY_SOCKS: Final[dict[int, str]] = {
    12: "proxy_auth",  # none of our ways to log in
    14: "proxy_auth",
    33: "proxy_auth",  # user and password rejected
    19: "connect_refused",
    21: "unreachable",
    22: "unreachable",
    24: "unreachable",  # its time to live ran out
    27: "dns",
}
_BROKEN_OFF: Final = frozenset(
    {pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR, pycurl.E_OPERATION_TIMEDOUT}
)
_UNTRUSTWORTHY: Final = frozenset(
    {pycurl.E_SSL_CONNECT_ERROR, pycurl.E_SSL_CERTPROBLEM, pycurl.E_PEER_FAILED_VERIFICATION}
)
_PROXY_ERROR: Final = 97
_WANTS_LOGIN: Final = 407


def _proxy_failure(broken: Broken, proxy: BrokenProxy) -> str | None:
    """The reason, where it is the proxy's doing or what the proxy said; None where the proxy did its part."""
    if broken.code == _PROXY_ERROR:
        return _BY_SOCKS.get(proxy.socks, "proxy_failed")
    if proxy.answer >= 300:  # noqa: PLR2004 - all but success
        return "proxy_auth" if proxy.answer == _WANTS_LOGIN else "proxy_failed"
    reason = None
    if broken.code == pycurl.E_COULDNT_RESOLVE_PROXY:
        reason = "proxy_dns"
    elif broken.code == pycurl.E_COULDNT_CONNECT:
        reason = _PROXY_BY_ERRNO.get(broken.os_errno, "proxy_unreachable")
    elif broken.code == pycurl.E_OPERATION_TIMEDOUT and not proxy.connected:
        reason = "proxy_timeout"
    elif proxy.tls and not proxy.answer and broken.code in _UNTRUSTWORTHY:
        reason = "proxy_tls"
    elif broken.code in _BROKEN_OFF and not proxy.through:
        reason = "proxy_failed"
    return reason


_PROXY_BY_ERRNO: Final[dict[int, str]] = {
    errno.ECONNREFUSED: "proxy_refused",
    errno.ETIMEDOUT: "proxy_timeout",
}


def _timed_out(broken: Broken, total_s: float) -> str:
    """Which of the clocks ran out: told by how far the transfer came, not by the wording of a message."""
    if not broken.resolved_s:
        return "dns"
    if not broken.sent_bytes:
        return "connect_timeout"
    return "timeout" if broken.ended_s >= total_s else "slow"
