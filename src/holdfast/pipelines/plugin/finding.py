"""From a name to a pipeline's class: an entry point of an installed package, or `module:Class`."""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isasyncgenfunction, iscoroutinefunction
from pathlib import Path
from typing import Any, Final, get_type_hints

from holdfast.crawl import stored
from holdfast.domain.errors import UnknownKind, UsageError
from holdfast.plugin import Pipeline

GROUP: Final = "holdfast.pipelines"
_RESERVED: Final = frozenset({"site", "queued", "completed"})
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")
_COLUMN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
TYPES: Final[Mapping[type, str]] = {
    str: "text",
    int: "whole",
    float: "real",
    bool: "flag",
    list: "json",
    dict: "json",
}
_WORDS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def by_kind(kind: str) -> type[Pipeline] | None:
    """What an installed package offers under that kind; None where none does."""
    points = _points(kind)
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        said = " and ".join(sorted(f"{_package(point)} ({point.value})" for point in points))
        raise UsageError(
            f"more than one installed package has a pipeline {kind!r}: {said}; uninstall one of them"
        )
    point = points[0]
    try:
        found = point.load()
    except Exception as error:
        raise UsageError(
            f"the pipeline {kind!r} of {_package(point)} can't be loaded from {point.value}: {_said(error)}"
        ) from error
    checked = looked_at(found, point.value)
    if checked.kind != kind:
        raise UsageError(
            f"{_package(point)} offers {point.value} as {kind!r}, and it calls itself {checked.kind!r}; "
            "both have to be the same"
        )
    return checked


def by_place(place: str) -> type[Pipeline]:
    """The class that `module:Class` names; modules of the directory where we are count as well."""
    module, _, name = place.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise UsageError(f"there is no pipeline at {place}: {_said(error)}") from error
    return looked_at(found, place)


def place_of(pipeline: type[Pipeline]) -> str | None:
    """How another process names a class in hand: None where its kind says enough. UsageError if it can't be run."""
    place = f"{pipeline.__module__}:{pipeline.__qualname__}"
    looked_at(pipeline, place)
    if _points(pipeline.kind) and by_kind(pipeline.kind) is pipeline:
        return None
    if not is_place(place):
        raise UsageError(
            f"{place} can't be found by its name again: define it in a module, not in a function"
        )
    return place


def is_place(name: str) -> bool:
    """Whether it is written as `module:Class`."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def named(name: str) -> tuple[type[Pipeline], str | None]:
    """The class that a person named, and its place if that is what they named. UsageError where there is none."""
    if is_place(name):
        return by_place(name), name
    found = by_kind(name)
    if found is None:
        known = sorted({point.name for point in entry_points(group=GROUP)})
        has = f"installed are: {', '.join(known)}" if known else "no installed package has any"
        raise UsageError(f"there is no pipeline {name!r}: {has}. Name a kind, or module:Class.")
    return found, None


def of_job(kind: str, place: str | None) -> type[Pipeline]:
    """The class of a job that is there. UnknownKind names the kind and what to install."""
    if place is not None:
        try:
            found = by_place(place)
        except UsageError as error:
            raise UnknownKind(
                f"the job is of the kind {kind!r}, and {error}. Run it where {place} can be imported."
            ) from error
        if found.kind != kind:
            raise UnknownKind(
                f"the job is of the kind {kind!r}, and {place} is of the kind {found.kind!r} by now"
            )
        return found
    known = by_kind(kind)
    if known is None:
        raise UnknownKind(
            f"the job is of the kind {kind!r}, which no installed package has: install the one that has it "
            f"(entry point {kind!r} of the group {GROUP})"
        )
    return known


def looked_at(found: object, place: str) -> type[Pipeline]:
    """The class, if it is one that can be run. UsageError says what it lacks."""
    if not (isinstance(found, type) and issubclass(found, Pipeline) and found is not Pipeline):
        raise UsageError(f"{place} is no pipeline: it has to be a class below holdfast.plugin.Pipeline")
    wrong = _wrong_with(found)
    if wrong is not None:
        raise UsageError(f"{place} is no pipeline that can be run: {wrong}")
    return found


def _wrong_with(found: type[Pipeline]) -> str | None:
    if found.start is Pipeline.start or found.visit is Pipeline.visit:
        return "it needs start() and visit()"
    if any(iscoroutinefunction(one) or isasyncgenfunction(one) for one in (found.start, found.visit)):
        return "start() and visit() are plain functions or generators, not async"
    kind = getattr(found, "kind", None)
    if not isinstance(kind, str) or not _NAME.fullmatch(kind) or kind in _RESERVED:
        ours = ", ".join(sorted(_RESERVED))
        return f"its kind is {kind!r}; take lower-case letters, digits and -, and none of ours ({ours})"
    if "__dataclass_fields__" not in vars(found):
        return "put @dataclass(frozen=True) above it"
    return _wrong_with_phases(found) or _wrong_with_columns(found)


def _wrong_with_phases(found: type[Pipeline]) -> str | None:
    phases: object = found.phases
    if not isinstance(phases, tuple) or not phases:
        return "its phases are a tuple of names, at least one"
    names: tuple[object, ...] = (*phases, *found.kinds)
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
            return f"{name!r} can't be a phase or a kind of item; take lower-case letters, digits and -"
    if len(set(phases)) < len(phases):
        return "two of its phases have the same name"
    astray = next((phase for phase in found.kinds.values() if phase not in phases), None)
    return None if astray is None else f"{astray!r}, named in its kinds, is none of its phases"


def _wrong_with_columns(found: type[Pipeline]) -> str | None:
    for column, of_type in found.columns.items():
        if not _COLUMN.fullmatch(column) or column == "url" or of_type not in TYPES:
            return (
                f"its column {column!r} can't be; take letters, digits and _, not url (each record has that), "
                "and one of the types str, int, float, bool, list, dict"
            )
    return None


def kinds_of(pipeline: type[Pipeline]) -> dict[str, int]:
    """Each kind of item, the first one first, with the number of its phase."""
    kinds = pipeline.kinds or {phase: phase for phase in pipeline.phases}
    return {kind: pipeline.phases.index(phase) for kind, phase in kinds.items()}


def made(pipeline: type[Pipeline], options: Mapping[str, Any]) -> Pipeline:
    """One with those options, as they are stored. UsageError names what is unknown, missing or of the wrong type."""
    try:
        return stored.from_json(pipeline, options)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the pipeline {pipeline.kind!r} refuses its options: {_said(error)}") from error


def kept_options(pipeline: Pipeline) -> dict[str, Any]:
    """Its options as they are stored: those that differ from their defaults, so that a new one changes no job."""
    said = stored.to_json(pipeline)
    by_itself = {one.name: _default(one) for one in fields(pipeline)}
    kept = {name: value for name, value in said.items() if getattr(pipeline, name) != by_itself[name]}
    made(type(pipeline), kept)
    return kept


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def options_of(pipeline: type[Pipeline], typed: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Options as they were typed, NAME=VALUE, each in its field's type; a tuple's name may be given several times."""
    hints = get_type_hints(pipeline)
    names = [one.name for one in fields(pipeline)]
    options: dict[str, Any] = {}
    for name, text in typed:
        if name not in names:
            has = f"it has: {', '.join(names)}" if names else "it has none"
            raise UsageError(f"the pipeline {pipeline.kind!r} knows no {name!r}; {has}")
        hint = hints[name]
        if getattr(hint, "__origin__", None) is tuple:
            options[name] = [*options.get(name, ()), _read(name, text, hint.__args__[0])]
        else:
            options[name] = _read(name, text, hint)
    needed = [one.name for one in fields(pipeline) if one.default is one.default_factory is MISSING]
    missing = next((name for name in needed if name not in options), None)
    if missing is not None:
        raise UsageError(f"the pipeline {pipeline.kind!r} needs {missing!r}: --set {missing}=...")
    return options


def _read(name: str, text: str, hint: Any) -> Any:  # noqa: ANN401 - a type as annotations name it
    types = getattr(hint, "__args__", None) or (hint,)
    try:
        if bool in types:
            return _WORDS[text.lower()]
        return int(text) if int in types else float(text) if float in types else text
    except (KeyError, ValueError):
        wants = "true or false" if bool in types else "a whole number" if int in types else "a number"
        raise UsageError(f"{name} is {wants}, not {text[:100]!r}") from None


def _points(kind: str) -> list[EntryPoint]:
    return list(entry_points(group=GROUP, name=kind))


def _package(point: EntryPoint) -> str:
    return "a package" if point.dist is None else str(point.dist.name)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
