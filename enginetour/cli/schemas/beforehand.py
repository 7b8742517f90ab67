"""The types of the JSON documents about engines and formats, and of plans, simulations and paired rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, JsonValue

from enginetour.cli.schemas.tournaments import DECISION, SEASON_MOVE
from enginetour.openings.positions import SkippedOpenings
from enginetour.ratings.design import Goal
from enginetour.referee.compliance.exam import StepResult
from enginetour.reports.documenttypes import about, columns, document, if_any, list_of, make_type, parts, two
from enginetour.web import schemas as shared

# Engines and formats.

_ENGINE = {
    "id": about(str, "id of the engine, which is the name of its file without .toml"),
    "name": about(str, "name of the engine"),
    "protocol": about(Literal["uci", "cecp"], "protocol of the engine"),
}
_EngineItem = make_type(
    "EngineItem",
    "An engine file.",
    **_ENGINE,
    limits=about(list[str], "search limits that the engine supports"),
    here=about(bool, "true if the program is on this machine"),
)
_Step = make_type(
    "EngineCheckStep",
    "A step of an engine check.",
    **parts(
        StepResult,
        key="name of the step",
        what="what the step checks",
        verdict="result: ok, warn, FAIL or not offered",
        words="what was observed; empty: nothing to report",
    ),
)
_CheckedEngine = make_type(
    "CheckedEngine",
    "The results of an engine check.",
    name=_ENGINE["id"],
    fit=about(bool, "true if no step failed"),
    protocol=_ENGINE["protocol"],
    ok=about(int, "number of steps that are ok"),
    warn=about(int, "number of steps with a warning"),
    FAIL=about(int, "number of steps that failed"),
    not_offered=about(int, "number of steps that the engine does not offer"),
    own_name=about(str, "name that the engine itself reports"),
    handshake_ms=about(int, "time of the handshake, in milliseconds"),
    author=about(str, "author that the engine reports; empty: none"),
    problems=about(list[str], "what was observed in the steps that failed"),
    steps=list_of(_Step, "steps of the check"),
    hints=about(dict[str, str | int | float | bool | list[str]], "keys and values for the engine file"),
)
_FormatItem = make_type(
    "FormatItem",
    "A tournament format.",
    name=about(str, "name of the format"),
    summary=about(str, "what the format does"),
    source=about(str, "where its rules are published"),
)
_Setting = make_type(
    "FormatSetting",
    "A setting of a format.",
    key=about(str, "key under [format]"),
    default=about(JsonValue, "default value; null: none"),
    meaning=about(str, "meaning of the setting, with its unit"),
)

# Before a tournament.

_Probe = make_type(
    "EngineProbe",
    "The result of starting an engine once.",
    name=about(str, "name of the entrant"),
    fit=about(bool, "true if the engine can play"),
    own_name=about(str, "name that the engine itself reports"),
    handshake_ms=about(int, "time of the handshake, in milliseconds"),
    problems=about(list[str], "why the engine cannot play"),
)
_LeagueProbe = make_type(
    "LeagueEngineProbe",
    "The result of starting an engine of a league once.",
    division=about(str, "its division, or another tournament of the season; empty: a reserve"),
    **columns(_Probe),
)
_LATER = "missing: a rating is not known before the run"
_ESTIMATE = {
    "fewest": if_any(int, f"fewest games that are played; {_LATER}"),
    "most": if_any(int, f"most games that are played; {_LATER}"),
    "likely": if_any(int, f"number of games that is expected; {_LATER}"),
    "longest_hours": if_any(
        float | None, f"longest duration in hours; null: not limited by a clock or a search limit; {_LATER}"
    ),
    "openings": if_any(int, f"number of openings; {_LATER}"),
    "tables": if_any(list[str], f"descriptions of the tablebases; {_LATER}"),
    "opening_book": if_any(str, f"description of the openings; {_LATER}"),
    "starts": if_any(list[str], f"sentences on bands, bar, floor and groups; {_LATER}"),
    "round_1": if_any(shared.Starts | None, f"who starts where; null: a format without rounds; {_LATER}"),
    "warnings": if_any(list[str], f"warnings about the plan; {_LATER}"),
    "controls": if_any(dict[str, str], f"search limits by entrant; {_LATER}"),
    "test": if_any(
        dict[str, float] | None,
        f"average number of games until the test ends, by the true strength; null: no test; {_LATER}",
    ),
}
_SkippedOpenings = make_type(
    "SkippedOpenings",
    "The openings of a book that cannot be played.",
    **parts(
        SkippedOpenings,
        count="number of openings that were skipped",
        of="number of openings that were checked",
        first="the first skipped opening, as file:line: why; empty: none",
        whole="true if all openings were checked",
    ),
)
_SIMULATED = {
    name: about(float, text)
    for key, figure in {
        "games": "number of games",
        "tau_table": "Kendall's rank correlation of the table with the true strengths, from -1 to 1",
        "tau_fit": "Kendall's rank correlation of the fitted ratings with the true strengths, from -1 to 1",
        "best_table": "share of the simulations in which the table has the strongest engine first, from 0 to 1",
        "best_fit": "share of the simulations in which the ratings have the strongest engine first, from 0 to 1",
        "gap": "root mean square of the differences between opponents, in Elo",
        "rms": "root mean square error of the fitted ratings, in Elo",
    }.items()
    for name, text in ((key, f"mean {figure}"), (f"{key}_error", f"standard error of `{key}`"))
}
_ComparedFormat = make_type(
    "ComparedFormat",
    "A format in a comparison.",
    system=about(str, "format with its settings, as it was given"),
    **_SIMULATED,
    **{
        f"{key}_above{end}": about(float, f"{what} `{key}` to the first format")
        for key in ("tau_table", "tau_fit")
        for end, what in (("", "difference of"), ("_error", "standard error of the difference of"))
    },
)
_Entered = make_type(
    "BubbleEntry",
    "An engine that enters the section.",
    engine=about(str, "name of the engine"),
    **{"from": about(Literal["start", "list", "parked"], "where it was before")},
    rule=about(int, "step of Muller's article that lets it enter"),
    met=about(int, "number of engines of the section that it has met"),
    to_play=about(int, "number of engines of the section that it has not met"),
)
_Leaver = make_type(
    "BubbleWithdrawal",
    "An engine that withdraws.",
    engine=about(str, "name of the engine"),
    after_games=about(int, "number of games before it"),
    was=about(Literal["active", "parked", "listed", "ranked"], "where the engine was"),
    replacement=about(_Entered | None, "engine that enters instead; null: none"),
)
_TracedDecision = make_type(
    "TracedDecision",
    "The decision after a round robin of a bubble case.",
    **DECISION,
    last=if_any(str, "last engine of the table; missing: the last decision"),
    last_matches=if_any(int, "number of its matches; missing: the last decision"),
)
_TracedStep = make_type(
    "TracedRoundRobin",
    "A round robin of a bubble case.",
    step=about(int, "number of the round robin, from 1"),
    entered=list_of(_Entered, "engines that entered the section"),
    withdrawals=list_of(_Leaver, "engines that withdrew"),
    games=about(list[tuple[str, str, int, str]], "games in their order: White, Black, number in the match, result"),
    active=about(list[str], "engines of the section"),
    table=about(list[tuple[str, float, float]], "name, points and Sonneborn-Berger of each engine, best first"),
    decision=about(_TracedDecision, "the decision after the round robin"),
    parked=about(list[str], "parked engines after the decision"),
    games_total=about(int, "number of games so far"),
)
_Doubt = make_type(
    "Doubt",
    "Places that a night leaves undecided.",
    places=two(int, "the two places, or the same place twice for an interval that is too wide"),
    share=about(float, "share of the simulations that leave them undecided, from 0 to 1"),
)
_Proposal = make_type(
    "Proposal",
    "The best settings of a format for a night.",
    system=about(str, "name of the format"),
    settings=about(str, "settings of the format, as text"),
    games=about(float, "mean number of games"),
    hours=about(float, "mean duration in hours"),
    rms=about(float, "root mean square error of the ratings, in Elo"),
    tau=about(float, "Kendall's rank correlation of the ratings with the true strengths, from -1 to 1"),
    best=about(float, "probability that the best engine has the highest rating, from 0 to 1"),
    reached=about(float, "share of the simulations that reach the goal, from 0 to 1"),
    undecided=about(float, "mean number of pairs that it leaves undecided"),
    games_low=about(float, "number of games that 90 % of the simulations exceed"),
    games_high=about(float, "number of games that 10 % of the simulations exceed"),
    rms_error=about(float, "standard error of `rms`, in Elo"),
    tau_error=about(float, "standard error of `tau`"),
    best_error=about(float, "standard error of `best`"),
    figure=about(float, "median of what the goal measures: a likelihood, or half the width of an interval in Elo"),
    doubts=list_of(_Doubt, "places most often undecided, most frequent first"),
    simulations=about(int, "number of simulations"),
    format=about(dict[str, JsonValue], "the section [format] of the configuration"),
)
_Goal = make_type(
    "Goal",
    "What a night shall find out.",
    **{
        name: if_any(field.annotation, str(field.description).rstrip(".") + "; missing: not part of the goal")
        for name, field in Goal.model_fields.items()
        if name not in ("of", "divisions")  # cannot be given with --goal
    },
)
_Night = make_type(
    "Night",
    "What a plan is made for.",
    entrants=about(int, "number of entrants"),
    hours=about(float, "hours that the tournament may take"),
    concurrency=about(int, "number of concurrent games"),
    goal=about(_Goal, "what the night shall find out"),
    ratings=about(Literal["known", "unknown"], "whether the formats may use ratings"),
    spread=about(float | None, "standard deviation of unknown strengths, in Elo; null: ratings are known"),
    noise=about(float | None, "standard deviation of ratings around the true strength, in Elo; null: unknown"),
    game_seconds=about(float, "mean duration of a game, in seconds"),
    measured_games=about(int, "number of games whose duration was measured; 0: estimated or given"),
    games=about(int, "largest number of games in these hours"),
    too_long=about(dict[str, float], "hours that other formats need at least, by name"),
    late=about(list[str], "formats without a finished simulation"),
)

# Pairing the tournaments of other programs.

_LABEL = int | str
_Board = make_type(
    "PairedBoard",
    "A board of a round.",
    board=about(int, "number of the board, from 1"),
    white=about(_LABEL, "number or id of White"),
    black=about(_LABEL, "number or id of Black"),
    handicap=if_any(int, "time odds in bands that White gives; missing: none"),
)
_LABELS = "by number or id of the entrant; missing: points decide the pairing"
_CheckedRound = make_type(
    "CheckedRound",
    "A round of a file next to the round that the system pairs.",
    round=about(int, "number of the round"),
    boards=about(int, "number of boards in the file"),
    same=about(bool, "true if the system pairs the same round"),
    expected=about(list[tuple[_LABEL, _LABEL | None]], "pairs of the system that the file does not have; null: a bye"),
    found=about(list[tuple[_LABEL, _LABEL | None]], "pairs of the file that the system does not have; null: a bye"),
    failure=about(str | None, "why the system cannot pair the round; null: it can"),
)
_Criterion = make_type(
    "PairingCriterion",
    "A criterion of a pair.",
    name=about(str, "name of the criterion"),
    worth=about(int, "value of the pair, in units of the weight"),
    most=about(int, "largest possible value; 0: a penalty"),
    source=about(str, "where the criterion is published"),
)
_ROUND = {
    "round": about(int, "number of the round"),
    "guarantee": about(str, "what is proved about the round"),
}

_PAIRED = {
    "round": _ROUND["round"],
    "system": about(str, "name of the pairing system"),
    "pairs": list_of(_Board, "boards in their order"),
    "bye": about(_LABEL | None, "number or id of the entrant with the bye; null: none"),
    "certified": about(bool, "true if a certificate proves that the round is optimal"),
    "guarantee": _ROUND["guarantee"],
    "warnings": about(list[str], "warnings about the file and the round"),
    "MMS": if_any(dict[str, float], f"McMahon scores before the round, {_LABELS}"),
    "starts": if_any(dict[str, float], f"starting scores, {_LABELS}"),
    "starting_list": if_any(list[str], "sentences on bands, bar and floor; missing: points decide the pairing"),
}


_SeasonTournament = make_type(
    "SeasonTournament",
    "A tournament of a season before its first game.",
    tournament=about(str, "name of the tournament"),
    engines=about(int, "number of engines"),
    fewest=about(int, "fewest games"),
    most=about(int, "most games"),
    longest_hours=about(float | None, "hours with long games; null: not known"),
)
_PlannedDivision = make_type(
    "PlannedDivision",
    "A division in simulated seasons.",
    name=about(str, "name of the division"),
    games=about(float, "mean number of games of a season"),
    hours=about(float | None, "hours of its games; null: not known"),
    kept=about(float, "share of its engines that stay in it for the next season, from 0 to 1"),
    belong=about(float, "share of its engines that belong in it by their true strengths, from 0 to 1"),
    seasons=about(float, "median number of seasons until a new engine of its mean strength plays in it"),
    low=about(float, "10 % quantile of them"),
    high=about(float, "90 % quantile of them"),
    reached=about(float, "share of the simulations in which the new engine reaches it, from 0 to 1"),
)
DOCUMENTS: Mapping[str, type[BaseModel]] = {
    "engines list": document("Engines", "All engine files.", engines=list_of(_EngineItem, "the engine files")),
    "engines check ENGINE": document(
        "EngineChecks",
        "The results of engine checks.",
        engines=list_of(_CheckedEngine, "the engines in the order in which they were given"),
    ),
    "systems": document("Formats", "All tournament formats.", systems=list_of(_FormatItem, "the formats")),
    "systems NAME": document(
        "Format",
        "A tournament format.",
        **columns(_FormatItem),
        settings=list_of(_Setting, "settings of the format"),
        own=about(dict[str, str], "rules without a setting, by subject"),
    ),
    "check CONFIG": document(
        "Check",
        "A configuration with its engines and its plan.",
        engines=list_of(_Probe, "the entrants"),
        options=about(dict[str, dict[str, str]], "engine options by entrant"),
        notes=about(list[str], "notes about options that are left out"),
        paths=about(list[str], "files that engines may open, with the option"),
        openings_left_out=about(_SkippedOpenings, "openings of the book that cannot be played"),
        **_ESTIMATE,
    ),
    "check LEAGUE": document(
        "LeagueCheck",
        "A league: what a run plays, or the next season if the newest one has ended.",
        league=about(str, "name of the league"),
        season=about(int, "number of the season, from 1"),
        begun=about(bool, "whether the season has been written"),
        engines=list_of(_LeagueProbe, "the engines of these tournaments, then the reserves"),
        waiting=about(list[str], "engines without a place that do not play"),
        tournaments=list_of(_SeasonTournament, "the tournaments that can be played first"),
        moves=list_of(SEASON_MOVE, "how the season follows from the season before; empty if it has begun"),
        warnings=about(list[str], "warnings"),
    ),
    "plan --league": document(
        "LeaguePlan",
        "Simulated seasons of a league.",
        league=about(str, "name of the league"),
        simulations=about(int, "number of simulations"),
        seasons=about(int, "number of seasons of each simulation"),
        hours=about(float | None, "hours of a season; null: not known"),
        playoff_games=about(float, "mean number of games of all playoffs of a season"),
        cross_games=about(
            float | None, "mean number of games between divisions in the first season; null: there are none"
        ),
        divisions=list_of(_PlannedDivision, "the divisions, from top to bottom"),
    ),
    "plan": document(
        "Plan",
        "Formats for a night, best first.",
        night=about(_Night, "what the plan is made for"),
        proposals=list_of(_Proposal, "the best settings of each format, best format first"),
    ),
    "pair FILE": document("PairedRound", "A round that was paired.", **_PAIRED),
    "pair FILE --check-all": document(
        "CheckedRounds",
        "All rounds of a file next to those that the system pairs.",
        system=_PAIRED["system"],
        rounds=list_of(_CheckedRound, "rounds of the file"),
        differing=about(int, "number of rounds that differ"),
        warnings=_PAIRED["warnings"],
    ),
    "pair FILE --why A B": document(
        "PairingReasons",
        "Why two entrants are paired or not.",
        **_ROUND,
        pair=two(_LABEL, "numbers or ids of both entrants"),
        paired=about(bool, "true if they are paired"),
        facts=about(list[str], "sentences on both entrants"),
        rules=about(list[str], "rules that forbid the pair, or that were applied"),
        criteria=list_of(_Criterion, "criteria of the pair, most important first"),
        weight=about(int | None, "weight of the round; null: weights do not decide it"),
        least=about(int | None, "proved lower bound of the weight lost by the opposite decision; null: none"),
        exact=about(int | None, "weight lost by the opposite decision; null: no such round, or no weights"),
        instead=about(
            list[tuple[_LABEL, _LABEL]] | None, "pairs of the best round with the opposite decision; null: none"
        ),
    ),
    "simulate CONFIG": document(
        "Simulation",
        "The figures of a simulated tournament.",
        fewest=about(int, "smallest possible number of games"),
        most=about(int, "largest possible number of games"),
        low=about(float, "number of games that 90 % of the simulations exceed"),
        high=about(float, "number of games that 10 % of the simulations exceed"),
        hours=about(float | None, "hours of the mean number of long games; null: not limited by a clock"),
        **_SIMULATED,
    ),
    "simulate --compare": document(
        "FormatComparison",
        "Formats with the same simulated engines.",
        rows=list_of(_ComparedFormat, "the formats in the order in which they were given"),
    ),
    "simulate --case": document(
        "BubbleTrace",
        "The decisions of a bubble case.",
        format=about(Literal["enginetour-bubble-trace/1"], "name and version of the form of the trace"),
        steps=list_of(_TracedStep, "round robins, oldest first"),
        ranking=about(list[str], "ranking, worst first"),
        withdrawn=about(list[str], "engines that withdrew"),
        games_total=about(int, "number of games"),
    ),
}
