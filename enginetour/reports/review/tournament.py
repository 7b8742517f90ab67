"""The contents of the report of a tournament."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from math import ceil
from typing import TYPE_CHECKING, Any

from enginetour.formats.base import SYSTEMS, Format
from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Incident, Note, Outcome, StandingsRow, Withdrawal
from enginetour.model.task import EngineSpec
from enginetour.model.timecontrol import format_controls
from enginetour.model.variants import STANDARD, VARIANTS, describe_start
from enginetour.ratings.matrices import matrix_of
from enginetour.ratings.ratinglist import RatingList, Row
from enginetour.reports import sprt
from enginetour.reports.bubble import bubble_steps
from enginetour.reports.charts.canvas import name_list
from enginetour.reports.encounters import NextEncounters, list_encounters
from enginetour.reports.forecast import forecast_sheet, limit_cpu, prospect_at
from enginetour.reports.games import averages_sheet, count_endings, endings_sheet, format_endings
from enginetour.reports.html.game import GamePage
from enginetour.reports.html.tables import CrossGames
from enginetour.reports.pgn import common_tags
from enginetour.reports.review.engines import EngineReview, opponents_of, page_slugs
from enginetour.reports.review.fairness import Fairness, fairness_of, repeated_games_note, reused_openings_note
from enginetour.reports.review.goal import GoalReview, goal_of, purposes_of
from enginetour.reports.review.lists import RatingHistory, history_of
from enginetour.reports.sheet import Sheet, format_count, format_duration
from enginetour.reports.standings import RoundFigures, pairing_figures
from enginetour.store.definition import ListDefinition
from enginetour.store.games import (
    GameLine,
    LineupEntry,
    TournamentReader,
    lineup,
    processors,
    repeated_games,
    reported_games,
)
from enginetour.store.lists import games_of_tournament, rating_order, tournament_rating_list
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store

if TYPE_CHECKING:
    from enginetour.formats.rounds import Rounds

# Facts and settings.

_CONTROLS = ("tc", "white_tc", "black_tc")
_OF_PLAY = ("variant", "timemargin", "draw", "resign", "max_moves", "tablebases", "ponder")
_MAX_NAMED = 5  # engines listed for one time control
_OFFERS = 4  # next games that are listed


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts about a tournament. Times are UTC seconds, or None before the first game.

    `settings` contains labels and texts.
    """

    title: str
    name: str
    edition: int
    newest: bool  # there is no later edition
    system: str
    about: str  # a summary of the format
    entrants: int
    games: int  # the number of games that count
    void: int
    remaining: tuple[int, int]  # the fewest and the most remaining games
    offers: tuple[tuple[str, str], ...]  # the next games, White and Black
    stage: tuple[int, int] | None  # the current round and the number of rounds, or None without rounds
    started: float | None
    ended: float | None
    hardware: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    undecided: bool  # the tournament is a sequential test without a verdict

    @property
    def state(self) -> str:
        """Return the state as a text, such as ``finished`` or ``not finished``."""
        return sprt.end_state(undecided=self.undecided) if self.finished else "not finished"

    @property
    def open_ended(self) -> bool:
        """Return whether only a sequential test ends the tournament, because it has no limit of games."""
        return sprt.is_open_ended(self.games, self.remaining)

    @property
    def finished(self) -> bool:
        """Return whether no games remain."""
        return self.remaining[1] == 0


def _facts_of(
    log: TournamentReader, format_: Format[Any], state: Any, games: Sequence[GameLine], entrants: int
) -> _Facts:
    stage = getattr(format_, "stage", None)
    counting = sum(game.counts for game in games)
    return _Facts(
        title=log.title,
        name=log.name,
        edition=log.edition,
        newest=Store(log.database).tournament(log.name).id == log.id,
        system=log.system,
        about=SYSTEMS[log.system].summary,
        entrants=entrants,
        games=counting,
        void=len(games) - counting,
        remaining=format_.remaining(state),
        offers=tuple((offer.white, offer.black) for offer in format_.offers(state)[:_OFFERS]),
        stage=stage(state) if stage else None,
        started=min((game.started_unix for game in games), default=None),
        ended=max((game.ended_unix for game in games), default=None),
        hardware=processors(log),
        settings=tuple(_settings(log.config)),
        undecided=sprt.is_undecided(format_, state),
    )


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings of the games, then of the format. Default values are left out."""
    play, opened = config.get("play", {}), config.get("play", {}).get("openings") or {}
    sides = config.get("sides", {})
    if sides:
        yield "tc", _controls(sides)
    for key in (*(() if sides else _CONTROLS), *_OF_PLAY):
        if play.get(key) not in (None, "standard") and play[key] is not False:  # a time margin of 0 is shown
            yield key, _format_setting(play[key])
    if opened:
        yield "openings", _openings(opened, play.get("variant") or STANDARD)
    for key, value in config.get("format", {}).items():
        if key != "system" and value not in (None, False, [], {}):
            yield key, _format_setting(value)


def _openings(opened: Mapping[str, Any], variant: str) -> str:
    """Format ``book.epd, random``. The order is left out for a single start position."""
    usual = describe_start(variant)
    if usual and not opened.get("file") and not VARIANTS[variant].any_rank:
        return usual
    return f"{opened.get('file') or usual or 'bundled opening book'}, {opened.get('order', '')}"


def _controls(sides: Mapping[str, Mapping[str, Any]]) -> str:
    """Format ``10+0.1``, or each time control with its engines. The time control in [play] can be unused."""
    names: dict[str, list[str]] = {}
    for name, side in sides.items():
        white, black = side["tc"], side.get("black", side)["tc"]
        names.setdefault(format_controls(white, black), []).append(name)
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{control}: {name_list(by, _MAX_NAMED)}" for control, by in names.items())


def _format_setting(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_format_setting(one)}" for key, one in value.items() if one is not None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_format_setting, value)) if isinstance(value, list) else str(value)


# Summary of the games.

# Kinds of notes that are part of the summary.
_SUMMARY_NOTES = (
    *("warning", "add", "withdraw", "extend", "known", "reached", "reopened", "undecided", "stuck", "verdict", "end"),
    "finish",
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence, and the number of the game that it describes."""

    text: str
    number: int | None = None


def _summary_of(games: Sequence[GameLine], notes: Sequence[Note]) -> Iterator[_Sentence]:
    yield from _games([game for game in games if game.counts])
    void = sum(game.outcome is Outcome.VOID for game in games)
    if void:
        yield _Sentence(f"{format_count(void, 'game')} became void and {'was' if void == 1 else 'were'} replayed.")
    voided = sum(game.voided and game.outcome is not Outcome.VOID for game in games)
    if voided:
        yield _Sentence(f"{format_count(voided, 'game')} {'was' if voided == 1 else 'were'} voided later.")
    yield from (_Sentence(note.text) for note in notes if note.kind in _SUMMARY_NOTES)


def _games(games: Sequence[GameLine]) -> Iterator[_Sentence]:
    if not games:
        yield _Sentence("No game has been finished yet.")
        return
    parts = [
        f"{word} {sum(game.outcome is outcome for game in games):,}"
        for word, outcome in (("White won", Outcome.WHITE), ("drawn", Outcome.DRAW), ("Black won", Outcome.BLACK))
    ]
    yield _Sentence(f"{len(games):,} game{'s' * (len(games) != 1)}: {', '.join(parts)}.")
    endings = format_endings(count_endings(games))
    yield _Sentence(f"{endings[0].upper()}{endings[1:]}.")
    seconds = sum(game.seconds for game in games) / len(games)
    plies = sum(game.plies for game in games) / len(games)
    yield _Sentence(f"A game took {format_duration(seconds)} and {plies / 2:.0f} moves on average.")
    longest = max(games, key=lambda game: game.plies)
    shortest = min(games, key=lambda game: game.plies)
    for word, game in (("Longest", longest), ("Shortest", shortest)):
        moves = (game.plies + 1) // 2
        yield _Sentence(f"{word} game: {game.white} - {game.black} {game.outcome}, {moves} moves", game.number)


# Rounds.


@dataclass(frozen=True, slots=True)
class _Board:
    """One match of a round; `games` contains the number, White's name and the result of each game that counts."""

    white: str
    black: str
    odds: int  # bands that White gives, negative if White receives them
    games: tuple[tuple[int, str, str], ...]
    half_points: tuple[int, int]  # half points of `white` and of `black` in these games


@dataclass(frozen=True, slots=True)
class _Round:
    """One round: `guarantee` is the proof of its pairing, `remarks` are the reasons for its pairs."""

    number: int
    before: Mapping[str, int]  # half points of each entrant before the round, as the pairing counts them
    boards: tuple[_Board, ...]
    byes: tuple[str, ...]
    half_byes: tuple[str, ...]
    absent: tuple[str, ...]
    guarantee: str
    remarks: tuple[str, ...]
    asides: tuple[str, ...]  # texts of other notes during the round


def pairing_field(format_: Rounds, state: Any) -> tuple[Field, tuple[tuple[int, ...], ...]]:
    """Return the played rounds, and the scores that decide the pairing: those before each round, then those now."""
    field = format_.so_far(state)
    return field, format_.system.scores(field)


def _rounds_of(
    format_: Format[Any], state: Any, games: Sequence[GameLine]
) -> tuple[tuple[_Round, ...], tuple[RoundFigures, ...]]:
    """Return all paired rounds, oldest first, and the figures of the pairing report."""
    from enginetour.formats.rounds import Rounds  # imported here, because other formats do not need it

    assert isinstance(format_, Rounds)
    field, rows = pairing_field(format_, state)
    names = [member.name for member in field.members]
    scores = [dict(zip(names, row, strict=True)) for row in rows]
    met: dict[tuple[int, frozenset[str]], list[GameLine]] = {}
    for game in games:
        if game.counts:
            met.setdefault((game.round, frozenset((game.white, game.black))), []).append(game)
    rounds = (_round(note, asides, met, scores) for note, asides in _with_asides(format_.notes(state)))
    return tuple(rounds), pairing_figures(field, rows)


def _with_asides(notes: Iterable[Note]) -> list[tuple[Note, list[str]]]:
    """Return the note of each round with the texts of the notes after it.

    Notes before the first round belong to the first round.
    """
    found, asides = list[tuple[Note, list[str]]](), list[str]()
    for note in notes:
        if note.kind == "round":
            asides = [] if found else asides
            found.append((note, asides))
        else:
            asides.append(note.text)
    return found


def _round(
    note: Note,
    asides: Sequence[str],
    met: Mapping[tuple[int, frozenset[str]], list[GameLine]],
    scores: Sequence[Mapping[str, int]],
) -> _Round:
    row: dict[str, Any] = dict(note.fields)
    odds = row.get("odds") or (0,) * len(row["pairs"])
    return _Round(
        number=row["round"],
        before=scores[row["round"] - 1] if row["round"] <= len(scores) else {},
        boards=tuple(
            _board(white, black, given, met.get((row["round"], frozenset((white, black))), ()))
            for (white, black), given in zip(row["pairs"], odds, strict=True)
        ),
        byes=tuple(row.get("byes", ())),
        half_byes=tuple(row.get("half_byes", ())),
        absent=tuple(row.get("absent", ())),
        guarantee=str(row.get("guarantee", "")),
        remarks=note.remarks,
        asides=tuple(asides),
    )


def _board(white: str, black: str, odds: int, games: Sequence[GameLine]) -> _Board:
    mine = sum(game.outcome.half_points(white=game.white == white) for game in games)
    lines = tuple((game.number, game.white, str(game.outcome)) for game in games)
    return _Board(white, black, odds, lines, (mine, 2 * len(games) - mine))


# Crosstable.


def crosstable_rows(names: Sequence[str], games: Iterable[GameLine]) -> tuple[CrossRow[CrossGames], ...]:
    """Return the rows of the crosstable in the order of `names`, without void games."""
    met: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for game in games:
        if game.counts:
            points = game.outcome.half_points(white=True)
            met.setdefault((game.white, game.black), []).append((game.number, points))
            met.setdefault((game.black, game.white), []).append((game.number, 2 - points))
    return tuple(_row(name, names, met) for name in names)


def _row(name: str, names: Sequence[str], met: dict[tuple[str, str], list[tuple[int, int]]]) -> CrossRow[CrossGames]:
    found = (met.get((name, other)) for other in names)
    cells = tuple(None if games is None else CrossGames(tuple(games)) for games in found)
    inside = [cell for cell in cells if cell is not None]
    return CrossRow(name, sum(cell.half_points for cell in inside), sum(len(cell.games) for cell in inside), cells)


# Incidents.


@dataclass(frozen=True, slots=True)
class _IncidentLine:
    """One incident of a game; `replay` is the command that reproduces it, or empty."""

    game: GameLine
    incident: Incident
    replay: str

    @property
    def verdict(self) -> str:
        """Return how the game ended."""
        return f"{self.game.outcome} by {self.game.termination}" + (f": {self.game.cause}" if self.game.cause else "")


def _incident_entries(
    incidents: Iterable[tuple[int, Incident]], games: Mapping[int, GameLine], title: tuple[str, int]
) -> Iterator[_IncidentLine]:
    """Yield the incidents, oldest first; `title` is the name and the edition of the tournament."""
    found = list(incidents)
    counts = Counter(number for number, incident in found if incident.is_repeatable)
    for number, incident in found:
        command = ["enginetour", "games", str(number), "--replay", "-t", title[0], "--edition", str(title[1])]
        command += ["--engine", incident.engine] if counts[number] > 1 else []
        yield _IncidentLine(games[number], incident, shlex.join(command) if incident.is_repeatable else "")


def _by_engine(incidents: Iterable[_IncidentLine]) -> dict[str, list[_IncidentLine]]:
    found: dict[str, list[_IncidentLine]] = defaultdict(list)
    for line in incidents:
        found[line.incident.at_fault].append(line)
    return found


# Advice.

_SIGNIFICANT = 0.95  # likelihood of superiority; the usual limit (Ordo, CCRL)
_ONE_SIDED_95 = 1.6449  # standard deviations: 95 % of a normal distribution is below this value
MAX_GAMES_NEEDED = 100_000  # games; if two engines need more, they are equal for practical purposes


@dataclass(frozen=True, slots=True)
class _Advice:
    """A sentence with a command. `kind` is decide, resume, incidents, engines, fairness or next."""

    kind: str
    text: str
    command: str = ""


def _advice_of(
    facts: _Facts,
    found: RatingList,
    incidents: Sequence[_IncidentLine],
    fairness: Fairness,
    again: str,
    suspended: Sequence[str],
) -> Iterator[_Advice]:
    """Yield advice, the most important first.

    `again` is the command that resumes the tournament, and `suspended` contains the suspended engines.
    """
    if not facts.finished:
        fewest, most = facts.remaining
        left = f"{most}" if fewest == most else f"{fewest} to {most}"
        left = f"{left} game{'s' * (most != 1)} remaining"
        left = "the test continues until its verdict" if facts.open_ended else left
        then = ", ".join(f"{white} – {black}" for white, black in facts.offers)
        coming = f"; next: {then}" if then else ""
        yield _Advice("resume", f"Not finished: {left}{coming}.", again if facts.newest else "")
    if note := leaders_note(found):
        waiting = 0 if facts.finished else len(found.unrated)
        some = f"{format_count(waiting, 'engine')} {'has' if waiting == 1 else 'have'} not played yet. "
        yield _Advice("decide", f"{some if waiting else ''}{note}")
    for name in suspended:
        text = f"{name} is suspended. Repair it and resume the tournament, or withdraw it."
        yield _Advice("engines", text, shlex.join(["enginetour", "withdraw", "-t", facts.name, name]))
    counted = [line.incident.at_fault for line in incidents if not line.incident.is_warning]
    if counted:
        who = ", ".join(f"{name} ({count})" for name, count in Counter(counted).most_common(3))
        command = ["enginetour", "games", "--incidents", "-t", facts.name, "--edition", str(facts.edition)]
        yield _Advice("incidents", f"Check {format_count(len(counted), 'incident')}: {who}.", shlex.join(command))
    for warning in fairness.warnings:
        yield _Advice("fairness", f"{warning[0].upper()}{warning[1:]}.")
    if facts.finished and facts.newest:
        text = "To start the next edition from this result, use the command below."
        yield _Advice("next", text, f"{again} --new")


def leaders_note(found: RatingList) -> str:
    """Return a text on whether the first engine is stronger than the second, and how many games would show it."""
    rows = [row for row in found.rows if row.pool == 1][:2]
    if len(rows) < 2 or rows[0].los is None:
        return ""
    first, second = rows
    los = first.los or 0.0
    if los >= _SIGNIFICANT:
        return f"{first.name} is stronger than {second.name} with a likelihood of {_percent(los)}."
    needed = games_needed(found, first, second)
    text = f"It is not certain whether {first.name} is stronger than {second.name} (likelihood {_percent(los)})."
    if needed is None:
        return f"{text} Their difference is too small to estimate how many games would show it."
    more = format_count(needed, "more game")
    chance = "with a likelihood of 95 %"
    return f"{text} About {more} of each engine would show it {chance} if their current difference is real."


def games_needed(found: RatingList, first: Row, second: Row) -> int | None:
    """Return how many more games each engine needs until their rating difference is 1.64 times its error.

    Errors are assumed to fall with the square root of the number of games. Return None above `MAX_GAMES_NEEDED`.
    """
    names = [row.name for row in found.rows]
    spread = float(matrix_of("errors", found, None, 1.0).values[names.index(first.name), names.index(second.name)])
    gap = first.rating - second.rating
    played = (first.games + second.games) / 2
    if not spread > 0 or gap <= 0:  # the error is nan between two anchors
        return None
    needed = played * ((_ONE_SIDED_95 * spread / gap) ** 2 - 1)
    return max(1, ceil(needed)) if needed <= MAX_GAMES_NEEDED else None


def _percent(likelihood: float) -> str:
    return "above 99.9\N{NO-BREAK SPACE}%" if likelihood > 0.999 else f"{100 * likelihood:.1f}\N{NO-BREAK SPACE}%"


# The contents of the pages.

RESUME_COMMAND = "enginetour run CONFIG"  # the event log does not contain the name of the configuration file


Encounters = Mapping[tuple[frozenset[str], int], Sequence[GameLine]]
"""Games by their two engines and the number of the encounter."""


@dataclass(frozen=True, slots=True)
class TournamentReview:
    """Everything on the pages of a report except the moves of the games.

    Games are in the order of the event log and include void games. Engines are in the order of the standings. `bubble`
    contains the round robins of a bubble, and `by_rating` its order by rating. `rounds` and `figures` are empty for
    formats without rounds. `odds` counts the games at time odds of each engine. `slugs` maps each engine to the name of
    its page.
    """

    facts: _Facts
    summary: tuple[_Sentence, ...]
    test: Sheet | None  # the table of a sequential test, or None without a test
    forecast: Sheet | None  # the forecast of the remaining games, or None
    standings: tuple[StandingsRow, ...]
    meanings: Mapping[str, str]  # of the codes in the standings, if they are not the usual ones
    withdrawals: tuple[Withdrawal, ...]
    odds: Mapping[str, int]
    ratings: RatingList
    crosstable: tuple[CrossRow[CrossGames], ...]
    bubble: Sequence[Mapping[str, Any]] | None
    by_rating: tuple[str, ...]
    rounds: tuple[_Round, ...]
    figures: tuple[RoundFigures, ...]
    goal: GoalReview | None  # None if the format is not adaptive
    notes: tuple[Note, ...]
    games: tuple[GameLine, ...]
    encounters: Encounters
    engines: tuple[EngineReview, ...]
    incidents: tuple[_IncidentLine, ...]
    trouble: Mapping[str, Sequence[_IncidentLine]]  # the incidents by the engine at fault
    fairness: Fairness
    history: RatingHistory
    advice: tuple[_Advice, ...]
    following: NextEncounters | None  # what to play next, after the end of the tournament
    slugs: Mapping[str, str]

    @property
    def purposes(self) -> Mapping[int, str]:
        """What each encounter of an adaptive tournament was for, by the round of its games."""
        return purposes_of(self.notes)


# Processor time for the forecast of a report, which is written while its user waits. 0.2 s are 300 simulations of 20
# engines, or about 40 of 100 engines. The fewest simulations of a long tournament may take 6 s.
_FORECAST = 0.2, 30


def review_tournament(
    log: TournamentReader, *, again: str = RESUME_COMMAND, suspended: Sequence[str] = (), forecast: bool = False
) -> TournamentReview:
    """Read everything that the report of a tournament shows.

    `again` is the command that resumes the tournament. `suspended` contains the engines that a run has suspended. If
    `forecast` is true, the remaining games of an unfinished tournament are simulated.
    """
    store, (format_, state) = Store(log.database), fold(log)
    placed = format_.standings(state)
    names = [line.name for line in placed]
    games, specs = tuple(reported_games(log)), log.specs
    played = [game for game in games if game.counts]
    facts = _facts_of(log, format_, state, games, len(specs))
    counts = log.pair_counts()
    found = tournament_rating_list(log, log.config.get("ratings", {}).get("anchor") or {}, counts)
    by_number = {game.number: game for game in games}
    incidents = tuple(_incident_entries(log.incidents(), by_number, (log.name, log.edition)))
    fairness = fairness_of(played, specs, repeated_games_note(*repeated_games(log)), reused_openings_note(log))
    engines = [*dict.fromkeys([*names, *specs])]
    sides = chain.from_iterable(((one.white, one.white_side), (one.black, one.black_side)) for one in played)
    efforts = averages_sheet("", engines, sides)
    ended, slugs = endings_sheet("", engines, games), page_slugs(engines)
    notes = format_.notes(state)
    rounds, figures = _rounds_of(format_, state, games) if SYSTEMS[log.system].rounds else ((), ())
    is_bubble, tested = log.system == "bubble", sprt.current_test(format_, state)
    outlook = None
    if forecast and format_.offers(state):
        with suppress(UsageRefused):  # there are too many games
            seconds, times = _FORECAST
            rest = prospect_at(log, format_, state, counts=counts).forecast(going_on=limit_cpu(seconds, times=times))
            outlook = forecast_sheet(rest.to_json())
    return TournamentReview(
        facts=facts,
        summary=tuple(_summary_of(games, notes)),
        test=sprt.sprt_sheet("test", *tested, ended=facts.finished) if tested else None,
        forecast=outlook,
        standings=placed,
        meanings=format_.meanings,
        withdrawals=log.withdrawals(),
        odds=log.odds_by_entrant(),
        ratings=found,
        crosstable=crosstable_rows(names, games),
        bubble=bubble_steps(notes) if is_bubble else None,
        by_rating=rating_order(log, placed) if is_bubble else (),
        rounds=rounds,
        figures=figures,
        goal=goal_of(format_, state, games) if log.system == "adaptive" else None,
        notes=notes,
        games=games,
        encounters=encounters_of(games),
        engines=_engines(engines, specs, lineup(log), placed, found, games, efforts, ended, slugs),
        incidents=incidents,
        trouble=_by_engine(incidents),
        fairness=fairness,
        history=history_of(store, log.id, engines),
        advice=tuple(_advice_of(facts, found, incidents, fairness, again, suspended)),
        following=list_encounters(store, log.title, ListDefinition(**games_of_tournament(log), by="name"))
        if facts.finished
        else None,
        slugs=slugs,
    )


def _engines(
    names: Sequence[str],
    specs: Mapping[str, EngineSpec],
    entered: Mapping[str, LineupEntry],
    placed: Sequence[StandingsRow],
    found: RatingList,
    games: Sequence[GameLine],
    efforts: Sheet,
    ended: Sheet,
    slugs: Mapping[str, str],
) -> tuple[EngineReview, ...]:
    lines, rows = {line.name: line for line in placed}, {row.name: row for row in found.rows}
    met = opponents_of(games, {name: row.rating for name, row in rows.items()})
    return tuple(
        EngineReview(
            name=name,
            slug=slugs[name],
            entered=entered[name],
            spec=specs[name],
            placed=lines.get(name),
            row=rows.get(name),
            opponents=met.get(name, ()),
            efforts=_of(efforts, name),
            endings=_of(ended, name),
        )
        for name in names
    )


def _of(sheet: Sheet, name: str) -> Sheet:
    """Return the rows of one engine without its name."""
    own = [place for place, row in enumerate(sheet.rows) if row["name"] == name]
    columns = tuple(column for column in sheet.columns if column.key != "name")
    shown = tuple(sheet.shown[place] for place in own) if sheet.shown else ()
    return replace(sheet, columns=columns, rows=tuple(sheet.rows[place] for place in own), shown=shown)


# The pages of games.


def encounters_of(games: Iterable[GameLine]) -> Encounters:
    """Group games by encounter."""
    found: dict[tuple[frozenset[str], int], list[GameLine]] = defaultdict(list)
    for game in games:
        found[frozenset((game.white, game.black)), game.meeting].append(game)
    return found


def game_rows(
    log: TournamentReader,
    encounters: Encounters,
    numbers: Iterable[int],
    purposes: Mapping[int, str] | None = None,
) -> Iterator[GamePage]:
    """Yield the pages of the games with these numbers, in their order. Games are numbered from 1 without gaps.

    `purposes` has what the encounters of an adaptive tournament are for, by the round of their games.
    """
    newest, tags, purposes = log.last_number, common_tags(log), purposes or {}
    for stored in chain.from_iterable(log.full_games(first, last=last) for first, last in _runs(numbers)):
        number, pairing = stored.number, stored.game.pairing
        same = encounters.get((frozenset(pairing.pair), pairing.meeting), ())
        others = tuple(line for line in same if line.number != number)
        before, after = number - 1 if number > 1 else None, number + 1 if number < newest else None
        purpose = purposes.get(pairing.round, "")
        yield GamePage(number, stored.game, stored.voided, others, before, after, tags, purpose)


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive numbers."""
    for _, run in groupby(enumerate(numbers), lambda placed: placed[1] - placed[0]):
        found = [number for _, number in run]
        yield found[0], found[-1]
