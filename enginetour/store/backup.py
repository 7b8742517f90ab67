"""A copy of a database while a tournament writes to it: whole, verified, and under its name only then.

By SQLite's online backup in one step: in WAL mode it holds nobody up, and copies one state (SQLite, "Online Backup").
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from enginetour.interop.files import beside, is_there, sync_folder
from enginetour.model.errors import StorageFailed, StoreRefused, UsageRefused
from enginetour.store import schema
from enginetour.store.copying import copy_store
from enginetour.store.database import version_of
from enginetour.store.serveraddress import Address
from enginetour.store.sqlite_errors import told, translated
from enginetour.store.sqlite_file import connected, found_schema, reading_mode
from enginetour.store.trouble import StoreBusy

RIGHTS = 0o644  # of a copy, as SQLite makes a database (SQLITE_DEFAULT_FILE_PERMISSIONS)


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished copy; `rows` counts those of all tables, in the copy as in the database."""

    path: Path
    bytes: int
    rows: int
    schema: int


def back_up(source: Address, target: Path, *, replace: bool = False) -> Backup:
    """Copy `source` to `target` and verify the copy; nothing bears the name `target` before all is well.

    Of a database on a server the copy is a file too, by the rows of one view.

    UsageRefused for a target that is there (with `replace`: that is no database of ours, or is in use), StoreRefused
    for a source that is not ours or damaged, StorageFailed where the copy cannot be written.
    """
    target = Path(os.path.realpath(target))
    version_of(source)
    _refuse_target(source, target, replace=replace)
    with _beside(target) as new:
        rows = _copied(Path(os.path.realpath(source)), new) if isinstance(source, Path) else _rows_of(source, new)
        if _verified(new) != rows:
            raise StorageFailed("the copy is not what was written", place=str(target), step="see to the disk")
        _refuse_target(source, target, replace=replace)  # it may have come since
        new.replace(target)
        found = Backup(target, target.stat().st_size, sum(rows.values()), version_of(target))
    sync_folder(target.parent)
    return found


def _refuse_target(source: Address, target: Path, *, replace: bool) -> None:
    if not target.parent.is_dir():
        raise UsageRefused("no such folder", place=str(target.parent), step="make it, or name another file")
    if not target.exists():
        for left in (target.with_name(target.name + suffix) for suffix in ("-wal", "-journal")):
            if left.exists() and left.stat().st_size:
                what = "is the log of a database that had this name, and would become the copy's"
                raise UsageRefused(what, place=str(left), step="name another file")
        return
    if isinstance(source, Path) and target.samefile(source):
        raise UsageRefused("is the database itself", place=str(target), step="name another file")
    if not replace:
        step = "name another file, or say --replace"
        raise UsageRefused("there is a file already", place=str(target), step=step)
    try:
        version_of(target)
    except StoreRefused as error:
        raise UsageRefused(f"not replaced: it {error.what}", place=str(target), step="name another file") from None
    _refuse_used(target)


def _refuse_used(target: Path) -> None:
    """Leaving WAL mode needs the file to itself (SQLite, "Write-Ahead Logging"), and takes its side files along."""
    with told(target), closing(connected(target, "mode=rw")) as alone:
        alone.execute("PRAGMA busy_timeout=0")
        try:
            alone.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError as error:
            if not isinstance(translated(error, target), StoreBusy):
                raise
            raise UsageRefused("is a database in use", place=str(target), step="name another file") from None


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """An empty file to be renamed, as `beside`; what SQLite puts next to it goes with it."""
    with ExitStack() as stack:
        new = target.with_name(f".{target.name}.new")
        try:
            mark = stack.enter_context(beside(target, RIGHTS))
        except BlockingIOError:
            raise StoreRefused("another backup is being written", place=str(target), step="wait for its end") from None
        except OSError as error:
            step = "check the rights of its folder"
            raise StorageFailed(f"cannot be made ({error.strerror})", place=str(new), step=step) from error
        try:
            yield new
        finally:
            if is_there(mark.fileno(), new):
                for suffix in ("-journal", "-wal", "-shm"):
                    new.with_name(new.name + suffix).unlink(missing_ok=True)


def _copied(source: Path, new: Path) -> dict[str, int]:
    """Copy the pages; the rows of every table in the state that was copied."""
    with told(source), closing(connected(source, reading_mode(source))) as reader:
        reader.execute("BEGIN")
        rows = _rows(reader)  # the state that is counted is the one that is copied
        with told(new), closing(sqlite3.connect(new, isolation_level=None)) as writer:
            reader.backup(writer)
    with new.open("rb") as file:
        os.fsync(file.fileno())
    return rows


def _rows_of(source: Address, new: Path) -> dict[str, int]:
    """The same for a database on a server: its rows, compared table by table."""
    copy_store(source, new)
    return _verified(new)


def _verified(new: Path) -> dict[str, int]:
    """The rows of every table of a copy whose pages, rows, references and schema are well; StoreRefused otherwise."""
    with told(new), closing(connected(new, "mode=ro&immutable=1")) as reader:
        schema.check(found_schema(reader), new)
        found = reader.execute("PRAGMA integrity_check(1)").fetchone()[0]
        lost = reader.execute("PRAGMA foreign_key_check").fetchone()
        if found != "ok" or lost is not None:
            what = (
                f"the copy is damaged as the database is ({found if lost is None else f'{lost[0]} refers to nothing'})"
            )
            raise StoreRefused(what, place=str(new), step="enginetour db check tells more")
        return _rows(reader)


def _rows(reader: sqlite3.Connection) -> dict[str, int]:
    names = [name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    return {name: reader.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608
