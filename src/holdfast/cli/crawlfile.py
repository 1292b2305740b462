"""`holdfast.toml`: what every crawl is to be asked with, and crawls by name.

`[crawl]` holds options of every crawl, `[crawls.NAME]` those of one, with its `urls`. What a key may be is what the
command takes: no option is named here, and each value passes the same checks as if it had been typed.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from holdfast.cli.options import SOURCES
from holdfast.cli.words import clean
from holdfast.domain.errors import UsageError

FILE_NAME: Final = "holdfast.toml"
URLS: Final = "urls"
_MAX_BYTES: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_PAIR: Final = re.compile(r"[A-Z]+(=|: ).+")
"""How the help writes what an option takes that may be a table in the file: NAME=..., or NAME: ..."""
_IS: Final = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a table",
}

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CrawlFile:
    """A file as it was read; its values are not checked yet."""

    path: Path
    every: Table
    """`[crawl]`"""
    crawls: Mapping[str, Table]
    """`[crawls.NAME]`"""

    @property
    def shown(self) -> str:
        """The file as a person would name it from here."""
        here = self.path.parent == Path.cwd()
        return self.path.name if here else clean(str(self.path), 500)


def is_name(word: str) -> bool:
    """Whether the word can name a crawl. Such a word is never a URL: those have a dot, a colon or a slash."""
    return _NAME.fullmatch(word) is not None and word.lower() != "localhost"


def nearest(folder: Path) -> Path | None:
    """The file in that folder, or else in the closest folder above it that has one."""
    for place in (folder, *folder.parents):
        path = place / FILE_NAME
        if path.is_file():
            return path
    return None


def refuse_strangers(path: Path) -> None:
    """UsageError for a file that was found above us and is somebody else's: it would choose what we write and where."""
    owner = path.stat().st_uid
    if path.parent != Path.cwd() and owner not in {os.geteuid(), 0}:
        raise UsageError(f"{path} belongs to another user; if you trust it, name it with --config {path}")


def read(path: Path) -> CrawlFile:
    """The file's tables. UsageError says what it can't be read for."""
    import tomllib

    shown = clean(str(path), 500)
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise UsageError(f"{shown} has more than {_MAX_BYTES:,} bytes; that is no file of options")
        tables = tomllib.loads(data.decode())
    except OSError as error:
        raise UsageError(f"can't read {shown}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{shown} is not UTF-8 text; save it in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown} is not TOML: {clean(str(error))}") from None
    _known(tables, ("crawl", "crawls"), f"{shown} has")
    every = _table(tables.get("crawl", {}), f"{shown}: crawl")
    crawls = _table(tables.get("crawls", {}), f"{shown}: crawls")
    for name, table in crawls.items():
        if not is_name(name):
            raise UsageError(
                f"{shown}: a crawl can't be called {clean(repr(name), 60)}; "
                "use letters, digits, - and _, as in [crawls.docs]"
            )
        _table(table, f"{shown}: crawls.{name}")
    return CrawlFile(path, every, crawls)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the file says for one command."""

    file: CrawlFile
    name: str | None
    """Of the named crawl; None where the command line has URLs of its own."""
    urls: tuple[str, ...]
    defaults: Mapping[str, object]
    """By the command's own names, as click's default_map takes them."""

    @property
    def said(self) -> str:
        """`[crawl] and [crawls.docs] in holdfast.toml`: the tables that were used."""
        tables = ["[crawl]"] if self.file.every else []
        tables += [f"[crawls.{self.name}]"] if self.name is not None else []
        return f"{' and '.join(tables)} in {self.file.shown}"


def choose(file: CrawlFile, command: click.Command, ctx: click.Context, name: str | None) -> Chosen:
    """The options for the named crawl, or for any: `[crawls.NAME]` over `[crawl]`. UsageError names what is wrong."""
    for key in {URLS, "name"} & set(file.every):
        raise UsageError(f"{file.shown}, [crawl]: {key} belongs to one crawl, as in [crawls.docs]")
    tables = [("[crawl]", file.every)]
    urls: tuple[str, ...] = ()
    if name is not None:
        own = dict(file.crawls[name])
        urls = _urls(own.pop(URLS), f"{file.shown}, [crawls.{name}]") if URLS in own else ()
        tables.append((f"[crawls.{name}]", own))
    keys = {} if name is None else {"name": name}
    defaults: dict[str, object] = dict(keys)
    for title, table in tables:
        defaults |= checked(command, ctx, table, where=f"{file.shown}, {title}", folder=file.path.parent)
    if name is not None and not urls and not any(source in defaults for source in SOURCES):
        raise UsageError(
            f'{file.shown}: [crawls.{name}] needs its urls, as in urls = ["https://example.com/"]'
        )
    return Chosen(file, name, urls, defaults)


def checked(
    command: click.Command,
    ctx: click.Context,
    table: Table,
    *,
    where: str,
    folder: Path,
    strangers: Collection[str] = (),
) -> dict[str, object]:
    """The table's values under the command's own names, each read as if it had been typed.

    UsageError begins with `where`. Files are named from `folder` on. `strangers` are options that mean nothing there.
    """
    for key in table:
        if key in strangers:
            raise UsageError(f"{where}: {key} is given on the command line only")
    return _Options(command, ctx, where, folder).read(table)


class _Options:
    """The options of a command, by the keys that a table may use for them."""

    def __init__(self, command: click.Command, ctx: click.Context, where: str, folder: Path) -> None:
        self._ctx, self._where, self._folder = ctx, where, folder
        self._by_key: dict[str, click.Option] = {}
        self._typed_only: set[str] = set()
        for option in command.get_params(ctx):
            if isinstance(option, click.Option) and option.expose_value:
                self._by_key |= dict.fromkeys((*_long_names(option), option.name or ""), option)
            elif isinstance(option, click.Option):
                self._typed_only.update(_long_names(option))

    def read(self, table: Table) -> dict[str, object]:
        """Each value under its option's own name, checked."""
        found: dict[str, object] = {}
        for written, value in table.items():
            key = written.replace("-", "_")
            if key in self._typed_only:
                raise UsageError(f"{self._where}: --{key} is given on the command line only")
            _known([key], self._by_key, f"{self._where} has")
            option = self._by_key[key]
            name = option.name or key
            if name in found:
                raise UsageError(f"{self._where}: {clean(written)} is there twice")
            found[name] = self._checked(option, key, written, value)
        return found

    def _checked(self, option: click.Option, key: str, written: str, value: object) -> object:
        try:
            words = self._flag(option, key, value) if option.is_flag else self._words(option, value)
            option.type_cast_value(self._ctx, words)
        except click.BadParameter as error:
            raise UsageError(f"{self._where}, {clean(written)}: {clean(error.message, 500)}") from None
        except (TypeError, ValueError):
            # ValueError: a number of thousands of digits.
            raise UsageError(
                f"{self._where}: {clean(written)} takes {_takes(option)}, not {_IS.get(type(value), 'a date or time')}"
            ) from None
        return words

    def _flag(self, option: click.Option, key: str, value: object) -> object:
        if not isinstance(value, bool):
            raise TypeError(value)
        if option.flag_value is False and key in _long_names(option) and key != option.name:
            # `--no-this`, which turns `this` off.
            return not value
        return value

    def _words(self, option: click.Option, value: object) -> object:
        """The value as it would be typed, so that it is read as if it had been."""
        pair = _PAIR.fullmatch(option.metavar or "") if option.multiple else None
        if pair and isinstance(value, dict):
            return [f"{key}{pair[1]}{self._word(option, one)}" for key, one in value.items()]
        if option.multiple or option.nargs > 1:
            return [self._word(option, one) for one in (value if isinstance(value, list) else [value])]
        return self._word(option, value)

    def _word(self, option: click.Option, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError(value)
        word = str(value)
        if isinstance(option.type, click.Path | click.File) and word not in {"", "-"}:
            # Beside the file: where the command is run from changes nothing.
            return str(self._folder / os.path.expanduser(word))  # noqa: PTH111 - Path's raises where nobody is at home
        return word


def _long_names(option: click.Option) -> Iterator[str]:
    return (name[2:].replace("-", "_") for name in option.opts if name.startswith("--"))


def _takes(option: click.Option) -> str:
    """What a file may say for the option, in words."""
    if option.is_flag:
        return "true or false"
    if not option.multiple:
        return f"text or a number (see {option.opts[-1]})"
    table = ", or a table" if _PAIR.fullmatch(option.metavar or "") else ""
    return f"text or a list of texts{table} (see {option.opts[-1]})"


def _urls(value: object, where: str) -> tuple[str, ...]:
    urls = [value] if isinstance(value, str) else value
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise UsageError(f'{where}: urls are its start URLs, as in urls = ["https://example.com/"]')
    return tuple(urls)


def _table(value: object, what: str) -> Table:
    if not isinstance(value, dict):
        raise UsageError(f"{what} is not a table of options; write [crawl], or [crawls.docs] with its urls")
    return value


def _known(keys: Collection[str], known: Collection[str], where: str) -> None:
    for key in keys:
        if key not in known:
            from difflib import get_close_matches

            close = get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"it knows: {', '.join(sorted(known))}"
            raise UsageError(f"{where} an unknown {clean(repr(key), 60)}; {hint}")
