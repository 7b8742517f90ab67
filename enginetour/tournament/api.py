"""The Python API: `import enginetour as et`. `enginetour/__init__.py` loads these names on their first use."""

from __future__ import annotations

import dataclasses
import io
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Self

import chess
import chess.pgn
from pydantic import PrivateAttr

from enginetour.engines.registry import of_workspace
from enginetour.interop.files import replace_bytes
from enginetour.model import frames
from enginetour.model.errors import TaskFailed, TourError, UsageRefused, did_you_mean, usage_errors
from enginetour.model.game import Game as PlayedGame
from enginetour.model.game import Opening, Pairing
from enginetour.ratings.ratinglist import RatingList
from enginetour.ratings.sequential import ERROR, MatchTest, Model, Sprt, match_test
from enginetour.reports import documents
from enginetour.reports.forecast import prospect_of
from enginetour.reports.games import game_row
from enginetour.reports.pgn import common_tags, game_pgn
from enginetour.reports.progress import format_games, status_json
from enginetour.reports.standings import standings_sheet
from enginetour.store import models
from enginetour.store.address import (
    Address,
    database_of,
    existing_database,
    parse_address,
    results_of,
    rows_of_others,
    workspace_of,
)
from enginetour.store.games import GameLine
from enginetour.store.log import TournamentLog
from enginetour.store.models import Session, select
from enginetour.store.replay import fold
from enginetour.store.tables import TournamentEntry
from enginetour.store.tournaments import Store, tournament_entries
from enginetour.tournament.config.load import Config, load
from enginetour.tournament.config.quickmatch import MatchRequest, draft_match
from enginetour.tournament.config.write import write_draft, write_match
from enginetour.tournament.events import make_event
from enginetour.tournament.executor import LocalExecutor, probe_executor
from enginetour.tournament.plan import own_cores, prepare
from enginetour.tournament.probing import detect_each
from enginetour.tournament.rating import definition_from, entrant_named, rate_files, rate_next, rate_stored
from enginetour.tournament.recorded import ENDS, ENOUGH_GAMES, Dropped, RecordedRun, check_limits
from enginetour.tournament.run import open_session
from enginetour.tournament.scheduler import GameLimit, RunEnd, Scheduler, Screen
from enginetour.tournament.watching import run_state

if TYPE_CHECKING:
    from enginetour.engines.machine import Cores
    from enginetour.interop.toml import ConfigDraft
    from enginetour.tournament.changes import SlotPool
    from enginetour.tournament.quality import Reserves

__all__ = [
    "Database",
    "Game",
    "MatchTest",
    "RatingList",
    "Run",
    "Session",
    "TourError",
    "Tournament",
    "TournamentEntry",
    "chart",
    "models",
    "open",
    "plan",
    "play",
    "rate",
    "run",
    "select",
    "sprt",
]

Place = str | os.PathLike[str]
OnEvent = Callable[[Mapping[str, object]], object]


# Reading a database.


class Game(GameLine):
    """A game as in `enginetour games`. The moves are read when `moves` or `pgn` is called."""

    _pgn: Callable[[], str] = PrivateAttr()

    @classmethod
    def _of(cls, values: Mapping[str, Any], pgn: Callable[[], str]) -> Self:
        """Return a game with these columns, whose moves come from `pgn`."""
        made = cls.model_construct(**values)
        made._pgn = pgn
        return made

    @property
    def result(self) -> str:
        """The result as in PGN; ``*`` for a game that was voided."""
        return str(self.to_json()["result"])

    def pgn(self) -> str:
        """Return the game as PGN with the times, scores and depths of the moves."""
        return self._pgn()

    def moves(self) -> chess.pgn.Game:
        """Return the game with its moves as a game of python-chess."""
        read = chess.pgn.read_game(io.StringIO(self.pgn()))
        assert read is not None
        return read

    def to_json(self) -> dict[str, object]:
        """Return the row of `enginetour games --json`."""
        return game_row(self)


class Database:
    """An open database. Make it with `enginetour.open`, and use it as a context manager or call `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database. Games that were read before can no longer read their moves."""
        self._store.close()

    def tournaments(self) -> list[TournamentEntry]:
        """Return all tournaments without imports, oldest first."""
        with self._readable():
            return tournament_entries(self._store)

    def games(
        self,
        tournament: str | None = None,
        *,
        edition: int | None = None,
        engine: str | None = None,
        termination: str | None = None,
        incidents: bool = False,
    ) -> list[Game]:
        """Return the games of a tournament, oldest first.

        Args:
            tournament: name of the tournament; None for the newest.
            edition: number of the edition; None for the newest.
            engine: only games of this entrant; the beginning of its name is enough.
            termination: only games with this ending, such as ``time`` or ``adjudication``.
            incidents: only games with incidents.

        Raises:
            TourError: The tournament, edition or entrant does not exist.
        """
        with self._readable():
            log = self._store.tournament(tournament, edition)
            named = None if engine is None else entrant_named(log, engine, option="engine")
            lines = log.games(engine=named, termination=termination, incidents=incidents)
        return [Game._of(dict(line), partial(_read_pgn, log, line.number)) for line in lines]

    def standings(self, tournament: str | None = None, *, edition: int | None = None) -> list[dict[str, object]]:
        """Return the rows of the table, as `enginetour standings --json` prints them under ``table``."""
        with self._readable(), self._store.database.snapshot():
            log = self._store.tournament(tournament, edition)
            format_, state = fold(log)
            return [*map(dict, standings_sheet("", format_.standings(state), log.odds_by_entrant()).rows)]

    def forecast(
        self,
        tournament: str | None = None,
        *,
        edition: int | None = None,
        concurrency: int | None = None,
        simulations: int = 300,
    ) -> dict[str, Any]:
        """Simulate the rest of a tournament, and return the document of `enginetour forecast --json`.

        Args:
            tournament: name of the tournament; None for the newest.
            edition: number of the edition; None for the newest.
            concurrency: number of concurrent games; None for that of the configuration.
            simulations: number of simulated tournaments.

        Raises:
            TourError: The tournament or edition does not exist, or it has ended.
        """
        with self._readable(), self._store.database.snapshot():
            prospect = prospect_of(self._store.tournament(tournament, edition), concurrency)
        return prospect.forecast(simulations).to_json()

    def ratings(
        self,
        list: str | None = None,  # noqa: A002 - the name of a rating list
        *,
        tournament: str | None = None,
        edition: int | None = None,
        as_of: str | None = None,
        anchor: Mapping[str, float] | None = None,
        **fields: Any,
    ) -> RatingList:
        """Return a named rating list, the list of a tournament, or the list of all games.

        Args:
            list: name of a list of `enginetour lists`.
            tournament: name of a tournament, instead of a list.
            edition: edition of the tournament; None for the newest.
            as_of: state on a day, at a time (UTC), at ``edition N`` or at ``game N``; None for the present state.
            anchor: fixed ratings by engine.
            fields: filters and terms of a list, such as ``min_games=30`` or ``engines=["Toga*"]``. A named list is
                changed by them for this call only.

        Raises:
            TourError: The list or tournament does not exist, or a field is not valid.
        """
        with self._readable(), self._store.database.snapshot():
            log = self._log_of(list, tournament, edition)
            return rate_stored(self._store, list, log, _fields(fields, anchor), as_of=as_of)[1]

    def next_encounters(
        self,
        list: str | None = None,  # noqa: A002 - the name of a rating list
        *,
        tournament: str | None = None,
        edition: int | None = None,
        games: int = 20,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return the encounters that reduce the errors of a list most per hour, as `enginetour next --json` does.

        Args:
            list: name of a list of `enginetour lists`.
            tournament: name of a tournament, instead of a list; without both, all games are one list.
            edition: edition of the tournament; None for the newest.
            games: number of games of each encounter, even.
            fields: filters and terms of a list, as for `ratings`.

        Raises:
            TourError: The list or tournament does not exist, a field is not valid, or there are fewer than two engines.
        """
        with self._readable(), self._store.database.snapshot():
            log = self._log_of(list, tournament, edition)
            return rate_next(self._store, list, log, _fields(fields, None), games=games).to_json()

    def _log_of(self, list: str | None, tournament: str | None, edition: int | None) -> TournamentLog | None:  # noqa: A002
        """Return the tournament, or None if none is named. Raise UsageRefused if a list is named, too."""
        named = tournament is not None or edition is not None
        if list is not None and named:
            what = "list and tournament cannot be combined, because a list defines its tournaments"
            raise UsageRefused(what, step="omit one of them")
        return self._store.tournament(tournament, edition) if named else None

    def rows(self, table: str, **which: Any) -> list[dict[str, Any]]:
        """Return a table as the commands print it with ``--json``.

        Args:
            table: ``tournaments``, ``games``, ``standings``, ``ratings``, ``crosstable``, ``incidents``, ``lists``,
                ``editions`` or ``imports``.
            which: the arguments of the method of this name; `tournament` and `edition` for a crosstable or incidents,
                and `name` for the editions of one list.
        """
        if table == "games":
            return [game.to_json() for game in self.games(**which)]
        if table == "standings":
            return self.standings(**which)
        if table == "ratings":
            return self.ratings(**which).to_rows()
        if table == "tournaments":
            return [one.model_dump(mode="json") for one in self.tournaments(**which)]
        if table in ("crosstable", "incidents"):
            return self._rows_of_log(table, **which)
        of_store: Mapping[str, Callable[..., list[dict[str, object]]]] = {
            "lists": documents.lists,
            "editions": documents.editions,
            "imports": documents.imports,
        }
        if table not in of_store:
            known = "tournaments, games, standings, ratings, crosstable, incidents, lists, editions or imports"
            raise UsageRefused(f"must be {known} (found {table!r})", place="table")
        with self._readable(), self._store.database.snapshot():
            return of_store[table](self._store, **which)

    def _rows_of_log(
        self, table: str, tournament: str | None = None, edition: int | None = None
    ) -> list[dict[str, object]]:
        with self._readable(), self._store.database.snapshot():
            log = self._store.tournament(tournament, edition)
            if table == "incidents":
                return documents.incidents(log)
            rows: Any = documents.crosstable(log, *fold(log))[1]["table"]
            return list(rows)

    def frame(self, table: str, **which: Any) -> Any:
        """Return a table of `rows` as a `pandas.DataFrame`. Raise TourError if pandas is not installed."""
        return frames.to_frame(self.rows(table, **which))

    def to_arrow(self, table: str, **which: Any) -> Any:
        """Return a table of `rows` as a `pyarrow.Table`. Raise TourError if pyarrow is not installed."""
        return frames.to_arrow(self.rows(table, **which))

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a SQLModel session for queries over `models`.

        The session has one state of the database. Rows cannot be changed. If the database was opened with
        ``writable=True``, statements such as `insert` of SQLAlchemy write together when the block ends, and no game can
        be stored until then.
        """
        with models.session_of(self._store.database) as session:
            yield session

    @contextmanager
    def _readable(self) -> Iterator[None]:
        with rows_of_others(self._store.database.path):
            yield


def _read_pgn(log: TournamentLog, number: int) -> str:
    return game_pgn(log.game(number).game, number, log.title, **common_tags(log))


def _address(place: Place | Address | None) -> Address | None:
    if isinstance(place, str):
        return parse_address(place)
    return Path(place) if isinstance(place, os.PathLike) else place


def open(place: Place | None = None, writable: bool = False) -> Database:  # noqa: A001, FBT001, FBT002 - as `open`
    """Open an existing database.

    Args:
        place: a SQLite file or ``postgresql://USER@HOST:PORT/NAME``; None for the database of the workspace.
        writable: whether sessions can write.

    Raises:
        TourError: The database does not exist, is not of enginetour, or has an older schema.
    """
    address = existing_database(Path.cwd(), _address(place))
    with rows_of_others(address):
        return Database(Store.open(address, create=False, readonly=not writable))


# Rating lists and charts.


def _fields(fields: Mapping[str, Any], anchor: Mapping[str, float] | None) -> dict[str, Any]:
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return given if anchor is None else {**given, "anchors": dict(anchor)}


def rate(
    files: Place | Sequence[Place],
    *,
    anchor: Mapping[str, float] | None = None,
    pairs: bool = False,
    by_event: bool = False,
    start: Mapping[str, str | float] | None = None,
    **fields: Any,
) -> RatingList:
    """Compute a rating list from PGN files, as `enginetour rate` does.

    Args:
        files: a file or several files, also .gz and .zst.
        anchor: fixed ratings by engine.
        pairs: compute errors from game pairs.
        by_event: count each Event tag as a tournament (only for incremental systems).
        start: starting ratings or Go grades by engine (only for incremental systems).
        fields: filters and terms of a list, such as ``min_games=30`` or ``system="elo"``.

    Raises:
        TourError: A file cannot be read or has no game to rate, or a field is not valid.
    """
    named = [files] if isinstance(files, str | os.PathLike) else files
    if not named:
        raise UsageRefused("must have at least one file", place="files")
    given = _fields(fields, anchor)
    definition_from(given)  # raises an error for an unknown field
    made = rate_files(
        [Path(name) for name in named],
        given,
        bar=lambda: nullcontext(lambda _: None),
        broken=lambda _: None,
        by_pairs=pairs,
        by_event=by_event,
        start={name: str(rating) for name, rating in (start or {}).items()},
    )
    return made.found


def chart(found: RatingList, file: Place, title: str = "ratings") -> Path:
    """Draw a rating list with its intervals into a file that ends in .svg or .png, and return the file."""
    from enginetour.reports.charts.lists import list_chart
    from enginetour.reports.charts.output import picture_file

    path = Path(file)
    if path.suffix.lower() not in (".svg", ".png"):
        what = f"unsupported image format {path.suffix!r} ({path.name})"
        raise UsageRefused(what, step="use .png or .svg")
    replace_bytes(path, [picture_file(list_chart(found, title), path)])
    return path


def sprt(
    games: Iterable[Game],
    engine: str,
    *,
    elo0: float,
    elo1: float,
    model: Model = "logistic",
    alpha: float = ERROR,
    beta: float = ERROR,
) -> MatchTest:
    """Evaluate a sequential test of one engine over any games, in their order.

    Games of other engines, games that do not count, and games at time odds are left out. The two games of a pair are
    used as a pair if both are given. The verdict is ``walk.verdict`` of the result; `statistics` contains Elo and LOS.

    Args:
        games: the games, for example some of those of `Database.games`.
        engine: name of the engine that is tested against all its opponents.
        elo0: difference of the hypothesis H0, in Elo.
        elo1: difference of the hypothesis H1, in Elo.
        model: ``logistic``, ``normalized`` or ``bayesian``.
        alpha: probability of the verdict H1 if H0 is true.
        beta: probability of the verdict H0 if H1 is true.

    Raises:
        TourError: There are no such games, or a number is not valid.
    """
    played = [game for game in games if engine in (game.white, game.black) and game.counts and not game.handicap]
    if not played:
        raise UsageRefused(f"no games of {engine!r} that count", place="sprt", step="choose another engine or filter")
    keys = [(game.white, game.black) if game.white < game.black else (game.black, game.white) for game in played]
    pairs = [(*key, game.meeting, (game.leg + 1) // 2) for key, game in zip(keys, played, strict=True)]
    points = [game.outcome.half_points(white=game.white == engine) for game in played]
    with usage_errors("sprt"):
        return match_test(Sprt(elo0, elo1, model, alpha, beta), [*zip(pairs, points, strict=True)])


# Playing.


class Tournament:
    """A tournament that can be run: a valid configuration and its database."""

    def __init__(self, config: Config, database: Address) -> None:
        self.config, self.database = config, database

    @property
    def name(self) -> str:
        """The name of the tournament."""
        return self.config.tournament.name

    @property
    def path(self) -> Path:
        """The configuration file."""
        return self.config.path

    @classmethod
    def from_toml(cls, path: Place, database: Place | None = None) -> Self:
        """Read a configuration file. By default, the database is that of the file's workspace.

        Raises:
            TourError: The file cannot be read, or is not valid.
        """
        file = Path(path)
        return cls(load(file), database_of(file.resolve().parent, _address(database)))

    @classmethod
    def match(
        cls,
        *engines: str,
        tc: str = "10+0.1",
        games: int | None = None,
        openings: str | None = None,
        concurrency: int = 1,
        sprt: Mapping[str, float] | None = None,
        name: str = "",
        seed: int = 1,
        database: Place | None = None,
    ) -> Self:
        """Write the configuration of a match into ``results``, as `enginetour match` does.

        Args:
            engines: ids, names or commands; more than two engines play a round robin.
            tc: time control.
            games: number of games; None for 100, or for 2 of each pair of more than two engines.
            openings: opening book.
            concurrency: number of concurrent games.
            sprt: settings of a sequential test, such as ``{"elo0": 0, "elo1": 5}``.
            name: name of the tournament; "" for the names of the engines.
            seed: random seed.
            database: a SQLite file or a server; None for the database of the workspace.

        Raises:
            TourError: An engine is not found or does not respond, or a setting is not valid.
        """
        workspace = workspace_of(Path.cwd())
        play: dict[str, Any] = {"tc": tc, "concurrency": concurrency}
        if openings is not None:
            play["openings"] = {"file": openings}
        asked = MatchRequest(tuple(engines), play, games, sprt, name=name, seed=seed)
        address = database_of(workspace, _address(database))
        with probe_executor(results_of(workspace, address)) as slots:
            draft = _draft(asked, workspace, slots)
        path, _ = write_match(draft, workspace / "results")
        return cls(load(path), address)


def _draft(asked: MatchRequest, workspace: Path, slots: LocalExecutor) -> ConfigDraft:
    def detect(commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path) -> Any:
        return detect_each(commands, protocol, folder, slots)

    return draft_match(asked, of_workspace(workspace), Path.cwd(), detect)


class Run:
    """One run of a tournament. `play` blocks; other threads may call `stop`, and read `state` and `status`.

    The run writes the same files as `enginetour run`, and answers the same commands of a terminal.
    """

    def __init__(
        self,
        tournament: Tournament,
        *,
        on_event: OnEvent | None = None,
        concurrency: int | None = None,
        max_games: int | GameLimit | None = None,
        new: bool = False,
        accept_change: bool = False,
        force: bool = False,
        reserves: Reserves | None = None,
        paused: bool = False,
        pool: SlotPool | None = None,
    ) -> None:
        """Prepare a run.

        Args:
            tournament: what to play.
            on_event: receives each event of the event log, in the thread of `play`. docs/reference/event-log.md
                describes the events. An exception that it raises ends the run.
            concurrency: number of concurrent games; None for that of the configuration.
            max_games: stop after this number of games; several runs can share a `GameLimit`.
            new: start the next edition of a finished tournament.
            accept_change: resume although an engine has changed.
            force: allow more concurrent games than processors.
            reserves: reserves that other tournaments of this process share; None for those of the configuration.
            paused: begin with a pause, which `enginetour unpause` ends.
            pool: the concurrent games of several tournaments, which `enginetour concurrency` changes; None for those
                of this run.
        """
        self.tournament, self._reserves, self._paused, self._pool = tournament, reserves, paused, pool
        self._on_event, self._slots = on_event, concurrency
        self._limit = max_games if isinstance(max_games, GameLimit) else GameLimit(max_games)
        self._new, self._accept_change, self._force = new, accept_change, force
        self._stopping: Literal["", "finish", "now"] = ""
        self._cause = "a stop was requested"  # also of a stop through the control socket
        self._cores: Cores | None = None
        self._made: RecordedRun | None = None
        self._scheduler: Scheduler | None = None
        self._thread = 0
        self._end = ""

    @property
    def state(self) -> str:
        """The state: new, starting, running, paused or stopping, then the reason for the end.

        A run ends as finished, stopped, enough (`max_games`), blocked, busy or failed.
        """
        if self._end:
            return self._end
        if self._scheduler is not None:
            return run_state(self._scheduler)
        return "starting" if self._thread else "new"

    @property
    def paused(self) -> bool:
        """Whether no games start because of a request; after the end, whether this was so at the end."""
        return self._paused if self._scheduler is None else self._scheduler.paused

    @property
    def pgn(self) -> Path:
        """The PGN file with the games. Raise TourError if games have not begun."""
        return self._begun()[0].pgn.path

    @property
    def games(self) -> str:
        """The numbers of finished and remaining games as text; "" if games have not begun."""
        if self._made is None or self._scheduler is None:
            return ""
        scheduler = self._scheduler
        return format_games(self._made.progress.done, scheduler.format.remaining(scheduler.state))

    def _begun(self) -> tuple[RecordedRun, Scheduler]:
        if self._made is None or self._scheduler is None:
            what = f"{self.tournament.name} has not begun its games"
            raise UsageRefused(what, step="wait until the state is running")
        return self._made, self._scheduler

    def status(self) -> dict[str, Any]:
        """Return the figures of `enginetour status --json`. Raise TourError if games have not begun."""
        made, scheduler = self._begun()
        if threading.get_ident() != self._thread:
            taken = Future[None]()

            def take() -> None:
                made.progress.take(scheduler)
                taken.set_result(None)

            scheduler.inbox.put(take)
            while not self._end and not wait([taken], timeout=0.05).done:
                pass
        elif not self._end:
            made.progress.take(scheduler)
        return status_json(made.progress, self.state)

    def stop(self, *, now: bool = False, grace: float | None = None, cause: str = "") -> None:
        """Start no new games. If `now` is true, also drop the games in progress; the next run plays them again.

        With `grace`, games in progress are dropped after this number of seconds. The last event of the run names the
        `cause` of the first stop, if it has one.
        """
        if cause and not self._stopping:
            self._cause = cause
        self._stopping = "now" if now else self._stopping or "finish"
        if (scheduler := self._scheduler) is not None:
            scheduler.inbox.put(lambda: scheduler.stop(now=now, grace=grace))

    def resize(self, concurrency: int) -> None:
        """Change the number of concurrent games; games in progress are played to their ends."""
        self._slots = concurrency
        if (scheduler := self._scheduler) is not None:
            scheduler.inbox.put(lambda: scheduler.resize(concurrency))

    def play(self) -> str:
        """Play until the tournament ends or is stopped, and return the last `state`. A run plays only once.

        Raises:
            TourError: The tournament cannot be started or resumed, or a changed engine ended the run.
        """
        if self._thread:
            raise UsageRefused("this run has been played", step="make another Run, which resumes the tournament")
        self._thread = threading.get_ident()
        try:
            self._end = self._play().value
        except Dropped:
            self._end = RunEnd.STOPPED.value
        finally:
            self._end = self._end or RunEnd.FAILED.value
        return self._end

    def _play(self) -> RunEnd:
        path, address = self.tournament.path, self.tournament.database
        with (
            ExitStack() as closing,
            probe_executor(results_of(path.resolve().parent, address), start=True) as executor,
            rows_of_others(address),
        ):
            plan = prepare(self.tournament.config, address, resumes=not self._new)
            settings = plan.config.play
            slots = self._slots or settings.concurrency
            if settings.affinity is True:
                self._cores = own_cores(plan.sides.values(), slots, plan.config.at("play", "affinity"))
            check_limits(self._cores, slots, self._force)
            opened = open_session(
                plan,
                executor,
                new=self._new,
                accept_change=self._accept_change,
                tell=self._tell,
                check_stop=self._check,
                reserves=self._reserves,
            )
            with opened as session:
                screen = _Messages(self._tell)
                made = self._made = RecordedRun(session, screen.trouble, lambda: bool(self._stopping), self._is_hard)
                end = made.play(
                    executor,
                    screen,
                    slots=slots,
                    closing=closing,
                    limits=lambda count, force: check_limits(self._cores, count, force),
                    ready=self._ready,
                    cause=self._why,
                    limit=self._limit,
                    pool=self._pool,
                    sinks=(self._sink,),
                )
                made.finish()
                made.report(f"enginetour run {path}", self._tell)
                if end is not RunEnd.FINISHED and session.refusal is not None:
                    raise session.refusal
                return end

    def _why(self, end: RunEnd) -> str:
        return ENDS.get(end, ENOUGH_GAMES if end is RunEnd.ENOUGH else self._cause)

    def _ready(self, scheduler: Scheduler) -> None:
        scheduler.paused = self._paused
        self._scheduler = scheduler
        if self._slots not in (None, scheduler.slots):
            self.resize(self._slots or scheduler.slots)
        if self._stopping:
            self.stop(now=self._is_hard())

    def _is_hard(self) -> bool:
        return self._stopping == "now"

    def _check(self) -> None:
        if self._stopping and (self._scheduler is None or self._is_hard()):
            raise Dropped

    def _tell(self, text: str) -> None:
        self._publish(make_event("trouble", self.tournament.name, time.time(), {"cause": text}, text))

    def _sink(self, event: Mapping[str, object]) -> None:
        if event["event"] != "trouble":  # `_Messages` has published it
            self._publish(event)

    def _publish(self, event: Mapping[str, object]) -> None:
        if self._on_event is not None:
            self._on_event(event)


class _Messages(Screen):
    """Passes messages to a function."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def trouble(self, text: str) -> None:
        """Pass a message."""
        self._tell(text)


def run(tournament: Tournament, *, on_event: OnEvent | None = None, **settings: Any) -> Run:
    """Run a tournament until it ends, and return the `Run`. `settings` are those of `Run`.

    To stop it from another thread, make a `Run` and call `play` and `stop`.
    """
    made = Run(tournament, on_event=on_event, **settings)
    made.play()
    return made


def plan(
    entrants: int | Sequence[str] | Place,
    hours: float,
    *,
    goal: str = "los=0.95",
    output: Place | None = None,
    fields: int = 200,
    limit: float = 50.0,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Compare formats for a night by simulation, as `enginetour plan` does, in this process.

    Args:
        entrants: number of engines, ids of engine files, or a configuration.
        hours: hours that the tournament may take.
        goal: such as ``top=3``, ``los=0.95``, ``error=10`` or ``entrant=dev,error=8``.
        output: file for the configuration of the best format.
        fields: largest number of simulations per format.
        limit: seconds after which no more simulations start.
        settings: ``concurrency``, ``tc``, ``ratings``, ``ratings_of`` (a list), ``spread``, ``noise``,
            ``game_seconds``, ``seed`` and ``database``.

    Returns:
        The rows of ``enginetour plan --json``, best first.

    Raises:
        TourError: A setting is not valid, or no format fits the hours.
    """
    from enginetour.tournament.planner import PlanRequest, plan_night, refuse_output, write_plan

    if isinstance(entrants, int):
        settings["entrants"] = entrants
    elif isinstance(entrants, str | os.PathLike):
        settings["config"] = Path(entrants)
    else:
        settings["engines"] = tuple(entrants)
    if "database" in settings:
        settings["database"] = _address(settings["database"])
    known = [one.name for one in dataclasses.fields(PlanRequest)]
    if unknown := [name for name in settings if name not in known]:
        raise UsageRefused(f"unknown setting {unknown[0]!r}{did_you_mean(unknown[0], known)}", place="plan")
    file = None if output is None else Path(output)
    refuse_output(file)
    made = plan_night(PlanRequest(hours=hours, goal=goal, **settings), most=fields, limit=limit)
    if file is not None:
        write_plan(made, file)
    return [*map(dict, made.sheet().rows)]


def play(
    white: str,
    black: str,
    *,
    tc: str = "10+0.1",
    opening: str | None = None,
    options: Sequence[str] = (),
) -> Game:
    """Play one game without a database, without adjudication. An engine's failure is the result of the game.

    Args:
        white: id, name or command of the engine with White.
        black: the same for Black.
        tc: time control.
        opening: position as FEN; None for the initial position.
        options: engine options, ``NAME=VALUE`` or ``ENGINE.NAME=VALUE``.

    Raises:
        TourError: An engine is not found, or an argument is not valid.
    """
    workspace = workspace_of(Path.cwd())
    start = Opening(fen=_position(opening))
    with TemporaryDirectory(prefix="enginetour-") as scratch, probe_executor() as slots:
        draft = _draft(MatchRequest((white, black), {"tc": tc}, 1, options=tuple(options)), workspace, slots)
        path = Path(scratch, "game.toml")
        try:
            write_draft(draft, path)
            plan = prepare(path, Path(scratch, "none.db"), workspace=workspace)
        except TourError as error:
            error.place = "" if error.place.startswith(scratch) else error.place  # the user does not know this file
            raise
        one, other = (entrant.name for entrant in plan.entrants)
        task = replace(plan.task(plan.sides, Pairing(one, other, 1, 1), 0), opening=start, spare=None)
        try:
            made = slots.submit(task).result()
        except TaskFailed as failed:
            raise TourError(str(failed), step=failed.step) from None
    assert isinstance(made, PlayedGame)
    return _played(made)


def _position(fen: str | None) -> str | None:
    if fen is None:
        return None
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise UsageRefused(f"not a valid FEN: {error}", place="opening") from None
    if not board.is_valid():
        raise UsageRefused(f"impossible position (found {fen!r})", place="opening")
    return fen


def _played(game: PlayedGame) -> Game:
    pairing = game.pairing
    values = {name: getattr(game, name) for name in GameLine.model_fields if hasattr(game, name)}
    values |= {name: getattr(pairing, name) for name in GameLine.model_fields if hasattr(pairing, name)}
    values |= {"number": 1, "voided": False, "incidents": len(game.incidents)}
    values |= {"white": pairing.white, "black": pairing.black}
    return Game._of(values, lambda: game_pgn(game, 1, "enginetour.play"))
