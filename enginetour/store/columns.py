"""Columns as the tables write them: keys, references, words and numbers.

Whole numbers have 64 bits everywhere and words are sorted by their bytes, as SQLite has it; PostgreSQL is told so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Integer, String

WHOLE = Integer().with_variant(BigInteger(), "postgresql")
WORDS = String().with_variant(String(collation="C"), "postgresql")


def serial() -> Column[Any]:
    """The key that the database counts up itself."""
    return Column("id", WHOLE, primary_key=True)


def key(name: str, of: str | None = None, kind: Any = WHOLE) -> Column[Any]:
    """Part of the primary key, perhaps the number of a row `of` another table."""
    return Column(name, kind, *([ForeignKey(f"{of}.id")] if of else []), primary_key=True)


def row_of(name: str, table: str, *, nullable: bool = False) -> Column[Any]:
    """The number of another table's row."""
    return Column(name, WHOLE, ForeignKey(f"{table}.id"), nullable=nullable)


def words(name: str, default: str | None = None) -> Column[Any]:
    """Never null; with a default it may be left out of a new row."""
    return Column(name, WORDS, nullable=False, default=default)


def whole(name: str) -> Column[Any]:
    """A whole number; never null."""
    return Column(name, WHOLE, nullable=False)


def real(name: str, *, nullable: bool = False) -> Column[Any]:
    """A measure or a moment; null only where it may be unknown."""
    return Column(name, Float, nullable=nullable)


def each(kind: Callable[[str], Column[Any]], *names: str) -> list[Column[Any]]:
    """Several of one kind in a row."""
    return [kind(name) for name in names]
