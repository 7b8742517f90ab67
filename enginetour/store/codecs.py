"""Column types: how openings, notes, engine specs and texts are written to a column and read from it.

Characters that cannot be stored are replaced in text from engines. Nested values are stored as compact JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import from_json
from sqlalchemy import BigInteger, ColumnElement, Dialect, Integer, String, TypeDecorator, type_coerce
from sqlalchemy.types import TypeEngine

from enginetour.model.game import Entrant, Game, Incident, Note, Opening, Pairing, SideRecord
from enginetour.model.moves import unpack_moves
from enginetour.model.task import EngineSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Integers have 64 bits and text is sorted by bytes, as in SQLite. PostgreSQL needs explicit types for this.
WHOLE = Integer().with_variant(BigInteger(), "postgresql")
WORDS = String().with_variant(String(collation="C"), "postgresql")

Values: TypeAlias = "list[Any] | NDArray[Any]"  # values of a column, in the order of the rows
LARGEST_NUMBER = (1 << 63) - 1  # largest integer of a column (SQLite file format 2.1)
_SHARED = 4096  # values of a column that are kept
_ENCODER = json.JSONEncoder(separators=(",", ":"))  # made once, because `json.dumps` makes one for every call


def compact_json(value: object) -> str:
    """Encode a value as compact JSON in ASCII."""
    return _ENCODER.encode(value)


def clean_text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, and NUL, which PostgreSQL rejects, by `?`."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", "?")


class CleanText(TypeDecorator[str]):
    """Column type for text from engines and users."""

    impl = WORDS
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Replace characters that cannot be stored."""
        return None if value is None else clean_text(value)


class Word(TypeDecorator[Any]):
    """Column type for members of a string enumeration."""

    impl = WORDS
    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind
        self._members: dict[str, StrEnum] = {str(member): member for member in kind}

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the plain string, because drivers do not support enumerations."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:  # noqa: ARG002
        """Return the member of the enumeration. Raise ValueError for an unknown string."""
        return None if value is None else self._members.get(value) or self.kind(value)


class JsonText(TypeDecorator[Any]):
    """Column type for JSON text that the reader parses. If it `may_be_empty`, an empty string means no value."""

    impl = WORDS
    cache_ok = True
    may_be_empty = False


class Json(JsonText):
    """Column type for values stored as compact JSON.

    `read` converts parsed JSON into the value, and `write` converts the value into JSON data. If many rows have the
    same value, which never changes, `shared` reads equal texts only once.
    """

    cache_ok = True

    def __init__(
        self,
        read: Callable[[Any], Any] | None = None,
        write: Callable[[Any], Any] | None = None,
        *,
        may_be_empty: bool = False,
        shared: bool = False,
    ) -> None:
        super().__init__()
        self.may_be_empty = may_be_empty
        self.read = read
        self.write = write
        self.shared = shared
        self._decode = lru_cache(_SHARED)(self._parsed) if shared else self._parsed

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:  # noqa: ARG002
        """Encode the value as JSON."""
        if self.may_be_empty and not value:
            return ""
        return compact_json(value if self.write is None else self.write(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Decode JSON, or return None for a cell without a value."""
        return None if value is None or (self.may_be_empty and not value) else self._decode(value)

    def _parsed(self, value: str) -> Any:
        try:
            found = from_json(value)  # takes a third of the time of `json.loads`
        except ValueError:  # for example, text of an engine with a lone surrogate
            found = json.loads(value)
        return found if self.read is None else self.read(found)


def stored_type(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the column type that is used in the database."""
    return kind.impl_instance if isinstance(kind, TypeDecorator) else kind


def stored(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Build an expression that selects a column as it is stored, without decoding."""
    return type_coerce(column, stored_type(column.type)).label(getattr(column, "name", None))


def _set_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, by name."""
    values = ((field, getattr(record, field.name)) for field in fields(record))
    return {field.name: value for field, value in values if value != field.default and value != ()}


def _opening_of(found: Mapping[str, Any]) -> Opening:
    return Opening(**{**found, "moves": tuple(found.get("moves", ()))})


def _side_json(side: SideRecord) -> dict[str, Any]:
    found = _set_fields(side)
    if side.effort:
        found["effort"] = {figure: {"moves": moves, "sum": total} for figure, moves, total in side.effort}
    if side.claims:
        found["claims"] = [{"kind": kind, "count": count, "first": first} for kind, count, first in side.claims]
    return found


def _side_of(found: dict[str, Any]) -> SideRecord:
    if "warnings" in found:
        found["warnings"] = tuple(found["warnings"])
    if "effort" in found:
        found["effort"] = tuple([(figure, one["moves"], one["sum"]) for figure, one in found["effort"].items()])
    if "claims" in found:
        found["claims"] = tuple([(claim["kind"], claim["count"], claim["first"]) for claim in found["claims"]])
    return SideRecord(**found)


def _frozen(value: Any) -> Any:
    """Return a JSON value with tuples instead of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


OPENING = Json(_opening_of, _set_fields, shared=True)
SIDE = Json(_side_of, _side_json)
TUPLE = Json(_frozen)
PAIRS = Json(lambda found: tuple((name, _frozen(value)) for name, value in found.items()), dict)
_GAP = ("median", "p99", "max")
RELAY_GAP = Json(
    itemgetter(*_GAP),
    lambda gap: dict(zip(_GAP, gap, strict=True)),
    may_be_empty=True,
)

_PAIRING = tuple(field.name for field in fields(Pairing))
_INCIDENT = tuple(field.name for field in fields(Incident))
# Fields of a game that are stored in columns with other names or in other tables.
_ELSEWHERE = ("pairing", "moves", "white", "black", "incidents", "traffic")
_GAME = tuple(field.name for field in fields(Game) if field.name not in _ELSEWHERE)


def game_columns(game: Game) -> dict[str, Any]:
    """Return the values of a game's columns, except its tournament, number and engine versions."""
    low, high = game.pairing.pair
    return {
        **{name: getattr(game, name) for name in _GAME},
        **{name: getattr(game.pairing, name) for name in _PAIRING},
        "pair_low": low,
        "pair_high": high,
        "plies": game.plies,
        "white_side": game.white,
        "black_side": game.black,
    }


def pairing_of(row: Any) -> Pairing:
    """Read the pairing from a row of games."""
    return Pairing(row.white, row.black, row.meeting, row.leg, row.encounter, row.round, row.handicap)


def game_of(row: Any, blob: bytes, incidents: Sequence[Incident] = ()) -> Game:
    """Make a whole game from a `row` with all columns of the table of games, and its moves in `blob`."""
    return Game(
        **{name: getattr(row, name) for name in _GAME},
        pairing=pairing_of(row),
        moves=unpack_moves(blob),
        white=row.white_side,
        black=row.black_side,
        incidents=tuple(incidents),
    )


def incident_columns(incident: Incident) -> dict[str, Any]:
    """Return the values of an incident's columns, except its game and ordinal."""
    return {name: getattr(incident, name) for name in _INCIDENT}


def incident_of(row: Any) -> Incident:
    """Read an incident from its row."""
    return Incident(**{name: getattr(row, name) for name in _INCIDENT})


def note_columns(note: Note) -> dict[str, Any]:
    """Return the values of a note's columns, except its position in the log."""
    return {"kind": note.kind, "text": note.text, "fields": note.fields}


def note_of(row: Any) -> Note:
    """Read a note from its row."""
    return Note(row.kind, row.text, row.fields)


def entrant_payload(entrant: Entrant) -> dict[str, Any]:
    """Return an entrant as the payload of an event."""
    return {field.name: getattr(entrant, field.name) for field in fields(entrant)}


def entrant_of(row: Mapping[str, Any]) -> Entrant:
    """Decode an entrant from a payload or a row. Raise ValueError with a one-line message if it is invalid."""
    from enginetour.engines.enginefile import stored_entrant  # imported here for the reason given in `spec_of`

    return stored_entrant(row)


def spec_text(spec: EngineSpec) -> str:
    """Encode an engine specification as JSON with all fields."""
    plain = {field.name: getattr(spec, field.name) for field in fields(spec)}
    plain["limits"] = sorted(spec.limits)
    plain["quirks"] = {field.name: getattr(spec.quirks, field.name) for field in fields(spec.quirks)}
    plain["resources"] = {field.name: getattr(spec.resources, field.name) for field in fields(spec.resources)}
    return compact_json(plain)


def spec_of(text: object) -> EngineSpec:
    """Decode an engine specification. Raise ValueError with a one-line message if it is invalid."""
    from enginetour.engines.enginefile import stored_spec  # imported here, so that other commands start faster

    return stored_spec(text)
