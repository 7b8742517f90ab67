"""Engine versions and entrants as rows; their names in lists.

A mark never changes. Whether it is shown does, with the games: a list of a moment shows those of that moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, union

from enginetour.model.game import Entrant, Outcome
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.counts import Moment, engines_in, kept_counts
from enginetour.store.database import inserted_id
from enginetour.store.dialect import upsert
from enginetour.store.tables import ENGINES, ENTRANTS, EVEN, EVEN_READ, GAMES, IMPORTED_GAMES

# Who takes part, as rows: entrants with the way to start them, and the engine versions they are.

_KEYS = ("tournament", "name", "since")
_ENTRANT = upsert(ENTRANTS, _KEYS, [column.name for column in ENTRANTS.columns if column.name not in _KEYS])


def engine_version(connection: Connection, spec: EngineSpec, entrant: Entrant) -> int:
    """The row of this engine version, made if it is new."""
    options = codecs.compact_json(spec.options)
    same = {"name": spec.name, "fingerprint": spec.fingerprint, "options": options, "protocol": spec.protocol}
    known = connection.execute(select(ENGINES.c.id).where(*(ENGINES.c[key] == value for key, value in same.items())))
    found = known.scalar()
    if found is not None:
        return int(found)
    columns = {**same, "own_name": "", "family": entrant.family, "origin": entrant.origin}
    columns["command"] = codecs.compact_json(spec.command)
    made = connection.execute(insert(ENGINES), columns)
    return inserted_id(made)


def add_entrant(
    connection: Connection, tournament: int, entrant: Entrant, spec: EngineSpec, *, since: int, place: int
) -> None:
    """Write an entrant into the starting list from event `since` on; the last word about one event holds.

    ValueError, and nothing is written, for one that could not be read back.
    """
    text = codecs.spec_text(spec)
    codecs.spec_of(text)
    row = codecs.entrant_payload(entrant) | {"tournament": tournament, "since": since, "place": place}
    row |= {"engine": engine_version(connection, spec, entrant), "spec": text}
    connection.execute(_ENTRANT, row)


# What engine versions are called in lists: by name, with a mark where several versions of a name have games.

IMPORTED = "imported"  # a version of which a file told the name alone
_COLUMNS = ("id", "name", "fingerprint", "protocol", "family")


def rated_names(connection: Connection) -> dict[int, str]:
    """Engine versions as people read them now: the name, with the mark where several versions have games."""
    rows = version_rows(connection)
    return shown_names(rows, marked_names(rows), played_by(connection))


def version_rows(connection: Connection) -> Sequence[Any]:
    """Every engine version that the store has, oldest first, with what it is named by and its family."""
    return connection.execute(select(*(ENGINES.c[name] for name in _COLUMNS)).order_by(ENGINES.c.id)).fetchall()


def marked_names(rows: Sequence[Any]) -> dict[int, str]:
    """Each version with its mark, shown or not: a version that comes later changes none of them."""
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
    """Marks only where several versions of a name are among those that have `played`."""
    several = Counter(row.name for row in rows if row.id in played)
    return {row.id: row.name if several[row.name] < 2 else marked[row.id] for row in rows}


def played_by(connection: Connection, moment: Moment | None = None) -> set[int]:
    """Versions with an even game by a moment, or now for None; one that was struck out counts, but for an import's."""
    if moment is None:
        return set[int]().union(*map(engines_in, kept_counts(connection).values()))
    own = GAMES.c.id <= moment.game, GAMES.c.outcome != Outcome.VOID.value, EVEN
    met = union(
        select(GAMES.c.white_engine).where(*own),
        select(GAMES.c.black_engine).where(*own),
        select(IMPORTED_GAMES.c.white).where(moment.read(), EVEN_READ),
        select(IMPORTED_GAMES.c.black).where(moment.read(), EVEN_READ),
    )
    return {row[0] for row in connection.execute(met)}
