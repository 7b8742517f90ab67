"""Conversion of games, moves, notes, incidents, entrants and engine specs to database columns and back.

Text from engines is cleaned of what UTF-8 cannot hold; nested values are compact JSON.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import Any

from enginetour.model.game import (
    Entrant,
    Game,
    Incident,
    MoveMade,
    Note,
    Opening,
    Outcome,
    Pairing,
    SideRecord,
    Termination,
)
from enginetour.model.task import EngineSpec

_LARGEST_MOVES = 64 << 20  # bytes once unpacked: 1200 plies with a 50 KB line each; a bound against made-up files
LARGEST_NUMBER = (1 << 63) - 1  # what a column holds: SQLite file format 2.1
_NO_OPENING = "[]"
_MEASURED = ("status", "asked_us", "memory_kb", "load", "own_us")  # of an incident
_SIDE = tuple(field.name for field in fields(SideRecord))
# Flat dataclasses as the values of their fields, in their order; new fields go at the end.
_of_side = attrgetter(*_SIDE)
_of_opening = attrgetter(*(field.name for field in fields(Opening)))
_ENCODER = json.JSONEncoder(separators=(",", ":"))  # `json.dumps` makes one for every call
_MOVE = {name: MoveMade._field_defaults.get(name, MISSING) for name in MoveMade._fields}
_move_of = partial(tuple.__new__, MoveMade)  # `_make` without the count of its values: a third of its time
_ALWAYS = tuple(name for name, default in _MOVE.items() if default is MISSING)


def compact_json(value: object) -> str:
    """Encode a value as compact JSON in ASCII."""
    return _ENCODER.encode(value)


def clean_text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold, and NUL, which PostgreSQL rejects, by `?`."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", "?")


def moves_blob(moves: Sequence[MoveMade]) -> bytes:
    """Compress moves, column by column: an eighth smaller than by rows; level 1 takes a fifth of the time."""
    columns: dict[str, tuple[Any, ...]] = dict.fromkeys(_ALWAYS, ())
    for (name, default), column in zip(_MOVE.items(), zip(*moves, strict=True), strict=False):  # without moves: none
        if default is MISSING or column.count(default) < len(column):
            columns[name] = column
    return zlib.compress(compact_json(columns).encode(), 1)


def moves_of(blob: bytes) -> tuple[MoveMade, ...]:
    """Decode moves from `moves_blob`; ValueError for an invalid blob."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(blob, _LARGEST_MOVES)
    except zlib.error as error:
        raise ValueError(f"moves cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise ValueError("moves are larger than any game")
    found = json.loads(text)
    if isinstance(found, list):  # by rows, as until schema 5
        return tuple(MoveMade(*row) for row in found)
    lengths = {len(column) for column in found.values()}
    strange = found.keys() - _MOVE.keys() | set(_ALWAYS) - found.keys()
    if strange or len(lengths) > 1:
        raise ValueError(f"moves have other columns than ours, or columns of other lengths: {', '.join(strange)}")
    if "lines" in found:
        found["lines"] = map(tuple, found["lines"])
    # By position, with what all have as one value: half the time of names for each move.
    columns = (found.get(name, repeat(default)) for name, default in _MOVE.items())
    return tuple(map(_move_of, zip(*columns, strict=False)))


def game_columns(game: Game) -> dict[str, Any]:
    """Return the columns of a game, without tournament, number and engine versions."""
    pairing = game.pairing
    a, b = pairing.pair
    opening = game.opening
    return {
        "a": a,
        "b": b,
        "white": pairing.white,
        "black": pairing.black,
        "meeting": pairing.meeting,
        "leg": pairing.leg,
        "encounter": pairing.encounter,
        "round": pairing.round,
        "handicap": pairing.handicap,
        "replay": game.replay,
        "outcome": game.outcome.value,
        "termination": game.termination.value,
        "cause": clean_text(game.cause),
        "culprit": clean_text(game.culprit),
        "category": clean_text(game.category),
        "plies": game.plies,
        "opening": _NO_OPENING if opening == Opening() else compact_json(_of_opening(opening)),
        "white_side": compact_json(_of_side(game.white)),
        "black_side": compact_json(_of_side(game.black)),
        "white_tc": game.white_tc,
        "black_tc": game.black_tc,
        "final_fen": clean_text(game.final_fen),
        "started": game.started,
        "ended": game.ended,
        "relay": "" if game.relay_us is None else compact_json(game.relay_us),
        "hardware": clean_text(game.hardware),
        "load": game.load,
        "cores": game.cores,
        "steal": game.steal,
        "own_us": game.own_us,
    }


def pairing_of(row: Any) -> Pairing:
    """Read the pairing from a row of games."""
    return Pairing(row.white, row.black, row.meeting, row.leg, row.encounter, row.round, row.handicap)


def _opening_of(text: str) -> Opening:
    if text == _NO_OPENING:
        return Opening()
    name, index, fen, moves, *later = json.loads(text)
    return Opening(name, index, fen, tuple(moves), *later)


def side_of(text: str) -> SideRecord:
    """Decode the record of one side; fields that an older row lacks have their defaults."""
    named = dict(zip(_SIDE, json.loads(text), strict=False))
    nested = {name: tuple(tuple(each) for each in named.get(name, ())) for name in ("effort", "claims")}
    return SideRecord(**{**named, **nested, "warnings": tuple(named["warnings"])})


def game_of(row: Any, blob: bytes, incidents: Sequence[Incident] = ()) -> Game:
    """Decode a whole game; `row` has all columns of its table."""
    relay = json.loads(row.relay) if row.relay else None
    return Game(
        pairing=pairing_of(row),
        outcome=Outcome(row.outcome),
        termination=Termination(row.termination),
        cause=row.cause,
        culprit=row.culprit,
        category=row.category,
        opening=_opening_of(row.opening),
        moves=moves_of(blob),
        white=side_of(row.white_side),
        black=side_of(row.black_side),
        white_tc=row.white_tc,
        black_tc=row.black_tc,
        final_fen=row.final_fen,
        started=row.started,
        ended=row.ended,
        relay_us=None if relay is None else (relay[0], relay[1], relay[2]),
        incidents=tuple(incidents),
        replay=row.replay,
        hardware=row.hardware,
        load=row.load,
        cores=row.cores,
        steal=row.steal,
        own_us=row.own_us,
    )


def incident_columns(incident: Incident) -> dict[str, Any]:
    """Return the columns of an incident, without game and ordinal."""
    return {
        "engine": clean_text(incident.engine),
        "category": clean_text(incident.category),
        "cause": clean_text(incident.cause),
        "ply": incident.ply,
        "traffic": compact_json(incident.traffic),
        "stderr": compact_json(incident.stderr),
        **{name: getattr(incident, name) for name in _MEASURED},
    }


def incident_of(row: Any) -> Incident:
    """Decode an incident from its row."""
    said = tuple(json.loads(row.traffic)), tuple(json.loads(row.stderr))
    measured = {name: getattr(row, name) for name in _MEASURED}
    return Incident(row.engine, row.category, row.cause, row.ply, *said, **measured)


def note_columns(note: Note) -> dict[str, Any]:
    """Return the columns of a note, without its position in the log."""
    return {"kind": note.kind, "text": clean_text(note.text), "fields": compact_json(note.fields)}


def note_of(row: Any) -> Note:
    """Decode a note from its row; sequences in its fields become tuples."""
    return Note(row.kind, row.text, tuple((name, _frozen(value)) for name, value in json.loads(row.fields)))


def _frozen(value: Any) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def entrant_payload(entrant: Entrant) -> dict[str, Any]:
    """Return an entrant as the payload of an event."""
    return {field.name: getattr(entrant, field.name) for field in fields(entrant)}


def entrant_of(row: Mapping[str, Any]) -> Entrant:
    """Decode an entrant from a payload or a row; ValueError in one line for anything else."""
    from enginetour.engines.enginefile import stored_entrant  # here, as below

    return stored_entrant(row)


def spec_text(spec: EngineSpec) -> str:
    """Encode an engine spec as JSON that names every field."""
    plain = {field.name: getattr(spec, field.name) for field in fields(spec)}
    plain["limits"] = sorted(spec.limits)
    plain["quirks"] = {field.name: getattr(spec.quirks, field.name) for field in fields(spec.quirks)}
    plain["resources"] = {field.name: getattr(spec.resources, field.name) for field in fields(spec.resources)}
    return compact_json(plain)


def spec_of(text: object) -> EngineSpec:
    """Decode an engine spec; ValueError in one line for anything else."""
    from enginetour.engines.enginefile import stored_spec  # here, for a quicker start of commands that start no engine

    return stored_spec(text)
