"""One run as its user sees it: warnings, progress, signals, summary, exit code."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour import __version__
from enginetour.cli.common import machine_lines, rows_of_others, say, width
from enginetour.cli.output import EARLY, Console, SignalState, discard_output, nonblocking_output
from enginetour.cli.report import has_newest_report, outdate_report, report_at_end
from enginetour.cli.screen import Broadcast, Lines, LiveTable, format_history
from enginetour.cli.watching import PgnExport, RequestHandler, RunProgress, RunWatcher
from enginetour.engines import safeguards
from enginetour.engines.identity import missing_paths, path_options
from enginetour.engines.machine import Cores
from enginetour.model.errors import InputRefused, TourError, UsageRefused
from enginetour.model.game import GameFinished
from enginetour.reports.pgn import PgnFile
from enginetour.reports.progress import format_clock, format_games
from enginetour.reports.sheet import render
from enginetour.store.address import Address, slug_of
from enginetour.store.dialect import StoreBusy
from enginetour.store.games import repeated_games
from enginetour.store.replay import fold
from enginetour.tournament import run
from enginetour.tournament.changes import RunController, TournamentEditor
from enginetour.tournament.control import ControlServer, socket_path
from enginetour.tournament.events import EventLog, RunEvents, Sink, catch_up
from enginetour.tournament.limits import overload_warnings, own_cores, refuse_few_files, refuse_overload
from enginetour.tournament.places import LocalExecutor
from enginetour.tournament.plan import prepare
from enginetour.tournament.scheduler import RunEnd, Scheduler, Watcher

if TYPE_CHECKING:
    from enginetour.store.log import TournamentLog
    from enginetour.tournament.cluster.place import DaskExecutor
    from enginetour.tournament.plan import Plan
    from enginetour.tournament.run import Session


# `run --place`: inspect the machines of a cluster before the first game and list them.


@contextmanager
def machines_of(
    place: str | None, plan: Plan, slots: int, *, force: bool, heed: Callable[[], None], tell: Callable[[str], None]
) -> Iterator[DaskExecutor | None]:
    """The cluster named by ``dask=ADDRESS``, looked over; None without a name, where this machine is the place.

    UsageRefused where there is none, or the extra is not installed; InputRefused where no machine of it can play.
    """
    if place is None:
        yield None
        return
    try:
        from enginetour.tournament.cluster.machines import demand_of
        from enginetour.tournament.cluster.place import DaskExecutor, address_of
        from enginetour.tournament.cluster.worker import refuse_without
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        raise UsageRefused(
            "Dask is not installed", place="--place", step="pip install 'enginetour[dask]', here and on every machine"
        ) from None
    address, demand = address_of(place), demand_of(plan, force=force)
    refuse_without(address)
    cluster = DaskExecutor(address, slots, demand)
    try:
        rows: Sequence[Mapping[str, Any]] = cluster.look_round(heed)
        for line in machine_lines(rows):
            tell(line)
        for words in cluster.shared(demand):
            tell(f"warning: {words}")
        if demand.scaled:
            tell("times are divided by the speed of the machine that a game is played on")
        seats = sum(int(row["slots"]) for row in rows if row["state"] == "fit")
        if not seats:
            step = "start one: dask worker ADDRESS --nthreads 4 --resources slot=4"
            what = "no machine of the cluster can play" if rows else "the cluster has no worker"
            raise InputRefused(what, place=address, step="see the table" if rows else step)
        if seats < slots:
            tell(f"warning: {slots} slots, {seats} on the machines that can play: others wait for machines to join")
        yield cluster
    finally:
        cluster.close()


class StopAt(Watcher):
    """Looks at the wall clock after every change and once a second: a sleep of the machine does not put it off."""

    def __init__(self, at: float, screen: Watcher, clock: Callable[[], float] = time.time) -> None:
        self.at = at
        self.screen = screen
        self.clock = clock

    def turn(self, scheduler: Scheduler) -> None:
        """Once it is time no game begins any more; those in the air end as they do."""
        if self.clock() >= self.at and not scheduler.stopping:
            scheduler.stop(now=False)
            self.screen.trouble(f"{format_clock(self.at)} as asked: no new games, those in the air may end")


# One run: warnings, progress, signals, exit code.

_ENOUGH_CODE = 8
_BLOCKED_CODE = 4
_FAILED_CODE = 1
_INCIDENTS_CODE = 6


class _StoppedEarly(Exception):
    """A signal came before the first game."""


class _Dropped(Exception):
    """Somebody in a hurry while another program holds the database."""


class Run:
    """`enginetour run`: prepare, open, play, tell."""

    def __init__(
        self,
        config: Path,
        db: Address | None,
        executor: LocalExecutor,
        *,
        new: bool,
        accept_change: bool,
        live: bool,
        resume_new: bool = False,
        place: str | None = None,
        settled: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare a run on `executor`, which its owner closes."""
        self.path = config
        self.plan, self.signals = prepare(config, db, resumes=not new), SignalState()
        self._executor = executor
        self.place = place  # as --place has it; None: on this machine
        more = [word for name, one in (("--db", db), ("--place", self.place)) if one for word in (name, str(one))]
        self.again = shlex.join(["enginetour", "run", str(config), *more])
        self.new, self.accept_change, self.live = new, accept_change, live
        self.resume_new = resume_new  # the demo: an unfinished one is resumed, a finished one starts anew
        self.settled = settled  # called once nothing can be refused any more
        self.until: float | None = None
        self.voice = Console()
        self.farewell = ExitStack()  # what may take a while after everything has been told
        self._playing = False
        self._cores: Cores | None = None
        self._cluster: DaskExecutor | None = None

    def go(
        self,
        *,
        slots: int | None = None,
        force: bool = False,
        most_games: int | None = None,
        until: float | None = None,
        strict: bool = False,
    ) -> int:
        """Play to the end, a stop, or `until` in UTC seconds; the exit code, `strict` on incidents."""
        self.until = until
        count = slots or self.plan.config.play.slots
        play = self.plan.config.play
        self._cores = None
        if play.affinity is True and self.place is None:
            self._cores = own_cores(self.plan.sides.values(), count, self.plan.config.at("play", "affinity"))
        self._refuse_many(count, force)
        self.signals.last_words = f"{EARLY}; {self.again} starts it"
        with (
            self.signals.noting(),
            nonblocking_output(lambda: bool(self.signals)),
            self.farewell,
        ):
            try:
                code, wrong = self._run(count, most_games, force=force)
            except (_StoppedEarly, StoreBusy):  # SQLite itself waits for some locks and heeds nothing
                if not self.signals or self._playing:
                    raise
                self.voice.say(self._last_words())
                return self.signals.code
            finally:
                discard_output()
            return _INCIDENTS_CODE if strict and wrong and code in (0, _ENOUGH_CODE) else code

    def _run(self, slots: int, most_games: int | None, *, force: bool) -> tuple[int, bool]:
        """The exit code, and whether there were incidents."""
        new = self.new and not (self.resume_new and self._unfinished())
        with (
            rows_of_others(self.plan.database),
            machines_of(self.place, self.plan, slots, force=force, heed=self._heed, tell=self._tell) as self._cluster,
            run.open_session(
                replace(self.plan, away=self.place is not None),
                self._executor,
                new=new,
                accept_change=self.accept_change,
                tell=self._tell,
                heed=self._heed,
            ) as session,
        ):
            self.settled()
            self.voice.say(f"database {self.plan.database}")  # after what may be refused in one line
            sides = session.sides.values()
            crowd = () if self.place else (*overload_warnings(sides, slots), *missing_paths(sides))
            for warning in filter(
                str, (safeguards.root_warning(), safeguards.namespace_warning(), self.plan.suite.left_out, *crowd)
            ):
                self.voice.say(f"warning: {warning}")
            code = self._play(session, slots, most_games)
            return code, any(not incident.is_warning for _, incident in session.log.incidents())

    def _tell(self, text: str) -> None:
        self.voice.try_to(lambda: say(text))

    def _heed(self) -> None:
        if self._playing and self.signals.is_hard():
            raise _Dropped
        if self.signals and not self._playing:
            raise _StoppedEarly

    def _unfinished(self) -> bool:
        from enginetour.store.database import database_exists
        from enginetour.store.tournaments import Store

        if not database_exists(self.plan.database):
            return False
        with Store.open(self.plan.database, create=False) as store:
            name = self.plan.config.tournament.name
            format_, state = fold(store.tournament(name)) if store.has(name) else (None, None)
            return format_ is not None and bool(format_.offers(state))

    def _play(self, session: run.Session, slots: int, most_games: int | None) -> int:
        log = session.log
        sides = () if self.place else session.sides.values()  # what is played elsewhere takes no processors of ours
        picture = RunProgress(log, session.plan.config.system, partial(overload_warnings, sides))
        picture.look(*(session.folded or fold(log)))
        if session.resumed:
            self._say_resumed(picture)
        with suppress(OSError):  # then the PGN tells
            session.plan.results.mkdir(parents=True, exist_ok=True)
        idle = session.resumed and not picture.remaining[1]  # nothing will happen that anybody waits for
        if not idle:
            outdate_report(session.plan.results, log)
        path, settings = session.plan.results / f"{log.slug}.pgn", self.plan.config.play
        hurry, tell, names = self.signals.is_hard, self.voice.trouble, self.plan.names
        pgn = PgnFile(path, log, hurry, settings.pgn, tell, names, growing=not idle)
        screen: LiveTable | Lines = LiveTable(picture) if self.live else Lines(picture)
        self.voice.screen = screen
        exports, broadcast = PgnExport(pgn, self.voice), Broadcast(picture)
        journal = EventLog(pgn.path.with_suffix(".log.jsonl"), self.voice.trouble)
        last = self._catch_up(log, journal)
        sinks = () if idle else (*self._sinks(journal), broadcast.publish)
        told = RunEvents(log.title, sinks)
        watcher = RunWatcher(picture, exports, self.voice, broadcast, told, *self._beside(picture))

        def ready(scheduler: Scheduler, desk: TournamentEditor) -> Sequence[AbstractContextManager[Any]]:
            self.signals.last_words = f"stopped; {self.again} goes on"
            self.signals.act = lambda: scheduler.inbox.put(lambda: self._stop(scheduler))
            if self.signals:
                self.signals.act()
            helm = RunController(scheduler, self._refuse_many, self.voice.trouble, told.asked)
            inbox = RequestHandler(helm, desk, self.plan.config.play.grace, watcher)
            broadcast.server = ControlServer(socket_path(session.plan.database, slug_of(log.name)), inbox)
            return [broadcast.server, exports]

        self._say_started(told, picture, session, last)
        try:
            self._playing = True
            try:
                end = run.play(
                    session,
                    self._executor,
                    watcher,
                    slots=slots,
                    most_games=most_games,
                    ready=ready,
                    cluster=self._cluster,
                )
            except _Dropped:
                end = RunEnd.STOPPED
            self._tell_end(told, picture, "" if end is RunEnd.FINISHED else str(session.refusal or self._why(end)))
        except BaseException as error:
            self._tell_end(told, picture, f"{type(error).__name__}: {error}")
            raise
        finally:
            if isinstance(screen, LiveTable):
                self.voice.try_to(screen.close)
        if not self.signals.is_hard():  # whoever is in a hurry can have them later: enginetour ratings, standings
            exports.finish()
            with suppress(_Dropped):
                run.update_rating_systems(session.store, session.plan.config.ratings)
                if isinstance(screen, Lines):
                    self.voice.try_to(screen.strength)
                self.voice.try_to(lambda: print_summary(session, pgn, end, picture.warnings))
            if self.plan.config.report.write and not (idle and has_newest_report(path.parent, log)):
                gone = sorted(told.suspended)
                report_at_end(path.parent, log, self.voice.say, self.signals.is_hard, self.again, gone)
        return self._code(end, session, sorted(told.suspended))

    def _say_resumed(self, picture: RunProgress) -> None:
        title = picture.log.title
        if picture.remaining[1]:
            self.voice.say(f"{title}: continuing after {self._far(picture)}")
        else:
            self.voice.say(f"{title} has ended after {picture.done} games; {self.again} --new starts the next edition")

    def _say_started(self, told: RunEvents, picture: RunProgress, session: run.Session, last_game: int) -> None:
        """The first event."""
        told.tell(
            "started",
            self._far(picture),
            games_done=picture.done,
            last_game=last_game,
            remaining=picture.remaining,
            resumed=session.resumed,
            paths=list(path_options(session.sides.values())),
            pid=os.getpid(),
            version=__version__,
        )

    def _catch_up(self, log: TournamentLog, journal: EventLog) -> int:
        """The number of the last game in the journal, once it has those that an earlier run could not write."""
        try:
            return catch_up(log, journal, lambda: bool(self.signals))
        except TourError as error:
            self.voice.trouble(f"{journal.path} lacks games ({error})")
            return log.last_number

    def _sinks(self, journal: EventLog) -> Sequence[Sink]:
        """Who is told of the events of the run."""
        settings = self.plan.config.notify
        if not settings.channels():
            return (journal,)
        from enginetour.tournament.notify import Notifier

        notifier = Notifier(settings, self.path.resolve().parent, self.voice.trouble)
        self.farewell.callback(notifier.close, self.signals.is_hard)
        return (journal, notifier)

    def _tell_end(self, told: RunEvents, picture: RunProgress, cause: str) -> None:
        """The last event; without a cause all was played."""
        done = {"games_done": picture.done}
        if cause:
            words = f"stopped, {self._far(picture)}: {cause}"
            told.tell("stopped", words, **done, remaining=picture.remaining, cause=cause)
        else:
            told.tell("finished", f"finished after {picture.done} game{'s' * (picture.done != 1)}", **done)

    def _why(self, end: RunEnd) -> str:
        """What ended a run before its tournament."""
        if end is RunEnd.BLOCKED:
            return "only pairings that cannot be played are left"
        if end is RunEnd.BUSY:
            return "the machine was too busy for the games that are left"
        if end is RunEnd.FAILED:
            return "enginetour itself failed in games that stay open"
        if self.signals:
            return self.signals.name
        if end is RunEnd.ENOUGH:
            return "--max-games"
        return "--stop-at" if self.until is not None and time.time() >= self.until else "asked through its socket"

    @staticmethod
    def _far(picture: RunProgress) -> str:
        return format_games(picture.done, picture.remaining)

    def _beside(self, picture: RunProgress) -> Sequence[Watcher]:
        """Who else is told of everything."""
        if self.until is None:
            return ()
        picture.stop_at = self.until
        self.voice.trouble(f"no game begins from {format_clock(self.until)} on")
        return (StopAt(self.until, self.voice),)

    def _refuse_many(self, slots: int, force: bool) -> None:
        """UsageRefused where processors, cores of their own or open files are too few for so many, on this machine."""
        if self.place is not None:
            return
        refuse_few_files(slots)
        if self._cores is None:
            refuse_overload(slots, force=force)
        elif lacking := self._cores.lacking(slots):
            raise UsageRefused(f"affinity: {lacking}")

    def _code(self, end: RunEnd, session: run.Session, suspended: Sequence[str]) -> int:
        if end is RunEnd.FINISHED:
            return 0
        if session.refusal is not None:
            raise session.refusal
        if end is RunEnd.FAILED:
            incidents = shlex.join(["enginetour", "games", "-t", session.log.name, "--incidents"])
            self.voice.say(
                f"enginetour itself failed in games that stay open: {incidents} lists them; {self.again} tries again"
            )
            return _FAILED_CODE
        if end is RunEnd.BUSY:
            self.voice.say(f"the machine was too busy for the games that are left; {self.again} plays them")
            return _BLOCKED_CODE
        if end is RunEnd.BLOCKED:
            self.voice.say(f"only pairings that cannot be played are left; mend the engine and {self.again}")
            for name in suspended or ("ENGINE",):
                words = ["enginetour", "withdraw", "-t", session.log.name]
                self.voice.say(f"or {shlex.join(words)} {shlex.quote(name)}")
            return _BLOCKED_CODE
        self.voice.say(self._last_words())
        return self.signals.code if self.signals else _ENOUGH_CODE

    def _last_words(self) -> str:
        """How to go on, said once."""
        words, self.signals.last_words = self.signals.last_words, ""
        return words

    def _stop(self, scheduler: Scheduler) -> None:
        """Act on the signals noted so far; called by the loop."""
        grace = self.plan.config.play.grace
        if self.signals.is_hard() or grace == 0:
            scheduler.stop(now=True)
        elif scheduler.stopping != "now":
            self.voice.trouble(f"stopping: running games may end within {grace:g} s; Ctrl-C again drops them")
            scheduler.stop(now=False, grace=grace)


# Summary at the end of a run.

MOST_TOLD = 12  # round robins told at the end of a run: a screenful


def print_summary(session: Session, pgn: PgnFile, end: RunEnd, warnings: Iterable[str] = ()) -> None:
    """The ladder or the table, the rating lists, what to doubt, and where everything is."""
    from enginetour.reports import ratinglist
    from enginetour.reports.review.fairness import repeated_games_note as over_again
    from enginetour.reports.review.tournament import tournament_rating_list as tournament_list
    from enginetour.store.ratings import ratings_of

    log, plan = session.log, session.plan
    click.echo("")
    click.echo(format_history(log, most=MOST_TOLD), nl=False)
    for system in plan.config.ratings.systems:
        click.echo("")
        if system == "ml":
            rated = tournament_list(log, plan.config.ratings.anchor)
            click.echo(render(ratinglist.likelihood_sheet(f"ratings · {log.title}", rated), width()), nl=False)
        else:
            known = ratings_of(session.store, system, log.id)
            click.echo(render(ratinglist.incremental_sheet(ratinglist.SYSTEM_NAMES[system], known), width()), nl=False)
    found = [incident for _, incident in log.incidents()]
    wrong = sum(not incident.is_warning for incident in found)
    click.echo("")
    if found:
        click.echo(f"incidents: {wrong}, warnings: {len(found) - wrong}   enginetour games --incidents")
    pairings = (event.pairing for event in log.events() if isinstance(event, GameFinished))
    if wrapped := plan.suite.wrapped(pairings):
        say(wrapped)
    again = over_again(*repeated_games(log))
    for words in (*((again,) if again else ()), *warnings):
        say(f"warning: {words}")
    lacking = "" if pgn.is_whole else " lacks games; enginetour export pgn -o FILE writes all"
    for line in (f"state: {end.value}", f"database: {plan.database}", f"PGN: {pgn.path}{lacking}"):
        say(line)
