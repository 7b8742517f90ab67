"""Entrants for whom a database is damaged: found, and repaired from what is left of them in it.

An entrant stands in three places: its own row, with the specification that starts its engine; the row of the engine
version; and, if it joined later, the event that brought it. What is valid in one place repairs the others.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, String, Table, cast, select, update

from enginetour.engines.enginefile import LOST, from_json, salvaged_spec
from enginetour.model.errors import StoreRefused
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.database import Database
from enginetour.store.tables import ENGINES, ENTRANTS, EVENTS, TOURNAMENTS

_JOINING = ("added", "replaced")  # events that bring an entrant


def _texts(kind: type[String | LargeBinary], table: Table, *names: str) -> list[Any]:
    """Columns as they are stored: a damaged cell may have any type, and the type of its column raises."""
    return [cast(table.c[name], kind).label(name) for name in names]


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged cell or two of one row, in words, with the repair: `written` goes into the rows of `where`."""

    tournament: str
    slug: str
    what: str
    repair: str
    table: Table
    where: tuple[ColumnElement[bool], ...]
    written: Mapping[str, object]


def damages(database: Database) -> list[Damage]:
    """All of them, in the order of tournaments and of entrants."""
    tables = ENTRANTS.join(TOURNAMENTS, TOURNAMENTS.c.id == ENTRANTS.c.tournament)
    tables = tables.join(ENGINES, ENGINES.c.id == ENTRANTS.c.engine)
    at = (EVENTS.c.tournament == ENTRANTS.c.tournament) & (EVENTS.c.position == ENTRANTS.c.since)
    tables = tables.outerjoin(EVENTS, at & EVENTS.c.kind.in_(_JOINING))
    keys = (ENTRANTS.c.tournament, ENTRANTS.c.name, ENTRANTS.c.since, ENTRANTS.c.engine, EVENTS.c.kind)
    titles = (TOURNAMENTS.c.name.label("title"), TOURNAMENTS.c.edition, TOURNAMENTS.c.slug)
    with database.reading() as connection:
        # SQLite holds any bytes in any cell, a server what the type of the column says.
        kind: type[String | LargeBinary] = LargeBinary if connection.dialect.name == "sqlite" else String
        rows = select(
            *(*keys, *titles),
            *_texts(kind, ENTRANTS, "new", "rating", "family", "origin", "spec"),
            *_texts(kind, ENGINES, "command", "options", "protocol", "fingerprint"),
            *_texts(kind, EVENTS, "payload"),
        ).select_from(tables)
        ordered = rows.order_by(ENTRANTS.c.tournament, ENTRANTS.c.since, ENTRANTS.c.place)
        found = connection.execute(ordered).fetchall()
    return [damage for row in found for damage in _damages(SimpleNamespace(**_as_text(row._asdict())))]


def _as_text(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its bytes as text."""
    return {key: value.decode("utf-8", "replace") if isinstance(value, bytes) else value for key, value in row.items()}


def repair(database: Database) -> list[Damage]:
    """Write the repair of each damage, all in one transaction; StoreRefused while one of the tournaments runs."""
    found = damages(database)
    with ExitStack() as stack:
        for slug in dict.fromkeys(damage.slug for damage in found):
            stack.enter_context(database.ground.lock(slug))
        with database.writing() as connection:
            for damage in found:
                connection.execute(update(damage.table).where(*damage.where).values(**damage.written))
        if left := damages(database):
            what = f"{left[0].tournament}: {left[0].what}, which cannot be repaired"
            raise StoreRefused(what, place=str(database.path), step="put a backup in its place")
    return found


def _damages(row: Any) -> Iterator[Damage]:
    title = row.title if row.edition == 1 else f"{row.title} #{row.edition}"
    here = (title, row.slug)
    mine = (ENTRANTS.c.tournament == row.tournament, ENTRANTS.c.name == row.name, ENTRANTS.c.since == row.since)
    entrant, odd = _entrant(row)
    for key in odd:
        what, repaired = f"{key} of {row.name!r} is {getattr(row, key)!r}", f"{key} is now {entrant[key]}"
        yield Damage(*here, what, repaired, ENTRANTS, mine, {key: entrant[key]})
    spec, wrong = _spec(row)
    if wrong:
        what = f"the specification of {row.name!r} cannot be read: {wrong}"
        written = {"spec": codecs.spec_text(spec)}
        yield Damage(*here, what, _repaired(spec, row.title), ENTRANTS, mine, written)
    for key, value in _version(row, spec):
        it: tuple[ColumnElement[bool], ...] = (ENGINES.c.id == row.engine,)
        what = f"the engine version of {row.name!r} has a damaged {key}"
        yield Damage(*here, what, "it is now that of the specification", ENGINES, it, {key: value})
    if row.kind in _JOINING and (payload := _payload(row, entrant)):
        event = (EVENTS.c.tournament == row.tournament, EVENTS.c.position == row.since)
        what = f"the event in which {row.name!r} joined is damaged"
        yield Damage(*here, what, "it is now what the list of entrants has", EVENTS, event, {"payload": payload})


def _entrant(row: Any) -> tuple[dict[str, Any], list[str]]:
    """The JSON of an entrant from its columns, and the names of those that are damaged."""
    odd = []
    try:
        rating = None if row.rating is None else float(row.rating)
        if rating is not None and not math.isfinite(rating):
            raise ValueError
    except ValueError:
        rating = None
        odd.append("rating")
    if row.new not in ("0", "1", "false", "true"):
        odd.append("new")
    new = row.new in ("1", "true")
    return {"name": row.name, "new": new, "rating": rating, "family": row.family, "origin": row.origin}, odd


def _spec(row: Any) -> tuple[EngineSpec, str]:
    """The specification, and what is wrong with the one that is stored."""
    try:
        spec = codecs.spec_of(row.spec)
    except ValueError as error:
        version = {key: _held(getattr(row, key)) for key in ("command", "options", "protocol")}
        version |= {"protocol": row.protocol, "fingerprint": row.fingerprint}
        return salvaged_spec(row.name, _held(row.spec), version), str(error)
    if spec.name != row.name:
        return salvaged_spec(row.name, _held(row.spec)), f"it has another name, {spec.name!r}"
    return spec, ""


def _repaired(spec: EngineSpec, tournament: str) -> str:
    """What became of a specification."""
    if spec.command != LOST:
        return f"it now starts {shlex.join(spec.command)}"
    words = ["enginetour", "withdraw", "-t", tournament, spec.name]
    instead = f"enginetour replace -t {shlex.quote(tournament)} {shlex.quote(spec.name)} ENGINE"
    return f"its command is lost; use {instead}, or {shlex.join(words)}"


def _version(row: Any, spec: EngineSpec) -> Iterator[tuple[str, object]]:
    """The damaged columns of its engine version with their repair."""
    command = _held(row.command)
    if not (isinstance(command, list) and all(isinstance(word, str) for word in command)):
        yield "command", codecs.packed(spec.command)
    options = _held(row.options)
    if not (isinstance(options, list) and all(_is_pair(one) for one in options)):
        yield "options", codecs.packed(spec.options)
    if row.protocol not in ("uci", "cecp"):
        yield "protocol", spec.protocol


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(word, str) for word in value)


def _payload(row: Any, entrant: Mapping[str, Any]) -> str:
    """The JSON of the event that brought it, "" where the stored one is valid or says of nobody who left."""
    held = _held(row.payload)
    held = held if isinstance(held, dict) else {}
    try:
        valid = codecs.entrant_of(held["entrant"]).name == row.name
    except (KeyError, TypeError, ValueError):
        valid = False
    leaves = isinstance(held.get("old"), str) or row.kind == "added"
    if (valid and isinstance(held.get("why"), str)) or not leaves:
        return ""
    left = {"old": held["old"]} if row.kind == "replaced" else {}
    return codecs.packed({**left, "entrant": entrant, "why": str(held.get("why", ""))[:1000]})


def _held(text: object) -> Any:
    """The value of a text of JSON; None for what is not."""
    try:
        return from_json(text)
    except ValueError:
        return None
