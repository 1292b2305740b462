"""Why a fetch gave no whole response, and whether a later try may do better.

| reason | what happened | later? |
| --- | --- | --- |
| bad_url | not an absolute http(s) URL in canonical form, or one with a user name in it | no |
| dns | the name gave no address | yes |
| connect_refused | the host is there, nobody listens on that port | yes |
| connect_timeout | no connection within `connect_s`, or the network gave up first | yes |
| unreachable | no route to the host or its network | yes |
| private_address | its only addresses are private ones, or loopback, that were not asked for: `web.guard` | no |
| tls | the certificate doesn't hold (no), or the handshake broke (yes) | both |
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
    refused: str = ""
    """The address that the guard let nobody connect to, if there was no other."""


def failure(broken: Broken, *, total_s: float, header_bytes: int) -> FetchFailed:
    """Libcurl's error in our words."""
    if broken.code == pycurl.E_OPERATION_TIMEDOUT:
        return FetchFailed(_timed_out(broken, total_s), broken.message, transient=True)
    if broken.code == pycurl.E_COULDNT_CONNECT and broken.refused:
        return FetchFailed("private_address", broken.refused, transient=False)
    if broken.code == pycurl.E_COULDNT_CONNECT:
        return FetchFailed(_BY_ERRNO.get(broken.os_errno, "unreachable"), broken.message, transient=True)
    if broken.code == pycurl.E_RECV_ERROR and broken.head_bytes > header_bytes:
        return FetchFailed("header_too_large", broken.message, transient=False)  # curl has a limit of its own
    reason, transient = _BY_CODE.get(broken.code, ("internal", True))
    detail = broken.message or f"curl error {broken.code}"
    if reason == "internal":
        detail = f"curl error {broken.code}: {broken.message}"
    return FetchFailed(reason, detail, transient=transient)


def _timed_out(broken: Broken, total_s: float) -> str:
    """Which of the clocks ran out: told by how far the transfer came, not by the wording of a message."""
    if not broken.resolved_s:
        return "dns"
    if not broken.sent_bytes:
        return "connect_timeout"
    return "timeout" if broken.ended_s >= total_s else "slow"
