"""The types of the JSON documents, made from the rows of the database and the nouns of a game.

The HTTP interface sends these documents, and `--json` prints the same ones. A document has no key that its type lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from enginetour.model.game import Game, Incident, MoveMade, Opening, Outcome, Pairing, SideRecord
from enginetour.ratings import ratinglist
from enginetour.ratings.pentanomial import MatchStatistics
from enginetour.ratings.sequential import Sprt
from enginetour.reports.sheet import SCHEMA
from enginetour.store.definition import ListDefinition
from enginetour.store.games import GameLine
from enginetour.store.tables import (
    EditionDetails,
    EditionHead,
    EditionLine,
    GameRow,
    IncidentRow,
    ListRevision,
    TournamentEntry,
)

_Fields = dict[str, Any]
_ABOUT = {
    name: field.description
    for row in (EditionLine, EditionHead, IncidentRow, GameLine, GameRow)
    for name, field in row.model_fields.items()
}


def _columns(row: type[BaseModel], names: str = "") -> _Fields:
    """Return the columns of a row with their types and descriptions: those in `names`, or all."""
    found = row.model_fields
    return {
        name: (found[name].annotation, Field(description=found[name].description)) for name in names.split() or found
    }


def _parts(noun: type, without: str = "", **about: str) -> _Fields:
    """Return the fields of a dataclass or a named tuple with their types.

    `about` describes fields that have no column, or another meaning than the column of this name.
    """
    hints, texts = get_type_hints(noun), {**_ABOUT, **about}
    own = getattr(noun, "__dataclass_fields__", None) or noun._fields  # type: ignore[attr-defined]
    return {name: (hints[name], Field(description=texts.get(name))) for name in own if name not in without.split()}


def _about(kind: object, text: str) -> tuple[object, Any]:
    return kind, Field(description=text)


def _two(kind: Any, text: str) -> tuple[object, Any]:
    """Return the type of a list of two values, such as those of White and Black."""
    return list[kind], Field(description=text, min_length=2, max_length=2)


def _if_any(kind: Any, text: str) -> tuple[object, Any]:
    """Return the type and the field of an optional key. The key is missing if it has no value."""
    return kind, Field(default=None, description=text)


def _type(name: str, fields: _Fields, doc: str = "", base: type[BaseModel] | None = None) -> type[BaseModel]:
    own = None if base else ConfigDict(extra="forbid")
    made: type[BaseModel] = create_model(name, __config__=own, __base__=base, __doc__=doc or None, **fields)
    return made


def _document(name: str, doc: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    schema = Field(alias="schema", description="version of the form of all JSON documents")
    return _type(name, {"schema_version": (Literal[SCHEMA], schema), **fields}, doc)


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
_Test = _type(
    "SequentialTest",
    {
        "engines": _two(str, "engines of the match; results are those of the first one"),
        **_parts(
            Sprt,
            elo0="strength under H0, in the unit of the model",
            elo1="strength under H1, in the unit of the model",
            model="logistic, normalized or bayesian",
            alpha="largest probability of the verdict H1 if H0 is true",
            beta="largest probability of the verdict H0 if H1 is true",
        ),
        "by": _about(Literal["pairs", "games"], "what the test is evaluated after"),
        "llr": _about(float, "log likelihood ratio of H1 to H0"),
        "bounds": _two(float, "Wald's bounds of the ratio for H0 and H1"),
        "decides_at": _two(float, "bounds of the ratio for H0 and H1, corrected for its jumps"),
        "verdict": _about(Literal["H0", "H1"] | None, "accepted hypothesis; null: none so far"),
        "stopped_after": _about(int | None, "number of pairs or games at the verdict"),
        "estimate": _about(
            dict[str, float | None] | None,
            "elo, low and high, corrected for the early stop; null: no verdict, or for a single value: no finite value",
        ),
        "games": _about(int, "number of games"),
        "wins": _about(int | None, "number of wins"),
        "draws": _about(int | None, "number of draws"),
        "losses": _about(int | None, "number of losses"),
        "pentanomial": _about(list[int] | None, "number of game pairs with 0, 0.5, 1, 1.5 and 2 points"),
        "lone_games": _about(int, "number of games without the other game of their pair"),
        **_parts(
            MatchStatistics,
            observations="number of pairs or games that the strength is computed from",
            score="share of the possible points, from 0 to 1",
            elo="difference of strength in Elo; null: infinite",
            error="half the width of the 95 % interval; null: the interval is not symmetric",
            low="lower end of the 95 % interval in Elo; null: unlimited",
            high="upper end of the 95 % interval in Elo; null: unlimited",
            los="likelihood that the first engine is stronger, from 0 to 1",
            nelo="difference of strength in normalized Elo; null: infinite",
            nelo_error="half the width of its 95 % interval",
            by_profile="true if the interval is computed from the profile likelihood, as for few games",
        ),
    },
    "The sequential test of a match.",
)
_Group = _type(
    "StartingGroup",
    {
        "name": _about(str, "description of the group, such as its bands"),
        "points": _about(float, "points with which it starts; virtual points do not count in the table"),
        "entrants": _about(list[str], "names of its entrants"),
    },
    "Entrants that start with the same points.",
)
_FirstPair = _type(
    "FirstPair",
    {
        "white": _about(str, "entrant that has White in the first game"),
        "black": _about(str, "the other entrant"),
        "gap": _about(float | None, "rating of White minus that of Black; null: a rating is not known"),
        "expected": _about(float | None, "expected score of White, from 0 to 1; null: not known, or time odds"),
        "odds": _about(int, "time odds in bands that White gives"),
    },
    "A pair of round 1.",
)
_Starts = _type(
    "Starts",
    {
        "lines": _about(list[str], "sentences on bands, bar, floor and groups"),
        "groups": (list[_Group], ...),  # type: ignore[valid-type]
        "pairs": (list[_FirstPair], ...),  # type: ignore[valid-type]
        "byes": _about(list[str], "entrants with a bye in round 1"),
        "warnings": _about(list[str], "warnings about the starting groups"),
    },
    "Who starts where in a tournament in rounds.",
)
_QUANTILES = _about(dict[str, float], "p10, p50 and p90: the values that are exceeded in 90, 50 and 10 % of them")
_Chances = _type(
    "EntrantForecast",
    {
        "name": _about(str, "name of the entrant"),
        "wins": _about(float, "probability of the first place; engines that share it share the probability"),
        "mean_place": _about(float | None, "mean rank; null: never ranked"),
        "places": _about(dict[str, float], "probability of each rank"),
        "leaves_next": _about(
            float | None, "probability of being the next entrant that leaves; null: not in this format"
        ),
    },
    "The chances of an entrant.",
)
_FORECAST = {
    "tournament": _about(str, "title of the tournament"),
    "system": _about(str, "name of the format"),
    "games_done": _about(int, "number of finished games"),
    "concurrency": _about(int, "number of concurrent games that is assumed"),
    "simulations": _about(int, "number of simulations"),
    "remaining_games": _QUANTILES,
    "remaining_hours": _about(dict[str, float] | None, "quantiles; null: the duration of a game is unknown"),
    "entrants": (list[_Chances], ...),  # type: ignore[valid-type]
    "leaving": _about(str | None, "the word of the format for an entrant that leaves; null: no such event"),
    "verdicts": _about(dict[str, float] | None, "probability of each verdict of a test; null: no test"),
}
Forecast = _document("Forecast", "What is expected of the rest of a tournament, by simulation.", _FORECAST)
_ForecastColumn = _type(
    "ForecastColumn",
    {"header": _about(str, "header of the column"), "left": _about(bool, "true if its texts are aligned to the left")},
)
_ForecastTexts = _type(
    "ForecastTexts",
    {
        "title": _if_any(str, "title of the table"),
        "columns": _if_any(list[_ForecastColumn], "columns of the table"),  # type: ignore[valid-type]
        "rows": _if_any(list[list[str]], "rows of the table"),
        "notes": _if_any(list[str], "notes below the table"),
    },
    "A forecast as the live page shows it.",
)

_PROGRESS = {
    "tournament": _about(str, "title of the tournament"),
    "system": _columns(TournamentEntry)["system"],
    "state": _about(Literal["running", "paused", "stopping", "stopped", "finished"], "state of the tournament"),
    "games_done": _about(int, "number of games that count"),
    "remaining": _two(int, "fewest and most games that remain"),
    "open_ended": _about(bool, "true if only a test ends the tournament"),
    "round": _if_any(list[int], "current round and number of rounds; missing: a format without rounds"),
    "eta": _about(float | None, "estimated seconds to the end; null: unknown"),
    "eta_range": _about(list[float] | None, "estimated seconds for the fewest and for the most games; null: unknown"),
    "incidents": _about(int, "number of incidents that are not only warnings"),
    "endings": _about(dict[str, int], "number of games by termination"),
    "warnings": _about(list[str], "why clocks or ratings may be unreliable"),
    "stop_at": _if_any(datetime, "time after which no game starts, UTC; missing: none"),
    "starts": _if_any(_Starts, "who starts where; missing: after round 1, without rounds, or in a live document"),
    "sprt": _if_any(_Test, "the sequential test; missing: none"),
    "forecast": _if_any(_type("StatusForecast", _FORECAST), "the newest forecast, as in `forecast`; missing: none"),
    "slots": _if_any(int, "number of concurrent games; missing: the tournament does not run"),
}
_Progress = _type("Progress", _PROGRESS, "The progress of a tournament, as `status` shows it.")
Tournament = _document("Tournament", "A tournament with its progress.", {**_ENTRY, "progress": (_Progress, ...)})


class _TieBreaks(BaseModel):
    """Additional keys are codes of tie-breaks."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float]


_Place = _type(
    "StandingsRow",
    {
        "rank": _about(int | None, "rank; null: not ranked"),
        "name": _about(str, "name of the entrant"),
        "points": _about(float, "points; a draw is 0.5"),
        "games": _about(int, "number of games"),
        "unplayed": _if_any(float, "points from byes, included in `points`; missing: no entrant had a bye"),
        "odds": _if_any(int, "number of games at time odds; missing: no entrant had such a game"),
        "status": _about(str, "a word of the format: parked, withdrawn, ...; empty for none"),
    },
    "An entrant in the standings. The tie-breaks of the format are numbers under their codes.",
    _TieBreaks,
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
    "A game of a list.",
)
Games = _document(
    "Games",
    "A page of games in the order of their numbers.",
    {
        "rows": (list[GameItem], ...),  # type: ignore[valid-type]
        "next": _about(int | None, "value of `after` for the next page; null: no more games"),
    },
)
_SEARCHED = {
    "elapsed_ms": "time that the move took, in milliseconds",
    "score": "evaluation in centipawns from the view of the engine; a mate in n moves is 32000 - n",
    "depth": "depth of the search",
    "nodes": "number of nodes of the search",
    "pv": "principal variation, as the engine sent it",
}
_Move = _type(
    "Move",
    _parts(
        MoveMade,
        uci="the move in UCI notation",
        san="the move in SAN",
        clock_ms="time that remains after the move, in milliseconds; null: no clock",
        book="true for a move of the opening",
        seldepth="selective depth",
        nps="nodes per second, as the engine reported it",
        hashfull="used part of the hash table in permille",
        tbhits="number of tablebase hits",
        gap_us="time from the opponent's move to the `go` command, in microseconds",
        lines="lines of the engine that `keep_lines` selects",
        **_SEARCHED,
    ),
    "One ply.",
)
_Pairing = _type("Pairing", _parts(Pairing), "What was to be played.")
_Opening = _type(
    "Opening",
    _parts(
        Opening,
        name="name of the opening",
        index="place in the opening book, from 1; 0: not from a book",
        fen="first position; null: the initial position",
        moves="moves of the opening in UCI notation",
        eco="ECO code; empty: unknown",
        variant="variant of the game",
    ),
    "The start of a game: a position and moves from it.",
)
_Side = _type(
    "SideRecord",
    _parts(
        SideRecord,
        own_name="name that the engine itself reports",
        moves="number of moves that the engine made",
        think_ms="time of all moves",
        longest_ms="time of its longest move",
        least_clock_ms="least time on its clock; null: no clock",
        margin_uses="number of moves that used the time margin",
        warnings="what the engine did wrong without losing the game",
        cpu_ms="processor time of its processes; null: unknown",
        ponders="number of ponder searches; null: it did not ponder",
        ponder_hits="number of ponder searches with the right move",
        speed="speed of the machine by which times were divided; null: they were not divided",
        effort="[figure, number of moves that reported it, sum] for depth, nodes and others",
        claims="[kind, number, first example] of reported lines or mates that proved wrong",
        waited_ms="longest wait of one of its threads for a processor; null: unknown",
    ),
    "Statistics of one engine in one game. Times are in milliseconds.",
)
_FAULT = _parts(Incident, **{name: str(field.description) for name, field in IncidentRow.model_fields.items()})
_Fault = _type("Incident", _FAULT, "An event that a tester should see.")
WholeGame = _document(
    "Game",
    "A game with its moves.",
    {
        **_columns(GameLine, "number"),
        "voided": _about(bool, "true if the game was annulled later"),
        "pairing": (_Pairing, ...),
        **_parts(Game, without="moves pairing opening white black incidents", traffic="the whole engine log, if kept"),
        "opening": (_Opening, ...),
        "white": (_Side, ...),
        "black": (_Side, ...),
        "moves": (list[_Move], ...),  # type: ignore[valid-type]
        "incidents": (list[_Fault], ...),  # type: ignore[valid-type]
        **_TIMES,
    },
)
_Incident = _type(
    "IncidentItem",
    {
        "game": _about(int, "number of the game in the tournament"),
        "warning": _about(bool, "true if the incident did not cost a point"),
        **_FAULT,
    },
    "An incident of a game.",
)
Incidents = _document("Incidents", "All incidents, oldest first.", {"rows": (list[_Incident], ...)})  # type: ignore[valid-type]

# Games in progress.

_ROUND = {
    "white": _about(str, "entrant that plays White"),
    "black": _about(str, "entrant that plays Black"),
    "tc": _two(str, "search limits of White and Black"),
    "clocks": _two(int | None, "clocks of White and Black after the last move, in milliseconds; null: no clock"),
    "opening": _about(str, "name of the opening"),
    "at": _about(float, "time of the last event of the game, in seconds since 1970 UTC"),
}
_Playing = _type(
    "GameInProgress",
    {
        "slot": _about(int, "number of the process that plays the game, from 0"),
        **_ROUND,
        **{name: (kind, about) for name, (kind, about) in _columns(GameLine, "round encounter leg handicap").items()},
        "engines": _two(str, "names that the engines report"),
        "hardware": _about(str, "processor of the machine"),
        "opening_number": _about(int, "place of the opening in the opening book, from 1; 0: not from a book"),
        "eco": _about(str, "ECO code of the opening; empty if the book does not contain it"),
        "variant": _about(str, "variant of the game"),
        "fen": _about(str | None, "first position; null: the initial position"),
        "moves": _about(list[str], "moves in UCI notation, including those of the opening"),
        "ply": _if_any(int, "number of the last ply; this key and the next ones are missing before the first move"),
        "uci": _if_any(str, "the last move in UCI notation"),
        "san": _if_any(str, "the last move in SAN"),
        **{name: _if_any(int | None, text) for name, text in _SEARCHED.items()},
        "pv": _if_any(str, _SEARCHED["pv"]),
        "clock_ms": _if_any(int | None, "clock of the engine that moved, in milliseconds"),
    },
    "A game in progress in the answer to `status`.",
)
Status = _document(
    "Status",
    "What `enginetour status` prints.",
    {**_PROGRESS, "playing": (list[_Playing], ...)},  # type: ignore[valid-type]
)
_Search = _type(
    "Search",
    {
        "score": _about(str, "evaluation in pawns from White's side, such as +0.35 or -M5; empty: not reported"),
        "depth": _about(int | None, _SEARCHED["depth"]),
        "nodes": _about(int | None, _SEARCHED["nodes"]),
        "ms": _about(int | None, _SEARCHED["elapsed_ms"]),
        "pv": _about(str, "principal variation in SAN as far as it is legal; empty: none"),
    },
    "The last search of an engine.",
)
_Board = _type(
    "Board",
    {
        **_ROUND,
        "variant": _about(str, "variant of the game; empty: standard chess"),
        "begun": _about(float, "time of the start, in seconds since 1970 UTC"),
        "ply": _about(int, "number of plies, including the opening"),
        "placement": _about(str, "first field of the FEN of the position"),
        "turn": _about(Literal["white", "black"], "side to move"),
        "first": _about(Literal["white", "black"], "side that made the first move"),
        "last": _about(list[str], "squares of the last move: from and to, or only to for a drop"),
        "moves": _about(str, "the last 16 plies in SAN with their numbers"),
        "extra": _about(list[str], "pieces in hand or checks left of White and Black, in variants that have them"),
        "since": _about(float, "seconds since the last move"),
        "over": _about(bool, "true if the game has ended"),
        "incomplete": _about(bool, "true if moves are missing, so that the board does not change any more"),
        "searches": _two(_Search | None, "last searches of White and Black"),
        "graph": _about(list[int | None], "evaluations in centipawns from White's side, one for each ply"),
    },
    "A game in progress as the live page shows it.",
)
_LiveRow = _type(
    "LiveRow",
    {
        "rank": _about(int | None, "rank; null: not ranked"),
        "name": _about(str, "name of the entrant"),
        "slug": _about(str | None, "name of its page in the report, without .html"),
        "points": _about(str, "points as text, with those from byes"),
        "games": _about(int, "number of games"),
        "elo": _about(int | None, "rating; null: not rated"),
        "plus": _about(int | None, "upper half of the 95 % confidence interval"),
        "minus": _about(int | None, "lower half of the 95 % confidence interval"),
        "status": _about(str, "a word of the format: parked, withdrawn, ...; empty for none"),
        "incidents": _about(int, "number of incidents"),
    },
    "A row of the live table.",
)
_Decision = _type(
    "Decision",
    {"step": _about(int, "number of the round robin"), "text": _about(str, "the decision")},
    "A decision of the bubble.",
)
_LiveTable = _type(
    "LiveTable",
    {
        "rows": (list[_LiveRow], ...),  # type: ignore[valid-type]
        "more": _about(int, "number of entrants that are not shown"),
        "decisions": _about(list[_Decision] | None, "last decisions of a bubble; null: another format"),  # type: ignore[valid-type]
    },
    "The standings with ratings.",
)
_LiveLine = _type(
    "LiveLine",
    {
        **_columns(GameLine, "number white black cause plies"),
        "result": _about(Outcome, "result as in PGN; * is a void or annulled game"),
        "seconds": _about(float, "duration in seconds"),
        "decisions": _about(
            list[str], "decisions of the format that the game caused; empty for games before the start"
        ),
    },
    "A game that has ended.",
)
_Notice = _type(
    "Notice",
    {
        "kind": _about(str, "incident, warning, or the name of an event of the event log"),
        "game": _about(int | None, "number of the game; null: not about a game"),
        "after": _about(int | None, "number of the game before it; null: about a game"),
        "engine": _about(str, "engine at fault; empty: none"),
        "text": _about(str, "what happened"),
    },
    "An incident, a warning or another event for the user.",
)
Live = _document(
    "Live",
    "What the live page shows: the games in progress, the standings, the last games and incidents.",
    {
        "running": _about(bool, "true while games are played"),
        "progress": (_Progress, ...),
        "forecast": _about(_ForecastTexts, "the newest forecast as texts; empty: there is none"),
        "games": _about(dict[str, _Board], "games in progress by the number of their slot"),  # type: ignore[valid-type]
        "table": (_LiveTable, ...),
        "lines": _about(list[_LiveLine], "the last games, oldest first"),  # type: ignore[valid-type]
        "incidents": _about(list[_Notice], "the last incidents and notices, oldest first"),  # type: ignore[valid-type]
    },
)

# Rating lists.

_Rated = _type(
    "RatedEngine",
    _parts(
        ratinglist.Row,
        "basis",
        score="score, from 0 to 1",
        error="half the width of the confidence interval; null: none",
        opponents_error="mean error of the opponents; null: an opponent does not have an error",
        opponent_count="number of opponents",
        diversity="number of equally frequent opponents with the same entropy",
    ),
    "An engine in a rating list.",
)
_Unrated = _type(
    "UnratedEngine",
    {"name": _about(str, "name of the engine"), "why": _about(str, "why it is not rated")},
    "An engine without a rating, and the reason.",
)
_MODEL = {
    "model": "likelihood model, or rating system of the list",
    "white_advantage": "advantage of White in rating points",
    "draw_parameter": "parameter of the draw model; null: a model without draws",
    "point": "displayed points for one point of the model",
    "draw_rate": "share of drawn games, from 0 to 1; null: unknown",
    "pools": "names of the engines of each rating pool",
    "anchors": "fixed ratings by engine",
    "level": "what fixes the level of the ratings",
    "skipped": "number of games that do not count",
    "caption": "notes below the list",
}
_LIST_PARTS = _parts(ratinglist.RatingList, "rows unrated anchors", games="number of games that count", **_MODEL)
Ratings = _document(
    "Ratings",
    "A rating list.",
    {
        "list": (list[_Rated], ...),  # type: ignore[valid-type]
        "unrated": (list[_Unrated], ...),  # type: ignore[valid-type]
        **_LIST_PARTS,
        "white_advantage_sd": _about(float | None, "standard deviation of a fitted advantage; null: it was given"),
        "anchors": _about(dict[str, float], _MODEL["anchors"]),
        "confidence": _about(float, "confidence of the intervals in percent"),
    },
)
_ELO = "in Elo, as half-widths of 95 % intervals relative to the average of all engines"
_Encounter = _type(
    "NextEncounter",
    {
        "engine": _about(str, "the stronger engine"),
        "opponent": _about(str, "the other engine"),
        "games": _about(int, "number of games"),
        "hours": _about(float | None, "expected duration of its games; null: durations of games are not known"),
        "why": _about(str, "reason for the choice"),
        "pools": _about(list[int] | None, "numbers of the two rating pools that it connects; null: none"),
        "gap": _about(float, "rating of the engine minus that of the opponent, in Elo"),
        "errors": _about(list[float], f"errors of both engines before it, {_ELO}"),
        "errors_after": _about(list[float], f"expected errors of both engines after it and the earlier ones, {_ELO}"),
        "mean_error_after": _about(float, f"expected mean error of the list after it and the earlier ones, {_ELO}"),
    },
    doc="An encounter that reduces the errors of a list.",
)
Next = _document(
    "Next",
    "The encounters that reduce the errors of a rating list most per hour, the first one first.",
    {
        "list": _about(str, "title of the list"),
        "encounters": (list[_Encounter], ...),  # type: ignore[valid-type]
        "engines": _about(int, "number of engines in the list"),
        "pools": _about(list[list[str]], "names of the engines of each rating pool, largest pool first"),
        "mean_error": _about(float, f"mean error of the list now, {_ELO}"),
        "mean_error_after": _about(float, f"expected mean error after all encounters, {_ELO}"),
        "games": _about(int, "number of games of all encounters"),
        "hours": _about(float | None, "expected duration of all games, one at a time; null: durations are not known"),
        "control": _about(str | None, "time control of the durations; null: the list has only imported games"),
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
        "definition": _about(ListDefinition, "all settings of the list"),
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
_DETAILS = {name: _about(EditionDetails.model_fields[name].annotation, text) for name, text in _MODEL.items()}
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
