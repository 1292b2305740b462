"""Values that stand in the environment: a file says only which variable holds them."""

from collections.abc import Callable
from typing import Final

from holdfast.domain.errors import AccessRefused

Lookup = Callable[[str], str | None]
"""A variable of the environment; None if it isn't set."""
BY_VARIABLE: Final = "env:"


def resolved(text: str, lookup: Lookup, where: str) -> str:
    """The text, or what the variable holds that it names as `env:NAME`; AccessRefused if that isn't set."""
    if not text.startswith(BY_VARIABLE):
        return text
    name = text.removeprefix(BY_VARIABLE)
    value = lookup(name)
    if not value:
        raise AccessRefused(f"{where} refers to the environment variable {name}, which is not set")
    return value
