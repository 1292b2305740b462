"""Loads the named statements of the .sql files beside this module.

A file holds blocks that begin with `-- name: the_name`; the comment lines under it say what it guarantees.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_BLOCK = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def statements(file: str) -> Mapping[str, str]:
    """The statements of one file by name."""
    text = files(__package__).joinpath("sql", f"{file}.sql").read_text(encoding="utf-8")
    parts = _BLOCK.split(text)[1:]
    return dict(zip(parts[::2], (_bare(block) for block in parts[1::2]), strict=True))


def _bare(block: str) -> str:
    lines = (line for line in block.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip()


def migrations() -> list[tuple[int, str]]:
    """All migrations in their order: (version, script)."""
    folder = files(__package__).joinpath("migrations")
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name[:4]), entry.read_text(encoding="utf-8")) for entry in found)
