"""The key by which web archives sort and find addresses: host backwards, then the path, without what seldom matters.

The rules are those of the `surt` library, by which pywb looks records up: they have to agree to the letter. Two
addresses may have one key; what is meant is told by the address in the index's line.
"""

import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

_SAFE: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_WWW: Final = re.compile(r"^www\d*\.")
_PATH_SESSIONS: Final = (
    re.compile(r"^(.*/)(\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)$"),
    re.compile(r"^(.*/)(\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$"),
)
_QUERY_SESSIONS: Final = (
    re.compile(r"^(.*)(?:jsessionid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:phpsessid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:sid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:aspsessionid[a-z]{8}=[a-z]{24})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$"),
)


def surt(url: str) -> str:
    """The key of a canonical http(s) URL, as in `org,example)/path?query`."""
    parts = urlsplit(url)
    host, port = _WWW.sub("", parts.hostname or "", count=1), parts.port
    key = ",".join(reversed(host.split("."))) + (f":{port}" if port is not None else "") + ")"
    path = _path(_escaped(parts.path))
    query = _query(_escaped(parts.query)) if parts.query else ""
    return f"{key}{path}?{query}" if query else f"{key}{path}"


def _escaped(text: str) -> str:
    raw = text.encode()
    while (plain := unquote_to_bytes(raw)) != raw:
        raw = plain
    return quote_from_bytes(raw, safe=_SAFE)


def _path(path: str) -> str:
    kept: list[str] = []
    for part in path.split("/")[1:]:
        if part == ".." and kept:
            kept.pop()
        elif part != ".":
            kept.append(part)
    *folders, last = kept or [""]
    path = "".join(("/", *(f"{part}/" for part in folders if part), last)).lower()
    for session in _PATH_SESSIONS:
        if found := session.match(path):
            path = found[1] + found[3]
    return path[:-1] if path.endswith("/") and len(path) > 1 else path


def _query(query: str) -> str:
    query = query.lower()
    for session in _QUERY_SESSIONS:
        if found := session.match(query):
            query = found[1] + (found[2] or "")
    if len(query) <= 1:
        return query
    return "&".join("=".join(pair) for pair in sorted(tuple(one.split("=", 1)) for one in query.split("&")))
