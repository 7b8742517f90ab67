"""The file: opened only if it is ours, created whole, and every failure of it in one line.

SQLite in WAL mode with ``synchronous=FULL``: a commit that returned survives a power cut. A file that is not ours
is looked at without a write, without side files too, and left as it was.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import ExceptionContext

from enginetour.errors import StorageFailed, StoreRefused
from enginetour.store import schema
from enginetour.store.filesystem import check_folder
from enginetour.store.sqlite_errors import StoreBusy, told, translated
from enginetour.store.tables import APPLICATION_ID, SCHEMA_VERSION

MAGIC = b"SQLite format 3\x00"  # SQLite file format 1.3
BUSY_TIMEOUT_MS = 5000  # other commands write in short transactions (reliability spec 3)
BUSY_SLICE_MS = 200  # SQLite waits without hearing signals, and SIGTERM has 5 s in all (reliability spec 3)
PATIENCE_S = 60.0  # for a finished game: another command that holds the file longer must not cost it
OPEN_TIMEOUT_S = 5.0  # two runs may create one database at the same moment; the same patience


def connected(path: Path, mode: str) -> sqlite3.Connection:
    """A bare connection; `mode` is the query of SQLite's file URI."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        isolation_level=None,  # transactions begin and end where we say so
        check_same_thread=False,
        timeout=BUSY_TIMEOUT_MS / 1000,
    )
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _holds_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _is_unborn(path: Path) -> bool:
    """Nothing was ever committed to it: empty, or killed while it was created."""
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
    return head == b"" or (not head.strip(b"\x00") and _holds_bytes(_beside(path, "-journal")))


def is_made(path: Path) -> bool:
    """There is something in that place, ours or not; False for a file that is yet to be made or to be filled."""
    return path.exists() and not (path.is_file() and _is_unborn(path))


def _check_header(path: Path) -> None:
    """Refuse by the first 100 bytes what is not ours: they name format, version and application."""
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(MAGIC):
        raise StoreRefused("is no SQLite database", place=str(path), step="name another file with --db")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise StoreRefused("is a database of another program", place=str(path), step="name another file with --db")


def version_of(path: Path) -> int:
    """All refusals, without a byte written, and the schema's version; 0 where that is to be seen after a roll-back.

    Side files appear only beside a log that is there already.
    """
    if not path.is_file():
        raise StoreRefused("is no file", place=str(path), step="name another file with --db")
    _check_header(path)
    if _holds_bytes(_beside(path, "-journal")):
        return 0  # killed while it was created: SQLite rolls back when we write, then the schema is looked at
    mode = "mode=ro" if _holds_bytes(_beside(path, "-wal")) else "mode=ro&immutable=1"
    with told(path):
        connection = connected(path, mode)
        try:
            return schema.check(connection, path)
        finally:
            connection.close()


class Database:
    """An open database. `warnings` are sentences for the user; use as a context manager or call `close`.

    `heed` is called several times a second while somebody else holds the file; what it raises ends the wait.
    """

    def __init__(
        self,
        path: Path,
        mode: str,
        *,
        readonly: bool,
        warnings: tuple[str, ...],
        heed: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.heed = heed
        self.readonly = readonly
        self.warnings = warnings
        self.engine: Engine = create_engine(
            "sqlite://", creator=lambda: connected(path, mode), poolclass=QueuePool, pool_size=2, max_overflow=8
        )
        event.listen(self.engine, "handle_error", self._translate)
        self._file: tuple[int, int] | None = None  # device and inode of what we hold open

    @classmethod
    def open(
        cls, path: Path | str, *, create: bool = True, readonly: bool = False, heed: Callable[[], None] = lambda: None
    ) -> Database:
        """Open or create; StoreRefused if it is not ours or busy, StorageFailed if it cannot be written."""
        path = Path(os.path.realpath(path))  # side files, lock and socket lie beside the file, not beside a link to it
        create = create and not readonly
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            there = path.exists()
            if not there and not create:
                raise StoreRefused("there is no database yet", place=str(path), step="enginetour run makes one")
            warnings = check_folder(path.parent)
            unborn = not there or (path.is_file() and _is_unborn(path))
            if unborn and not create:
                raise StoreRefused("holds no tournament yet", place=str(path), step="enginetour run fills it")
            if not unborn:
                version = version_of(path)
        except OSError as error:
            step = "check the rights of its folder"
            raise StorageFailed(f"cannot be used ({error.strerror})", place=str(path), step=step) from error
        if readonly and not unborn and 0 < version < SCHEMA_VERSION:
            cls.open(path, create=False).close()  # an older one is brought up to date first
        if readonly:
            return cls(path, reading_mode(path), readonly=True, warnings=warnings)
        database = cls(path, "mode=rwc" if create else "mode=rw", readonly=False, warnings=warnings, heed=heed)
        try:
            database._make_ready(create=create)
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Let go of the file; the last one out folds the log into it."""
        self.engine.dispose()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self, *, patience: float = 0.0) -> Iterator[Connection]:
        """One transaction that nobody else can write beside; rolled back by any exception, durable on return.

        Waits `patience` seconds for a file that is busy, beyond the usual five.
        """
        with self.engine.connect() as connection:
            self._begin(connection, time.monotonic() + BUSY_TIMEOUT_MS / 1000 + patience)
            try:
                self._require_file()
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One unchanging view of the database, whoever writes meanwhile."""
        with self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
            connection.rollback()

    def quick_check(self) -> tuple[str, ...]:
        """SQLite's own check of pages and rows; empty if all is well."""
        with self.reading() as connection:
            found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check(5)")]
            lost = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        return (
            *(line for line in found if line != "ok"),
            *(f"{row[0]} row {row[1]} refers to nothing" for row in lost),
        )

    def _begin(self, connection: Connection, deadline: float) -> None:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.execute(f"PRAGMA busy_timeout={BUSY_SLICE_MS}")
        try:
            while True:
                try:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                except StoreBusy:
                    self.heed()
                    if time.monotonic() >= deadline:
                        raise
                else:
                    return
        finally:
            raw.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")

    def _require_file(self) -> None:
        """What we write still lies under its name: an open file outlives its removal, the games in it would not."""
        if self._file is not None and _identity(self.path) != self._file:
            what = "was removed or replaced while it was in use"
            raise StorageFailed(what, place=str(self.path), step="put it back and run again")

    def _translate(self, context: ExceptionContext) -> None:
        refused = translated(context.original_exception, self.path)
        if refused is not None:
            raise refused from context.original_exception

    def _make_ready(self, *, create: bool) -> None:
        """Schema and journal mode; proves that it can be written before anything starts."""
        with self.writing() as connection:
            blank = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0
            if blank and create:
                schema.make(connection)
        deadline = time.monotonic() + OPEN_TIMEOUT_S
        with self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            with told(self.path):
                if schema.check(raw, self.path) < SCHEMA_VERSION:
                    with self.writing() as writer:
                        schema.upgrade(writer)
                    schema.check(raw, self.path)
                found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]  # about 3 ms a thousand games
            self._file = _identity(self.path)
            if found != "ok":
                step = "put a backup in its place"
                raise StoreRefused(f"is damaged ({found})", place=str(self.path), step=step)
            while (mode := _journal_mode(raw, self.path)) != "wal":
                if mode != "busy" or time.monotonic() > deadline:
                    step = "put the database on a local disk"
                    raise StorageFailed("the file system cannot share memory (WAL)", place=str(self.path), step=step)
                time.sleep(0.02)  # another process is creating it: its exclusive lock lasts a few milliseconds


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _journal_mode(connection: sqlite3.Connection, path: Path) -> str:
    """Ask for WAL; "busy" while somebody else holds the file, which this statement does not wait for."""
    try:
        return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
    except sqlite3.OperationalError as error:
        if isinstance(translated(error, path), StoreRefused):
            return "busy"
        raise translated(error, path) or error from error


def reading_mode(path: Path) -> str:
    """Read-only; without any side file where the folder does not let us make one and nobody writes."""
    try:
        with told(path):
            connection = connected(path, "mode=ro")
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            finally:
                connection.close()
    except StorageFailed:
        if _holds_bytes(_beside(path, "-wal")):
            raise
        return "mode=ro&immutable=1"
    return "mode=ro"
