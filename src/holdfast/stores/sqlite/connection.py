"""Opens the ledger's file, brings its schema up to date, and runs work on it.

Work is a plain function of the connection, so that a transaction is one function and never spans an await;
SQLite serialises the processes.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from holdfast.domain.errors import HomeError, StorageFailed, StorageFull
from holdfast.stores.sqlite.statements import migrations

FILE_NAME = "holdfast.db"
APPLICATION_ID = 0x484F4C44  # "HOLD": `file` and our own check tell the ledger from a stranger's database
BUSY_MS = 30_000
CACHE_KIB = 128 * 1024
WAL_PAGES = 8_000
"""Pages in the WAL before it is folded back: large, so that a page that many commits change is written once."""

P = ParamSpec("P")
T = TypeVar("T")


def open_connection(path: Path) -> apsw.Connection:
    """A connection set up for us, to a ledger of the present schema; creates the file if need be."""
    try:
        _make(path.parent)
        db = apsw.Connection(str(path))
    except (apsw.Error, OSError) as error:
        message = (
            f"can't open the home {path.parent}: {error}. Check that it is a directory you may write to."
        )
        raise HomeError(message) from error
    with translated(path):
        db.set_busy_timeout(BUSY_MS)
        # A plan doesn't depend on what is bound. Else a statement of which a parameter is compared with a partial
        # index's WHERE is parsed and planned anew whenever that parameter changes: a twentieth of a crawl's time.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _refuse_strangers(db, path)
        for pragma in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "foreign_keys = ON",
            f"cache_size = -{CACHE_KIB}",
            f"wal_autocheckpoint = {WAL_PAGES}",
            "temp_store = MEMORY",
        ):
            db.execute(f"PRAGMA {pragma}")
        _migrate(db)
    return db


def _make(home: Path) -> None:
    """The home with all that leads there. The names of new directories survive a power cut from here on."""
    missing = [folder for folder in (home, *home.parents) if not folder.exists()]
    home.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        # Where a directory can't be opened or synced there is nothing better to do; a disk that fails says so again.
        with suppress(OSError):
            _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _refuse_strangers(db: apsw.Connection, path: Path) -> None:
    newest = migrations()[-1][0]
    version = db.pragma("user_version")
    application = db.pragma("application_id")
    if version and application != APPLICATION_ID:
        message = f"{path} is not a Holdfast ledger. Choose another home with --home."
        raise HomeError(message)
    if version > newest:
        message = (
            f"{path} was written by a newer Holdfast (schema {version}, this one knows {newest}). "
            "Upgrade holdfast, or choose another home with --home."
        )
        raise HomeError(message)


def _migrate(db: apsw.Connection) -> None:
    """Each migration is one transaction with its version number: a crash leaves the step before it."""
    for version, script in migrations():
        if db.pragma("user_version") >= version:
            continue
        with immediate(db):
            if db.pragma("user_version") >= version:
                continue
            db.execute(script)
            db.execute(f"PRAGMA user_version = {version}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@contextmanager
def immediate(db: apsw.Connection) -> Iterator[None]:
    """One write transaction: the write lock is taken at once, so nothing read in it can go stale."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _no_room(path: Path) -> StorageFull:
    return StorageFull(
        f"the disk of {path.parent} is full. Free some space, then run the same command again."
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, told apart by what to do next."""
    try:
        yield
    except apsw.FullError as error:
        raise _no_room(path) from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        message = (
            f"{path} is damaged or not a ledger: {error}. Restore a copy, or choose another home with --home."
        )
        raise HomeError(message) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError) as error:
        message = f"can't use {path}: {error}. Check that you may read and write it and its directory."
        raise HomeError(message) from error
    except apsw.BusyError as error:
        message = (
            f"{path} stayed locked by another process for {BUSY_MS // 1000} s. Run the same command again."
        )
        raise StorageFailed(message) from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:  # its stubs leave that out
            # No room for the index of the WAL, which even a reader needs; SQLite doesn't call that full.
            raise _no_room(path) from error
        message = f"reading or writing {path} failed: {error}. What was committed stands; run the same command again."
        raise StorageFailed(message) from error


class Database:
    """The ledger's file, opened at the first use.

    Work runs on the caller's own thread, between two turns of its event loop. A thread for it was measured and cost
    more than it gave (docs/adr/0005): each statement hands the interpreter back and forth.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / FILE_NAME
        self._db: apsw.Connection | None = None

    async def run(
        self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work(connection, ...) to its end; nothing else of this process comes in between."""
        with translated(self.path):
            return work(self._opened(), *args, **kwargs)

    def _opened(self) -> apsw.Connection:
        if self._db is None:
            self._db = open_connection(self.path)
        return self._db

    async def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None


def fetch(db: apsw.Connection, sql: str, bindings: Mapping[str, Any] | None = None) -> list[Any]:
    """All rows at once: no statement stays open across an await."""
    return db.execute(sql, bindings).fetchall()
