"""Parameters without which a crawl reads every link, because it was asked to: `--strip-param`."""

import re
from collections.abc import Callable, Iterable

from holdfast.domain.errors import UsageError
from holdfast.domain.url import join

_NAME = re.compile(r"[^\s&;=?#/*]{1,100}\*?")


def checked(names: Iterable[str]) -> None:
    """UsageError for what is no name of a parameter."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} is no name of a parameter; write one like utm_source, or utm_* for all that begin so"
            )


def stripping(names: Iterable[str]) -> Callable[[str], str]:
    """A function from canonical URLs to canonical URLs that leaves those parameters out, of query and path."""
    alternatives = "|".join(
        re.escape(name.removesuffix("*")) + (r"[^=;/?&]*" if name.endswith("*") else "") for name in names
    )
    fits = re.compile(rf"(?:{alternatives})(?:=.*)?", re.IGNORECASE | re.DOTALL).fullmatch
    in_path = re.compile(rf";(?:{alternatives})(?:=[^;/?]*)?(?=[;/?]|$)", re.IGNORECASE)

    def strip(url: str) -> str:
        path, _, query = url.partition("?")
        pairs = query.split("&")
        kept = [pair for pair in pairs if not fits(pair)]
        bare = in_path.sub("", path) if ";" in path else path
        if bare is path and len(kept) == len(pairs):
            return url
        return join("about:blank", f"{bare}?{'&'.join(kept)}" if kept else bare) or url

    return strip
