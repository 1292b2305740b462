"""Signs of life as locked files in the home: the kernel takes the lock away with the process, and nothing else does.

A pid would mean nothing in a container, and is used again; a lock is neither guessed nor left behind.
"""

import faulthandler
import fcntl
import os
import platform
import sys
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

_MOST_WORDS: Final = 200
"""Characters; they become the reason of a job's status."""


class LockPresence:
    """A locked file. The lock lasts as long as this process has it open."""

    def __init__(self, path: Path, will: Path, worker_id: str) -> None:
        self.worker_id = worker_id
        self._path = path
        self._will = will
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # What a crash in C code has to say goes there; SIGKILL says nothing, which tells the two apart.
        self._last_words = will.open("w", encoding="utf-8", errors="replace")
        self._enabled_before = faulthandler.is_enabled()
        faulthandler.enable(self._last_words)

    def leave(self, words: str | None = None) -> None:
        """Remove the file, then the lock: whoever looks meanwhile finds no file, which means the same.

        `words` stay behind: what a mistake of ours, which is a crash too, has to say.
        """
        if self._enabled_before and sys.stderr is not None:
            faulthandler.enable()
        else:
            faulthandler.disable()
        with suppress(OSError), self._last_words as will:  # for want of room the death is a silent one
            will.write(words or "")
        if not words:
            self._will.unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


class LockedWorkers:
    """Implements ports.workers.Workers with one lock file for each worker id, under the home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "workers"
        self._machine = platform.node() or "localhost"
        self._boot = _boot()

    def name(self, token: str) -> str:
        """A worker id that tells people which process it is, and where its lock can be judged."""
        return f"{self._machine}/{os.getpid()}/{self._boot}.{token}"

    def enter(self, worker_id: str) -> LockPresence:
        """Lock this worker's file."""
        return LockPresence(self._path(worker_id), self._will(worker_id), worker_id)

    def lives(self, worker_id: str) -> bool | None:
        """Whether the lock is held; None for a worker of another machine, and where the lock can't be asked.

        The same machine has the same name, or runs the same kernel under another one (a container that came back).
        """
        machine, _, rest = worker_id.partition("/")
        boot = rest.rpartition("/")[2].partition(".")[0]
        if machine != self._machine and boot != self._boot:
            return None
        try:
            return self._locked(worker_id)
        except OSError:
            return None

    def _locked(self, worker_id: str) -> bool:
        try:
            fd = os.open(self._path(worker_id), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            # Nobody holds it: the process is gone, and the file with it. If it said nothing, nothing is kept of it.
            will = self._will(worker_id)
            if will.exists() and not will.stat().st_size:
                will.unlink(missing_ok=True)
            self._path(worker_id).unlink(missing_ok=True)
            return False
        finally:
            os.close(fd)

    def crash(self, worker_id: str) -> str | None:
        """The first line of what it left as it crashed. The file stays, for whoever wants to know more."""
        try:
            words = self._will(worker_id).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None
        return words.splitlines()[0][:_MOST_WORDS] if words else None

    def _will(self, worker_id: str) -> Path:
        return self._folder / (worker_id.replace("/", "-") + ".crash")

    def _path(self, worker_id: str) -> Path:
        return self._folder / (worker_id.replace("/", "-") + ".lock")


def _boot() -> str:
    """What this kernel's run is called; the same in all containers on it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        return uuid.uuid4().hex[:8]
