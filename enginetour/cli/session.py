"""One run as its user sees it: what is said before, while and after; signals; the exit code."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour import __version__
from enginetour.cli.broadcast import Broadcast
from enginetour.cli.common import rows_of_others, say
from enginetour.cli.elsewhere import machines_of
from enginetour.cli.heard import EARLY, Heard
from enginetour.cli.outlet import unhurried
from enginetour.cli.reporting import has_newest_report, outdate_report, report_at_end
from enginetour.cli.screen import Lines, LiveTable
from enginetour.cli.stopat import StopAt
from enginetour.cli.voice import Voice, fall_silent
from enginetour.cli.watching import Exports, Inbox, Picture, Watching
from enginetour.engines.identity import absent_paths, path_options
from enginetour.engines.machine import Cores
from enginetour.model.errors import TourError, UsageRefused
from enginetour.reports.pgn import PgnFile
from enginetour.reports.progress import clock_words, of_games
from enginetour.store.address import Address, slug_of
from enginetour.store.dialect import StoreBusy
from enginetour.store.replay import fold
from enginetour.tournament import probing, run
from enginetour.tournament.changes import Desk, Helm
from enginetour.tournament.control import ControlServer, socket_path
from enginetour.tournament.events import Happenings, Journal, Sink, catch_up
from enginetour.tournament.limits import crowded, own_cores, refuse_crowd, refuse_few_files
from enginetour.tournament.places import LocalPlace
from enginetour.tournament.plan import prepare
from enginetour.tournament.probing import trial_place
from enginetour.tournament.scheduler import End, Scheduler, Watcher

if TYPE_CHECKING:
    from enginetour.store.log import TournamentLog
    from enginetour.tournament.cluster.place import DaskPlace


ENOUGH_CODE = 8
BLOCKED_CODE = 4
FAILED_CODE = 1
INCIDENTS_CODE = 6


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
        *,
        new: bool,
        accept_change: bool,
        live: bool,
        resume_new: bool = False,
        place: str | None = None,
        settled: Callable[[], None] = lambda: None,
        slots: LocalPlace | None = None,
    ) -> None:
        """`slots`: those in which the engines were tried already; the run goes on with them, and closes them."""
        self.path = config
        self.plan, self.signals = prepare(config, db, resumes=not new), Heard()
        self._slots = slots
        self.place = place  # as --place has it; None: on this machine
        more = [word for name, one in (("--db", db), ("--place", self.place)) if one for word in (name, str(one))]
        self.again = shlex.join(["enginetour", "run", str(config), *more])
        self.new, self.accept_change, self.live = new, accept_change, live
        self.resume_new = resume_new  # the demo: an unfinished one is resumed, a finished one starts anew
        self.settled = settled  # called once nothing can be refused any more
        self.until: float | None = None
        self.voice = Voice()
        self.farewell = ExitStack()  # what may take a while after everything has been told
        self._playing = False
        self._cores: Cores | None = None
        self._cluster: DaskPlace | None = None

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
            self._slots or trial_place(self.plan.results) as here,
            self.signals.noting(),
            unhurried(lambda: bool(self.signals)),
            self.farewell,
        ):
            try:
                code, wrong = self._run(here, count, most_games, force=force)
            except (_StoppedEarly, StoreBusy):  # SQLite itself waits for some locks and heeds nothing
                if not self.signals or self._playing:
                    raise
                self.voice.say(self._last_words())
                return self.signals.code
            finally:
                fall_silent()
            return INCIDENTS_CODE if strict and wrong and code in (0, ENOUGH_CODE) else code

    def _run(self, here: LocalPlace, slots: int, most_games: int | None, *, force: bool) -> tuple[int, bool]:
        """The exit code, and whether there were incidents."""
        new = self.new and not (self.resume_new and self._unfinished())
        with (
            rows_of_others(self.plan.database),
            machines_of(self.place, self.plan, slots, force=force, heed=self._heed, tell=self._tell) as self._cluster,
            run.opened(
                replace(self.plan, away=self.place is not None),
                here,
                new=new,
                accept_change=self.accept_change,
                tell=self._tell,
                heed=self._heed,
            ) as session,
        ):
            self.settled()
            self.voice.say(f"database {self.plan.database}")  # after what may be refused in one line
            crowd = () if self.place else (*crowded(sides := session.sides.values(), slots), *absent_paths(sides))
            for warning in filter(str, (probing.root_warning(), probing.unguarded(), self.plan.suite.left_out, *crowd)):
                self.voice.say(f"warning: {warning}")
            code = self._play(session, here, slots, most_games)
            return code, any(not incident.is_warning for _, incident in session.log.incidents())

    def _tell(self, text: str) -> None:
        self.voice.try_to(lambda: say(text))

    def _heed(self) -> None:
        if self._playing and self.signals.is_hard():
            raise _Dropped
        if self.signals and not self._playing:
            raise _StoppedEarly

    def _unfinished(self) -> bool:
        from enginetour.store.database import is_made
        from enginetour.store.tournaments import Store

        if not is_made(self.plan.database):
            return False
        with Store.open(self.plan.database, create=False) as store:
            name = self.plan.config.tournament.name
            format_, state = fold(store.tournament(name)) if store.has(name) else (None, None)
            return format_ is not None and bool(format_.offers(state))

    def _play(self, session: run.Session, here: LocalPlace, slots: int, most_games: int | None) -> int:
        log = session.log
        sides = () if self.place else session.sides.values()  # what is played elsewhere takes no processors of ours
        picture = Picture(log, session.plan.config.system, partial(crowded, sides))
        picture.look(*(session.folded or fold(log)))
        if session.resumed:
            if picture.remaining[1]:
                self.voice.say(f"{log.title}: continuing after {of_games(picture.done, picture.remaining)}")
            else:
                next_one = f"{self.again} --new starts the next edition"
                self.voice.say(f"{log.title} has ended after {picture.done} games; {next_one}")
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
        exports = Exports(pgn, self.voice)
        broadcast = Broadcast(picture)
        journal = Journal(pgn.path.with_suffix(".log.jsonl"), self.voice.trouble)
        last = self._catch_up(log, journal)
        sinks = () if idle else (*self._sinks(journal), broadcast.publish)
        told = Happenings(log.title, sinks)
        watcher = Watching(picture, exports, self.voice, broadcast, told, *self._beside(picture))

        def ready(scheduler: Scheduler, desk: Desk) -> Sequence[AbstractContextManager[Any]]:
            self.signals.last_words = f"stopped; {self.again} goes on"
            self.signals.act = lambda: scheduler.inbox.put(lambda: self._stop(scheduler))
            if self.signals:
                self.signals.act()
            helm = Helm(scheduler, self._refuse_many, self.voice.trouble, told.asked)
            inbox = Inbox(helm, desk, self.plan.config.play.grace, watcher)
            broadcast.server = ControlServer(socket_path(session.plan.database, slug_of(log.name)), inbox)
            return [broadcast.server, exports]

        start: dict[str, object] = {"games_done": picture.done, "last_game": last}
        start |= {"remaining": picture.remaining, "resumed": session.resumed}
        paths = list(path_options(session.sides.values()))
        told.tell("started", self._far(picture), **start, paths=paths, pid=os.getpid(), version=__version__)
        try:
            self._playing = True
            try:
                end = run.play(
                    session, here, watcher, slots=slots, most_games=most_games, ready=ready, cluster=self._cluster
                )
            except _Dropped:
                end = End.STOPPED
            self._tell_end(told, picture, "" if end is End.FINISHED else str(session.refusal or self._why(end)))
        except BaseException as error:
            self._tell_end(told, picture, f"{type(error).__name__}: {error}")
            raise
        finally:
            if isinstance(screen, LiveTable):
                self.voice.try_to(screen.close)
        if not self.signals.is_hard():  # whoever is in a hurry can have them later: enginetour ratings, standings
            exports.finish()
            from enginetour.cli.morning import morning  # here: the first game does without what rates

            with suppress(_Dropped):
                run.rate(session.store, session.plan.config.ratings)
                if isinstance(screen, Lines):
                    self.voice.try_to(screen.strength)
                self.voice.try_to(lambda: morning(session, pgn, end, picture.warnings))
            if self.plan.config.report.write and not (idle and has_newest_report(pgn.path.parent, log)):
                again, gone = self.again, sorted(told.suspended)
                report_at_end(pgn.path.parent, log, self.voice.say, self.signals.is_hard, again, gone)
        return self._code(end, session, sorted(told.suspended))

    def _catch_up(self, log: TournamentLog, journal: Journal) -> int:
        """The number of the last game in the journal, once it has those that an earlier run could not write."""
        try:
            return catch_up(log, journal, lambda: bool(self.signals))
        except TourError as error:
            self.voice.trouble(f"{journal.path} lacks games ({error})")
            return log.last_number

    def _sinks(self, journal: Journal) -> Sequence[Sink]:
        """Who is told of the events of the run."""
        settings = self.plan.config.notify
        if not settings.channels():
            return (journal,)
        from enginetour.tournament.notify import Notifier

        notifier = Notifier(settings, self.path.resolve().parent, self.voice.trouble)
        self.farewell.callback(notifier.close, self.signals.is_hard)
        return (journal, notifier)

    def _tell_end(self, told: Happenings, picture: Picture, cause: str) -> None:
        """The last event; without a cause all was played."""
        done = {"games_done": picture.done}
        if cause:
            words = f"stopped, {self._far(picture)}: {cause}"
            told.tell("stopped", words, **done, remaining=picture.remaining, cause=cause)
        else:
            told.tell("finished", f"finished after {picture.done} game{'s' * (picture.done != 1)}", **done)

    def _why(self, end: End) -> str:
        """What ended a run before its tournament."""
        if end is End.BLOCKED:
            return "only pairings that cannot be played are left"
        if end is End.BUSY:
            return "the machine was too busy for the games that are left"
        if end is End.FAILED:
            return "enginetour itself failed in games that stay open"
        if self.signals:
            return self.signals.name
        if end is End.ENOUGH:
            return "--max-games"
        return "--stop-at" if self.until is not None and time.time() >= self.until else "asked through its socket"

    @staticmethod
    def _far(picture: Picture) -> str:
        return of_games(picture.done, picture.remaining)

    def _beside(self, picture: Picture) -> Sequence[Watcher]:
        """Who else is told of everything."""
        if self.until is None:
            return ()
        picture.stop_at = self.until
        self.voice.trouble(f"no game begins from {clock_words(self.until)} on")
        return (StopAt(self.until, self.voice),)

    def _refuse_many(self, slots: int, force: bool) -> None:
        """UsageRefused where processors, cores of their own or open files are too few for so many, on this machine."""
        if self.place is not None:
            return
        refuse_few_files(slots)
        if self._cores is None:
            refuse_crowd(slots, force=force)
        elif lacking := self._cores.lacking(slots):
            raise UsageRefused(f"affinity: {lacking}")

    def _code(self, end: End, session: run.Session, suspended: Sequence[str]) -> int:
        if end is End.FINISHED:
            return 0
        if session.refusal is not None:
            raise session.refusal
        if end is End.FAILED:
            incidents = shlex.join(["enginetour", "games", "-t", session.log.name, "--incidents"])
            self.voice.say(
                f"enginetour itself failed in games that stay open: {incidents} lists them; {self.again} tries again"
            )
            return FAILED_CODE
        if end is End.BUSY:
            self.voice.say(f"the machine was too busy for the games that are left; {self.again} plays them")
            return BLOCKED_CODE
        if end is End.BLOCKED:
            self.voice.say(f"only pairings that cannot be played are left; mend the engine and {self.again}")
            for name in suspended or ("ENGINE",):
                words = ["enginetour", "withdraw", "-t", session.log.name]
                self.voice.say(f"or {shlex.join(words)} {shlex.quote(name)}")
            return BLOCKED_CODE
        self.voice.say(self._last_words())
        return self.signals.code if self.signals else ENOUGH_CODE

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
