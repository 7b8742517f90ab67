"""Seasons of leagues in a database: write one, read all, and the results of their tournaments."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import func, insert, select

from enginetour import __version__
from enginetour.formats.base import FEWEST, Format
from enginetour.formats.league import Move, Rules, Season, SeasonResult, playoff_pairs
from enginetour.model.errors import AlreadyRunning, StoreRefused, UsageRefused, did_you_mean
from enginetour.model.game import StandingsRow
from enginetour.store.address import stage_name
from enginetour.store.games import TournamentReader
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from enginetour.store.tables import SEASONS, TOURNAMENTS
from enginetour.store.tournaments import Store


@dataclass(frozen=True, slots=True)
class StoredSeason:
    """A season as it was written.

    `section` is the section ``[league]`` at that time, ready for JSON. A season `is_over` if the next one was written.
    """

    league: str
    number: int
    created_unix: float
    section: Mapping[str, Any]
    season: Season
    rules: Rules
    is_over: bool = False


def write_season(
    store: Store, league: str, number: int, section: Mapping[str, Any], rules: Rules, season: Season
) -> None:
    """Write a season.

    Raise UsageRefused if another program has written this season, or if a tournament has the name of one of its
    tournaments.
    """
    about = {"league": league, "number": number, "created_unix": time.time(), "version": __version__}
    places = {
        "divisions": [
            {"name": name, "engines": list(engines), "open": count, "size": size}
            for name, engines, count, size in zip(rules.names, season.divisions, season.open, rules.sizes, strict=True)
        ],
        "promote": list(rules.promote),
        "playoff": list(rules.playoff),
        "new": rules.new,
        "entries": rules.entries,
        "qualifier": list(season.qualifier),
        "waiting": list(season.waiting),
        "moves": [asdict(move) for move in season.moves],
    }
    with store.database.writing() as connection:
        newest = select(func.coalesce(func.max(SEASONS.c.number), 0)).where(SEASONS.c.league == league)
        if int(connection.execute(newest).scalar_one()) != number - 1:
            raise UsageRefused(
                f"season {number} of {league} already exists", step="list the seasons: enginetour season"
            )
        prefix = stage_name(league, number, "")
        named = select(TOURNAMENTS.c.name).where(func.substr(TOURNAMENTS.c.name, 1, len(prefix)) == prefix)
        if (other := connection.execute(named).scalar()) is not None:
            what = f"tournament {other!r} already exists, and the season would have one with this name"
            step = "choose another name for the league, or another database with --db"
            raise UsageRefused(what, place=str(store.database.path), step=step)
        connection.execute(insert(SEASONS), {**about, "rules": dict(section), "places": places})


def seasons_of(store: Store, league: str | None = None) -> list[StoredSeason]:
    """Return the seasons of a league, or of all leagues, oldest first."""
    rows = select(SEASONS).order_by(SEASONS.c.id)
    if league is not None:
        rows = rows.where(SEASONS.c.league == league)
    with store.database.reading() as connection:
        found = [_season(row) for row in connection.execute(rows)]
    newest = {one.league: one.number for one in found}
    return [replace(one, is_over=one.number < newest[one.league]) for one in found]


def run_name(league: str) -> str:
    """Return the name of the lock that a run of a league holds, as messages show it."""
    return f"league {league}"


def running_league(store: Store, tournament: str) -> str:
    """Return the `run_name` of the league of a tournament if a run plays it, otherwise ""."""
    leagues = (one.league for one in seasons_of(store) if tournament.startswith(stage_name(one.league, one.number, "")))
    for league in leagues:
        try:
            with store.database.backend.lock(run_name(league)):
                return ""
        except AlreadyRunning:
            return run_name(league)
    return ""


def league_of(store: Store, name: str | None = None) -> str:
    """Return the name of a league of the database, by default that with the newest season.

    Raise UsageRefused if there is none, or none with this name.
    """
    names = list(dict.fromkeys(one.league for one in reversed(seasons_of(store))))
    place = str(store.database.path)
    if not names:
        step = "start one with enginetour run LEAGUE.toml"
        raise UsageRefused("does not contain a league", place=place, step=step)
    if name is None:
        return names[0]
    if name not in names:
        what = f"league {name!r} not found{did_you_mean(name, names)}"
        raise UsageRefused(what, place=place, step=f"choose one of: {', '.join(names[:10])}")
    return name


def _season(row: Any) -> StoredSeason:
    try:
        places = row.places
        divisions = places["divisions"]
        season = Season(
            divisions=tuple(tuple(map(str, one["engines"])) for one in divisions),
            open=tuple(int(one["open"]) for one in divisions),
            qualifier=tuple(map(str, places["qualifier"])),
            waiting=tuple(map(str, places["waiting"])),
            moves=tuple(Move(**move) for move in places["moves"]),
        )
        rules = Rules(
            names=tuple(str(one["name"]) for one in divisions),
            sizes=tuple(int(one["size"]) for one in divisions),
            promote=tuple(map(int, places["promote"])),
            playoff=tuple(map(int, places["playoff"])),
            new=places["new"],
            entries=int(places["entries"]),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"season {row.number} cannot be read: {type(error).__name__}: {error}"
        raise StoreRefused(what, place=row.league, step="restore a backup of the database") from None
    return StoredSeason(row.league, row.number, row.created_unix, row.rules, season, rules)


# The results of a season.

Kind = Literal["qualifier", "division", "cross", "playoff"]
QUALIFIER, CROSS = "Qualifier", "Cross"  # labels of their tournaments


@dataclass(frozen=True, slots=True)
class StageResult:
    """The state of a tournament after its newest event.

    Attributes:
        standings: the current table.
        is_finished: whether no game remains.
        remaining: the fewest and the most games that are left.
        games: number of games that count.
        verdict: the verdict of its sequential test, "" before the verdict; None without a test.
    """

    standings: tuple[StandingsRow, ...]
    is_finished: bool
    remaining: tuple[int, int]
    games: int
    verdict: str | None = None

    @classmethod
    def of(cls, log: TournamentReader, format_: Format[Any], state: Any) -> StageResult:
        """Return the result of a log that was replayed to `state`."""
        verdict = None if getattr(state, "walk", None) is None else state.verdict or ""
        games = log.endings().total()
        return cls(format_.standings(state), not format_.offers(state), format_.remaining(state), games, verdict)


def read_result(log: TournamentLog) -> StageResult:
    """Replay a log and return its result."""
    return StageResult.of(log, *fold(log))


@dataclass
class Stage:
    """A tournament of a season.

    Attributes:
        kind: what it decides.
        label: its name within the season.
        number: number of the division, or of the division above the border of a playoff, from 0.
        entrants: the engines that began, or will begin; for a playoff, the lower engine first. Engines that an earlier
            tournament has not decided yet are missing, and those of matches between divisions that have not begun.
        title: its name in the database.
        log: the tournament in the database; None before its first game.
        is_idle: whether a qualifier has left too few engines for a game.
        read: returns the result of the log.
    """

    kind: Kind
    label: str
    number: int
    entrants: tuple[str, ...]
    title: str
    log: TournamentLog | None = None
    is_idle: bool = False
    read: Callable[[TournamentLog], StageResult] = read_result

    @cached_property
    def result(self) -> StageResult | None:
        """The state after the newest event; None before the first game."""
        return None if self.log is None else self.read(self.log)

    @property
    def is_finished(self) -> bool:
        """Return whether all its games have been played."""
        return self.is_idle if self.result is None else self.result.is_finished

    @property
    def standings(self) -> tuple[StandingsRow, ...]:
        """The current table; empty before the first game."""
        return () if self.result is None else self.result.standings

    @cached_property
    def departures(self) -> dict[str, str]:
        """The engines that left the tournament, with the reasons."""
        found = () if self.log is None else self.log.withdrawals()
        return {one.name: one.why for one in found if one.replacement != one.name}

    @property
    def ranked(self) -> tuple[str, ...]:
        """The engines of the table, best first, without those that left; before the first game, the entrants."""
        if self.log is None:
            return self.entrants
        return tuple(line.name for line in self.standings if line.name not in self.departures)

    @property
    def remaining(self) -> tuple[int, int] | None:
        """The fewest and the most games that are left; None before the first game."""
        return None if self.result is None else self.result.remaining

    def lower_won(self) -> bool:
        """Return whether the lower engine of a playoff has won: by its test, or else by points."""
        if self.result is None:
            return False
        lower, upper = self.entrants
        if lower not in self.ranked or upper not in self.ranked:
            return lower in self.ranked
        if self.result.verdict is not None:
            return self.result.verdict == "H1"
        points = {line.name: line.half_points for line in self.standings}
        return points[lower] > points[upper]


def _playoff_labels(rules: Rules, border: int) -> list[str]:
    count = rules.playoff[border]
    return [f"Playoff {rules.names[border]}{f' {number}' if count > 1 else ''}" for number in range(1, count + 1)]


def begun_tournaments(store: Store, stored: StoredSeason) -> Iterator[TournamentLog]:
    """Yield the tournaments of a season that have begun, without reading their games."""
    playoffs = (label for border in range(len(stored.rules.playoff)) for label in _playoff_labels(stored.rules, border))
    for label in (QUALIFIER, *stored.rules.names, CROSS, *playoffs):
        if store.has(title := stage_name(stored.league, stored.number, label)):
            yield store.tournament(title)


class SeasonBook:
    """A stored season with the results of its tournaments, which `read` returns."""

    def __init__(
        self, store: Store, stored: StoredSeason, read: Callable[[TournamentLog], StageResult] = read_result
    ) -> None:
        self.store, self.stored, self.rules, self._read = store, stored, stored.rules, read

    @property
    def title(self) -> str:
        """The name of the league and the number of the season."""
        return f"{self.stored.league}, season {self.stored.number}"

    def _stage(self, kind: Kind, label: str, number: int, entrants: tuple[str, ...], *, is_idle: bool = False) -> Stage:
        log = self._log(label)
        if log is not None and kind in ("cross", "playoff"):  # as it began, even if a table has changed since
            entrants = tuple(entrant.name for entrant in log.entrants)
        return Stage(kind, label, number, entrants, self._title(label), log, is_idle, self._read)

    def _title(self, label: str) -> str:
        return stage_name(self.stored.league, self.stored.number, label)

    def _log(self, label: str) -> TournamentLog | None:
        title = self._title(label)
        return self.store.tournament(title) if self.store.has(title) else None

    @cached_property
    def qualifier(self) -> Stage | None:
        """The qualifier, if the season has one."""
        names = self.stored.season.qualifier
        return self._stage("qualifier", QUALIFIER, 0, names) if names else None

    @cached_property
    def season(self) -> Season:
        """The places, with those that the qualifier has decided."""
        season = self.stored.season
        if self.qualifier is None:
            return season
        logs = (self._log(name) for name in self.rules.names)
        begun = {number: [one.name for one in log.entrants] for number, log in enumerate(logs) if log is not None}
        return season.settled(self.qualifier.ranked, begun) if begun or self.qualifier.is_finished else season

    @cached_property
    def divisions(self) -> tuple[Stage, ...]:
        """The tournaments of the divisions, from top to bottom."""
        places = zip(self.rules.names, self.season.divisions, self.season.open, strict=True)
        return tuple(
            self._stage("division", name, number, engines, is_idle=not is_open and len(engines) < FEWEST)
            for number, (name, engines, is_open) in enumerate(places)
        )

    @cached_property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The engines of each division in the order of its table, without those that left.

        An engine that was added to a second division counts in the upper one.
        """
        first: dict[str, int] = {}
        for stage in self.divisions:
            for name in stage.ranked:
                first.setdefault(name, stage.number)
        return tuple(tuple(name for name in stage.ranked if first[name] == stage.number) for stage in self.divisions)

    @cached_property
    def cross(self) -> Stage | None:
        """The matches between divisions, if the league has them and at least two divisions have engines."""
        if not self.stored.section.get("cross") or len(self.divisions) < 2:
            return None
        if self.are_divisions_finished and sum(map(bool, self.tables)) < 2:
            return None
        return self._stage("cross", CROSS, 0, ())

    @cached_property
    def playoffs(self) -> tuple[Stage, ...]:
        """The playoff matches; without entrants while the divisions play."""
        found = list[Stage]()
        for border, count in enumerate(self.rules.playoff):
            pairs: Sequence[tuple[str, ...]] = ((),) * count
            if self.are_divisions_finished:
                pairs = playoff_pairs(self.rules, self.tables, border)
            for number, label in enumerate(_playoff_labels(self.rules, border), 1):
                pair = pairs[number - 1] if number <= len(pairs) else ()
                stage = self._stage("playoff", label, border, tuple(reversed(pair)))
                if number <= len(pairs) or stage.log is not None:
                    found.append(stage)
        return tuple(found)

    @property
    def are_divisions_finished(self) -> bool:
        """Return whether all divisions have been played."""
        return self.stored.is_over or all(stage.is_finished for stage in self.divisions)

    def stages(self) -> list[Stage]:
        """Return all tournaments of the season, in the order in which they are played."""
        some = (self.qualifier, *self.divisions, self.cross, *self.playoffs)
        return [stage for stage in some if stage is not None]

    @cached_property
    def departures(self) -> dict[str, str]:
        """The engines that left a tournament of the season, and with it the league, with the reasons."""
        return {name: why or "withdrawn" for stage in self.stages() for name, why in stage.departures.items()}

    def playable(self) -> list[Stage]:
        """Return the tournaments that can be played now; empty after the season.

        If a game is voided after the next season has begun, its season stays as it is.
        """
        if self.stored.is_over:
            return []
        if self.qualifier is not None and not self.qualifier.is_finished:
            return [self.qualifier]
        if unfinished := [stage for stage in self.divisions if not stage.is_finished]:
            return unfinished
        return [stage for stage in self.stages() if not stage.is_finished]

    def result(self) -> SeasonResult:
        """Return the results of the season. Raise UsageRefused if it has not ended."""
        if left := self.playable():
            stage = left[0]
            games = f"{stage.remaining[1]} games of {stage.label} are left" if stage.remaining else ""
            step = "play it to its end: enginetour run LEAGUE.toml"
            what = f"has not ended ({games or f'{stage.label} has not begun'})"
            raise UsageRefused(what, place=self.title, step=step)
        matches: dict[int, list[tuple[str, str, bool]]] = {}
        for stage in self.playoffs:
            lower, upper = stage.entrants
            matches.setdefault(stage.number, []).append((upper, lower, stage.lower_won()))
        return SeasonResult(self.tables, matches, self.departures)

    def division_results(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Return wins, draws and losses of White in the games of the divisions, by pair of engines that remain."""
        here = {name for table in self.tables for name in table}
        found = dict[tuple[str, str], tuple[int, int, int]]()
        for stage in self.divisions:
            counts = stage.log.pair_counts() if stage.log else {}
            found |= {pair: count for pair, count in counts.items() if here.issuperset(pair)}
        return found


def newest_season(store: Store, league: str) -> SeasonBook | None:
    """Return the newest season of a league, or None if it has not begun."""
    found = seasons_of(store, league)
    return SeasonBook(store, found[-1]) if found else None
