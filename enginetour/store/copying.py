"""A whole store put on another ground, from a file to a server, back, or to another file: row by row, and compared.

The target is empty before: keys are the order of all things, so that lists as of some game and published editions
hold; two stores that were counted apart cannot become one without a new history for one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, select

from enginetour.model.errors import StorageFailed, StoreRefused, TourError, UsageRefused
from enginetour.store.cells import UNREADABLE
from enginetour.store.database import Database, is_made
from enginetour.store.serveraddress import Address, ServerAddress
from enginetour.store.tables import METADATA, TOURNAMENTS

ROWS_A_BLOCK = 500  # held at once; the moves of a long game take some 10 KB


@dataclass(frozen=True, slots=True)
class Copied:
    """A finished copy: tables that have rows, rows of all of them, and the digest both sides have."""

    tournaments: int
    tables: int
    rows: int
    digest: str


def copy_store(source: Address, target: Address) -> Copied:
    """Copy everything and compare counts and digests of every table before it counts.

    UsageRefused for a target that holds anything, StoreRefused for a source with cells that are not ours,
    StorageFailed where the copy cannot be written or is not what was read.
    """
    if _same(source, target):
        raise UsageRefused("is the database itself", place=str(target), step="name another one")
    with Database.open(source, create=False, readonly=True) as old:
        fresh = not is_made(target)
        try:
            with Database.open(target) as new:
                return _copied(old, new)
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


def _copied(old: Database, new: Database) -> Copied:
    with old.reading() as reader, new.writing(bulk=True) as writer:
        _refuse_filled(reader, writer, new)
        told = {table.name: _table(reader, writer, new, table) for table in METADATA.sorted_tables}
        new.ground.count_on(writer)
        for table in METADATA.sorted_tables:
            if _digest(writer, table) != told[table.name]:
                what = f"the table {table.name!r} of the copy is not what was read"
                raise StorageFailed(what, place=str(new.path), step="see to the disk, and copy again")
    whole = hashlib.sha256("".join(digest for _, digest in told.values()).encode()).hexdigest()
    counts = [rows for rows, _ in told.values()]
    return Copied(told[TOURNAMENTS.name][0], sum(rows > 0 for rows in counts), sum(counts), whole)


def _refuse_filled(reader: Connection, writer: Connection, new: Database) -> None:
    names = select(TOURNAMENTS.c.name).distinct().order_by(TOURNAMENTS.c.name)
    there = list(writer.execute(names).scalars())
    both = [name for name in reader.execute(names).scalars() if name in there]
    step = "copy into an empty database"
    if both:
        raise UsageRefused(f"has a tournament {both[0]!r} already", place=str(new.path), step=step)
    for table in METADATA.sorted_tables:
        if writer.execute(select(func.count()).select_from(table)).scalar_one():
            what = f"holds {there[0]!r} already" if there else f"has rows in its table {table.name!r}"
            raise UsageRefused(what, place=str(new.path), step=step)


def _table(reader: Connection, writer: Connection, new: Database, table: Table) -> tuple[int, str]:
    """Rows and digest of what was read."""
    digest, count = hashlib.sha256(), 0
    names = [column.name for column in table.columns]
    try:
        for block in _blocks(reader, table):
            new.fill(writer, table.name, dict(zip(names, map(list, zip(*block, strict=True)), strict=True)))
            count += len(block)
            for row in block:
                digest.update(repr(row).encode())
    except TourError:
        raise
    except UNREADABLE as error:
        what = f"the table {table.name!r} cannot be copied: {str(error).splitlines()[0]}"
        raise StoreRefused(what, step="enginetour db check tells more") from error
    return count, digest.hexdigest()


def _digest(connection: Connection, table: Table) -> tuple[int, str]:
    digest, count = hashlib.sha256(), 0
    for block in _blocks(connection, table):
        count += len(block)
        for row in block:
            digest.update(repr(row).encode())
    return count, digest.hexdigest()


def _blocks(connection: Connection, table: Table) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a table in the order of their keys, which is the same on every ground."""
    rows = select(table).order_by(*table.primary_key.columns)
    for block in connection.execute(rows, execution_options={"yield_per": ROWS_A_BLOCK}).partitions():
        yield [tuple(row) for row in block]
