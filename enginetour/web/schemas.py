"""The types of the JSON documents, made from the rows of the database and the nouns of a game.

The HTTP interface sends these documents, and `--json` prints the same ones. A document has no key that its type lacks.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from enginetour.model.game import Game, Incident, MoveMade, Opening, Outcome, Pairing, SideRecord
from enginetour.ratings import ratinglist
from enginetour.ratings.pentanomial import MatchStatistics
from enginetour.ratings.sequential import Sprt
from enginetour.reports.documenttypes import about, columns, document, if_any, list_of, make_type, parts, two
from enginetour.store.definition import ListDefinition
from enginetour.store.games import GameLine
from enginetour.store.tables import EditionDetails, EditionHead, EditionLine, IncidentRow, ListRevision, TournamentEntry

_TIMES = {
    "started": about(datetime, "time of the start, UTC"),
    "ended": about(datetime, "time of the end, UTC"),
}
_MADE = about(datetime, "time at which it was written, UTC")

Error = document("Error", "Why a request has no result.", error=about(str, "what is wrong"))

# Tournaments.

_ENTRY = {
    **columns(TournamentEntry, "slug name edition system"),
    "title": about(str, "name, with the number of the edition from the second edition on"),
    "created": about(datetime, "time at which it was created, UTC"),
    "running": about(bool, "true while games are played"),
}
TournamentItem = make_type(
    "TournamentItem",
    **_ENTRY,
    entrants=about(int, "number of entrants at the start"),
    games=about(int, "number of games that count"),
    last=about(datetime | None, "time of the last event, UTC; null: no event"),
)
Tournaments = document("Tournaments", "All tournaments, oldest first.", rows=list_of(TournamentItem, "the tournaments"))
SequentialTest = make_type(
    "SequentialTest",
    "The sequential test of a match.",
    engines=two(str, "engines of the match; results are those of the first one"),
    **parts(
        Sprt,
        elo0="strength under H0, in the unit of the model",
        elo1="strength under H1, in the unit of the model",
        model="logistic, normalized or bayesian",
        alpha="largest probability of the verdict H1 if H0 is true",
        beta="largest probability of the verdict H0 if H1 is true",
    ),
    by=about(Literal["pairs", "games"], "what the test is evaluated after"),
    llr=about(float, "log likelihood ratio of H1 to H0"),
    bounds=two(float, "Wald's bounds of the ratio for H0 and H1"),
    decides_at=two(float, "bounds of the ratio for H0 and H1, corrected for its jumps"),
    verdict=about(Literal["H0", "H1"] | None, "accepted hypothesis; null: none so far"),
    stopped_after=about(int | None, "number of pairs or games at the verdict"),
    estimate=about(
        dict[str, float | None] | None,
        "elo, low and high, corrected for the early stop; null: no verdict, or for a single value: no finite value",
    ),
    games=about(int, "number of games"),
    wins=about(int | None, "number of wins"),
    draws=about(int | None, "number of draws"),
    losses=about(int | None, "number of losses"),
    pentanomial=about(list[int] | None, "number of game pairs with 0, 0.5, 1, 1.5 and 2 points"),
    lone_games=about(int, "number of games without the other game of their pair"),
    **parts(
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
)
_Group = make_type(
    "StartingGroup",
    "Entrants that start with the same points.",
    name=about(str, "description of the group, such as its bands"),
    points=about(float, "points with which it starts; virtual points do not count in the table"),
    entrants=about(list[str], "names of its entrants"),
)
_FirstPair = make_type(
    "FirstPair",
    "A pair of round 1.",
    white=about(str, "entrant that has White in the first game"),
    black=about(str, "the other entrant"),
    gap=about(float | None, "rating of White minus that of Black; null: a rating is not known"),
    expected=about(float | None, "expected score of White, from 0 to 1; null: not known, or time odds"),
    odds=about(int, "time odds in bands that White gives"),
)
Starts = make_type(
    "Starts",
    "Who starts where in a tournament in rounds.",
    lines=about(list[str], "sentences on bands, bar, floor and groups"),
    groups=list_of(_Group, "groups of entrants that start with the same points"),
    pairs=list_of(_FirstPair, "pairs of round 1"),
    byes=about(list[str], "entrants with a bye in round 1"),
    warnings=about(list[str], "warnings about the starting groups"),
)
_QUANTILES = about(dict[str, float], "p10, p50 and p90: the values that are exceeded in 90, 50 and 10 % of them")
_Chances = make_type(
    "EntrantForecast",
    "The chances of an entrant.",
    name=about(str, "name of the entrant"),
    wins=about(float, "probability of the first place; engines that share it share the probability"),
    mean_place=about(float | None, "mean rank; null: never ranked"),
    places=about(dict[str, float], "probability of each rank"),
    leaves_next=about(float | None, "probability of being the next entrant that leaves; null: not in this format"),
)
_FORECAST = {
    "tournament": about(str, "title of the tournament"),
    "system": about(str, "name of the format"),
    "games_done": about(int, "number of finished games"),
    "concurrency": about(int, "number of concurrent games that is assumed"),
    "simulations": about(int, "number of simulations"),
    "remaining_games": _QUANTILES,
    "remaining_hours": about(dict[str, float] | None, "quantiles; null: the duration of a game is unknown"),
    "entrants": list_of(_Chances, "the chances of each entrant"),
    "leaving": about(str | None, "the word of the format for an entrant that leaves; null: no such event"),
    "verdicts": about(dict[str, float] | None, "probability of each verdict of a test; null: no test"),
}
Forecast = document("Forecast", "What is expected of the rest of a tournament, by simulation.", **_FORECAST)
_ForecastColumn = make_type(
    "ForecastColumn",
    header=about(str, "header of the column"),
    left=about(bool, "true if its texts are aligned to the left"),
)
_ForecastTexts = make_type(
    "ForecastTexts",
    "A forecast as the live page shows it.",
    title=if_any(str, "title of the table"),
    columns=if_any(list[_ForecastColumn], "columns of the table"),  # type: ignore[valid-type]
    rows=if_any(list[list[str]], "rows of the table"),
    notes=if_any(list[str], "notes below the table"),
)

_Withdrawal = make_type(
    "Withdrawal",
    "A withdrawal of an entrant.",
    name=about(str, "entrant that was withdrawn or replaced"),
    why=about(str, "the reason; empty: none was given"),
    replacement=about(str, "entrant that took its place; empty: none"),
)
_PROGRESS = {
    "tournament": about(str, "title of the tournament"),
    "system": columns(TournamentEntry)["system"],
    "state": about(Literal["running", "paused", "stopping", "stopped", "finished"], "state of the tournament"),
    "games_done": about(int, "number of games that count"),
    "remaining": two(int, "fewest and most games that remain"),
    "open_ended": about(bool, "true if only a test ends the tournament"),
    "round": if_any(list[int], "current round and number of rounds; missing: a format without rounds"),
    "eta": about(float | None, "estimated seconds to the end; null: unknown"),
    "eta_range": about(list[float] | None, "estimated seconds for the fewest and for the most games; null: unknown"),
    "incidents": about(int, "number of incidents that are not only warnings"),
    "endings": about(dict[str, int], "number of games by termination"),
    "withdrawals": if_any(list[_Withdrawal], "withdrawals, oldest first; missing: none"),  # type: ignore[valid-type]
    "warnings": about(list[str], "why clocks or ratings may be unreliable"),
    "stop_at": if_any(datetime, "time after which no game starts, UTC; missing: none"),
    "starts": if_any(Starts, "who starts where; missing: after round 1, without rounds, or in a live document"),
    "sprt": if_any(SequentialTest, "the sequential test; missing: none"),
    "forecast": if_any(
        make_type("StatusForecast", **_FORECAST), "the newest forecast, as in `forecast`; missing: none"
    ),
    "slots": if_any(int, "number of concurrent games; missing: the tournament does not run"),
}
_Progress = make_type("Progress", "The progress of a tournament, as `status` shows it.", **_PROGRESS)
Tournament = document(
    "Tournament", "A tournament with its progress.", **_ENTRY, progress=about(_Progress, "progress of the tournament")
)


class _TieBreaks(BaseModel):
    """Additional keys are codes of tie-breaks."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float]


_Place = make_type(
    "StandingsRow",
    "An entrant in the standings. The tie-breaks of the format are numbers under their codes.",
    _TieBreaks,
    rank=about(int | None, "rank; null: not ranked"),
    name=about(str, "name of the entrant"),
    points=about(float, "points; a draw is 0.5"),
    games=about(int, "number of games"),
    unplayed=if_any(float, "points from byes, included in `points`; missing: no entrant had a bye"),
    odds=if_any(int, "number of games at time odds; missing: no entrant had such a game"),
    status=about(str, "a word of the format: parked, withdrawn, ...; empty for none"),
)
Standings = document(
    "Standings",
    "The standings.",
    table=list_of(_Place, "entrants, best first"),
    finished=about(bool, "true if no game remains"),
    withdrawals=if_any(list[_Withdrawal], "withdrawals, oldest first; missing: none"),  # type: ignore[valid-type]
)
CrosstableRow = make_type(
    "CrosstableRow",
    rank=about(int, "place in the table"),
    name=about(str, "name of the entrant"),
    points=about(float, "points; a draw is 0.5"),
    against=about(dict[str, str], "results by opponent: 1 is a win, = a draw, 0 a loss"),
)
Crosstable = document("Crosstable", "The head-to-head results.", table=list_of(CrosstableRow, "entrants, best first"))

# Games.

GameItem = make_type(
    "GameItem",
    "A game of a list.",
    **columns(
        GameLine,
        "number white black termination cause plies load_average cores referee_us handicap white_tc black_tc",
    ),
    result=about(Outcome, "result as in PGN; * is a void or annulled game"),
    busy=about(bool, "true if the load exceeded the number of processors"),
    **_TIMES,
    incident=about(bool, "true if the game has an incident"),
)
Games = document(
    "Games",
    "A page of games in the order of their numbers.",
    rows=list_of(GameItem, "the games"),
    next=about(int | None, "value of `after` for the next page; null: no more games"),
)
_SEARCHED = {
    "elapsed_ms": "time that the move took, in milliseconds",
    "score": "evaluation in centipawns from the view of the engine; a mate in n moves is 32000 - n",
    "depth": "depth of the search",
    "nodes": "number of nodes of the search",
    "pv": "principal variation, as the engine sent it",
}
_Move = make_type(
    "Move",
    "One ply.",
    **parts(
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
)
_Pairing = make_type("Pairing", "What was to be played.", **parts(Pairing))
_Opening = make_type(
    "Opening",
    "The start of a game: a position and moves from it.",
    **parts(
        Opening,
        name="name of the opening",
        index="place in the opening book, from 1; 0: not from a book",
        fen="first position; null: the initial position",
        moves="moves of the opening in UCI notation",
        eco="ECO code; empty: unknown",
        variant="variant of the game",
    ),
)
_Side = make_type(
    "SideRecord",
    "Statistics of one engine in one game. Times are in milliseconds.",
    **parts(
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
)
_FAULT = parts(Incident, **{name: str(field.description) for name, field in IncidentRow.model_fields.items()})
_Fault = make_type("Incident", "An event that a tester should see.", **_FAULT)
WholeGame = document(
    "Game",
    "A game with its moves.",
    **columns(GameLine, "number"),
    voided=about(bool, "true if the game was annulled later"),
    pairing=about(_Pairing, "what was to be played"),
    **parts(Game, without="moves pairing opening white black incidents", traffic="the whole engine log, if kept"),
    opening=about(_Opening, "the start of the game"),
    white=about(_Side, "statistics of White"),
    black=about(_Side, "statistics of Black"),
    moves=list_of(_Move, "the plies of the game"),
    incidents=list_of(_Fault, "events that a tester should see"),
    **_TIMES,
)
_Incident = make_type(
    "IncidentItem",
    "An incident of a game.",
    game=about(int, "number of the game in the tournament"),
    warning=about(bool, "true if the incident did not cost a point"),
    **_FAULT,
)
Incidents = document("Incidents", "All incidents, oldest first.", rows=list_of(_Incident, "the incidents"))

# Games in progress.

_ROUND = {
    "white": about(str, "entrant that plays White"),
    "black": about(str, "entrant that plays Black"),
    "tc": two(str, "search limits of White and Black"),
    "clocks": two(int | None, "clocks of White and Black after the last move, in milliseconds; null: no clock"),
    "opening": about(str, "name of the opening"),
    "at": about(float, "time of the last event of the game, in seconds since 1970 UTC"),
}
_Playing = make_type(
    "GameInProgress",
    "A game in progress in the answer to `status`.",
    slot=about(int, "number of the process that plays the game, from 0"),
    **_ROUND,
    **columns(GameLine, "round encounter leg handicap"),
    engines=two(str, "names that the engines report"),
    hardware=about(str, "processor of the machine"),
    opening_number=about(int, "place of the opening in the opening book, from 1; 0: not from a book"),
    eco=about(str, "ECO code of the opening; empty if the book does not contain it"),
    variant=about(str, "variant of the game"),
    fen=about(str | None, "first position; null: the initial position"),
    moves=about(list[str], "moves in UCI notation, including those of the opening"),
    ply=if_any(int, "number of the last ply; this key and the next ones are missing before the first move"),
    uci=if_any(str, "the last move in UCI notation"),
    san=if_any(str, "the last move in SAN"),
    **{name: if_any(str if name == "pv" else int | None, text) for name, text in _SEARCHED.items()},
    clock_ms=if_any(int | None, "clock of the engine that moved, in milliseconds"),
)
Status = document(
    "Status",
    "What `enginetour status` prints.",
    **_PROGRESS,
    playing=list_of(_Playing, "games in progress"),
    also_running=if_any(list[str], "other running tournaments of the same season of a league; missing: none"),
)
_Search = make_type(
    "Search",
    "The last search of an engine.",
    score=about(str, "evaluation in pawns from White's side, such as +0.35 or -M5; empty: not reported"),
    depth=about(int | None, _SEARCHED["depth"]),
    nodes=about(int | None, _SEARCHED["nodes"]),
    ms=about(int | None, _SEARCHED["elapsed_ms"]),
    pv=about(str, "principal variation in SAN as far as it is legal; empty: none"),
)
_Board = make_type(
    "Board",
    "A game in progress as the live page shows it.",
    **_ROUND,
    variant=about(str, "variant of the game; empty: standard chess"),
    begun=about(float, "time of the start, in seconds since 1970 UTC"),
    ply=about(int, "number of plies, including the opening"),
    placement=about(str, "first field of the FEN of the position"),
    turn=about(Literal["white", "black"], "side to move"),
    first=about(Literal["white", "black"], "side that made the first move"),
    last=about(list[str], "squares of the last move: from and to, or only to for a drop"),
    moves=about(str, "the last 16 plies in SAN with their numbers"),
    extra=about(list[str], "pieces in hand or checks left of White and Black, in variants that have them"),
    since=about(float, "seconds since the last move"),
    over=about(bool, "true if the game has ended"),
    incomplete=about(bool, "true if moves are missing, so that the board does not change any more"),
    searches=two(_Search | None, "last searches of White and Black"),
    graph=about(list[int | None], "evaluations in centipawns from White's side, one for each ply"),
)
_LiveRow = make_type(
    "LiveRow",
    "A row of the live table.",
    rank=about(int | None, "rank; null: not ranked"),
    name=about(str, "name of the entrant"),
    slug=about(str | None, "name of its page in the report, without .html"),
    points=about(str, "points as text, with those from byes"),
    games=about(int, "number of games"),
    elo=about(int | None, "rating; null: not rated"),
    plus=about(int | None, "upper half of the 95 % confidence interval"),
    minus=about(int | None, "lower half of the 95 % confidence interval"),
    status=about(str, "a word of the format: parked, withdrawn, ...; empty for none"),
    incidents=about(int, "number of incidents"),
)
_Decision = make_type(
    "Decision",
    "A decision of the bubble.",
    step=about(int, "number of the round robin"),
    text=about(str, "the decision"),
)
_LiveTable = make_type(
    "LiveTable",
    "The standings with ratings.",
    rows=list_of(_LiveRow, "first rows of the table"),
    more=about(int, "number of entrants that are not shown"),
    decisions=about(list[_Decision] | None, "last decisions of a bubble; null: another format"),  # type: ignore[valid-type]
)
_LiveLine = make_type(
    "LiveLine",
    "A game that has ended.",
    **columns(GameLine, "number white black cause plies"),
    result=about(Outcome, "result as in PGN; * is a void or annulled game"),
    seconds=about(float, "duration in seconds"),
    decisions=about(list[str], "decisions of the format that the game caused; empty for games before the start"),
)
_Notice = make_type(
    "Notice",
    "An incident, a warning or another event for the user.",
    kind=about(str, "incident, warning, or the name of an event of the event log"),
    game=about(int | None, "number of the game; null: not about a game"),
    after=about(int | None, "number of the game before it; null: about a game"),
    engine=about(str, "engine at fault; empty: none"),
    text=about(str, "what happened"),
)
Live = document(
    "Live",
    "What the live page shows: the games in progress, the standings, the last games and incidents.",
    running=about(bool, "true while games are played"),
    progress=about(_Progress, "progress of the tournament"),
    forecast=about(_ForecastTexts, "the newest forecast as texts; empty: there is none"),
    games=about(dict[str, _Board], "games in progress by the number of their slot"),  # type: ignore[valid-type]
    table=about(_LiveTable, "the standings with ratings"),
    lines=list_of(_LiveLine, "the last games, oldest first"),
    incidents=list_of(_Notice, "the last incidents and notices, oldest first"),
)

# Rating lists.

Rated = make_type(
    "RatedEngine",
    "An engine in a rating list.",
    **parts(
        ratinglist.Row,
        "basis",
        score="score, from 0 to 1",
        error="half the width of the confidence interval; null: none",
        opponents_error="mean error of the opponents; null: an opponent does not have an error",
        opponent_count="number of opponents",
        diversity="number of equally frequent opponents with the same entropy",
    ),
)
Unrated = make_type(
    "UnratedEngine",
    "An engine without a rating, and the reason.",
    name=about(str, "name of the engine"),
    why=about(str, "why it is not rated"),
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
_LIST_PARTS = parts(
    ratinglist.RatingList, "rows unrated anchors advantage_origin", games="number of games that count", **_MODEL
)
Ratings = document(
    "Ratings",
    "A rating list.",
    list=list_of(Rated, "rated engines, strongest first"),
    unrated=list_of(Unrated, "engines without a rating"),
    **_LIST_PARTS,
    white_advantage_sd=about(float | None, "standard deviation of a fitted advantage; null: it is not fitted"),
    anchors=about(dict[str, float], _MODEL["anchors"]),
    confidence=about(float, "confidence of the intervals in percent"),
)
_ELO = "in Elo, as half-widths of 95 % intervals relative to the average of all engines"
_Encounter = make_type(
    "NextEncounter",
    "An encounter that reduces the errors of a list.",
    engine=about(str, "the stronger engine"),
    opponent=about(str, "the other engine"),
    games=about(int, "number of games"),
    hours=about(float | None, "expected duration of its games; null: durations of games are not known"),
    why=about(str, "reason for the choice"),
    pools=about(list[int] | None, "numbers of the two rating pools that it connects; null: none"),
    gap=about(float, "rating of the engine minus that of the opponent, in Elo"),
    errors=about(list[float], f"errors of both engines before it, {_ELO}"),
    errors_after=about(list[float], f"expected errors of both engines after it and the earlier ones, {_ELO}"),
    mean_error_after=about(float, f"expected mean error of the list after it and the earlier ones, {_ELO}"),
)
Next = document(
    "Next",
    "The encounters that reduce the errors of a rating list most per hour, the first one first.",
    list=about(str, "title of the list"),
    encounters=list_of(_Encounter, "the encounters, the first one first"),
    engines=about(int, "number of engines in the list"),
    pools=about(list[list[str]], "names of the engines of each rating pool, largest pool first"),
    mean_error=about(float, f"mean error of the list now, {_ELO}"),
    mean_error_after=about(float, f"expected mean error after all encounters, {_ELO}"),
    games=about(int, "number of games of all encounters"),
    hours=about(float | None, "expected duration of all games, one at a time; null: durations are not known"),
    control=about(str | None, "time control of the durations; null: the list has only imported games"),
)
_ListItem = make_type(
    "ListItem",
    **columns(ListRevision, "name revision"),
    edition=about(int | None, "number of the newest edition; null: not published"),
    published=about(datetime | None, "time of the newest edition, UTC"),
    definition=about(dict[str, str], "settings that differ from the defaults, as text"),
)
Lists = document("Lists", "All named rating lists.", rows=list_of(_ListItem, "the lists"))
_Revision = make_type(
    "ListRevision",
    **columns(ListRevision, "revision why"),
    made=_MADE,
    definition=about(ListDefinition, "all settings of the list"),
)
ListRevisions = document(
    "ListRevisions",
    "A named rating list with all its revisions, oldest first.",
    **columns(ListRevision, "name"),
    revisions=list_of(_Revision, "revisions, oldest first"),
)
_HEAD = columns(EditionHead, "revision games last_game last_imported note")
_NUMBER = {"edition": columns(EditionHead)["number"], "made": _MADE}
EditionItem = make_type("EditionItem", **columns(EditionHead, "list"), **_NUMBER, **_HEAD)
Editions = document("Editions", "Published editions, oldest first.", rows=list_of(EditionItem, "the editions"))
_Line = make_type("EditionLine", **columns(EditionLine), score=about(float, "score, from 0 to 1"))
_DETAILS = {name: about(EditionDetails.model_fields[name].annotation, text) for name, text in _MODEL.items()}
Edition = document(
    "Edition",
    "A published edition of a rating list.",
    name=columns(EditionHead)["list"],
    **_NUMBER,
    **_HEAD,
    residual=columns(EditionHead)["residual"],
    list=list_of(_Line, "rated engines, strongest first"),
    unrated=list_of(Unrated, "engines without a rating"),
    **_DETAILS,
)
