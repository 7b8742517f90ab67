"""SQLite backend: WAL mode, lock files, disk checks, bulk insert and integrity check of the file.

A file of another program is inspected without writing, and without creating side files.
"""

from __future__ import annotations

import fcntl
import math
import os
import re
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    LargeBinary,
    QueuePool,
    create_engine,
)

from enginetour.interop.files import SQLITE_MAGIC, has_name
from enginetour.model.errors import StorageFailed, StoreRefused, TourError
from enginetour.store import dialect, migrations
from enginetour.store.codecs import JsonText, stored_type
from enginetour.store.dialect import (
    CHARACTERS_SHOWN,
    LARGEST_REAL,
    LARGEST_WHOLE,
    UNBOUNDED_COLUMNS,
    StoreBusy,
)
from enginetour.store.tables import APPLICATION_ID, METADATA, SCHEMA_VERSION

_STORAGE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
)
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def translated(error: BaseException, path: Path) -> TourError | None:
    """Turn an error of SQLite into one for the user; None for internal errors."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    kind = code & 0xFF  # the low byte is the primary code (SQLite result codes, section 2)
    if kind == sqlite3.SQLITE_FULL:
        return StorageFailed("the disk is full", place=str(path), step="make room and run again")
    if kind in _STORAGE:
        return StorageFailed(
            f"cannot be read or written ({error})", place=str(path), step="check the disk and the rights of its folder"
        )
    if kind in _BUSY:
        return StoreBusy("is locked by another program", place=str(path), step="try again when it has finished")
    if kind in _DAMAGED:
        return StoreRefused(f"is damaged ({error})", place=str(path), step="put a backup in its place")
    return None


@contextmanager
def translating_errors(path: Path) -> Iterator[None]:
    """Translate the errors of SQLite's own connection."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) or error from error


# File system checks: locks and shared memory fail silently on network file systems.

# Locks or mmap differ between machines there: SQLite "How To Corrupt", section 2.1; WAL, "same host".
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "ncpfs", "lustre", "gpfs", "fuse.sshfs"})
_DOUBTFUL = ("9p", "fuse")  # may or may not lead to another machine
_MOUNTS = Path("/proc/self/mountinfo")  # proc(5)


def file_system(folder: Path, mounts: str) -> str:
    """Return the type of the file system of a directory, from the text of mountinfo; "" if unknown."""
    best, found = -1, ""
    parts = folder.parts
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split()
        if not dash or len(fields) < 5:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])).parts
        if parts[: len(point)] == point and len(point) >= best:  # of equal ones the later mount lies on top
            best, found = len(point), after.split()[0]
    return found


def free_bytes(folder: Path) -> float:
    """Return the free bytes on the disk of a directory; infinite if unknown."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return math.inf  # a folder that is gone is told by the next write
    return found.f_bavail * found.f_frsize if found.f_blocks else math.inf


def check_folder(folder: Path) -> tuple[str, ...]:
    """Return warnings about a directory; StoreRefused for a network file system."""
    mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape") if _MOUNTS.exists() else ""
    kind = file_system(folder.resolve(), mounts)
    if kind in _NETWORK:
        step = "put the database on a local disk: --db PATH"
        raise StoreRefused(
            f"is on a network file system ({kind}), where locks are not safe", place=str(folder), step=step
        )
    if kind.startswith(_DOUBTFUL):
        return (f"{folder} is on a {kind} file system: if it leads to another machine, put the database elsewhere",)
    return ()


def _refuse_second_name(database: Path) -> None:
    """StoreRefused for a file with a hard link.

    Each name has a log and locks of its own; writers by two names spoil the file (SQLite, "How To Corrupt", 2.4).
    """
    if database.exists() and database.stat().st_nlink > 1:
        step = f"make it a file of its own: cp {database.name} new.db; mv new.db {database.name}"
        raise StoreRefused(
            "has a second name (a hard link), by which it could be written too", place=str(database), step=step
        )


# Removed or replaced files: what is written to an open file without a name is lost when it is closed.

_Identity = tuple[int, int]  # device and inode
_OPEN_HERE = Path("/proc/self/fd")  # proc(5)
_NAMELESS = " (deleted)"  # what the kernel says behind the name a file had: proc(5), /proc/pid/fd


class _HeldFiles:
    """A database file and its log, as they were when we opened them."""

    def __init__(self, path: Path, log: Path) -> None:
        self._path, self._log = path, log
        self._file = _identity(path)
        self._known_log: _Identity | None = None  # the one we last knew to be ours

    def require_in_place(self) -> None:
        """StorageFailed if one was removed or replaced. To be called in a transaction: its connection holds the log."""
        if _identity(self._path) != self._file:
            what = "was removed or replaced while it was in use"
            raise StorageFailed(what, place=str(self._path), step="put it back and run again")
        found = _identity(self._log)
        if found is None or found != self._known_log:
            if _is_nameless(self._log):  # closing folds its games into the file; with us killed they would be lost
                raise StorageFailed("was removed while it was in use", place=str(self._log), step="run again")
            self._known_log = found


def _identity(path: Path) -> _Identity | None:
    """The file of this name, whoever opened it; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_nameless(path: Path) -> bool:
    """We hold a file open that had this name. SQLite itself removes a log only after it has closed it."""
    had = f"{path}{_NAMELESS}"
    for link in _OPEN_HERE.iterdir() if _OPEN_HERE.is_dir() else ():
        with suppress(OSError):  # closed by another thread meanwhile
            if str(link.readlink()) == had:
                return True
    return False


# Bulk insert.

ROWS_A_STATEMENT = 50  # measured: less than half the time of single rows, and more rows gain nothing
_ROWS_A_BLOCK = 50_000  # held as one list of parameters; a multiple of the rows of a statement


def fill(connection: sqlite3.Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
    """Insert rows given as columns of equal length; a number is the value of all rows.

    Table and column names are never user input.
    """
    lists = [column for column in columns.values() if isinstance(column, list)]
    row = ", ".join("?" if isinstance(column, list) else str(int(column)) for column in columns.values())
    names = ", ".join(f'"{name}"' for name in columns)
    into = f"INSERT INTO {table} ({names}) VALUES "  # noqa: S608
    count = len(lists[0])
    even = count - count % ROWS_A_STATEMENT
    connection.executemany(into + ", ".join([f"({row})"] * ROWS_A_STATEMENT), _statements(lists, even))
    connection.executemany(f"{into}({row})", zip(*(column[even:] for column in lists), strict=True))


def _statements(lists: list[list[Any]], count: int) -> Iterator[list[Any]]:
    """The parameters of one statement after the other: row by row, from the first `count` of each list."""
    width = len(lists)
    size = width * ROWS_A_STATEMENT
    for begin in range(0, count, _ROWS_A_BLOCK):
        end = min(count, begin + _ROWS_A_BLOCK)
        flat: list[Any] = [None] * (width * (end - begin))
        for place, column in enumerate(lists):
            flat[place::width] = column[begin:end]
        for at in range(0, len(flat), size):
            yield flat[at : at + size]


# Lock files: one run per tournament holds a lock on a file next to the database. The lock ends with its process.
#
# The holder removes the file when it releases the lock. This is not a race: after locking, a process checks that the
# file still has its name, and tries again otherwise. A file that a killed process left does not lock anything, and
# its text is only for messages: nobody has to remove it.

_LONGEST = 300  # bytes of a lock's text that are believed


def lock_path(database: Path, slug: str) -> Path:
    """Return the path of a tournament's lock file."""
    database = Path(os.path.realpath(database))
    return database.with_name(f"{database.name}.{slug}.lock")


class TournamentLock(dialect.Lock):
    """The lock file of a tournament; as a context manager it is acquired and released."""

    def __init__(self, database: Path | str, slug: str) -> None:
        self.path = lock_path(Path(database), slug)
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock without waiting.

        Raises:
            StoreRefused: another run holds it (the message names the run).
            StorageFailed: the file cannot be created or locked.
        """
        if self._fd is not None:
            raise RuntimeError(f"{self.path} is held by this object already")
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        except OSError as error:
            step = "check the rights of its folder, and that it is no link"
            raise StorageFailed(f"cannot be locked ({error.strerror})", place=str(self.path), step=step) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            refused = _already_running(fd)
            os.close(fd)
            raise refused from None
        except OSError as error:
            os.close(fd)
            step = "put the database on a local disk"
            raise StorageFailed(f"cannot be locked ({error.strerror})", place=str(self.path), step=step) from error
        if not has_name(fd, self.path):  # somebody removed it in this moment: a lock on no name keeps nobody out
            os.close(fd)
            self.acquire()
            return
        self._fd = fd
        now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        text = f"pid {os.getpid()} on {socket.gethostname()} since {now} UTC\n"
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, text.encode("utf-8", "replace"), 0)
        except OSError:
            pass  # a full disk: the lock holds without its text

    def release(self) -> None:
        """Remove the file and release the lock; does nothing if it is not held."""
        if self._fd is not None:
            with suppress(OSError):  # a folder that may not be written to any more: the file means nothing
                if has_name(self._fd, self.path):  # else it was removed by hand, and this one may be another's
                    self.path.unlink()
            os.close(self._fd)
            self._fd = None

    def is_held(self, connection: Connection) -> bool:  # noqa: ARG002 - a server's lock is asked for by it
        """Whether the lock is held; a lock on an open file lasts as long as the process."""
        return self._fd is not None

    def regain(self) -> None:
        """Take the lock again."""
        self.acquire()


def _already_running(fd: int) -> StoreRefused:
    step = "wait for its end, or ask it with: enginetour status"
    return StoreRefused(f"already running{_shown(os.pread(fd, _LONGEST, 0))}", step=step)


def _shown(text: bytes) -> str:
    """The holder's own words, printable and on one line; nothing if it had not written them yet."""
    line = text.decode("utf-8", "replace").partition("\n")[0]
    line = "".join(sign for sign in line if sign.isprintable())
    return f": {line}" if line else ""


# The backend: WAL mode with ``synchronous=FULL``, so that a finished commit survives a power cut.

_OPEN_TIMEOUT_S = 5.0  # two runs may create one database at the same moment; the patience of a busy file


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open SQLite's own connection; `mode` is the query of the file URI."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        isolation_level=None,  # transactions begin and end where we say so
        check_same_thread=False,
        timeout=dialect.BUSY_TIMEOUT_MS / 1000,
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:  # no database, or a busy one: its locks go at once, not when somebody collects garbage
        connection.close()
        raise
    return connection


def read_schema(connection: sqlite3.Connection) -> migrations.Schema:
    """Read version, objects and columns of the file's schema."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    listed = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
    ours = [row for row in listed if not row[1].startswith("sqlite_stat")]  # ANALYZE leaves these
    names = [name for kind, name, _ in ours if kind == "table"]
    quoted = {name: name.replace('"', '""') for name in names}
    columns = {name: [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{quoted[name]}")')] for name in names}
    return migrations.Schema(version, ours, columns)


def reading_mode(path: Path) -> str:
    """Return the URI query for reading: without side files if the directory is read-only and nobody writes."""
    try:
        with translating_errors(path):
            connection = connect(path, "mode=ro")
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
    """A SQLite file as the backend of a store."""

    view = "BEGIN"
    is_steady = True

    def __init__(self, path: Path) -> None:
        self.address = Path(os.path.realpath(path))  # side files, lock and socket lie beside it, not beside a link
        self._held: _HeldFiles | None = None

    def is_made(self) -> bool:
        """There is something in that place, ours or not."""
        path = self.address
        return path.exists() and not (path.is_file() and _is_unborn(path))

    def probe(self, *, create: bool) -> dialect.Probe:
        """Look at folder and file; the folder is made where the file may be."""
        path = self.address
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            there = path.exists()
            if not there and not create:
                raise StoreRefused("there is no database yet", place=str(path), step="enginetour run makes one")
            warnings = check_folder(path.parent)
            unborn = not there or (path.is_file() and _is_unborn(path))
            return dialect.Probe(unborn, 0 if unborn else self._version(), warnings)
        except OSError as error:
            step = "check the rights of its folder"
            raise StorageFailed(f"cannot be used ({error.strerror})", place=str(path), step=step) from error

    def engine(self, *, create: bool, readonly: bool) -> Engine:
        """A few connections to the file."""
        path = self.address
        if not readonly:
            _refuse_second_name(path)
        mode = reading_mode(path) if readonly else "mode=rwc" if create else "mode=rw"
        return create_engine(
            "sqlite://", creator=lambda: connect(path, mode), poolclass=QueuePool, pool_size=2, max_overflow=8
        )

    def initialize(self, connection: Connection, *, create: bool) -> None:
        """Tables where there is nothing; `verify` looks at the outcome."""
        blank = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0
        if blank and create:
            migrations.create_tables(connection)
            connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            _stamp(connection)

    def upgrade(self, connection: Connection) -> None:
        """The tables of this version, and its number."""
        with translating_errors(self.address):
            version = migrations.check_schema(read_schema(_raw(connection)), self.address)
        migrations.upgrade(connection, version)
        _stamp(connection)

    def verify(self, connection: Connection) -> None:
        """Schema, pages and journal mode."""
        path, raw = self.address, _raw(connection)
        deadline = time.monotonic() + _OPEN_TIMEOUT_S
        with translating_errors(path):
            migrations.refuse_older(migrations.check_schema(read_schema(raw), path), path)
            found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]  # about 3 ms a thousand games
        self._held = _HeldFiles(path, _beside(path, "-wal"))
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
        raw.execute(f"PRAGMA busy_timeout={dialect.BUSY_SLICE_MS}")
        try:
            with translating_errors(self.address):
                raw.execute("BEGIN IMMEDIATE")
        finally:
            raw.execute(f"PRAGMA busy_timeout={dialect.BUSY_TIMEOUT_MS}")
        if not connection.in_transaction():
            connection.begin()  # from now on there is something to commit

    def require_in_place(self) -> None:
        """What we write still lies under its name: an open file outlives its removal, the games in it would not."""
        if self._held is not None:
            self._held.require_in_place()

    def translated(self, error: BaseException) -> TourError | None:
        """By SQLite's result code."""
        return translated(error, self.address)

    @contextmanager
    def without_reference_checks(self, connection: Connection) -> Iterator[None]:
        """Looking up every reference takes a third of the time of an import, which reads or writes all of the rows."""
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        try:
            yield
        finally:
            connection.exec_driver_sql("PRAGMA foreign_keys=ON")

    def fill(self, connection: Connection, table: str, columns: Mapping[str, list[Any] | int]) -> None:
        """By the driver, many rows a statement; ValueError for keys that are there already."""
        with translating_errors(self.address):
            try:
                fill(_raw(connection), table, columns)
            except sqlite3.IntegrityError as error:
                raise ValueError(str(error)) from error

    def reset_counters(self, connection: Connection) -> None:
        """SQLite counts on from the largest key by itself."""

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """SQLite's own full check, then references to rows that are not there."""
        checked = connection.exec_driver_sql(f"PRAGMA integrity_check({most})").scalars().all()
        yield from (line for line in checked if line != "ok")
        lost = Counter((row[0], row[2]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check"))
        for (table, parent), rows in lost.items():
            yield f"{rows} of {table} refer to {parent} that are not there"

    def invalid_cells(self, connection: Connection) -> Iterator[str]:
        """A sentence for each column that has such cells, naming the first."""
        for table in METADATA.sorted_tables:
            for column in table.columns:
                fits = _fits(column)
                name = f'"{column.name}"'
                shown = f"iif({name} IS NULL, NULL, coalesce(substr(CAST({name} AS BLOB), 1, {CHARACTERS_SHOWN}), x''))"
                rows = f'FROM "{table.name}" WHERE NOT coalesce({fits}, 0)'
                found = connection.exec_driver_sql(f"SELECT rowid, {shown} {rows} ORDER BY rowid LIMIT 1").first()
                if found is not None:
                    count = connection.exec_driver_sql(f"SELECT count(*) {rows}").scalar_one()
                    more = f", and {count - 1} more" if count > 1 else ""
                    value = "nothing" if found[1] is None else repr(bytes(found[1]).decode("utf-8", "backslashreplace"))
                    yield f"row {found[0]} of {table.name} has {value} as {column.name}{more}"

    def lock(self, slug: str) -> dialect.Lock:
        """A lock on a file beside it."""
        return TournamentLock(self.address, slug)

    def tag(self) -> str:
        """Containers and a private /tmp may have different files under the same path."""
        found = self.address.stat()
        return f"{self.address}:{found.st_dev:x}-{found.st_ino:x}"

    def free_bytes(self) -> float:
        """Room on the disk of its folder."""
        return free_bytes(self.address.parent)

    def refuse_unwritable(self) -> None:
        """By the rights of the file, or of the folder it will be made in."""
        path = self.address
        place = path if path.exists() else next(folder for folder in path.parents if folder.exists())
        if not os.access(place, os.W_OK):
            raise StorageFailed("cannot be written", place=str(place), step="check its rights, or choose another --db")

    def _version(self) -> int:
        """All refusals, without a byte written. Side files appear only beside a log that is there already."""
        path = self.address
        if not path.is_file():
            raise StoreRefused("is no file", place=str(path), step="name another file with --db")
        _check_header(path)
        if _holds_bytes(_beside(path, "-journal")):
            return 0  # killed while it was created: SQLite rolls back when we write, then the schema is looked at
        mode = "mode=ro" if _holds_bytes(_beside(path, "-wal")) else "mode=ro&immutable=1"
        with translating_errors(path):
            connection = connect(path, mode)
            try:
                return migrations.check_schema(read_schema(connection), path)
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


# SQLite stores any value in any column (SQLite, "Datatypes", 3), so a database from elsewhere may hold anything.


def _fits(column: Column[Any]) -> str:
    """The condition in SQL on a cell of ours; null where the cell is."""
    name, kind = f'"{column.name}"', stored_type(column.type)
    if isinstance(column.type, JsonText):
        fits = f"typeof({name}) = 'text' AND json_valid({name})"
        fits = f"({name} = '' OR {fits})" if column.type.may_be_empty else fits
    elif isinstance(kind, Boolean):
        fits = f"{name} IN (0, 1)"
    elif isinstance(kind, Integer):
        bound = "1" if column.name in UNBOUNDED_COLUMNS else f"{name} BETWEEN -{LARGEST_WHOLE} AND {LARGEST_WHOLE}"
        fits = f"typeof({name}) = 'integer' AND {bound}"
    elif isinstance(kind, Float):
        fits = f"typeof({name}) IN ('real', 'integer') AND abs({name}) <= {LARGEST_REAL}"
    else:
        fits = f"typeof({name}) = '{'blob' if isinstance(kind, LargeBinary) else 'text'}'"
    return f"({name} IS NULL OR ({fits}))" if column.nullable else f"({fits})"
