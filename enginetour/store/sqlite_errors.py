"""SQLite's errors in the user's words: full, unwritable, busy or damaged; all others are our own mistakes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enginetour.model.errors import StorageFailed, StoreRefused, TourError
from enginetour.store.trouble import StoreBusy

_STORAGE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
)
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def translated(error: BaseException, path: Path) -> TourError | None:
    """What the user reads for an error of SQLite; None for those that are our own mistakes."""
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
def told(path: Path) -> Iterator[None]:
    """Errors of a bare connection, translated."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) or error from error
