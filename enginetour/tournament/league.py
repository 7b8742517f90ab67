"""Run a season of a league: its tournaments one after another or side by side, and begin the next season.

A season plays its qualifier, then its divisions, then the matches between divisions and the playoffs. Each of them is a
tournament of its own in the database. What is to be played follows from the stored season and the stored results, so a
run that was stopped at any time continues with the same command.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from enginetour.engines.registry import of_workspace
from enginetour.formats.league import Move, Season, first_season, next_season
from enginetour.model.errors import AlreadyRunning, InputRefused, StoreRefused, UsageRefused, suggest
from enginetour.reports.progress import format_clock
from enginetour.store.address import Address, results_of, workspace_of
from enginetour.store.database import lock_of
from enginetour.store.seasons import (
    QUALIFIER,
    SeasonBook,
    Stage,
    begun_tournaments,
    newest_season,
    run_name,
    seasons_of,
    write_season,
)
from enginetour.store.tournaments import Store, existing_store
from enginetour.tournament.api import Run, Tournament
from enginetour.tournament.config.league import League, StagePlan, load_league
from enginetour.tournament.config.load import Config
from enginetour.tournament.config.sections import listed_order
from enginetour.tournament.executor import probe_executor
from enginetour.tournament.plan import Plan, prepare
from enginetour.tournament.probing import probe_all, refuse_unfit
from enginetour.tournament.quality import Reserves
from enginetour.tournament.recorded import ENOUGH_GAMES, Dropped, check_limits, complete_files
from enginetour.tournament.scheduler import GameLimit, RunEnd


def read_league(path: Path) -> League:
    """Read a league file with the engine files of its workspace."""
    return load_league(path, of_workspace(workspace_of(path.resolve().parent)))


# The tournaments of a season.


def stage_config(league: League, book: SeasonBook, stage: Stage) -> Config:
    """Return the configuration of a tournament that can be played.

    Matches between divisions that have begun keep their pairs and settings. Raise InputRefused if the file does not
    have the tournaments of the season.
    """
    section, names, table = league.section, stage.entrants, None
    if section.rules().names != book.rules.names:
        before, now = (", ".join(rules.names) for rules in (book.rules, section.rules()))
        what = f"the divisions of {book.title} cannot change (they were {before}; found {now})"
        raise InputRefused(
            what, place=league.at("league", "divisions"), step="restore them; the next season can change"
        )
    for key in ("playoff", "cross"):
        if book.stored.section.get(key) and getattr(section, key) is None:
            what = f"[league.{key}] is missing, but {book.title} began with it"
            raise InputRefused(what, place=league.at("league"), step="restore it; the next season can change")
    if stage.kind == "cross" and stage.log is not None:
        table = stage.log.config["format"]
    elif stage.kind == "cross":
        assert section.cross is not None
        tables = [table for table in book.tables if table]
        names, table = section.cross.matches(tables, book.division_results(), league.base.play.concurrency)
    return league.config(book.stored.number, StagePlan(stage.kind, stage.label, stage.number, names, table))


# The first and the next season.


def begin_season(
    league: League, database: Address, tell: Callable[[str], None], check_stop: Callable[[], None] = lambda: None
) -> int:
    """Write the first or the next season of a league, after each of its engines was started once. Return its number.

    `check_stop` is called several times a second; an error that it raises ends the command before anything is written.
    Raise UsageRefused if the newest season has not ended, and InputRefused if the file does not fit.
    """
    number, season = _following(league, database)
    plans = _plans(league, database, number, season)
    with probe_executor(results_of(league.path.resolve().parent, database)) as executor:
        for plan in plans:
            refuse_unfit(probe_all(plan.sides, check_stop, executor=executor), plan.sides)
    tell(f"{len(season.engines) - len(season.waiting)} engines can start")
    with Store.open(database) as store:
        section = league.section.model_dump(mode="json")
        write_season(store, league.name, number, section, league.section.rules(), season)
    return number


def _following(league: League, database: Address) -> tuple[int, Season]:
    """Return the number and the places of the first or the next season."""
    with existing_store(database) as store:
        book = None if store is None else newest_season(store, league.name)
        return (1, _first(league, store)) if book is None else (book.stored.number + 1, _next(league, book))


def _plans(league: League, database: Address, number: int, season: Season) -> list[Plan]:
    """Return the plans of the tournaments with which a season begins.

    Divisions whose engines the qualifier decides are checked with some of its engines.
    """
    settled = season.settled(season.qualifier) if season.qualifier else season
    plans = []
    for place, (one, names) in enumerate(zip(league.section.divisions, settled.divisions, strict=True)):
        plan = prepare(league.config(number, StagePlan("division", one.name, place, names)), database)
        if not season.open[place]:
            plans.append(plan)
    if season.qualifier:
        plans.append(prepare(league.config(number, StagePlan("qualifier", QUALIFIER, 0, season.qualifier)), database))
    return plans


@dataclass(frozen=True, slots=True)
class LeagueOutlook:
    """What a run of a league plays, or what the next season would be.

    Attributes:
        number: number of the season.
        exists: whether the season has been written.
        plans: tournaments that can be played, or with which the season begins.
        waiting: engines without a place that do not play.
        moves: for a season that has not been written: who moves, and why.
    """

    number: int
    exists: bool
    plans: Sequence[Plan]
    waiting: Sequence[str]
    moves: Sequence[Move]


def look_ahead(league: League, database: Address) -> LeagueOutlook:
    """Return what a run plays now, or the next season if the newest one has ended. Nothing is written."""
    with existing_store(database) as store:
        book = None if store is None else newest_season(store, league.name)
        if book is not None and (stages := book.playable()):
            configs = [stage_config(league, book, stage) for stage in stages]
            plans = [prepare(config, database, resumes=True) for config in configs]
            return LeagueOutlook(book.stored.number, exists=True, plans=plans, waiting=book.season.waiting, moves=())
    number, season = _following(league, database)
    plans = _plans(league, database, number, season)
    return LeagueOutlook(number, exists=False, plans=plans, waiting=season.waiting, moves=season.moves)


def _first(league: League, store: Store | None) -> Season:
    start, names = league.section.start, league.members
    replacing = list(league.versions)
    if replacing:
        place = league.at("entrants", league.entrants[replacing[0]][1], "replaces")
        step = "remove it: the league has no season before"
        raise InputRefused(f"{replacing[0]} replaces an engine in the first season", place=place, step=step)
    if start == "rating":
        if unrated := [name for name in names if name not in league.ratings]:
            what = f"{unrated[0]} does not have a rating"
            raise InputRefused(what, place=league.at("league", "start"), step='set rating = ..., or start = "file"')
        names.sort(key=lambda name: -league.ratings[name])
    elif listed := listed_order(start):
        names = _by_list(league, store, *listed)
    try:
        return first_season(league.section.rules(), names, qualifier=start == "qualifier")
    except ValueError as error:
        raise InputRefused(str(error), place=league.at("league", "divisions")) from None


def _by_list(league: League, store: Store | None, name: str, number: int | None) -> list[str]:
    """Return the entrants in the order of a published list; entrants that are not in it come last."""
    from enginetour.store.editions import lines_by_name, read_edition  # imported here, because it is rarely used

    place = league.at("league", "start")
    if store is None:
        raise InputRefused("list not found", place=place, step="create the list first")
    try:
        lines = lines_by_name(store, read_edition(store, name, number))
    except UsageRefused as refused:
        raise InputRefused(refused.what, place=place, step=refused.step) from None
    if not set(lines).intersection(league.members):
        raise InputRefused(f"no entrant is in the list {name!r}", place=place)
    last = len(lines) + 1
    return sorted(league.members, key=lambda each: lines[each].ordinal if each in lines else last)


def _next(league: League, book: SeasonBook) -> Season:
    result = book.result()
    playing = {name for table in result.tables for name in table} | set(book.season.waiting)
    engines = [name for name in league.entrants if name in playing or name not in league.reserves]
    known, suspended = _used(book.store, league.name)
    barred = dict.fromkeys(suspended, "left the league in an earlier season")
    barred |= {old: f"was replaced by {new}" for new, old in league.versions.items() if old in known}
    for name, old in league.versions.items():
        if not known.intersection((name, old)):
            place = league.at("entrants", league.entrants[name][1], "replaces")
            what = f"{name} replaces {old!r}, which has not been in the league{suggest(old, known)}"
            raise InputRefused(what, place=place, step="give the name of the earlier version, or remove replaces")
    try:
        return next_season(
            league.section.rules(),
            book.season,
            result,
            engines,
            before=book.rules,
            versions=league.versions,
            ratings=league.ratings,
            barred={name: why for name, why in barred.items() if name in engines and name not in playing},
        )
    except ValueError as error:
        raise InputRefused(str(error), place=league.at("league", "divisions")) from None


def _used(store: Store, league: str) -> tuple[set[str], set[str]]:
    """Return all engines of the seasons so far, and those of them that left a tournament of a season."""
    names, left = set[str](), set[str]()
    for stored in seasons_of(store, league):
        names |= {*stored.season.engines}
        for log in begun_tournaments(store, stored):
            names |= log.specs.keys()
            left |= log.gone
    return names, left


# A run.

_CLOCK_S = 1.0  # seconds between two looks at the clock
_UNFINISHED = (RunEnd.FAILED, RunEnd.BLOCKED, RunEnd.BUSY, RunEnd.STOPPED, RunEnd.ENOUGH)  # the worst first


@dataclass
class _Playing:
    stage: Stage
    run: Run
    weight: float
    thread: threading.Thread


@dataclass
class LeagueRun:
    """One run of a league: plays the season that is the newest one at the start to its end.

    Attributes:
        league: the league file.
        database: the database.
        on_event: receives the events of all tournaments, as in their event logs, one at a time.
        tell: receives other messages for the user.
        concurrency: number of concurrent games of all tournaments together; None for that of the file.
        max_games: start no new games after this number of games.
        until: start no new games after this time of the wall clock (UTC seconds), also if the machine was suspended.
        accept_change: resume although an engine has changed.
        force: allow more concurrent games than processors.
        clock: returns the time of the wall clock.
    """

    league: League
    database: Address
    on_event: Callable[[Mapping[str, object]], None]
    tell: Callable[[str], None]
    concurrency: int | None = None
    max_games: int | None = None
    until: float | None = None
    accept_change: bool = False
    force: bool = False
    clock: Callable[[], float] = time.time
    _stopping: str = ""
    _cause: str = ""  # of the first stop that has one
    _season: int = 0  # number of the season that it plays; 0 before the first look at the database
    _paused: bool = False
    _reserves: Reserves = field(default_factory=Reserves)
    _limit: GameLimit = field(init=False)
    _running: list[_Playing] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _over: SimpleQueue[tuple[_Playing, RunEnd | BaseException]] = field(default_factory=SimpleQueue)

    def __post_init__(self) -> None:
        """Make the limit that all tournaments share."""
        self._limit = GameLimit(self.max_games)

    @property
    def slots(self) -> int:
        """Number of concurrent games of all tournaments together."""
        return self.concurrency or self.league.base.play.concurrency

    def resize(self, slots: int) -> None:
        """Change the number of concurrent games of all tournaments together. Other threads may call it."""
        with self._lock:
            self.concurrency = slots
            self.force = True  # the request was checked, or forced
            self._share()

    def progress(self) -> str:
        """Return the numbers of finished and remaining games of the tournaments that play now."""
        with self._lock:
            parts = [f"{playing.stage.label} {playing.run.games}" for playing in self._running if playing.run.games]
        return " · ".join([self.league.name, *parts])

    def stop(self, *, now: bool = False, has_grace: bool = False, cause: str = "") -> None:
        """Start no new games. If `now` is true, also drop the games in progress. Other threads may call it.

        If `has_grace` is true, drop those that still play after the time `grace` of the configuration. The last events
        of the tournaments name the `cause` of the first stop, if it has one.
        """
        with self._lock:
            self._cause = self._cause or cause
            self._stopping = "now" if now else self._stopping or "finish"
            for playing in self._running:
                grace = playing.run.tournament.config.play.grace if has_grace else None
                playing.run.stop(now=now, grace=grace, cause=self._cause)

    def play(self) -> RunEnd:
        """Begin the first season if there is none, and play until the season ends or the run is stopped."""
        check_limits(None, self.slots, self.force)
        self._complete_files()
        while not self._has_season():
            if self._is_over():
                return RunEnd.STOPPED
            with suppress(Dropped):
                begin_season(self.league, self.database, self.tell, self._check)
        with self._locked():
            while configs := self._playable():
                if self._is_over():
                    return RunEnd.STOPPED
                if self._limit.is_reached:
                    return RunEnd.ENOUGH
                if (end := self._play_together(configs)) is not RunEnd.FINISHED:
                    return end
        return RunEnd.FINISHED  # also after a stop during the last game

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the league, also between two tournaments. Raise StoreRefused if another run has it."""
        lock = lock_of(self.database, run_name(self.league.name))
        try:
            lock.acquire()
        except AlreadyRunning as running:
            step = "wait until its season has ended, or end it with enginetour finish"
            raise StoreRefused(running.what, step=step) from None
        try:
            yield
        finally:
            lock.release()

    def _complete_files(self) -> None:
        """Complete the files of finished tournaments, because a run does not open them again after a kill.

        Another run that still has one of them completes its files itself.
        """
        folder, again = self.league.path.resolve().parent, f"enginetour run {self.league.path}"
        results = results_of(workspace_of(folder), self.database)
        with existing_store(self.database) as store:
            book = None if store is None else newest_season(store, self.league.name)
            for stage in () if book is None else book.stages():
                if stage.log is not None and stage.is_finished:
                    said: list[str] = []
                    play = self.league.play_of(stage.kind, stage.number)
                    config = self.league.base.model_copy(update={"play": play})
                    with suppress(StoreRefused), lock_of(self.database, stage.log.name):
                        complete_files(stage.log, config, results, again, said.append)
                    for text in said:
                        self.tell(f"{stage.title}: {text}")

    def _check(self) -> None:
        if self._is_over():
            raise Dropped

    def _has_season(self) -> bool:
        with existing_store(self.database) as store:
            return store is not None and newest_season(store, self.league.name) is not None

    def _playable(self) -> list[tuple[Stage, Config]]:
        """Return the tournaments that can be played now. Find the free reserves."""
        with existing_store(self.database) as store:
            book = None if store is None else newest_season(store, self.league.name)
            if book is None or self._season not in (0, book.stored.number):
                return []  # the season of this run has ended, and another command has begun the next one
            self._season = book.stored.number
            used = _used(book.store, self.league.name)[0] if self.league.reserves else ()
            self._reserves = Reserves(name for name in self.league.reserves if name not in used)
            return [(stage, stage_config(self.league, book, stage)) for stage in book.playable()]

    def _play_together(self, queue: list[tuple[Stage, Config]]) -> RunEnd:
        """Play tournaments, at most `parallel` at a time. Return the worst reason for which one did not end."""
        parallel, worst, failure = self.league.section.parallel, RunEnd.FINISHED, None
        while queue or self._running:
            while queue and len(self._running) < min(parallel, self.slots) and self._may_start():
                self._start(*queue.pop(0))
            if not self._running:  # no more tournaments start
                break
            try:
                playing, end = self._over.get(timeout=None if self.until is None else _CLOCK_S)
            except Empty:
                self._is_over()
                continue
            playing.thread.join()
            self._paused = playing.run.paused
            with self._lock:
                self._running.remove(playing)
                self._share()
            if isinstance(end, BaseException):
                failure = failure or end
                self.stop(cause=f"the run of {playing.stage.title} failed")
            elif end is not RunEnd.FINISHED:
                if end is RunEnd.ENOUGH:
                    self.stop(cause=ENOUGH_GAMES)
                elif end is RunEnd.STOPPED and not self._stopping:
                    self.stop()  # a request has stopped one of the tournaments: it is for the whole season
                worst = end if worst is RunEnd.FINISHED else min(worst, end, key=_UNFINISHED.index)
        if failure is not None:
            raise failure
        if queue and worst is RunEnd.FINISHED:
            return RunEnd.ENOUGH if self._limit.is_reached else RunEnd.STOPPED
        return worst

    def _is_over(self) -> bool:
        """Return whether no more games start. Stop the tournaments when the time `until` has been reached."""
        if self.until is not None and not self._stopping and self.clock() >= self.until:
            self.tell(f"{format_clock(self.until)}: --stop-at reached, no new games; finishing games in progress")
            self.stop(cause="--stop-at")
        return bool(self._stopping)

    def _may_start(self) -> bool:
        return not (self._is_over() or self._limit.is_used_up)

    def _start(self, stage: Stage, config: Config) -> None:
        def on_event(event: Mapping[str, object]) -> None:
            with self._lock:
                self.on_event(event)

        def play() -> None:
            try:
                end: RunEnd | BaseException = RunEnd(run.play())
            except BaseException as error:
                end = error
            self._over.put((playing, end))

        run = Run(
            Tournament(config, self.database),
            on_event=on_event,
            concurrency=1,
            max_games=self._limit,
            accept_change=self.accept_change,
            force=self.force,
            reserves=self._reserves,
            paused=any(playing.run.paused for playing in self._running) if self._running else self._paused,
            pool=self,
        )
        weight = self.league.section.divisions[stage.number].share if stage.kind == "division" else 1.0
        playing = _Playing(stage, run, weight, threading.Thread(target=play, name=stage.label))
        with self._lock:
            self._running.append(playing)
            self._share()
            playing.thread.start()
            if self._stopping:
                run.stop(now=self._stopping == "now", cause=self._cause)

    def _share(self) -> None:
        """Divide the concurrency between the running tournaments by their weights."""
        counts = shares(self.slots, [playing.weight for playing in self._running])
        for playing, count in zip(self._running, counts, strict=True):
            playing.run.resize(count)


def shares(slots: int, weights: Sequence[float]) -> list[int]:
    """Return the concurrent games of each tournament: at least one each, otherwise in proportion to its weight."""
    found = [1] * len(weights)
    for _ in range(slots - len(weights) if weights else 0):
        place = max(range(len(weights)), key=lambda each: (weights[each] / (found[each] + 1), -each))
        found[place] += 1
    return found
