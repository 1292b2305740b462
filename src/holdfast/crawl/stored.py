"""A spec as the ledger stores it: frozen dataclasses as plain JSON values, and back again with every type checked."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from holdfast.domain.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Group = TypeVar("Group", bound=DataclassInstance)
else:
    Group = TypeVar("Group")


def to_json(group: "DataclassInstance") -> dict[str, Any]:
    """Plain JSON values, for the ledger."""
    return {key: _plain(value) for key, value in asdict(group).items()}


def from_json(kind: type[Group], data: Mapping[str, Any]) -> Group:
    """What `to_json` gave. A part that an older Holdfast did not know takes its default.

    UsageError for anything unknown, needed and missing, or of the wrong type.
    """
    hints = _hints(kind)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise UsageError(f"{_name(kind)} knows no {unknown[0]!r}; it has: {', '.join(hints)}")
    needed = [field.name for field in fields(kind) if field.default is field.default_factory is MISSING]
    missing = next((name for name in needed if name not in data), None)
    if missing is not None:
        raise UsageError(f"{_name(kind)} needs {missing!r}")
    try:
        return kind(**{name: _read(hints[name], value) for name, value in data.items()})
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"this is no {_name(kind)}: {error}") from None


def _name(kind: type[Any]) -> str:
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in kind.__name__)
    return words.strip()


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _read(hint: Any, value: object) -> object:  # noqa: ANN401 - a type as annotations name it
    made_of = get_origin(hint)
    if made_of in {UnionType, Union}:
        options = [one for one in get_args(hint) if one is not NoneType]
        return None if value is None and NoneType in get_args(hint) else _read(options[0], value)
    if made_of in {dict, tuple}:
        return _read_many(made_of, get_args(hint), value)
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise TypeError(f"{value!r} is not a group of settings")
        return from_json(hint, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return _read_plain(hint, value)


def _read_many(made_of: type, of: tuple[Any, ...], value: object) -> object:
    if made_of is dict:
        if not isinstance(value, Mapping):
            raise TypeError(f"{value!r} is not a table")
        return {str(key): _read(of[1], one) for key, one in value.items()}
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list")
    return tuple(_read(of[0], one) for one in value)


def _read_plain(hint: Any, value: object) -> object:  # noqa: ANN401 - as above
    if hint is float and type(value) is int:
        return float(value)
    # `bool` is an `int` to Python, not to us.
    if hint is not Any and type(value) is not hint:
        raise TypeError(f"{value!r} is not a {getattr(hint, '__name__', hint)}")
    return value
