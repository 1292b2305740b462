"""What `-o` and `--format` ask for: a file, told by its ending, or a folder of files, told by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from holdfast.cli.params import FILE
from holdfast.domain.errors import UsageError

FOLDERS: Final = ("markdown", "mirror")
"""What is a folder of files."""
_FORMAT: Final = "holdfast.format"


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go, and as what."""

    path: Path
    folder: str | None = None
    """One of FOLDERS; None for a file, whose ending says all."""

    @property
    def words(self) -> list[str]:
        """As a person would type it."""
        return ["-o", str(self.path), *(["--format", self.folder] if self.folder else [])]

    def check(self) -> None:
        """UsageError if it can't be written; asked before any work."""
        from holdfast.output.folder import check_folder
        from holdfast.output.formats import ending_of
        from holdfast.output.target import check_target

        if self.folder is not None:
            check_folder(self.path)
        else:
            ending_of(self.path)
            check_target(self.path)


def _kept(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    ctx.meta[_FORMAT] = value


def _paired(ctx: click.Context, _param: click.Parameter, path: Path | None) -> Output | None:
    folder = ctx.meta.get(_FORMAT)
    if path is None:
        if folder is not None:
            raise UsageError(f"--format {folder} needs a directory to write: name one with -o")
        return None
    return Output(path, folder)


OUTPUT: Final[dict[str, Any]] = {
    "type": FILE,
    "metavar": "FILE",
    "callback": _paired,
}
"""How `-o` is read; it gives an Output."""
FORMAT: Final[dict[str, Any]] = {
    "type": click.Choice(FOLDERS),
    "is_eager": True,
    "expose_value": False,
    "callback": _kept,
    "help": "Write a directory instead of a file: the pages as Markdown, or a copy of the site to browse.",
}
"""How `--format` is read; `-o` takes it up."""
