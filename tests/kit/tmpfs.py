"""A disk of a chosen size, which can be filled and given more room."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

_PIECE: Final = 4096


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A mounted tmpfs."""

    path: Path

    def resize(self, kib: int) -> None:
        """More room, or less."""
        subprocess.run(["mount", "-o", f"remount,size={kib}k", str(self.path)], check=True)

    def fill(self) -> Path:
        """Take all the room that is left; the file that has to go for there to be some again."""
        ballast = self.path / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(_PIECE)):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        return ballast


@contextmanager
def small_disk(path: Path, kib: int) -> Iterator[SmallDisk]:
    """Mount a tmpfs of that size until the end of the block; skips the test where that can't be done."""
    if os.geteuid() != 0:
        pytest.skip("a small disk is a tmpfs, and only root may mount one")
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(path)],
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"can't mount a tmpfs here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
        with suppress(OSError):
            path.rmdir()
