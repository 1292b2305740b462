"""Which Chromium is there. Needs neither Playwright nor the browser to run."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_S: Final = 20.0


def find_program(named: Path | None) -> Path | None:
    """The Chromium that a person named, or the first of the usual ones; None where there is none that can be run."""
    if named is not None:
        return named if named.is_file() and os.access(named, os.X_OK) else None
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return None if found is None else Path(found)


def has_playwright() -> bool:
    """Whether the extra `browser` is installed."""
    return importlib.util.find_spec("playwright") is not None


def version_of(program: Path) -> str:
    """What it says of itself; OSError where it doesn't start."""
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=True
        )
    except subprocess.SubprocessError as error:
        raise OSError(f"{program} --version: {error}") from None
    return said.stdout.strip()
