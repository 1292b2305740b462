"""The files that hold secrets: the access file (TOML) and cookies as browsers and curl export them (Netscape)."""

import os
import re
import stat
import tomllib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holdfast.domain.errors import AccessRefused, UsageError
from holdfast.domain.url import canonical, hostname, is_address
from holdfast.web.access.cookies import Cookie
from holdfast.web.access.places import Places, is_public_suffix
from holdfast.web.access.secrets import Access, Grant, header_fault
from holdfast.web.access.variables import Lookup, resolved

_MOST_BYTES: Final = 4 * 1024 * 1024
_COOKIE_FIELDS: Final = 7
_KEYS: Final = ("basic", "bearer", "headers", "cookies")
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]*)?")
_COOKIE_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_COOKIE_VALUE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*|[\x20-\x3a\x3c-\x7e]*")


@dataclass(frozen=True, slots=True)
class AccessFile:
    """What an access file says."""

    access: Access
    proxies: tuple[str, ...]
    """As written: URLs, which may hold a password."""

    def __repr__(self) -> str:
        """Without anything of it."""
        return "AccessFile()"


def read_access(path: Path, lookup: Lookup) -> AccessFile:
    """The access file; AccessRefused, never with a value in it, if it can't be used or others may read it."""
    try:
        data = tomllib.loads(_private_text(path, "the access file"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        where = f", line {line[1]}" if line else ", at its end"
        raise AccessRefused(f"{path}{where}: that is no TOML") from None
    unknown = sorted(set(data) - {"sites", "proxies"})
    if unknown:
        raise AccessRefused(
            f'{path} knows no {unknown[0]!r}; it has [sites."https://example.com"] and [proxies]'
        )
    reading = _Reading(path, lookup)
    sites = reading.table(data.get("sites", {}), "sites")
    grants = [reading.grant(place, reading.table(said, place)) for place, said in sites.items()]
    proxies = reading.table(data.get("proxies", {}), "proxies")
    urls = proxies.get("urls", [])
    if set(proxies) - {"urls"} or not isinstance(urls, list):
        raise AccessRefused(f'{path}: [proxies] takes urls = ["http://proxy.example:3128", "env:NAME"]')
    return AccessFile(Access(grants), tuple(reading.value(url, "proxies.urls") for url in urls))


@dataclass(frozen=True, slots=True)
class _Reading:
    """An access file under way: what can't be used is named by its place in the file, never by what it says."""

    path: Path
    lookup: Lookup

    def table(self, value: object, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise AccessRefused(f"{self.path}: {where} is to be a table")
        return value

    def value(self, value: object, where: str) -> str:
        """A string, or the variable that it names."""
        if not isinstance(value, str) or not value:
            raise AccessRefused(f"{self.path}: {where} is to be a string")
        return resolved(value, self.lookup, f"{self.path}: {where}")

    def grant(self, place: str, said: Mapping[str, Any]) -> Grant:
        where = f'sites."{place}"'
        unknown = sorted(set(said) - set(_KEYS))
        if unknown:
            raise AccessRefused(f"{self.path}: {where} knows no {unknown[0]!r}; it has: {', '.join(_KEYS)}")
        try:
            places = Places.read(place)
        except AccessRefused as refused:
            raise AccessRefused(f"{self.path}: {refused}") from None
        headers = [*self._authorization(said, where), *self._headers(said, where)]
        return Grant(places, tuple(headers), tuple(self._cookies(said, where)))

    def _authorization(self, said: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
        if {"basic", "bearer"} <= set(said):
            raise AccessRefused(
                f"{self.path}: {where} has both basic and bearer; a request can carry one of them"
            )
        if "bearer" in said:
            token = self.value(said["bearer"], f"{where}.bearer")
            self._sendable("Authorization", token, f"{where}.bearer")
            yield "Authorization", f"Bearer {token}"
        if "basic" in said:
            basic = self.table(said["basic"], f"{where}.basic")
            if set(basic) != {"user", "password"}:
                raise AccessRefused(
                    f'{self.path}: {where}.basic takes {{ user = "me", password = "env:NAME" }}'
                )
            user, password = (self.value(basic[key], f"{where}.basic.{key}") for key in ("user", "password"))
            if ":" in user:
                raise AccessRefused(f"{self.path}: {where}.basic.user can't hold a colon")
            yield "Authorization", f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"

    def _headers(self, said: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
        for name, given in self.table(said.get("headers", {}), f"{where}.headers").items():
            value = self.value(given, f"{where}.headers.{name}")
            self._sendable(name, value, f"{where}.headers.{name}")
            if name.lower() == "cookie":
                raise AccessRefused(f"{self.path}: cookies go into {where}.cookies, each by its name")
            if name.lower() == "authorization" and {"basic", "bearer"} & set(said):
                raise AccessRefused(f"{self.path}: {where} has two headers Authorization")
            yield name, value

    def _sendable(self, name: str, value: str, where: str) -> None:
        fault = header_fault(name, value)
        if fault is not None:
            raise AccessRefused(f"{self.path}: {where} can't be sent: {fault}")

    def _cookies(self, said: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
        for name, given in self.table(said.get("cookies", {}), f"{where}.cookies").items():
            value = self.value(given, f"{where}.cookies.{name}")
            if not _sendable_cookie(name, value):
                raise AccessRefused(f"{self.path}: {where}.cookies.{name} can't be sent: that is no cookie")
            yield name, value


def read_cookies(path: Path, now: float) -> list[Cookie]:
    """The cookies of a Netscape file that have not expired; AccessRefused, without a value in it, if it is none."""
    lines = _private_text(path, "the cookie file").splitlines()
    cookies = [cookie for number, line in enumerate(lines, 1) if (cookie := _cookie(path, number, line))]
    if not cookies:
        raise AccessRefused(f"{path} has no cookies; export them in Netscape's format (cookies.txt)")
    living = [cookie for cookie in cookies if cookie.expires is None or cookie.expires > now]
    if not living:
        raise AccessRefused(f"every cookie in {path} has expired; log in and export them anew")
    return living


def _cookie(path: Path, number: int, line: str) -> Cookie | None:
    text = line.removeprefix("#HttpOnly_")
    if not text.strip() or text.startswith("#"):
        return None
    fields = text.split("\t")
    if len(fields) == _COOKIE_FIELDS:
        domain, below, folder, secure, expires, name, value = fields
        host = _host(domain.removeprefix("."))
        usable = folder.startswith("/") and _NUMBER.fullmatch(expires) and _sendable_cookie(name, value)
        if host and usable:
            wide = below.upper() == "TRUE" and not is_address(host) and not is_public_suffix(host)
            return Cookie(name, value, host, wide, folder, secure.upper() == "TRUE", float(expires) or None)
    raise AccessRefused(
        f"{path}, line {number}: that is no cookie in Netscape's format, which has {_COOKIE_FIELDS} fields "
        "with tabs between them"
    )


def _host(text: str) -> str:
    try:
        return hostname(canonical(f"https://{text}/"))
    except UsageError:
        return ""


def _sendable_cookie(name: str, value: str) -> bool:
    return bool(_COOKIE_NAME.fullmatch(name)) and bool(_COOKIE_VALUE.fullmatch(value))


def _private_text(path: Path, what: str) -> str:
    """A file's text, if it is one that only its owner and group can see."""
    try:
        with path.open("rb") as file:
            known = os.fstat(file.fileno())
            if not stat.S_ISREG(known.st_mode):
                raise AccessRefused(f"{what} {path} is no ordinary file")
            if known.st_mode & (stat.S_IROTH | stat.S_IWOTH):
                raise AccessRefused(
                    f"{what} {path} holds secrets, and everybody on this machine may read or change it: "
                    f"`chmod 600 {path}`"
                )
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise AccessRefused(f"can't read {what} {path}: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise AccessRefused(f"{what} {path} has more than {_MOST_BYTES // 1024 // 1024} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AccessRefused(f"{what} {path} is not UTF-8 text") from None
