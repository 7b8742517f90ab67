"""SQLite backend: WAL mode, lock files, disk checks, bulk insert and integrity check of the file.

A file of another program is only read, without creating side files.
"""

from __future__ import annotations

import errno
import math
import os
import re
import shlex
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
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
    event,
)

from enginetour.interop.files import SQLITE_MAGIC, has_name, lock_file
from enginetour.model.errors import (
    AlreadyRunning,
    StorageFailed,
    StoreRefused,
    TourError,
    UsageRefused,
    storage_failure,
)
from enginetour.store import dialect, migrations
from enginetour.store.address import slug_of
from enginetour.store.codecs import JsonText, Values, stored_type
from enginetour.store.dialect import (
    CHARACTERS_SHOWN,
    LARGEST_REAL,
    StoreBusy,
    largest_whole,
)
from enginetour.store.tables import APPLICATION_ID, METADATA, SCHEMA_VERSION

_STORAGE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
)
_LEAST_FREE = 32_768  # bytes; the size of an index of the log (SQLite, "WAL-mode File Format", 2.1)
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def translated(error: BaseException, path: Path) -> TourError | None:
    """Return the error for the user that describes an error of SQLite, or None for internal errors."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    kind = code & 0xFF  # the low byte is the primary code (SQLite result codes, section 2)
    if kind in _STORAGE:
        if number := errno.ENOSPC if kind == sqlite3.SQLITE_FULL else _disk_error(path.parent):
            return storage_failure(OSError(number, ""), path)
        step = "check the disk and the permissions of its directory"
        return StorageFailed(f"cannot be read or written ({error})", place=str(path), step=step)
    if kind in _BUSY:
        return StoreBusy("is locked by another program", place=str(path), step="try again when it has finished")
    if kind in _DAMAGED:
        return StoreRefused(f"is damaged ({error})", place=str(path), step="restore a backup")
    return None


def _disk_error(directory: Path) -> int:
    """Return ENOSPC or EROFS if nothing can be written to the disk of a directory, or 0. SQLite hides these numbers."""
    if free_bytes(directory) < _LEAST_FREE:
        return errno.ENOSPC
    with suppress(OSError, AttributeError):  # a system without statvfs
        return errno.EROFS if os.statvfs(directory).f_flag & os.ST_RDONLY else 0
    return 0


@contextmanager
def translating_errors(path: Path) -> Iterator[None]:
    """Translate the errors of SQLite's driver."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) or error from error


# File system checks: on network file systems, locks and shared memory can fail silently.

# On these, locks and mmap are not shared between machines (SQLite "How To Corrupt", section 2.1; WAL, "same host").
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "ncpfs", "lustre", "gpfs", "fuse.sshfs"})
_DOUBTFUL = ("9p", "fuse")  # file systems that can be on another machine
_MOUNTS = Path("/proc/self/mountinfo")  # proc(5)


def file_system(directory: Path, mounts: str) -> str:
    """Return the type of the file system of a directory, from the text of mountinfo, or "" if it is unknown."""
    best, found = -1, ""
    parts = directory.parts
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split()
        if not dash or len(fields) < 5:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])).parts
        if parts[: len(point)] == point and len(point) >= best:  # a later mount hides an earlier one
            best, found = len(point), after.split()[0]
    return found


def free_bytes(directory: Path) -> float:
    """Return the free bytes on the disk of a directory, or infinity if unknown."""
    try:
        found = os.statvfs(directory)
    except (OSError, AttributeError):  # a system without statvfs
        return math.inf  # the next write reports a missing directory
    return found.f_bavail * found.f_frsize if found.f_blocks else math.inf


def check_directory(directory: Path) -> tuple[str, ...]:
    """Return warnings about a directory. Raise StoreRefused for a network file system."""
    mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape") if _MOUNTS.exists() else ""
    kind = file_system(directory.resolve(), mounts)
    if kind in _NETWORK:
        what = f"is on a network file system ({kind}), where locks are not safe"
        raise StoreRefused(what, place=str(directory), step="choose a database on a local disk with --db PATH")
    if kind.startswith(_DOUBTFUL):
        step = "if that file system is on another machine, choose a database on a local disk with --db"
        return (f"{directory} is on a {kind} file system: {step}",)
    return ()


def _check_single_name(database: Path) -> None:
    """Raise StoreRefused for a file with hard links.

    Each name has its own log and locks, so writers with two names damage the file (SQLite, "How To Corrupt", 2.4).
    """
    if database.exists() and database.stat().st_nlink > 1:
        what = "has a second name (a hard link): two programs that use different names could damage it"
        step = f"make a copy with one name: cp {database.name} new.db; mv new.db {database.name}"
        raise StoreRefused(what, place=str(database), step=step)


# Removed or replaced files: data that is written to an open file without a name is lost when it is closed.

_Identity = tuple[int, int]  # device and inode
_OPEN_HERE = Path("/proc/self/fd")  # proc(5)
_NAMELESS = " (deleted)"  # the kernel appends this to the name of a removed file (proc(5), /proc/pid/fd)


class _HeldFiles:
    """A database file and its log, as they were when this process opened them."""

    def __init__(self, path: Path, log: Path) -> None:
        self._path, self._log = path, log
        self._file = _identity(path)
        self._known_log: _Identity | None = None  # the log that this process has open

    def require_in_place(self) -> None:
        """Raise StorageFailed if a file was removed or replaced. Call it in a transaction, which keeps the log open."""
        if _identity(self._path) != self._file:
            what = "was removed or replaced while it was in use"
            raise StorageFailed(what, place=str(self._path), step="restore it and resume the run")
        found = _identity(self._log)
        if found is None or found != self._known_log:
            # The games in a removed log are merged when the connection closes, but lost if the process is killed.
            if _is_nameless(self._log):
                raise StorageFailed("was removed while it was in use", place=str(self._log), step="resume the run")
            self._known_log = found


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_nameless(path: Path) -> bool:
    """Return whether this process has an open file with this name that was removed by another process.

    SQLite itself closes a log before it removes the file.
    """
    removed = f"{path}{_NAMELESS}"
    for link in _OPEN_HERE.iterdir() if _OPEN_HERE.is_dir() else ():
        with suppress(OSError):  # another thread may close the file at the same time
            if str(link.readlink()) == removed:
                return True
    return False


# Bulk insert.

ROWS_A_STATEMENT = 50  # takes less than half the time of single rows; more rows do not save time (measured)
_ROWS_A_BLOCK = 50_000  # rows in one list of parameters; a multiple of ROWS_A_STATEMENT


def fill(connection: sqlite3.Connection, table: str, columns: Mapping[str, Values | int]) -> None:
    """Insert rows into a table. `columns` contains values of equal length; a number is the value of all rows.

    Names of tables and columns must not be user input.
    """
    several = [column for column in columns.values() if not isinstance(column, int)]
    row = ", ".join(str(column) if isinstance(column, int) else "?" for column in columns.values())
    names = ", ".join(f'"{name}"' for name in columns)
    into = f"INSERT INTO {table} ({names}) VALUES "  # noqa: S608
    count = len(several[0])
    even = count - count % ROWS_A_STATEMENT
    many = into + ", ".join([f"({row})"] * ROWS_A_STATEMENT)
    connection.executemany(many, _parameters(several, range(even), ROWS_A_STATEMENT))
    connection.executemany(f"{into}({row})", _parameters(several, range(even, count), 1))


def _parameters(columns: Sequence[Values], places: range, rows: int) -> Iterator[list[Any]]:
    """Yield the parameters of each statement of `rows` rows, row by row.

    Arrays become Python numbers block by block, because all of them at once need 40 bytes per value.
    """
    width = len(columns)
    for begin in range(places.start, places.stop, _ROWS_A_BLOCK):
        end = min(places.stop, begin + _ROWS_A_BLOCK)
        flat: list[Any] = [None] * (width * (end - begin))
        for place, column in enumerate(columns):
            part = column[begin:end]
            flat[place::width] = part if isinstance(part, list) else part.tolist()
        for at in range(0, len(flat), width * rows):
            yield flat[at : at + width * rows]


# Lock files: the run of a tournament holds a lock on a file next to the database. The lock ends with its process.
#
# The holder removes the file when it releases the lock. This is not a race: after locking, a process checks that the
# file still has its name, and tries again otherwise. The file of a killed process does not lock anything and need not
# be removed. Its text is only used for messages.

_LONGEST = 300  # bytes that are read of a lock's text


def lock_path(database: Path, slug: str) -> Path:
    """Return the path of a tournament's lock file."""
    database = Path(os.path.realpath(database))
    return database.with_name(f"{database.name}.{slug}.lock")


class TournamentLock(dialect.Lock):
    """The lock of a tournament: a locked file next to the database."""

    def __init__(self, database: Path | str, name: str) -> None:
        self.name, self.path = name, lock_path(Path(database), slug_of(name))
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock without waiting.

        Raises:
            AlreadyRunning: Another run holds the lock.
            StorageFailed: The file cannot be created or locked.
        """
        if self._fd is not None:
            raise RuntimeError(f"{self.path} is already locked by this object")
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        except OSError as error:
            step = "check the permissions of its directory, and that it is not a symbolic link"
            raise storage_failure(error, self.path, "cannot be locked", step) from error
        try:
            lock_file(fd, wait=False)
        except BlockingIOError:
            refused = AlreadyRunning(self.name, _printable(os.pread(fd, _LONGEST, 0)))
            os.close(fd)
            raise refused from None
        except OSError as error:
            os.close(fd)
            step = "choose a database on a local disk"
            raise StorageFailed(f"cannot be locked: {error.strerror}", place=str(self.path), step=step) from error
        if not has_name(fd, self.path):  # the file was removed meanwhile, so other processes cannot find this lock
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
            pass  # the disk is full; the lock works without its text

    def release(self) -> None:
        """Remove the file and release the lock. Do nothing if it is not held."""
        if self._fd is not None:
            with suppress(OSError):  # in a read-only directory the file stays, without a lock
                if has_name(self._fd, self.path):  # if the user removed it, the name may belong to another run
                    self.path.unlink()
            os.close(self._fd)
            self._fd = None

    def is_held(self, connection: Connection) -> bool:  # noqa: ARG002 - only for a server
        """Return whether the lock is held. The lock on an open file lasts as long as the process."""
        return self._fd is not None

    def regain(self) -> None:
        """Take the lock again."""
        self.acquire()


def _printable(text: bytes) -> str:
    """Return the text of a lock in printable characters on one line, or "" if it is not written yet."""
    line = text.decode("utf-8", "replace").partition("\n")[0]
    return "".join(char for char in line if char.isprintable())


# The backend: WAL mode with ``synchronous=FULL``, so that a finished commit survives a power failure.

_RESULTS = "results"  # directory of a workspace, which the first run creates
_OPEN_TIMEOUT_S = 5.0  # seconds, as for a busy file, because two runs can create a database at the same time


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection of SQLite's driver. `mode` is the query of the file URI."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        isolation_level=None,  # transactions are explicit
        check_same_thread=False,
        timeout=dialect.BUSY_TIMEOUT_MS / 1000,
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:  # release the locks now, not at the next garbage collection
        connection.close()
        raise
    return connection


def read_schema(connection: sqlite3.Connection) -> migrations.Schema:
    """Return the version, the objects and the columns of the schema of a file."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    listed = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
    objects = [row for row in listed if not row[1].startswith("sqlite_stat")]  # ANALYZE creates these tables
    names = [name for kind, name, _ in objects if kind == "table"]
    quoted = {name: name.replace('"', '""') for name in names}
    columns = {name: [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{quoted[name]}")')] for name in names}
    return migrations.Schema(version, objects, columns)


def reading_mode(path: Path) -> str:
    """Return the URI query for reading. In a read-only directory without a log, no side files are created."""
    try:
        with translating_errors(path):
            connection = connect(path, "mode=ro")
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            finally:
                connection.close()
    except StorageFailed:
        if _has_content(_side_file(path, "-wal")):
            raise
        return "mode=ro&immutable=1"
    return "mode=ro"


# If a process closes any descriptor of a file, it loses all its locks on the file (fcntl(2), "Record locks"). Another
# program could then remove the log that SQLite uses here. So only SQLite opens a database that this process has open.
_OPEN: Counter[Path] = Counter()  # number of connections of this process
_READING = threading.RLock()  # held while a database is read without locks, and before a connection is opened


class SqliteFile(dialect.Backend):
    """Backend for a SQLite file."""

    address: Path
    view = "BEGIN"
    keeps_connection = True

    def __init__(self, path: Path) -> None:
        self.address = Path(os.path.realpath(path))  # side files are next to the file, not next to a link to it
        self._held: _HeldFiles | None = None

    def exists(self) -> bool:
        """Return whether the path exists and is not an empty file."""
        return self.address.exists() and not self._is_empty()

    def probe(self, *, create: bool) -> dialect.Probe:
        """Check the directory and the file without writing to the file. With `create`, make results of a workspace."""
        path = self.address
        try:
            if create and path.parent.name == _RESULTS and path.parents[1].is_dir():
                path.parent.mkdir(exist_ok=True)
            if create and not path.parent.is_dir():
                step = f"create it first: {shlex.join(['mkdir', '-p', str(path.parent)])}"
                raise UsageRefused("directory does not exist", place=str(path.parent), step=step)
            there = path.exists()
            if not there and not create:
                raise StoreRefused("database does not exist", place=str(path), step="create it with enginetour run")
            warnings = check_directory(path.parent)
            is_empty = not there or self._is_empty()
            return dialect.Probe(is_empty, 0 if is_empty else self._version(), warnings)
        except OSError as error:
            raise storage_failure(error, path, "cannot be used", "check the permissions of its directory") from error

    def engine(self, *, create: bool, readonly: bool) -> Engine:
        """Make an engine with a small pool of connections to the file."""
        path = self.address
        if not readonly:
            _check_single_name(path)
        mode = reading_mode(path) if readonly else "mode=rwc" if create else "mode=rw"

        def opened() -> sqlite3.Connection:
            with _READING:
                _OPEN[path] += 1
            try:
                return connect(path, mode)
            except BaseException:
                closed()
                raise

        def closed(*_: object) -> None:
            with _READING:
                _OPEN[path] -= 1

        made = create_engine("sqlite://", creator=opened, poolclass=QueuePool, pool_size=2, max_overflow=8)
        event.listen(made, "close", closed)
        return made

    def initialize(self, connection: Connection, *, create: bool) -> None:
        """Create the tables of a new database. `verify` checks the result."""
        blank = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0
        if blank and create:
            migrations.create_tables(connection)
            connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            _stamp(connection)

    def upgrade(self, connection: Connection) -> None:
        """Upgrade the tables and write the version."""
        with translating_errors(self.address):
            version = migrations.check_schema(read_schema(_raw(connection)), self.address)
        migrations.upgrade(connection, version)
        _stamp(connection)

    def verify(self, connection: Connection) -> None:
        """Check the schema, the pages and the journal mode."""
        path, raw = self.address, _raw(connection)
        deadline = time.monotonic() + _OPEN_TIMEOUT_S
        with translating_errors(path):
            migrations.require_current(migrations.check_schema(read_schema(raw), path), path)
            found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]  # takes about 3 ms for 1,000 games
        self._held = _HeldFiles(path, _side_file(path, "-wal"))
        if found != "ok":
            raise StoreRefused(f"is damaged ({found})", place=str(path), step="restore a backup")
        while (mode := _journal_mode(raw, path)) != "wal":
            if mode != "busy" or time.monotonic() > deadline:
                what = "the file system does not support shared memory, which WAL mode needs"
                raise StorageFailed(what, place=str(path), step="choose a database on a local disk")
            time.sleep(0.02)  # another process locks the file for a few milliseconds while it creates the database

    def begin(self, connection: Connection) -> None:
        """Begin a write transaction. SQLite allows only one at a time."""
        raw = _raw(connection)
        raw.execute(f"PRAGMA busy_timeout={dialect.BUSY_SLICE_MS}")
        try:
            with translating_errors(self.address):
                raw.execute("BEGIN IMMEDIATE")
        finally:
            raw.execute(f"PRAGMA busy_timeout={dialect.BUSY_TIMEOUT_MS}")
        if not connection.in_transaction():
            connection.begin()  # otherwise SQLAlchemy would not commit

    def require_in_place(self) -> None:
        """Check that the written file still has its name, because data written to a removed file is lost."""
        if self._held is not None:
            self._held.require_in_place()

    def translated(self, error: BaseException) -> TourError | None:
        """Translate an error of the driver by its SQLite result code."""
        return translated(error, self.address)

    @contextmanager
    def without_reference_checks(self, connection: Connection) -> Iterator[None]:
        """Switch off foreign key checks, which take a third of the time of an import."""
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        try:
            yield
        finally:
            connection.exec_driver_sql("PRAGMA foreign_keys=ON")

    def fill(self, connection: Connection, table: str, columns: Mapping[str, Values | int]) -> None:
        """Insert rows, many in each statement. Raise ValueError for keys that already exist."""
        with translating_errors(self.address):
            try:
                fill(_raw(connection), table, columns)
            except sqlite3.IntegrityError as error:
                raise ValueError(str(error)) from error

    def integrity(self, connection: Connection, most: int) -> Iterator[str]:
        """Yield the faults of SQLite's full check, then broken references."""
        checked = connection.exec_driver_sql(f"PRAGMA integrity_check({most})").scalars().all()
        yield from (line for line in checked if line != "ok")
        lost = Counter((row[0], row[2]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check"))
        for (table, parent), rows in lost.items():
            yield f"{rows} rows of {table} refer to rows of {parent} that do not exist"

    def invalid_cells(self, connection: Connection) -> Iterator[str]:
        """Yield a sentence for each column with invalid cells, with the number of the first such row."""
        for table in METADATA.sorted_tables:
            for column in table.columns:
                fits = _fits(column)
                name = f'"{column.name}"'
                shown = f"iif({name} IS NULL, NULL, coalesce(substr(CAST({name} AS BLOB), 1, {CHARACTERS_SHOWN}), x''))"
                rows = f'FROM "{table.name}" WHERE NOT coalesce({fits}, 0)'
                found = connection.exec_driver_sql(f"SELECT rowid, {shown} {rows} ORDER BY rowid LIMIT 1").first()
                if found is not None:
                    count = connection.exec_driver_sql(f"SELECT count(*) {rows}").scalar_one()
                    more = f" (and {count - 1} more)" if count > 1 else ""
                    value = "null" if found[1] is None else repr(bytes(found[1]).decode("utf-8", "backslashreplace"))
                    yield f"row {found[0]} of {table.name}: invalid {column.name} {value}{more}"

    def lock(self, name: str) -> dialect.Lock:
        """Return a lock on a file next to the database."""
        return TournamentLock(self.address, name)

    def tag(self) -> str:
        """Identify the file by device and inode too, because containers can have different files with the same path."""
        found = self.address.stat()
        return f"{self.address}:{found.st_dev:x}-{found.st_ino:x}"

    def free_bytes(self) -> float:
        """Return the free bytes on the disk of the file."""
        return free_bytes(self.address.parent)

    def require_writable(self) -> None:
        """Check the permissions of the file, or of the directory in which it will be created."""
        path = self.address
        place = path if path.exists() else next(directory for directory in path.parents if directory.exists())
        if not os.access(place, os.W_OK):
            step = "check its permissions, or choose another database with --db"
            raise StorageFailed("cannot be written: permission denied", place=str(place), step=step)

    def _is_empty(self) -> bool:
        """Return whether nothing was ever committed: the file is empty, or its creation was interrupted."""
        path = self.address
        with _READING:
            if _OPEN[path] > 0 or not path.is_file():
                return False
            head = _head(path)[: len(SQLITE_MAGIC)]
        return head == b"" or (not head.strip(b"\x00") and _has_content(_side_file(path, "-journal")))

    def _version(self) -> int:
        """Check the header and the schema without writing. Side files are only created if a log already exists."""
        path = self.address
        if not path.is_file():
            raise StoreRefused("is not a file", place=str(path), step="choose another file with --db")
        with _READING, translating_errors(path):
            if not _OPEN[path]:
                _check_header(path)
            if _has_content(_side_file(path, "-journal")):
                return 0  # the creation was interrupted; the next write rolls it back and checks the schema
            is_in_use = _OPEN[path] or _has_content(_side_file(path, "-wal"))
            with closing(connect(path, "mode=ro" if is_in_use else "mode=ro&immutable=1")) as connection:
                return migrations.check_schema(read_schema(connection), path)


def _raw(connection: Connection) -> sqlite3.Connection:
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _stamp(connection: Connection) -> None:
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")


def _side_file(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def _check_header(path: Path) -> None:
    """Raise StoreRefused if the header of a file names another format or application."""
    head = _head(path)
    if not head.startswith(SQLITE_MAGIC):
        raise StoreRefused("is not a SQLite database", place=str(path), step="choose another file with --db")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise StoreRefused("is a database of another program", place=str(path), step="choose another file with --db")


def _journal_mode(connection: sqlite3.Connection, path: Path) -> str:
    """Switch to WAL mode and return the mode. Return "busy", without waiting, if another process locks the file."""
    try:
        return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
    except sqlite3.OperationalError as error:
        if isinstance(translated(error, path), StoreRefused):
            return "busy"
        raise translated(error, path) or error from error


# SQLite can store any value in any column (SQLite, "Datatypes", 3), so a database of unknown origin needs this check.


def _fits(column: Column[Any]) -> str:
    """Return the SQL condition for a valid cell. The condition is null if the cell is null."""
    name, kind = f'"{column.name}"', stored_type(column.type)
    if isinstance(column.type, JsonText):
        fits = f"typeof({name}) = 'text' AND json_valid({name})"
        fits = f"({name} = '' OR {fits})" if column.type.may_be_empty else fits
    elif isinstance(kind, Boolean):
        fits = f"{name} IN (0, 1)"
    elif isinstance(kind, Integer):
        most = largest_whole(column.name)
        bound = "1" if most is None else f"{name} BETWEEN -{most} AND {most}"
        fits = f"typeof({name}) = 'integer' AND {bound}"
    elif isinstance(kind, Float):
        fits = f"typeof({name}) IN ('real', 'integer') AND abs({name}) <= {LARGEST_REAL}"
    else:
        fits = f"typeof({name}) = '{'blob' if isinstance(kind, LargeBinary) else 'text'}'"
    return f"({name} IS NULL OR ({fits}))" if column.nullable else f"({fits})"
