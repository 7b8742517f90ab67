"""Lists by name: each definition a revision, the newest holds."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select

from enginetour.model.errors import StoreRefused, UsageRefused, near
from enginetour.store.definition import ListDefinition
from enginetour.store.slugs import LONGEST_NAME
from enginetour.store.tables import EDITIONS, LISTS
from enginetour.store.tournaments import Store


@dataclass(frozen=True, slots=True)
class Revision:
    """One definition of a list. `why` says what changed against the one before; `made` is UTC seconds."""

    name: str
    number: int
    definition: ListDefinition
    why: str
    made: float


@dataclass(frozen=True, slots=True)
class ListSummary:
    """A list in one line: its newest revision and edition; the latter's number is 0 while none is published."""

    revision: Revision
    edition: int
    published: float | None


def lists_of(store: Store) -> list[ListSummary]:
    """All lists, by name."""
    with store.database.reading() as connection:
        newest: dict[str, Any] = {}
        for row in connection.execute(select(LISTS).order_by(LISTS.c.name, LISTS.c.revision)):
            newest[row.name] = row
        latest = select(EDITIONS.c.list, func.max(EDITIONS.c.number), func.max(EDITIONS.c.made))
        editions = {row[0]: (row[1], row[2]) for row in connection.execute(latest.group_by(EDITIONS.c.list))}
    return [ListSummary(_revision(row), *editions.get(name, (0, None))) for name, row in newest.items()]


def anchored_by(store: Store, names: Collection[str]) -> list[tuple[str, str]]:
    """Which lists have one of these names as an anchor, fixed or loose: (anchor, list)."""
    found = ((one.revision.name, one.revision.definition) for one in lists_of(store))
    return [(anchor, name) for name, own in found for anchor in (*own.anchors, *own.loose) if anchor in names]


def revisions_of(store: Store, name: str) -> list[Revision]:
    """Every definition of a list, oldest first; UsageRefused for a list that is not there, with those that are."""
    with store.database.reading() as connection:
        return revisions_in(connection, name)


def revisions_in(connection: Connection, name: str) -> list[Revision]:
    """As `revisions_of`, inside a transaction."""
    found = connection.execute(select(LISTS).where(LISTS.c.name == name).order_by(LISTS.c.revision)).fetchall()
    if not found:
        known = sorted({row.name for row in connection.execute(select(LISTS.c.name))})
        step = "enginetour lists define NAME makes one; a tournament is named by -t"
        raise UsageRefused(f"there is no list {name!r}{near(name, known)}", step=step)
    return [_revision(row) for row in found]


def has_list(store: Store, name: str) -> bool:
    """There is a list of that name."""
    with store.database.reading() as connection:
        return connection.execute(select(LISTS.c.name).where(LISTS.c.name == name)).first() is not None


def define(store: Store, name: str, definition: ListDefinition) -> tuple[Revision, bool]:
    """The revision that holds now, and whether it was written by this call: only for what is new."""
    if not name.isprintable() or name != name.strip() or not 1 <= len(name) <= LONGEST_NAME or "#" in name:
        what = f"a list's name is 1 to {LONGEST_NAME} printable signs without # or blanks at its ends, found {name!r}"
        raise UsageRefused(what)
    with store.database.writing() as connection:
        rows = select(LISTS).where(LISTS.c.name == name).order_by(LISTS.c.revision.desc())
        row = connection.execute(rows).first()
        before = None if row is None else _revision(row)
        if before is not None and before.definition == definition:
            return before, False
        why = "first" if before is None else "; ".join(changes(before.definition, definition))
        made = Revision(name, 1 if before is None else before.number + 1, definition, why, time.time())
        values = {"name": name, "revision": made.number, "definition": definition.model_dump_json()}
        connection.execute(insert(LISTS), {**values, "why": why, "made": made.made})
    return made, True


def changes(one: ListDefinition, other: ListDefinition) -> list[str]:
    """What differs, as ``field: before -> after``."""
    before, after = one.model_dump(mode="json"), other.model_dump(mode="json")
    return [f"{key}: {_words(before[key])} -> {_words(after[key])}" for key in before if before[key] != after[key]]


def _words(value: object) -> str:
    """A value of a definition as people write it."""
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_words(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)


def described(definition: ListDefinition) -> dict[str, str]:
    """What a definition asks beyond the defaults, in words, by field."""
    return {key: _words(value) for key, value in definition.changed().items()}


def _revision(row: Any) -> Revision:
    try:
        definition = ListDefinition.model_validate_json(row.definition)
    except ValueError as error:
        what = f"revision {row.revision} cannot be read: {str(error).splitlines()[-1].strip()}"
        raise StoreRefused(what, place=f"list {row.name}", step="use the enginetour that wrote it") from None
    return Revision(row.name, row.revision, definition, row.why, row.made)
