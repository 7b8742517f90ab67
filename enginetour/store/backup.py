"""Back up, copy and upgrade databases: to a SQLite file, between SQLite and PostgreSQL, to a newer schema.

A SQLite file is copied in one step of SQLite's online backup. In WAL mode this copies a consistent state and does not
block writers (SQLite, "Online Backup").
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, select

from enginetour.interop.files import has_name, replacement_file, sync_directory
from enginetour.model.errors import StorageFailed, StoreRefused, TourError, UsageRefused, storage_failure
from enginetour.store import migrations
from enginetour.store.address import Address, ServerAddress
from enginetour.store.codecs import stored
from enginetour.store.database import Database, database_exists, schema_version
from enginetour.store.dialect import UNREADABLE, StoreBusy
from enginetour.store.sqlite import connect, read_schema, reading_mode, translated, translating_errors
from enginetour.store.tables import METADATA, SCHEMA_VERSION, TOURNAMENTS

# Copy: rows are copied and then compared by digests. The target must be empty. Two databases cannot be merged, because
# keys define the order of games, and earlier rating lists and published editions depend on this order.

_ROWS_A_BLOCK = 500  # rows in memory; the moves of a long game take about 10 KB


@dataclass(frozen=True, slots=True)
class Copy:
    """A finished copy: the numbers of tournaments, tables with rows, and rows, and the digest of both databases."""

    tournaments: int
    tables: int
    rows: int
    digest: str


def copy_store(source: Address, target: Address) -> Copy:
    """Copy a whole database, and compare counts and digests of every table before the copy is committed.

    Raises:
        UsageRefused: The target is not empty.
        StoreRefused: The source has cells that enginetour does not write.
        StorageFailed: The copy cannot be written, or differs from the source.
    """
    if _same(source, target):
        raise UsageRefused("is the database itself", place=str(target), step="choose another target")
    with Database.open(source, create=False, readonly=True) as old:
        fresh = not database_exists(target)
        try:
            with Database.open(target) as new:
                return _copied_rows(old, new)
        except BaseException:
            if fresh and isinstance(target, Path):
                for suffix in ("", "-wal", "-shm"):
                    with suppress(OSError):
                        target.with_name(target.name + suffix).unlink()
            raise


def _same(source: Address, target: Address) -> bool:
    if isinstance(source, ServerAddress) and isinstance(target, ServerAddress):
        return source.identity == target.identity
    if isinstance(source, Path) and isinstance(target, Path):
        return source.exists() and target.exists() and source.samefile(target)
    return False


def _copied_rows(old: Database, new: Database) -> Copy:
    with old.reading() as reader, new.writing(bulk=True) as writer:
        _require_empty(reader, writer, new)
        copied = {table.name: _table(reader, writer, new, table) for table in METADATA.sorted_tables}
        new.backend.reset_counters(writer)
        for table in METADATA.sorted_tables:
            if _digest(_blocks(writer, table)) != copied[table.name]:
                what = f"the table {table.name!r} of the copy differs from the source"
                raise StorageFailed(what, place=str(new.path), step="check the disk and copy again")
    whole = hashlib.sha256("".join(digest for _, digest in copied.values()).encode()).hexdigest()
    counts = [rows for rows, _ in copied.values()]
    return Copy(copied[TOURNAMENTS.name][0], sum(rows > 0 for rows in counts), sum(counts), whole)


def _require_empty(reader: Connection, writer: Connection, new: Database) -> None:
    names = select(TOURNAMENTS.c.name).distinct().order_by(TOURNAMENTS.c.name)
    there = list(writer.execute(names).scalars())
    both = [name for name in reader.execute(names).scalars() if name in there]
    step = "copy into an empty database"
    if both:
        raise UsageRefused(f"the tournament {both[0]!r} already exists", place=str(new.path), step=step)
    for table in METADATA.sorted_tables:
        if writer.execute(select(func.count()).select_from(table)).scalar_one():
            what = (
                f"is not empty: it contains the tournament {there[0]!r}"
                if there
                else f"the table {table.name!r} is not empty"
            )
            raise UsageRefused(what, place=str(new.path), step=step)


def _table(reader: Connection, writer: Connection, new: Database, table: Table) -> tuple[int, str]:
    """Copy a table, and return the number and the digest of its rows."""
    names = [column.name for column in table.columns]

    def copied() -> Iterator[list[tuple[Any, ...]]]:
        for block in _blocks(reader, table):
            new.backend.fill(writer, table.name, dict(zip(names, map(list, zip(*block, strict=True)), strict=True)))
            yield block

    try:
        return _digest(copied())
    except TourError:
        raise
    except UNREADABLE as error:
        what = f"the table {table.name!r} cannot be copied: {str(error).splitlines()[0]}"
        raise StoreRefused(what, step="run enginetour db check") from error


def _digest(blocks: Iterator[list[tuple[Any, ...]]]) -> tuple[int, str]:
    digest, count = hashlib.sha256(), 0
    for block in blocks:
        count += len(block)
        for row in block:
            digest.update(repr(row).encode())
    return count, digest.hexdigest()


def _blocks(connection: Connection, table: Table) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a table in the order of their keys, which is the same in every database."""
    rows = select(*map(stored, table.columns)).order_by(*table.primary_key.columns)
    for block in connection.execute(rows, execution_options={"yield_per": _ROWS_A_BLOCK}).partitions():
        yield [tuple(row) for row in block]


# Backup: the copy is complete and verified before it gets its name.

_RIGHTS = 0o644  # permissions of a new SQLite database (SQLITE_DEFAULT_FILE_PERMISSIONS)


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup; `rows` counts the rows of all tables."""

    path: Path
    bytes: int
    rows: int
    database_schema: int


def back_up(source: Address, target: Path, *, replace: bool = False) -> Backup:
    """Copy a database to a file and verify the copy before it gets the name `target`.

    The backup of a PostgreSQL database is a SQLite file too.

    Raises:
        UsageRefused: The target exists. With `replace`: the target is not an enginetour database, or it is in use.
        StoreRefused: The source belongs to another program or is damaged.
        StorageFailed: The copy cannot be written.
    """
    target = Path(os.path.realpath(target))
    schema_version(source)
    _check_target(source, target, replace=replace)
    with _temporary_file(target) as new:
        rows = (
            _copy_pages(Path(os.path.realpath(source)), new)
            if isinstance(source, Path)
            else _copy_from_server(source, new)
        )
        if _verify(new) != rows:
            raise StorageFailed("the copy differs from the database", place=str(target), step="check the disk")
        _check_target(source, target, replace=replace)  # another program may have created it meanwhile
        new.replace(target)
        found = Backup(target, target.stat().st_size, sum(rows.values()), schema_version(target))
    sync_directory(target.parent)
    return found


def _check_target(source: Address, target: Path, *, replace: bool) -> None:
    if not target.parent.is_dir():
        step = "create the directory, or choose another file"
        raise UsageRefused("directory does not exist", place=str(target.parent), step=step)
    if not target.exists():
        for left in (target.with_name(target.name + suffix) for suffix in ("-wal", "-journal")):
            if left.exists() and left.stat().st_size:
                what = "the log of a database with this name still exists, and SQLite would use it for the copy"
                raise UsageRefused(what, place=str(left), step="choose another file")
        return
    if isinstance(source, Path) and target.samefile(source):
        raise UsageRefused("is the database itself", place=str(target), step="choose another file")
    if not replace:
        step = "choose another file, or replace it with --replace"
        raise UsageRefused("already exists", place=str(target), step=step)
    try:
        schema_version(target)
    except StoreRefused as error:
        what = f"cannot be replaced: it {error.what}"
        raise UsageRefused(what, place=str(target), step="choose another file") from None
    _check_unused(target)


def _check_unused(target: Path) -> None:
    """Raise UsageRefused if the target is in use.

    Leaving WAL mode needs exclusive access and removes the side files (SQLite, "Write-Ahead Logging").
    """
    with translating_errors(target), closing(connect(target, "mode=rw")) as alone:
        alone.execute("PRAGMA busy_timeout=0")
        try:
            alone.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError as error:
            if not isinstance(translated(error, target), StoreBusy):
                raise
            raise UsageRefused("is in use by another program", place=str(target), step="choose another file") from None


@contextmanager
def _temporary_file(target: Path) -> Iterator[Path]:
    """Yield a temporary file name next to the target. At the end, remove the side files that SQLite made for it."""
    with ExitStack() as stack:
        new = target.with_name(f".{target.name}.new")
        try:
            mark = stack.enter_context(replacement_file(target, _RIGHTS))
        except BlockingIOError:
            step = "wait until it is finished"
            raise StoreRefused("another backup is being written", place=str(target), step=step) from None
        except OSError as error:
            step = "check the permissions of its directory"
            raise storage_failure(error, target, "cannot be created", step) from error
        try:
            yield new
        except TourError as error:
            if error.place == str(new):  # only its later name means something to the user
                error.place = str(target)
            raise
        finally:
            if has_name(mark.fileno(), new):
                for suffix in ("-journal", "-wal", "-shm"):
                    new.with_name(new.name + suffix).unlink(missing_ok=True)


def _copy_pages(source: Path, new: Path) -> dict[str, int]:
    """Copy the pages of a file, and return the number of rows in each table."""
    with translating_errors(source), closing(connect(source, reading_mode(source))) as reader:
        reader.execute("BEGIN")
        rows = _rows(reader)  # counted in the transaction that is copied
        with translating_errors(new), closing(sqlite3.connect(new, isolation_level=None)) as writer:
            reader.backup(writer)
    with new.open("rb") as file:
        os.fsync(file.fileno())
    return rows


def _copy_from_server(source: Address, new: Path) -> dict[str, int]:
    """Copy a database of a server, and return the number of rows in each table."""
    copy_store(source, new)
    return _verify(new)


def _verify(new: Path) -> dict[str, int]:
    """Return the number of rows in each table of a copy.

    Raise StoreRefused if pages, references or the schema are damaged.
    """
    with translating_errors(new), closing(connect(new, "mode=ro&immutable=1")) as reader:
        migrations.check_schema(read_schema(reader), new)
        found = reader.execute("PRAGMA integrity_check(1)").fetchone()[0]
        lost = reader.execute("PRAGMA foreign_key_check").fetchone()
        if found != "ok" or lost is not None:
            fault = found if lost is None else f"a row of {lost[0]} refers to a row that does not exist"
            step = "check the database with enginetour db check, then the disk"
            raise StoreRefused(f"the copy is damaged ({fault})", place=str(new), step=step)
        return _rows(reader)


def _rows(reader: sqlite3.Connection) -> dict[str, int]:
    names = [name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    return {name: reader.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608


# Upgrade: back up the database, then make all changes in one transaction.


@dataclass(frozen=True, slots=True)
class _Upgraded:
    """An upgrade from one schema to another. `backup` is a file or a schema of the server, or None without a backup."""

    before: int
    after: int
    backup: str | None


def upgrade_database(address: Address, *, backup: bool = True) -> _Upgraded:
    """Upgrade a database of an older schema. A database of the current schema is not changed.

    The backup is the file NAME.schema-N next to the database, or the schema NAME_schema_N of a server.

    Raises:
        StoreRefused: A tournament of the database is running.
        StorageFailed: The backup cannot be made.
    """
    address = Path(os.path.realpath(address)) if isinstance(address, Path) else address
    before = schema_version(address)
    if not 0 < before < SCHEMA_VERSION:
        return _Upgraded(before, before, None)
    kept = None
    with Database.open_older(address) as database, ExitStack() as running:
        names = set(database.rows(select(TOURNAMENTS.c.name)))
        for (name,) in names:
            running.enter_context(database.backend.lock(name))
        with database.writing() as connection:
            if set(connection.execute(select(TOURNAMENTS.c.name))) != names:
                raise StoreRefused("a tournament has just started", place=str(address), step="wait until it has ended")
            if backup:
                kept = _back_up_older(connection, address, before)
            database.backend.upgrade(connection)
    return _Upgraded(before, SCHEMA_VERSION, kept)


def _back_up_older(connection: Connection, address: Address, version: int) -> str:
    """Back up the committed state of a database. This replaces the backup of an interrupted upgrade."""
    if isinstance(address, Path):
        return str(back_up(address, address.with_name(f"{address.name}.schema-{version}"), replace=True).path)
    (own,) = connection.exec_driver_sql("SELECT current_schema()").one()
    schema = f"{own}_schema_{version}"
    migrations.copy_tables(connection.connection.driver_connection, schema)
    return schema
