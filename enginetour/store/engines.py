"""Engine versions and entrants: store them, and name engine versions in lists (`name`, or `name [mark]`).

A mark never changes. Lists show it if several versions of a name have games at that moment.
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
    """Return the key of an engine version; inserts a new one."""
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
    """Write an entrant that is valid from event `since` on; replaces an entry of the same event.

    ValueError, with nothing written, for one that could not be read back.
    """
    text = codecs.spec_text(spec)
    codecs.spec_of(text)
    row = codecs.entrant_payload(entrant) | {"tournament": tournament, "since_event": since, "starting_rank": place}
    row |= {"engine": engine_version(connection, spec, entrant), "spec": text}
    connection.execute(_ENTRANT, row)


def engine_names(connection: Connection) -> dict[int, str]:
    """Return the plain names of all engine versions by their keys, oldest first."""
    return {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name).order_by(ENGINES.c.id))}


def versions_named(connection: Connection, name: str, place: str = "") -> tuple[set[int], str]:
    """Return the versions of an engine, those shown under the name or else all that bear it, and its name in full.

    UsageRefused, about `place`, for a name that nobody bears here.
    """
    shown, plain = rated_names(connection), engine_names(connection)
    known = [*shown.values(), *plain.values()]
    meant = name if name in known else match_name(name, plain.values()) or match_name(name, known)
    found = {key for key, words in shown.items() if words == meant} or {k for k, own in plain.items() if own == meant}
    if not found or meant is None:
        hint = no_match_hint(name, known) or suggest(name, known)
        raise UsageRefused(f"{name!r} is not in this store{hint}", place=place)
    return found, meant


IMPORTED = "imported"  # a version of which a file told the name alone
_COLUMNS = ("id", "name", "fingerprint", "protocol", "family")


def rated_names(connection: Connection) -> dict[int, str]:
    """Return the names of all engine versions as lists show them now."""
    rows = version_rows(connection)
    return shown_names(rows, marked_names(rows), played_by(connection))


def version_rows(connection: Connection) -> Sequence[Any]:
    """Read all engine versions, oldest first, with the columns that name them and their family."""
    return connection.execute(select(*(ENGINES.c[name] for name in _COLUMNS)).order_by(ENGINES.c.id)).fetchall()


def marked_names(rows: Sequence[Any]) -> dict[int, str]:
    """Return each version's name with its mark; later versions do not change it."""
    names: dict[int, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        short = row.fingerprint[:8] or (IMPORTED if not row.protocol else "")
        seen[row.name, short] += 1  # other options of the same binary: numbered as they came
        again = seen[row.name, short]
        mark = f"{short}-{again}".strip("-") if again > 1 or not short else short
        names[row.id] = f"{row.name} [{mark}]"
    return names


def shown_names(rows: Sequence[Any], marked: dict[int, str], played: Collection[int]) -> dict[int, str]:
    """Return each version's name, with its mark if several versions of the name have `played`."""
    several = Counter(row.name for row in rows if row.id in played)
    return {row.id: row.name if several[row.name] < 2 else marked[row.id] for row in rows}


def played_by(connection: Connection, moment: Moment | None = None) -> set[int]:
    """Return the versions with an even game, even if annulled, by a moment or now; removed imports do not count."""
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
