"""What a job was asked for, in words."""

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING

from holdfast.cli.show import limits, pace
from holdfast.domain.job import Job
from holdfast.pipelines.plugin.spec import PluginSpec
from holdfast.pipelines.site.spec import KIND, SiteSpec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def essentials(job: Job) -> tuple[tuple[str, str], ...]:
    """What a crawl was asked for beside its start URLs: what differs from the defaults, and the bounds."""
    if job.kind != KIND:
        asked = PluginSpec.from_json(job.spec)
        options = tuple((name, str(value)) for name, value in asked.options.items())
        return (("pipeline", job.kind), *options, ("limits", limits(job)), ("pace", pace(job)))
    spec = SiteSpec.from_json(job.spec)
    differing = [word for word in _differing(spec) if word[0] not in {"start urls", "scope"}]
    return (("scope", spec.scope.value), *differing, ("limits", limits(job)), ("pace", pace(job)))


def _differing(group: "DataclassInstance") -> Iterator[tuple[str, str]]:
    """What is not as it is by itself, groups within groups included."""
    for field in fields(group):
        value = getattr(group, field.name)
        usual = field.default if field.default_factory is MISSING else field.default_factory()
        if value == usual:
            continue
        if is_dataclass(value) and not isinstance(value, type):
            yield from _differing(value)
        else:
            yield field.name.replace("_", " "), _word(value)


def _word(value: object) -> str:
    if isinstance(value, tuple | frozenset):
        return ", ".join(map(_word, value))
    if is_dataclass(value):
        return str(getattr(value, "name", value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
