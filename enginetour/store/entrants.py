"""Who takes part, as rows: entrants with the way to start them, and the engine versions they are."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, CursorResult, insert, select

from enginetour.model.game import Entrant
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.sqlwords import upsert
from enginetour.store.tables import ENGINES, ENTRANTS

_KEYS = ("tournament", "name", "since")
_ENTRANT = upsert(ENTRANTS, _KEYS, [column.name for column in ENTRANTS.columns if column.name not in _KEYS])


def made_id(result: CursorResult[Any]) -> int:
    """The key of the row just written."""
    keys = result.inserted_primary_key
    assert keys is not None
    return int(keys[0])


def engine_version(connection: Connection, spec: EngineSpec, entrant: Entrant) -> int:
    """The row of this engine version, made if it is new."""
    options = codecs.packed(spec.options)
    same = {"name": spec.name, "fingerprint": spec.fingerprint, "options": options, "protocol": spec.protocol}
    known = connection.execute(select(ENGINES.c.id).where(*(ENGINES.c[key] == value for key, value in same.items())))
    found = known.scalar()
    if found is not None:
        return int(found)
    columns = {**same, "own_name": "", "family": entrant.family, "origin": entrant.origin}
    columns["command"] = codecs.packed(spec.command)
    made = connection.execute(insert(ENGINES), columns)
    return made_id(made)


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
