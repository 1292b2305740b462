"""One request as a browser would make it: a gate that sets a cookie and sends back to the same URL is passed."""

from dataclasses import replace

from holdfast.crawl.redirects import REDIRECTS
from holdfast.domain.url import join_location
from holdfast.ports.fetcher import Fetcher, Request, Response

MAX_COOKIE_TRIES = 2
MAX_COOKIE_CHARS = 4096


async def visit(fetcher: Fetcher, request: Request) -> Response:
    """The response to the request.

    Where it redirects to itself to set a cookie, it is asked for again with that.
    """
    url, cookies = request.url, dict[str, str]()
    response = await fetcher.fetch(request)
    for _ in range(MAX_COOKIE_TRIES):
        if response.status not in REDIRECTS:
            break
        if join_location(url, response.header("location") or "") != url:
            break
        given = _cookies(response)
        if not given:
            break
        cookies |= given
        header = "; ".join(f"{name}={value}" for name, value in cookies.items())
        if len(header) > MAX_COOKIE_CHARS:
            break
        del response  # it makes room for the next one
        response = await fetcher.fetch(replace(request, headers=(*request.headers, ("Cookie", header))))
    return response


def _cookies(response: Response) -> dict[str, str]:
    """The cookies that a response sets, without attributes: they live for this one URL and moment only."""
    plain = (value for key, value in response.headers if key.lower() == "set-cookie")
    cookies = {}
    for header in response.set_cookies or plain:
        name, equals, value = header.partition(";")[0].partition("=")
        if equals and name.strip() and header.isprintable():
            cookies[name.strip()] = value.strip()
    return cookies
