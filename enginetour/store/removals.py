"""Imports that were struck out: an event of the import's own, so that every list of before still has its games.

Struck out for good: its games come back by being imported once more, as other rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, insert, select

from enginetour.model.errors import UsageRefused, near
from enginetour.store import codecs
from enginetour.store.database import Database
from enginetour.store.tables import EVENTS, IMPORTED_GAMES, IMPORTS, TOURNAMENTS

KIND = "removed"
_LATER_S = 1e-3  # than the newest event, where the clock was set back: a double tells 2e-7 s apart in this century
_IS_REMOVAL = and_(EVENTS.c.tournament == IMPORTS.c.tournament, EVENTS.c.kind == KIND)


@dataclass(frozen=True, slots=True)
class Removal:
    """An import that was struck out, or would be; `key` is its row's, `at` in UTC seconds."""

    key: int
    name: str
    edition: int
    games: int
    at: float
    why: str

    @property
    def title(self) -> str:
        """As lists and messages name it."""
        return title_of(self.name, self.edition)


def removed(at: float | None = None) -> Select[Any]:
    """The keys of imports that are struck out now, or were by a time (UTC seconds); the bare driver can take it too."""
    keys = select(EVENTS.c.tournament).join(IMPORTS, _IS_REMOVAL)
    return keys if at is None else keys.where(EVENTS.c.at <= at)


def stands() -> ColumnElement[bool]:
    """The condition on rows of imported games."""
    return IMPORTED_GAMES.c.tournament.not_in(removed())


def removals(connection: Connection, after: float = float("-inf"), until: float = float("inf")) -> list[Removal]:
    """What was struck out after one time and until another, in order."""
    columns = (TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition, IMPORTS.c.games, EVENTS.c.at)
    rows = (
        select(*columns, EVENTS.c.payload)
        .join(IMPORTS, _IS_REMOVAL)
        .join(TOURNAMENTS, TOURNAMENTS.c.id == IMPORTS.c.tournament)
    )
    rows = rows.where(EVENTS.c.at > after, EVENTS.c.at <= until).order_by(EVENTS.c.at, TOURNAMENTS.c.id)
    return [Removal(*row[:5], json.loads(row[5])["why"]) for row in connection.execute(rows)]


def remove_imports(database: Database, words: Sequence[str], *, why: str = "", write: bool = True) -> list[Removal]:
    """Strike out imports by name, by ``name #edition``, or by a pattern of the latter; all of them or none.

    UsageRefused for what is no import that stands, and for a name that several bear.
    """
    with database.writing() if write else database.reading() as connection:
        known = _known(connection)
        at = struck_at(connection)
        meant = {row.id: row for word in words for row in _meant(word, known)}
        said = codecs.clean(why)
        struck = [Removal(row.id, row.name, row.edition, row.games, at, said) for row in meant.values()]
        for one in struck if write else ():
            event = {"tournament": one.key, "position": 1, "kind": KIND, "game": None, "at": at}
            connection.execute(insert(EVENTS), {**event, "payload": codecs.packed({"why": one.why})})
    return struck


def struck_at(connection: Connection) -> float:
    """When what is struck out now is, in UTC seconds: after every event so far, whatever the clock says.

    A list of before must not lose it.
    """
    newest = connection.execute(select(func.max(EVENTS.c.at))).scalar() or 0.0
    return max(time.time(), newest + _LATER_S)


def _known(connection: Connection) -> list[Any]:
    """Every import, oldest first; `at` is None for those that stand."""
    columns = (TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition, IMPORTS.c.games, EVENTS.c.at)
    rows = select(*columns).join(IMPORTS, IMPORTS.c.tournament == TOURNAMENTS.c.id).outerjoin(EVENTS, _IS_REMOVAL)
    return list(connection.execute(rows.order_by(TOURNAMENTS.c.id)))


def _meant(word: str, known: Sequence[Any]) -> list[Any]:
    """Those that stand of the imports that the word fits."""
    named = [row for row in known if row.name == word]
    titles = {row.id: f"{row.name} #{row.edition}" for row in known}
    fits = named or [row for row in known if titles[row.id] == word or fnmatchcase(titles[row.id], word)]
    standing = [row for row in fits if row.at is None]
    if not fits:
        step = "enginetour imports lists them" if known else "nothing was imported yet"
        what = f"{word!r} is no import{near(word, {row.name for row in known})}"
        raise UsageRefused(what, place="--remove", step=step)
    if not standing:
        day = datetime.fromtimestamp(fits[-1].at, UTC)
        raise UsageRefused(f"{word!r} was struck out already, on {day:%Y-%m-%d %H:%M} UTC", place="--remove")
    if named and len(standing) > 1:
        step = f"name one, {word + f' #{standing[-1].edition}'!r}, or all of them, {word + ' #*'!r}"
        raise UsageRefused(f"{len(standing)} imports are called {word!r}", place="--remove", step=step)
    return standing


def title_of(name: str, edition: int) -> str:
    """A tournament or an import as lists and messages name it."""
    return name if edition == 1 else f"{name} #{edition}"
