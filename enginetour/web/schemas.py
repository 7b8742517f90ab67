"""The types of the documents of `/api/v1`, made from the rows of the database and the nouns of a game."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from enginetour.model.game import Game, Incident, MoveMade, Outcome
from enginetour.ratings import ratinglist
from enginetour.reports.sheet import SCHEMA
from enginetour.store.games import GameLine
from enginetour.store.tables import (
    EditionDetails,
    EditionHead,
    EditionLine,
    IncidentRow,
    ListRevision,
    TournamentEntry,
    UnratedEngine,
)

_Fields = dict[str, Any]
_STRICT = ConfigDict(extra="forbid")
_OPEN = ConfigDict(extra="allow")
_ABOUT = {
    **{name: field.description for row in (IncidentRow, GameLine) for name, field in row.model_fields.items()},
    "voided": "true if the game was annulled later",
    "warning": "true if the incident did not cost a point",
}


def _columns(row: type[BaseModel], names: str = "") -> _Fields:
    """Return the columns of a row with their types and descriptions: those in `names`, or all."""
    found = row.model_fields
    return {
        name: (found[name].annotation, Field(description=found[name].description)) for name in names.split() or found
    }


def _parts(noun: type, without: str = "") -> _Fields:
    """Return the fields of a dataclass or a named tuple with their types."""
    hints = get_type_hints(noun)
    own = getattr(noun, "__dataclass_fields__", None) or noun._fields  # type: ignore[attr-defined]
    return {name: (hints[name], Field(description=_ABOUT.get(name))) for name in own if name not in without.split()}


def _about(kind: object, text: str) -> tuple[object, Any]:
    return kind, Field(description=text)


def _type(name: str, fields: _Fields, config: ConfigDict = _STRICT, doc: str = "") -> type[BaseModel]:
    made: type[BaseModel] = create_model(name, __config__=config, __doc__=doc or None, **fields)
    return made


def _document(name: str, doc: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    schema = Field(alias="schema", description="version of the form of all JSON documents")
    return _type(name, {"schema_version": (Literal[SCHEMA], schema), **fields}, doc=doc)


_TIMES = {
    "started": _about(datetime, "time of the start, UTC"),
    "ended": _about(datetime, "time of the end, UTC"),
}
_MADE = _about(datetime, "time at which it was written, UTC")

Error = _document("Error", "Why a request has no result.", {"error": _about(str, "what is wrong")})

# Tournaments.

_ENTRY = {
    **_columns(TournamentEntry, "slug name edition system"),
    "title": _about(str, "name, with the number of the edition from the second edition on"),
    "created": _about(datetime, "time at which it was created, UTC"),
    "running": _about(bool, "true while games are played"),
}
TournamentItem = _type(
    "TournamentItem",
    {
        **_ENTRY,
        "entrants": _about(int, "number of entrants at the start"),
        "games": _about(int, "number of games that count"),
        "last": _about(datetime | None, "time of the last event, UTC; null: no event"),
    },
)
Tournaments = _document("Tournaments", "All tournaments, oldest first.", {"rows": (list[TournamentItem], ...)})  # type: ignore[valid-type]
Tournament = _document(
    "Tournament",
    "A tournament with its progress.",
    {
        **_ENTRY,
        "progress": _about(
            dict[str, Any], "state, games_done, remaining (fewest, most), endings, incidents, eta, ..., as in `status`"
        ),
    },
)
_Place = _type(
    "StandingsRow",
    {
        "rank": _about(int | None, "rank; null: not ranked"),
        "name": _about(str, "name of the entrant"),
        "points": _about(float, "points; a draw is 0.5"),
        "games": _about(int, "number of games"),
        "status": _about(str, "a word of the format: parked, withdrawn, ...; empty for none"),
    },
    _OPEN,
    "An entrant in the standings. Tie-breaks of the format follow under their codes.",
)
Standings = _document(
    "Standings",
    "The standings.",
    {"table": (list[_Place], ...), "finished": _about(bool, "true if no game remains")},  # type: ignore[valid-type]
)
_Cross = _type(
    "CrosstableRow",
    {
        "rank": _about(int, "place in the table"),
        "name": _about(str, "name of the entrant"),
        "points": _about(float, "points; a draw is 0.5"),
        "against": _about(dict[str, str], "results by opponent: 1 is a win, = a draw, 0 a loss"),
    },
)
Crosstable = _document("Crosstable", "The head-to-head results.", {"table": (list[_Cross], ...)})  # type: ignore[valid-type]

# Games.

GameItem = _type(
    "GameItem",
    {
        **_columns(
            GameLine,
            "number white black termination cause plies load_average cores referee_us handicap white_tc black_tc",
        ),
        "result": _about(Outcome, "result as in PGN; * is a void or annulled game"),
        "busy": _about(bool, "true if the load exceeded the number of processors"),
        **_TIMES,
        "incident": _about(bool, "true if the game has an incident"),
    },
    doc="A game of a list.",
)
Games = _document(
    "Games",
    "A page of games in the order of their numbers.",
    {
        "rows": (list[GameItem], ...),  # type: ignore[valid-type]
        "next": _about(int | None, "value of `after` for the next page; null: no more games"),
    },
)
_Move = _type("Move", _parts(MoveMade), doc="One ply. The score is in centipawns from the view of the engine.")
WholeGame = _document(
    "Game",
    "A game with its moves.",
    {
        **_columns(GameLine, "number"),
        "voided": _about(bool, "true if the game was annulled later"),
        **_parts(Game, without="moves"),
        "moves": (list[_Move], ...),  # type: ignore[valid-type]
        **_TIMES,
    },
)
_Incident = _type(
    "IncidentItem",
    {
        "game": _about(int, "number of the game in the tournament"),
        "warning": _about(bool, "true if the incident did not cost a point"),
        **_parts(Incident),
    },
    doc="An incident of a game.",
)
Incidents = _document("Incidents", "All incidents, oldest first.", {"rows": (list[_Incident], ...)})  # type: ignore[valid-type]
Live = _document(
    "Live",
    "What the live page shows: the games in progress, the standings, the last games and incidents.",
    {
        "running": _about(bool, "true while games are played"),
        "progress": (dict[str, Any], ...),
        "games": _about(dict[str, dict[str, Any]], "games in progress by the number of their slot"),
        "table": (dict[str, Any], ...),
        "lines": _about(list[dict[str, Any]], "last games"),
        "incidents": (list[dict[str, Any]], ...),
    },
)

# Rating lists.

_Rated = _type("RatedEngine", _parts(ratinglist.Row, without="basis"), doc="An engine in a rating list.")
_Unrated = _type("UnratedEngine", _columns(UnratedEngine), doc="An engine without a rating, and the reason.")
_LIST_PARTS = _parts(ratinglist.RatingList, without="rows unrated anchors")
Ratings = _document(
    "Ratings",
    "A rating list.",
    {
        "list": (list[_Rated], ...),  # type: ignore[valid-type]
        "unrated": (list[_Unrated], ...),  # type: ignore[valid-type]
        **_LIST_PARTS,
        "white_advantage_sd": _about(float | None, "standard deviation of a fitted advantage; null: it was given"),
        "anchors": _about(dict[str, float], "fixed ratings by engine"),
        "confidence": _about(float, "confidence of the intervals in percent"),
    },
)
_ListItem = _type(
    "ListItem",
    {
        **_columns(ListRevision, "name revision"),
        "edition": _about(int | None, "number of the newest edition; null: not published"),
        "published": _about(datetime | None, "time of the newest edition, UTC"),
        "definition": _about(dict[str, str], "settings that differ from the defaults, as text"),
    },
)
Lists = _document("Lists", "All named rating lists.", {"rows": (list[_ListItem], ...)})  # type: ignore[valid-type]
_Revision = _type(
    "ListRevision",
    {
        **_columns(ListRevision, "revision why"),
        "made": _MADE,
        "definition": _about(dict[str, Any], "all settings of the list"),
    },
)
ListRevisions = _document(
    "ListRevisions",
    "A named rating list with all its revisions, oldest first.",
    {**_columns(ListRevision, "name"), "revisions": (list[_Revision], ...)},  # type: ignore[valid-type]
)
_HEAD = _columns(EditionHead, "revision games last_game last_imported note")
_NUMBER = {"edition": _columns(EditionHead)["number"], "made": _MADE}
_EditionItem = _type("EditionItem", {**_columns(EditionHead, "list"), **_NUMBER, **_HEAD})
Editions = _document("Editions", "Published editions, oldest first.", {"rows": (list[_EditionItem], ...)})  # type: ignore[valid-type]
_Line = _type("EditionLine", {**_columns(EditionLine), "score": _about(float, "score, from 0 to 1")})
_DETAILS = {name: part for name, part in _columns(EditionDetails).items() if name not in ("versions", "at", "unrated")}
Edition = _document(
    "Edition",
    "A published edition of a rating list.",
    {
        "name": _columns(EditionHead)["list"],
        **_NUMBER,
        **_HEAD,
        "residual": _columns(EditionHead)["residual"],
        "list": (list[_Line], ...),  # type: ignore[valid-type]
        "unrated": (list[_Unrated], ...),  # type: ignore[valid-type]
        **_DETAILS,
    },
)
