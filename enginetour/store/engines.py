"""Engine versions and entrants: how they are stored, and the names of engine versions in lists.

A name is ``name`` or ``name [mark]``. Lists show the mark if several versions with this name have games at the moment
of the list. The mark of a version never changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, union

from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.model.game import Entrant, Outcome
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.counts import Moment, engines_in, kept_counts
from enginetour.store.database import inserted_id
from enginetour.store.dialect import upsert
from enginetour.store.tables import ENGINES, ENTRANTS, EVEN, EVEN_READ, GAMES, IMPORTED_GAMES

_KEYS = ("tournament", "name", "since_event")
_ENTRANT = upsert(ENTRANTS, _KEYS, [column.name for column in ENTRANTS.columns if column.name not in _KEYS])


def engine_version(connection: Connection, spec: EngineSpec, entrant: Entrant) -> int:
    """Return the key of an engine version. If the version is new, insert it."""
    same = {name: getattr(spec, name) for name in ("name", "fingerprint", "options", "protocol")}
    known = connection.execute(select(ENGINES.c.id).where(*(ENGINES.c[key] == value for key, value in same.items())))
    found = known.scalar()
    if found is not None:
        return int(found)
    columns = {**same, "family": entrant.family, "origin": entrant.origin, "command": spec.command}
    return inserted_id(connection.execute(insert(ENGINES), columns))


def add_entrant(
    connection: Connection, tournament: int, entrant: Entrant, spec: EngineSpec, *, since: int, place: int
) -> None:
    """Write an entrant that is valid from the event `since` on. A row for the same event is replaced.

    Raise ValueError and write nothing if the entrant could not be read again.
    """
    text = codecs.spec_text(spec)
    codecs.spec_of(text)
    row = codecs.entrant_payload(entrant) | {"tournament": tournament, "since_event": since, "starting_rank": place}
    row |= {"engine": engine_version(connection, spec, entrant), "spec": text}
    connection.execute(_ENTRANT, row)


def engine_names(connection: Connection) -> dict[int, str]:
    """Return the names of all engine versions, without marks, by their keys, oldest first."""
    return {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name).order_by(ENGINES.c.id))}


def versions_named(connection: Connection, name: str, place: str = "") -> tuple[set[int], str]:
    """Return the engine versions that lists show with a name, and the full name.

    If lists do not show a version with the name, return all versions of the name. Raise UsageRefused, with `place`, for
    an unknown name.
    """
    shown, plain = rated_names(connection), engine_names(connection)
    known = [*shown.values(), *plain.values()]
    full = name if name in known else match_name(name, plain.values()) or match_name(name, known)
    found = {key for key, own in shown.items() if own == full} or {key for key, own in plain.items() if own == full}
    if not found or full is None:
        hint = no_match_hint(name, known) or suggest(name, known)
        raise UsageRefused(f"engine {name!r} not found in this database{hint}", place=place)
    return found, full


IMPORTED = "imported"  # mark of an engine version from a game file, of which only the name is known
_COLUMNS = ("id", "name", "fingerprint", "protocol", "family")


def rated_names(connection: Connection) -> dict[int, str]:
    """Return the names of all engine versions as lists show them now."""
    rows = version_rows(connection)
    return shown_names(rows, marked_names(rows), played_by(connection))


def version_rows(connection: Connection) -> Sequence[Any]:
    """Return all engine versions, oldest first, with the columns for their names and families."""
    return connection.execute(select(*(ENGINES.c[name] for name in _COLUMNS)).order_by(ENGINES.c.id)).fetchall()


def marked_names(rows: Sequence[Any]) -> dict[int, str]:
    """Return the name with mark of each version. Versions that are added later do not change these names."""
    names: dict[int, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        short = row.fingerprint[:8] or (IMPORTED if not row.protocol else "")
        seen[row.name, short] += 1  # versions that differ only in options are numbered
        again = seen[row.name, short]
        mark = f"{short}-{again}".strip("-") if again > 1 or not short else short
        names[row.id] = f"{row.name} [{mark}]"
    return names


def shown_names(rows: Sequence[Any], marked: dict[int, str], played: Collection[int]) -> dict[int, str]:
    """Return the name of each version. It has the mark if several versions with this name are in `played`."""
    several = Counter(row.name for row in rows if row.id in played)
    return {row.id: row.name if several[row.name] < 2 else marked[row.id] for row in rows}


def played_by(connection: Connection, moment: Moment | None = None) -> set[int]:
    """Return the engine versions that had played an even game by a moment, or by now.

    Annulled games count, but games of removed imports do not count.
    """
    if moment is None:
        return set[int]().union(*map(engines_in, kept_counts(connection).values()))
    own = GAMES.c.id <= moment.game, GAMES.c.outcome != Outcome.VOID, EVEN
    met = union(
        select(GAMES.c.white_engine).where(*own),
        select(GAMES.c.black_engine).where(*own),
        select(IMPORTED_GAMES.c.white_engine).where(moment.read(), EVEN_READ),
        select(IMPORTED_GAMES.c.black_engine).where(moment.read(), EVEN_READ),
    )
    return {row[0] for row in connection.execute(met)}
