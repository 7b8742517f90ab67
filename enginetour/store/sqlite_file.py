"""A store in a file: SQLite in WAL mode with ``synchronous=FULL``, so that a commit that returned survives a power cut.

A file that is not ours is looked at without a write, without side files too, and left as it was.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine

from enginetour.interop.files import SQLITE_MAGIC
from enginetour.model.errors import StorageFailed, StoreRefused, TourError
from enginetour.store import bulk, filesystem, ground, schema
from enginetour.store.heldfiles import HeldFiles
from enginetour.store.lock import TournamentLock
from enginetour.store.sqlite_errors import told, translated
from enginetour.store.tables import APPLICATION_ID, SCHEMA_VERSION

OPEN_TIMEOUT_S = 5.0  # two runs may create one database at the same moment; the patience of a busy file


def connected(path: Path, mode: str) -> sqlite3.Connection:
    """A bare connection; `mode` is the query of SQLite's file URI."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        isolation_level=None,  # transactions begin and end where we say so
        check_same_thread=False,
        timeout=ground.BUSY_TIMEOUT_MS / 1000,
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:  # no database, or a busy one: its locks go at once, not when somebody collects garbage
        connection.close()
        raise
    return connection


def found_schema(connection: sqlite3.Connection) -> schema.Found:
    """The schema as the file tells it."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    listed = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
    ours = [row for row in listed if not row[1].startswith("sqlite_stat")]  # ANALYZE leaves these
    names = [name for kind, name, _ in ours if kind == "table"]
    quoted = {name: name.replace('"', '""') for name in names}
    columns = {name: [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{quoted[name]}")')] for name in names}
    return schema.Found(version, ours, columns)


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


class SqliteFile:
    """One file."""

    view = "BEGIN"
    is_steady = True

    def __init__(self, path: Path) -> None:
        self.address = Path(os.path.realpath(path))  # side files, lock and socket lie beside it, not beside a link
        self._held: HeldFiles | None = None

    def is_made(self) -> bool:
        """There is something in that place, ours or not."""
        path = self.address
        return path.exists() and not (path.is_file() and _is_unborn(path))

    def arrive(self, *, create: bool) -> ground.Arrival:
        """Look at folder and file; the folder is made where the file may be."""
        path = self.address
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            there = path.exists()
            if not there and not create:
                raise StoreRefused("there is no database yet", place=str(path), step="enginetour run makes one")
            warnings = filesystem.check_folder(path.parent)
            unborn = not there or (path.is_file() and _is_unborn(path))
            return ground.Arrival(unborn, 0 if unborn else self._version(), warnings)
        except OSError as error:
            step = "check the rights of its folder"
            raise StorageFailed(f"cannot be used ({error.strerror})", place=str(path), step=step) from error

    def engine(self, *, create: bool, readonly: bool) -> Engine:
        """A few connections to the file."""
        path = self.address
        if not readonly:
            filesystem.refuse_second_name(path)
        mode = reading_mode(path) if readonly else "mode=rwc" if create else "mode=rw"
        return create_engine(
            "sqlite://", creator=lambda: connected(path, mode), poolclass=QueuePool, pool_size=2, max_overflow=8
        )

    def make_ready(self, connection: Connection, *, create: bool) -> None:
        """Tables where there is nothing, and what an older schema lacks; `settle` looks at the outcome."""
        blank = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0
        if blank and create:
            schema.make(connection)
            connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            _stamp(connection)
            return
        if 0 < connection.exec_driver_sql("PRAGMA user_version").scalar_one() < SCHEMA_VERSION:
            with told(self.address):
                version = schema.check(found_schema(_raw(connection)), self.address)
            schema.upgrade(connection, version)
            _stamp(connection)

    def settle(self, connection: Connection) -> None:
        """Schema, pages and journal mode."""
        path, raw = self.address, _raw(connection)
        deadline = time.monotonic() + OPEN_TIMEOUT_S
        with told(path):
            schema.check(found_schema(raw), path)
            found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]  # about 3 ms a thousand games
        self._held = HeldFiles(path, _beside(path, "-wal"))
        if found != "ok":
            step = "put a backup in its place"
            raise StoreRefused(f"is damaged ({found})", place=str(path), step=step)
        while (mode := _journal_mode(raw, path)) != "wal":
            if mode != "busy" or time.monotonic() > deadline:
                step = "put the database on a local disk"
                raise StorageFailed("the file system cannot share memory (WAL)", place=str(path), step=step)
            time.sleep(0.02)  # another process is creating it: its exclusive lock lasts a few milliseconds

    def begin(self, connection: Connection) -> None:
        """SQLite lets one write at a time, and waits for the others."""
        raw = _raw(connection)
        raw.execute(f"PRAGMA busy_timeout={ground.BUSY_SLICE_MS}")
        try:
            with told(self.address):
                raw.execute("BEGIN IMMEDIATE")
        finally:
            raw.execute(f"PRAGMA busy_timeout={ground.BUSY_TIMEOUT_MS}")
        if not connection.in_transaction():
            connection.begin()  # from now on there is something to commit

    def require(self) -> None:
        """What we write still lies under its name: an open file outlives its removal, the games in it would not."""
        if self._held is not None:
            self._held.require()

    def translated(self, error: BaseException) -> TourError | None:
        """By SQLite's result code."""
        return translated(error, self.address)

    @contextmanager
    def unchecked(self, connection: Connection) -> Iterator[None]:
        """Looking up every reference takes a third of the time of an import, which reads or writes all of the rows."""
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        try:
            yield
        finally:
            connection.exec_driver_sql("PRAGMA foreign_keys=ON")

    def fill(self, connection: Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
        """By the driver, many rows a statement; ValueError for keys that are there already."""
        with told(self.address):
            try:
                bulk.fill(_raw(connection), table, columns)
            except sqlite3.IntegrityError as error:
                raise ValueError(str(error)) from error

    def count_on(self, connection: Connection) -> None:
        """SQLite counts on from the largest key by itself."""

    def quick_check(self, connection: Connection) -> Iterator[str]:
        """SQLite's own check of pages and rows."""
        found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check(5)")]
        lost = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        yield from (line for line in found if line != "ok")
        yield from (f"{row[0]} row {row[1]} refers to nothing" for row in lost)

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """SQLite's own full check, then references."""
        from enginetour.store.sqlite_soundness import integrity

        return integrity(connection, most)

    def odd_cells(self, connection: Connection) -> Iterator[str]:
        """SQLite holds any value in any column (SQLite, "Datatypes", 3)."""
        from enginetour.store.sqlite_soundness import odd_cells

        return odd_cells(connection)

    def lock(self, slug: str) -> ground.Lock:
        """A lock on a file beside it."""
        return TournamentLock(self.address, slug)

    def tag(self) -> str:
        """Containers and a private /tmp may have different files under the same path."""
        found = self.address.stat()
        return f"{self.address}:{found.st_dev:x}-{found.st_ino:x}"

    def free_bytes(self) -> float:
        """Room on the disk of its folder."""
        return filesystem.free_bytes(self.address.parent)

    def refuse_unwritable(self) -> None:
        """By the rights of the file, or of the folder it will be made in."""
        filesystem.refuse_unwritable(self.address)

    def _version(self) -> int:
        """All refusals, without a byte written. Side files appear only beside a log that is there already."""
        path = self.address
        if not path.is_file():
            raise StoreRefused("is no file", place=str(path), step="name another file with --db")
        _check_header(path)
        if _holds_bytes(_beside(path, "-journal")):
            return 0  # killed while it was created: SQLite rolls back when we write, then the schema is looked at
        mode = "mode=ro" if _holds_bytes(_beside(path, "-wal")) else "mode=ro&immutable=1"
        with told(path):
            connection = connected(path, mode)
            try:
                return schema.check(found_schema(connection), path)
            finally:
                connection.close()


def _raw(connection: Connection) -> sqlite3.Connection:
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _stamp(connection: Connection) -> None:
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _holds_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _is_unborn(path: Path) -> bool:
    """Nothing was ever committed to it: empty, or killed while it was created."""
    with path.open("rb") as file:
        head = file.read(len(SQLITE_MAGIC))
    return head == b"" or (not head.strip(b"\x00") and _holds_bytes(_beside(path, "-journal")))


def _check_header(path: Path) -> None:
    """Refuse by the first 100 bytes what is not ours: they name format, version and application."""
    with path.open("rb") as file:
        head = file.read(100)
    if not head.startswith(SQLITE_MAGIC):
        raise StoreRefused("is no SQLite database", place=str(path), step="name another file with --db")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise StoreRefused("is a database of another program", place=str(path), step="name another file with --db")


def _journal_mode(connection: sqlite3.Connection, path: Path) -> str:
    """Ask for WAL; "busy" while somebody else holds the file, which this statement does not wait for."""
    try:
        return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
    except sqlite3.OperationalError as error:
        if isinstance(translated(error, path), StoreRefused):
            return "busy"
        raise translated(error, path) or error from error
