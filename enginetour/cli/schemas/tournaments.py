"""The types of the JSON documents about a tournament: its games, tables and history, and requests to its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel

from enginetour.model.task import ReenactResult
from enginetour.reports.documenttypes import about, columns, document, if_any, list_of, make_type, parts
from enginetour.store.tables import EditionLine
from enginetour.web import schemas as shared

# Tournaments.

_Averages = make_type(
    "EngineAverages",
    "Averages of an engine over its games. Depth, nodes and others are means of the moves that reported them.",
    name=about(str, "name of the engine"),
    games=about(int, "number of games"),
    moves=about(int, "number of moves without those of the opening"),
    depth=about(float | None, "mean depth; null: not reported"),
    seldepth=about(float | None, "mean selective depth; null: not reported"),
    nodes=about(float | None, "mean number of nodes of a move; null: not reported"),
    hashfull=about(float | None, "mean used part of the hash table in permille; null: not reported"),
    tbhits=about(float | None, "mean number of tablebase hits of a move; null: not reported"),
    nps=about(float | None, "nodes per second; null: not reported"),
    ms=about(float | None, "mean time of a move, in milliseconds; null: no move"),
    longest_ms=about(int, "time of its longest move, in milliseconds"),
    margin_uses=about(int, "number of moves that used the time margin"),
    ponder_hits=about(float | None, "share of ponder searches with the right move; null: it did not ponder"),
    warnings=about(int, "number of warnings"),
    claims=about(int, "number of reported lines and mates that proved wrong"),
    claims_by_kind=about(dict[str, int], "number of them by kind"),
)
_RoundFigures = make_type(
    "RoundFigures",
    "How a round was paired.",
    round=about(int | None, "number of the round; null: all rounds"),
    boards=about(int, "number of boards"),
    floats=about(int, "number of boards with different scores"),
    widest=about(float, "largest difference of scores on a board"),
    rematches=about(int, "number of boards of entrants that met before"),
    uneven=about(int, "number of entrants with 2 or more games more with one color"),
    without=about(int, "number of byes of all kinds"),
    e_total=about(float, "pairing error of Vuorinen 2010, 7.1, in Elo"),
    rms_gap=about(float | None, "root mean square of the rating differences, in Elo; null: no games"),
    guarantee=about(str | None, "what is proved about the round; null: all rounds"),
)
_Matchup = make_type(
    "Matchup",
    "Two opponents.",
    engine=about(str, "the engine"),
    opponent=about(str, "its opponent"),
    **columns(EditionLine, "games wins draws losses"),
    score=columns(shared.Rated)["score"],
    pentanomial=about(list[int] | None, "number of game pairs with 0, 0.5, 1, 1.5 and 2 points; null: no pairs"),
)
_Ending = make_type(
    "EndingCount",
    "The games of an engine with one ending.",
    name=about(str, "name of the engine"),
    termination=columns(shared.GameItem)["termination"],
    won=about(int, "number of games that the engine won"),
    drawn=about(int, "number of drawn games"),
    lost=about(int, "number of games that the engine lost"),
    void=about(int, "number of void games"),
)
_Replay = make_type(
    "Replay",
    "A replay of an incident.",
    again=about(bool, "true if the incident happened again"),
    **parts(
        ReenactResult,
        category="kind of the incident; empty: a legal move in time",
        words="what happened",
        status="how the process of the engine ended; empty: it had not ended",
        ply="number of plies on the board at that time",
        elapsed_ms="time of the last search, in milliseconds; null: no search",
        text="answer of the engine",
    ),
)
_Ranked = make_type(
    "BubbleRank",
    "An engine in the ranking of a bubble.",
    rank=about(int | None, "rank; null: not ranked"),
    name=about(str, "name of the engine"),
    status=about(str, "active, parked, listed, final or withdrawn"),
)
_BUBBLE_LINE = {
    "engine": about(str, "name of the engine"),
    "points": about(float, "points; a draw is 0.5"),
    "sonneborn_berger": about(float, "Sonneborn-Berger score"),
}
_BubbleLine = make_type("BubbleLine", "An engine in the table of a round robin.", **_BUBBLE_LINE)
_BubbleCross = make_type(
    "BubbleCross",
    "An engine in the crosstable of a round robin.",
    **_BUBBLE_LINE,
    **columns(shared.CrosstableRow, "against"),
)
DECISION = {
    "action": about(Literal["park", "drop", "finish"], "what the decision does with the engine"),
    "engine": about(str | None, "engine that leaves, or the winner; null: no engine is left"),
    "reason": about(str, "reason, as a word of the rules"),
}
_Decision = make_type("BubbleDecision", "The decision after a round robin.", **DECISION)
_ROUND_ROBIN = {
    "step": about(int, "number of the round robin, from 1"),
    "told": about(list[str], "sentences on the decisions"),
    "decision": about(_Decision | None, "the decision; null: games remain"),
    "games_total": if_any(int, "number of games until the decision; missing: games remain"),
}
_RoundRobin = make_type(
    "BubbleRoundRobin",
    "A round robin of a bubble.",
    **_ROUND_ROBIN,
    table=list_of(_BubbleLine, "the table of the decision, best first; empty: games remain"),
)
_ANSWER = {
    "ok": about(bool, "true if the request was carried out"),
    "error": if_any(str, "why the request was rejected; missing: no error"),
    "exit": if_any(int, "exit code of the command; missing: 0"),
}
_Answer = document(
    "Answer",
    "What a request to change or control a tournament gave.",
    **_ANSWER,
    said=if_any(str, "what was done; missing: an error"),
)
_GONE = "missing: the machine is gone"
_Machine = make_type(
    "Machine",
    "A worker of a cluster, or a machine that had one.",
    machine=about(str, "name of the machine"),
    address=if_any(str, f"address of its worker; {_GONE}"),
    state=about(
        Literal["looking", "fit", "lacking", "drained", "aside", "gone"],
        "fit: it gets games; looking: it is inspected; aside: not used after failures",
    ),
    slots=if_any(int, f"largest number of concurrent games; {_GONE}"),
    busy=if_any(int, f"number of games in progress; {_GONE}"),
    played=about(int, "number of games that it has played"),
    processor=if_any(str, f"its processor; empty: not inspected yet; {_GONE}"),
    speed=if_any(float | None, f"its speed; 0 or null: not measured; {_GONE}"),
    lacks=if_any(list[str], f"requirements that are not met; {_GONE}"),
    why=about(str, "why it is not used; empty: it is used"),
)


_SeasonLine = make_type(
    "SeasonLine",
    "An engine in the table of a division.",
    rank=about(int | None, "place in the table; null: the engine left"),
    name=about(str, "name of the engine"),
    points=about(float, "points"),
    games=about(int, "number of games"),
    zone=about(str, "what the place means, such as promotion or relegation, or why the engine left"),
)
_Division = make_type(
    "Division",
    "A division of a season.",
    name=about(str, "name of the division"),
    size=about(int, "number of places"),
    tournament=about(str, "name of its tournament"),
    state=about(str, "not begun, the number of games, or finished"),
    table=list_of(_SeasonLine, "the engines, best first"),
)
_OtherStage = make_type(
    "LeagueTournament",
    "A tournament of a season that is not a division.",
    kind=about(Literal["qualifier", "cross", "playoff"], "what it decides"),
    tournament=about(str, "name of the tournament"),
    state=about(str, "not begun, the number of games, or finished"),
    engines=about(list[str], "the engines; empty while they are not known"),
)
SEASON_MOVE = make_type(
    "SeasonMove",
    "What happens to an engine between two seasons.",
    engine=about(str, "name of the engine"),
    kind=about(Literal["promoted", "relegated", "enters", "version", "leaves", "waits"], "what happens to the engine"),
    source=about(str, "division of the season before; empty: none"),
    target=about(str, "division of this season; empty: none"),
    why=about(str, "reason"),
)
_Season = document(
    "Season",
    "A season of a league.",
    league=about(str, "name of the league"),
    season=about(int, "number of the season, from 1"),
    created_unix=about(float, "time at which it was created, in seconds since 1970 UTC"),
    finished=about(bool, "whether all its games have been played"),
    divisions=list_of(_Division, "the divisions, from top to bottom"),
    others=list_of(_OtherStage, "qualifier, matches between divisions, and playoffs"),
    waiting=about(list[str], "engines that wait for a place"),
    moves=list_of(SEASON_MOVE, "how the season follows from the season before"),
)
DOCUMENTS: Mapping[str, type[BaseModel]] = {
    "status": shared.Status,
    "forecast": shared.Forecast,
    **dict.fromkeys(
        (
            "concurrency N",
            "pause",
            "unpause",
            "finish",
            "withdraw ENGINE",
            "add ENGINE",
            "replace OLD ENGINE",
            "void GAME",
        ),
        _Answer,
    ),
    "machines": document(
        "Machines",
        "The machines of a run on a cluster.",
        **_ANSWER,
        said=if_any(list[_Machine], "the machines; missing: an error"),  # type: ignore[valid-type]
    ),
    **dict.fromkeys(("season", "season show"), _Season),
    "standings": shared.Standings,
    "standings FILE": document(
        "FileStandings",
        "The standings of a file of another program.",
        **columns(shared.Standings, "table finished"),
        notes=about(list[str], "how the table was computed"),
    ),
    "standings --engines": document(
        "EngineFigures",
        "Averages of the engines of a tournament.",
        engines=list_of(_Averages, "the engines in the order of the starting list"),
    ),
    "standings --pairing-report": document(
        "PairingReport",
        "How the rounds were paired.",
        rounds=list_of(_RoundFigures, "the rounds, then all rounds together"),
    ),
    "crosstable": shared.Crosstable,
    "crosstable --pairs": document(
        "Matchups", "The results of each pair of opponents.", pairings=list_of(_Matchup, "pairs of opponents")
    ),
    "bubble": document(
        "BubbleHistory",
        "The history of a bubble.",
        steps=list_of(_RoundRobin, "round robins, oldest first"),
        ranking=list_of(_Ranked, "the ranking, best first"),
        rating_order=about(list[str], "engines in the order of their ratings, best first"),
        finished=about(bool, "true if no game remains"),
    ),
    "bubble --step N": document(
        "BubbleStep",
        "A round robin of a bubble with its crosstable.",
        tournament=about(str, "title of the tournament"),
        **_ROUND_ROBIN,
        table=list_of(_BubbleCross, "the crosstable, best first"),
        parked=about(list[str], "parked engines, longest wait first"),
        ranking=list_of(_Ranked, "the ranking, best first"),
    ),
    "games": document(
        "GameList",
        "The games of a tournament in the order of their numbers.",
        rows=list_of(shared.GameItem, "the games"),
    ),
    "games --endings": document(
        "Endings", "The games of each engine by ending.", rows=list_of(_Ending, "engines with their endings")
    ),
    "games NUMBER": shared.WholeGame,
    "games NUMBER --replay": document(
        "Replays",
        "The replays of an incident.",
        game=about(int, "number of the game"),
        engine=about(str, "engine at fault"),
        category=about(str, "kind of the incident"),
        again=about(int, "number of replays in which it happened again"),
        runs=list_of(_Replay, "the replays"),
    ),
}
