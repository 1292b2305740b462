r"""Fields without code: `price=number css:.price`, `tags=all xpath://a[@rel="tag"]`, `sku=regex:"sku": ?"(\w+)"`.

    NAME=[all] [number] css:SELECTOR[@ATTRIBUTE] | xpath:EXPRESSION | regex:EXPRESSION

The first match counts, or `all` of them; of an element its text counts, or `@ATTRIBUTE`. What a page contains never
raises: a field that finds nothing is None.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from holdfast.crawl.content import Content
from holdfast.crawl.text import line_of
from holdfast.domain.errors import UsageError

MAX_FIELDS: Final = 200
MAX_VALUES: Final = 1_000
MAX_VALUE_CHARS: Final = 100_000
SYNTAX: Final = (
    "NAME=css:SELECTOR, NAME=css:SELECTOR@ATTRIBUTE, NAME=xpath:EXPRESSION or NAME=regex:EXPRESSION"
)

Search = Callable[[Content], Iterator[str]]
"""Finds the values in a page, in document order."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
_HOW: Final = re.compile(r"(?P<words>[\w\s]*?)\s*(?P<kind>css|xpath|regex):(?P<what>.*)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"(?P<selector>.+?)\s*@(?P<attribute>[A-Za-z_][\w:.-]*)\s*", re.DOTALL)
_PARSEL: Final = re.compile(r"::(text|attr\(([^)]*)\))\s*$")
_NUMBER: Final = re.compile(r"[-\u2212]?\d+(?:[ \u00a0\u202f\u2009'\u2019]\d{3}(?!\d))*(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Field:
    """One field, as it was asked for; its expression is not looked at yet."""

    name: str
    kind: str
    """css, xpath or regex."""
    expression: str
    every: bool = False
    """All matches as a list, instead of the first."""
    number: bool = False
    """Read as numbers; what is none is left out."""


def read_field(text: str) -> Field:
    """The field in what a person wrote. UsageError says how to write one."""
    name, equals, how = (part.strip() for part in text.partition("="))
    if not equals or not _NAME.fullmatch(name):
        raise UsageError(
            f"a field is written {SYNTAX}, with a name of letters, digits, - and _; not {text[:100]!r}"
        )
    match = _HOW.fullmatch(how)
    if match is None:
        raise UsageError(f"the field {name} doesn't say how it is found; write {SYNTAX}")
    words = match["words"].split()
    unknown = [word for word in words if word not in {"all", "number"}]
    if unknown or len(set(words)) < len(words):
        raise UsageError(
            f"the field {name} may say `all` and `number` before {match['kind']}:, once each; not {words}"
        )
    what = match["what"].strip()
    if not what:
        raise UsageError(f"the field {name} has nothing behind {match['kind']}:")
    return Field(name, match["kind"], what, every="all" in words, number="number" in words)


def read_fields(texts: Sequence[str]) -> tuple[Field, ...]:
    """All fields, each name once: the last one of a name wins, in the place of the first."""
    found = {field.name: field for field in map(read_field, texts)}
    if len(found) > MAX_FIELDS:
        raise UsageError(f"there are {len(found)} fields; {MAX_FIELDS} are the most")
    return tuple(found.values())


class Extractor:
    """Fields that can be found: each expression is one. UsageError names the one that isn't."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        self._searches = [(field, _COMPILERS[field.kind](field)) for field in fields]

    def values(self, content: Content | None) -> dict[str, Any]:
        """What each field finds: a text or a number, a list of them for `all`, None where there is nothing."""
        if content is None:
            return dict.fromkeys(field.name for field in self.fields)
        return {field.name: _value(field, search(content)) for field, search in self._searches}


def _value(field: Field, found: Iterator[str]) -> object:
    bounded: Iterator[Any] = (one[:MAX_VALUE_CHARS] for one in islice(found, MAX_VALUES))
    if field.number:
        bounded = (number for one in bounded if (number := read_number(one)) is not None)
    return list(bounded) if field.every else next(bounded, None)


def read_number(text: str) -> float | None:
    """The first number in a text, whichever of `1,299.00`, `1.299,00` and `1 299` its country writes.

    The last of two kinds of separators is the decimal one. One kind alone, once and with three digits behind it, parts
    thousands if it is a comma, and is decimal if it is a point.
    """
    match = _NUMBER.search(text)
    if match is None:
        return None
    written = re.sub(r"[\s'\u2019]", "", match[0]).replace("\u2212", "-")
    last = max(written.rfind("."), written.rfind(","))
    if last >= 0:
        mark, digits = written[last], len(written) - last - 1
        parts_thousands = written.count(mark) > 1 or (mark == "," and digits == 3 and "." not in written)  # noqa: PLR2004
        whole = written if parts_thousands else written[:last]
        rest = "" if parts_thousands else written[last + 1 :]
        written = f"{whole.replace('.', '').replace(',', '')}.{rest}"
    number = float(written)
    return number if abs(number) < float("inf") else None


# -- how each kind is found


def _css(field: Field) -> Search:
    match = _ATTRIBUTE.fullmatch(field.expression)
    selector, attribute = (match["selector"], match["attribute"]) if match else (field.expression, None)
    try:
        LexborHTMLParser("<p>").css(selector)
    except (SelectolaxError, UnicodeEncodeError):
        raise UsageError(_no_selector(field.name, selector)) from None

    def search(content: Content) -> Iterator[str]:
        nodes = [] if content.searched is None else content.searched.css(selector)
        if attribute is None:
            return (line_of(node) for node in nodes)
        return (value for node in nodes if (value := _attribute(node, attribute)) is not None)

    return search


def _no_selector(name: str, selector: str) -> str:
    parsel = _PARSEL.search(selector)
    if parsel is None:
        return f"the field {name} has no CSS selector that we can read: {selector!r}"
    instead = selector[: parsel.start()] + (f"@{parsel[2]}" if parsel[2] else "")
    return f"the field {name} ends in {parsel[0].strip()}; write css:{instead} (the text of an element is taken anyway)"


def _attribute(node: LexborNode, name: str) -> str | None:
    attributes = node.attributes
    if name not in attributes:
        return None
    return (attributes[name] or "").strip()


def _xpath(field: Field) -> Search:
    from holdfast.crawl.xpath import compiled

    return compiled(field.name, field.expression)


def _regex(field: Field) -> Search:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(field.expression, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = (
            error.args[0].decode("utf-8", "replace")
            if error.args and isinstance(error.args[0], bytes)
            else error
        )
        raise UsageError(
            f"the field {field.name} has no regular expression that RE2 can run: {why} "
            "(it has neither look-around nor back-references)"
        ) from None
    group = 1 if pattern.groups else 0

    def search(content: Content) -> Iterator[str]:
        for match in pattern.finditer(content.source):
            found = match.group(group)
            if found is not None:
                yield found.decode("utf-8", "replace")

    return search


_COMPILERS: Final[Mapping[str, Callable[[Field], Search]]] = {"css": _css, "xpath": _xpath, "regex": _regex}
