"""What reasons mean to a reader. A word that isn't here is shown as it is."""

from http import HTTPStatus
from typing import Final

_MEANS: Final = {
    "bad_url": "no address that can be asked for",
    "dns": "the name gave no address",
    "connect_refused": "nobody listens there",
    "connect_timeout": "no connection in time",
    "unreachable": "no route to the host",
    "private_address": "it leads into a private network",
    "tls_expired": "the certificate isn't valid now",
    "tls_host": "the certificate is another host's",
    "tls_authority": "nobody whom we believe signed the certificate",
    "tls": "the certificate or the handshake failed",
    "proxy_dns": "the proxy's name gave no address",
    "proxy_refused": "nobody listens at the proxy's port",
    "proxy_timeout": "no connection to the proxy in time",
    "proxy_unreachable": "no route to the proxy",
    "proxy_auth": "the proxy wants another user or password",
    "proxy_tls": "the proxy's certificate or handshake failed",
    "proxy_failed": "the proxy gave no way to the host",
    "closed": "the fetcher was closed meanwhile",
    "internal": "failed in a way that we don't know",
    "render_failed": "the browser, or the page in it, broke down",
    "render_timeout": "its scripts held the browser too long",
    "render_too_large": "its scripts made too much",
    "timeout": "not finished in time",
    "slow": "too slow, or silent",
    "reset": "the connection broke",
    "truncated": "less came than was announced",
    "protocol": "what came isn't HTTP",
    "stream": "the server gave up the stream",
    "header_too_large": "the headers are too large",
    "too_large": "the body is too large",
    "bomb": "decodes to absurdly much",
    "bad_encoding": "the body doesn't decode",
    "bad_redirect": "a redirect to nowhere",
    "redirect_loop": "redirects to itself",
    "too_many_redirects": "too many redirects",
    "robots_unreachable": "robots.txt could not be had",
    "poison": "crashed the crawler twice",
    "robots": "robots.txt forbids it",
    "host_budget": "its host has given as much as it may",
    "external": "leads out of scope",
    "external, only counted": "out of scope, too many to keep",
    "too_long": "the URL is too long",
    "excluded": "fits an exclude pattern",
    "not_included": "fits no include pattern",
    "depth": "deeper than the limit",
    "nofollow": "the page asks not to follow it",
    "unwanted": "a type that wasn't asked for",
    "absent": "looked for, and not there",
    "nesting": "sitemaps within sitemaps, too deep",
    "trap_session": "has a session id: followed without it",
    "trap_deep": "its path has no end",
    "trap_repeated": "its path repeats itself",
    "trap_growing": "its query repeats itself",
    "trap_date": "a date far in the future",
    "trap_loop": "its page leads round in circles",
    "trap_barren": "others like it said nothing new",
    "trap_order": "the same parameters in another order",
    "trap_facets": "one more choice of many parameters",
    "items": "so many items were handled",
    "size": "few items, but large ones",
    "time": "so much time had passed",
    "phase": "a phase ended",
    "pause": "it was paused",
    "limit": "a limit was reached",
    "shutdown": "it was shut down",
    "disk": "the disk was nearly full",
    "finish": "it was finished",
    "caution": "one item at a time, after a crash",
    "idle": "nothing else could be done before",
}


def meaning(reason: str) -> str:
    """In a few words; empty where we have none."""
    if reason.startswith("http_"):
        return phrase(reason.removeprefix("http_"))
    return _MEANS.get(reason, "")


def phrase(status: str) -> str:
    """What an HTTP status is called."""
    try:
        return HTTPStatus(int(status)).phrase
    except ValueError:
        return ""


def label(reason: str) -> str:
    """The word itself, as a reader knows it: `HTTP 404`, `dns`."""
    return f"HTTP {reason.removeprefix('http_')}" if reason.startswith("http_") else reason.replace("_", " ")
