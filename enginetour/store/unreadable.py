"""Explain why rows of a database cannot be read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from enginetour.model.errors import StoreRefused, TourError
from enginetour.store.address import Address


@contextmanager
def rows_of_others(path: Address) -> Iterator[None]:
    """If reading the database fails, inspect it; raise StoreRefused if it is damaged.

    If it is not damaged, the failure is an internal error and is raised unchanged.
    """
    from enginetour.store.dialect import UNREADABLE  # imported here: a command starts faster without it

    try:
        yield
    except TourError:
        raise
    except UNREADABLE as error:
        from enginetour.store.check import first_fault
        from enginetour.store.database import database_exists

        found = first_fault(path) if database_exists(path) else ""
        if not found:
            raise
        command = shlex.join(["enginetour", "db", "check", "--db", str(path)])
        step = f"run {command}, or use a backup with --db"
        raise StoreRefused(f"cannot be read, {found}", place=str(path), step=step) from error
