"""What a person allows, and lends, a crawl to get at pages: whom it may reach, by which ways, with what in hand."""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.domain.errors import AccessRefused, UsageError

LEAST_BANDWIDTH: Final = 10_000
DEFAULT_USER_AGENT: Final = "Holdfast"
"""The name by which robots.txt may speak of us, unless the job goes by another one."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The way to the pages. Of secrets it holds only where they are: a file's path, a variable's name."""

    access: str | None = None
    """The absolute path of the access file: what is sent to which hosts, and proxies."""
    cookies: str | None = None
    """The absolute path of a file of cookies."""
    keep_cookies: bool = False
    """Cookies that responses set are sent back, as long as the claim lasts."""
    headers: tuple[str, ...] = ()
    """`Name: value`, sent to every host; no secrets."""
    proxies: tuple[str, ...] = ()
    """URLs without user and password, or `env:NAME`; taken in turn. In place of the access file's."""
    insecure: bool = False
    """Hosts needn't prove who they are, but for those that are sent something of the access or cookie file."""
    allow_private: bool = False
    """Loopback, private and link-local addresses may be reached, whatever the start URLs are."""
    bandwidth: int | None = None
    """So many bytes come in per second, at most."""

    def __post_init__(self) -> None:
        if self.bandwidth is not None and self.bandwidth < LEAST_BANDWIDTH:
            raise UsageError(f"a crawl can't live on less than {LEAST_BANDWIDTH:,} bytes per second")
        for line in self.headers:
            _check_header(line)
        for proxy in self.proxies:
            if "@" in proxy and not proxy.startswith("env:"):
                raise AccessRefused(
                    "a proxy with a user and a password is given as env:NAME, the variable that holds its URL, or in "
                    "the access file under [proxies]: --proxy is written down with the job"
                )

    def header_pairs(self) -> tuple[tuple[str, str], ...]:
        """The plain headers, by name and value."""
        pairs = (line.partition(":") for line in self.headers)
        return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def check_user_agent(name: str | None) -> None:
    """UsageError for what can't be sent as one."""
    if name is not None and not _HEADER_TEXT.fullmatch(name):
        raise UsageError("a User-Agent is one line of ASCII text, such as 'my-bot (+mailto:me@example.com)'")


_HEADER_TEXT: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,510}[\x21-\x7e])?")
_LINE: Final = re.compile(
    r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}:[ \t]*[\x21-\x7e](?:[\x20-\x7e\t]{0,2000}[\x21-\x7e])?"
)
_SECRET: Final = re.compile(
    r"auth(?!ors?$)|cookie|token|secret|passw|credential|session|(?:api|access)[-_]?key", re.IGNORECASE
)
_OURS: Final = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "range",
    }
    | {"keep-alive", "proxy-connection", "accept-encoding"}
)


def _check_header(line: str) -> None:
    """AccessRefused, which never quotes the value, for a header that can't be sent, or mustn't be written down."""
    name = line.partition(":")[0].strip()
    if not _LINE.fullmatch(line.strip()):
        raise AccessRefused("--header takes one line of ASCII text such as 'Accept-Language: de'")
    if _SECRET.search(name):
        raise AccessRefused(
            f"--header is written down with the job, and {name} holds a secret: put it into the access file, "
            "which is named with --access"
        )
    if name.lower() == "user-agent":
        raise AccessRefused("what we call ourselves is said with --user-agent")
    if name.lower() in _OURS:
        raise AccessRefused(f"--header can't set {name}: that is the connection's own")
