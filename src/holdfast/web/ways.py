"""By which ways hosts are reached, and what is sent to them beyond the request itself."""

from dataclasses import dataclass

from holdfast.web.access.proxies import Proxies
from holdfast.web.access.secrets import Credentials
from holdfast.web.guard import Guard
from holdfast.web.head import Headers


@dataclass(frozen=True, slots=True)
class Ways:
    """The straight way, with nothing in hand, unless something else is said."""

    guard: Guard | None = None
    """Whom not to connect to, if anybody."""
    headers: Headers = ()
    """Sent to every host; no secrets."""
    credentials: Credentials | None = None
    proxies: Proxies | None = None
    insecure: bool = False
    """Hosts needn't prove who they are, but for those that are sent credentials."""
