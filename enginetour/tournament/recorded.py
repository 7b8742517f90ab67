"""One run with all its records: PGN file, event log, control socket, notices and report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour import __version__
from enginetour.engines.identity import path_options
from enginetour.model.errors import TourError, UsageRefused, os_reason, storage_failure
from enginetour.reports.pgn import PgnFile
from enginetour.reports.progress import format_games
from enginetour.store.address import report_of, slug_of
from enginetour.store.replay import fold
from enginetour.tournament import run
from enginetour.tournament.changes import RunController, SlotPool, TournamentEditor
from enginetour.tournament.control import ControlServer, socket_path
from enginetour.tournament.events import EventLog, RunEvents, Sink, catch_up
from enginetour.tournament.forecasting import ForecastRefresher
from enginetour.tournament.plan import opening_names, overload_warnings, refuse_few_files, refuse_overload
from enginetour.tournament.scheduler import GameLimit, RunEnd, Scheduler, Screen, Watcher
from enginetour.tournament.watching import (
    Broadcast,
    PgnExport,
    RequestHandler,
    RunProgress,
    RunWatcher,
)

if TYPE_CHECKING:
    from enginetour.engines.machine import Cores
    from enginetour.store.games import TournamentReader
    from enginetour.store.log import TournamentLog
    from enginetour.tournament.cluster.executor import DaskExecutor
    from enginetour.tournament.config.load import Config
    from enginetour.tournament.executor import LocalExecutor
    from enginetour.tournament.run import Session

ENDS = {
    RunEnd.BLOCKED: "the remaining games cannot be played",
    RunEnd.BUSY: "the machine was too busy for the remaining games",
    RunEnd.FAILED: "games were not finished because of internal errors",
}
ENOUGH_GAMES = "max_games was reached"


class Dropped(Exception):
    """Raised by a check for a stop to end the run at once. The interrupted games are played again by the next run."""


class RecordedRun:
    """One run of an open session.

    Attributes:
        session: the open session.
        progress: figures of the run, which `enginetour status` shows.
        idle: whether the tournament had already ended, so no games are played.
        pgn: the PGN file; set by `play`.
        suspended: entrants whose engines are suspended at the end; set by `play`.
        playing: whether games have begun.
    """

    pgn: PgnFile
    suspended: Sequence[str] = ()
    playing = False
    _scheduler: Scheduler | None = None

    def __init__(
        self, session: Session, trouble: Callable[[str], None], stops: Callable[[], bool], hurries: Callable[[], bool]
    ) -> None:
        """Read the progress from the log.

        `trouble` receives messages for the user. `stops` returns whether a stop was requested, and `hurries` whether
        the run must end at once.
        """
        self.session, self._trouble = session, trouble
        self._stops, self._hurries = stops, hurries
        plan = session.plan
        sides = () if plan.away else session.sides.values()  # games on a cluster do not use processors of this machine
        self.progress = RunProgress(session.log, plan.config.system, partial(overload_warnings, sides))
        self.progress.look(*(session.folded or fold(session.log)))
        ended = session.resumed and not self.progress.remaining[1]
        self.idle = ended and not any(session.failures().exceeding())

    def play(
        self,
        executor: LocalExecutor,
        screen: Screen,
        *,
        slots: int,
        closing: ExitStack,
        limits: Callable[[int, bool], None],
        ready: Callable[[Scheduler], None],
        cause: Callable[[RunEnd], str],
        limit: GameLimit,
        pool: SlotPool | None = None,
        cluster: DaskExecutor | None = None,
        sinks: Sequence[Sink] = (),
        watchers: Sequence[Watcher] = (),
    ) -> RunEnd:
        """Play until the tournament ends or is stopped, and return the reason.

        Args:
            executor: the slots of this machine.
            screen: shows messages and live events.
            slots: number of concurrent games.
            closing: receives the notifier, which waits for its last notices when it is closed.
            limits: raises UsageRefused if a number of concurrent games is too large, unless it is forced.
            ready: receives the scheduler before the first game.
            cause: returns why the run ended, for the last event.
            limit: the largest number of games.
            pool: the concurrent games of a league, which a request changes instead of those of this run.
            cluster: plays the games instead of `executor`.
            sinks: receive the events of the event log, too.
            watchers: receive the games and changes of the run last.
        """
        log, plan, idle = self.session.log, self.session.plan, self.idle
        with suppress(OSError):  # writing the PGN file fails, too, and reports the error
            plan.results.mkdir(parents=True, exist_ok=True)
        if not idle:
            outdate_report(plan.results, log)
        path = plan.results / f"{log.slug}.pgn"
        self.pgn = PgnFile(path, log, self._hurries, plan.config.play.pgn, self._trouble, plan.names, growing=not idle)
        self._exports, broadcast = PgnExport(self.pgn, screen), Broadcast(self.progress)
        event_log = EventLog(path.with_suffix(".log.jsonl"), self._trouble)
        last = self._catch_up(event_log)
        own: Sequence[Sink] = () if idle else (event_log, *self._notifiers(closing), broadcast.publish, *sinks)
        events = RunEvents(log.title, own)
        outlook = ForecastRefresher(self.progress, (log.name, log.edition), plan.database, broadcast.publish)
        closing.callback(outlook.close)
        watcher = RunWatcher(self.progress, self._exports, screen, broadcast, events, outlook, *watchers)

        def begin(scheduler: Scheduler, editor: TournamentEditor) -> Sequence[AbstractContextManager[Any]]:
            self._scheduler = scheduler
            ready(scheduler)
            controller = RunController(scheduler, limits, self._trouble, events.asked, pool)
            inbox = RequestHandler(controller, editor, plan.config.play.grace, watcher)
            broadcast.server = ControlServer(socket_path(plan.database, slug_of(log.name)), inbox)
            return [broadcast.server, self._exports]

        self._publish_start(events, last)
        how: dict[str, Any] = {"slots": slots, "limit": limit, "ready": begin, "cluster": cluster}
        end, self.playing = RunEnd.STOPPED, True
        try:
            with suppress(Dropped):
                end = run.play(self.session, executor, watcher, **how)
            self._publish_end(events, "" if end is RunEnd.FINISHED else str(self.session.refusal or cause(end)))
        except BaseException as error:
            self._publish_end(events, f"{type(error).__name__}: {error}")
            raise
        self.suspended = sorted(events.suspended)
        return end

    def finish(self) -> None:
        """Complete the PGN file, and update the configured rating systems."""
        self._exports.finish()
        with suppress(Dropped):
            run.update_rating_systems(self.session.store, self.session.plan.config.ratings)

    def report(self, again: str, show: Callable[[str], None]) -> None:
        """Write the report, if the configuration wants it and the present report is older than the last event.

        Args:
            again: the command that resumes the tournament.
            show: receives a line with the place of the report, or with the reason why none was written.
        """
        plan, log = self.session.plan, self.session.log
        if plan.config.report.write and not (self.idle and _has_newest_report(plan.results, log)):
            _report_at_end(plan.results, log, show, self._hurries, again, self.suspended)

    def games_so_far(self) -> str:
        """Return the numbers of finished and remaining games as text."""
        return format_games(self.progress.done, self.progress.remaining)

    def _notifiers(self, closing: ExitStack) -> Sequence[Sink]:
        settings = self.session.plan.config.notify
        if not settings.channels():
            return ()
        from enginetour.tournament.notify import Notifier

        notifier = Notifier(settings, self.session.plan.config.path.resolve().parent, self._trouble)
        closing.callback(notifier.close, self._hurries)
        return (notifier,)

    def _catch_up(self, event_log: EventLog) -> int:
        """Write the games that are missing in the event log after a kill; return the number of its last game."""
        log = self.session.log
        try:
            return catch_up(log, event_log, self._stops)
        except TourError as error:
            self._trouble(f"games are missing in {event_log.path} ({error})")
            return log.last_number

    def _publish_start(self, events: RunEvents, last_game: int) -> None:
        events.tell(
            "started",
            self.games_so_far(),
            games_done=self.progress.done,
            last_game=last_game,
            remaining=self.progress.remaining,
            resumed=self.session.resumed,
            paths=list(path_options(self.session.sides.values())),
            pid=os.getpid(),
            version=__version__,
        )

    def _publish_end(self, events: RunEvents, cause: str) -> None:
        """Publish the last event of a run: "stopped" if there is a cause, otherwise "finished"."""
        if self._scheduler is not None:
            self.progress.take(self._scheduler)  # a run without a screen does not update the remaining games
        done = self.progress.done
        if cause:
            text = f"stopped, {self.games_so_far()}: {cause}"
            events.tell("stopped", text, games_done=done, remaining=self.progress.remaining, cause=cause)
        else:
            events.tell("finished", f"finished after {done} game{'s' * (done != 1)}", games_done=done)


def check_limits(cores: Cores | None, slots: int, force: bool) -> None:  # noqa: FBT001 - as RunController calls it
    """Raise UsageRefused if this machine has too few processors, cores or open files for `slots` games."""
    refuse_few_files(slots)
    if cores is None:
        refuse_overload(slots, force=force)
    elif lacking := cores.lacking(slots):
        raise UsageRefused(f"affinity: {lacking}")


# The report of a run.


def has_report(results: Path, log: TournamentReader) -> bool:
    """Return whether the tournament has a report in the directory where a run writes it."""
    return (report_of(results, log.slug) / "index.html").exists()


def outdate_report(results: Path, log: TournamentReader) -> None:
    """Mark an existing report as out of date. Called when a run starts; the run replaces the report at its end."""
    if has_report(results, log):
        from enginetour.reports.review.write import mark_outdated

        mark_outdated(report_of(results, log.slug))


def complete_files(log: TournamentLog, config: Config, results: Path, again: str, tell: Callable[[str], None]) -> None:
    """Complete the PGN file and the report of a finished tournament if they are older than its last event.

    A run that is killed after the last game leaves such files.
    """
    path = results / f"{log.slug}.pgn"
    if not _is_newest(path, log):
        try:
            PgnFile(path, log, comments=config.play.pgn, tell=tell, names=opening_names(config)).mend()
        except OSError as error:
            tell(f"{path.name} cannot be completed: {os_reason(error)}")
    if config.report.write and not _has_newest_report(results, log):
        _report_at_end(results, log, tell, lambda: False, again, ())


def _has_newest_report(results: Path, log: TournamentReader) -> bool:
    return _is_newest(report_of(results, log.slug) / "index.html", log)


def _is_newest(path: Path, log: TournamentReader) -> bool:
    """Return whether a file is newer than the last event. After a killed run, it is older."""
    try:
        return path.stat().st_mtime >= log.last_at
    except OSError:
        return False


def _report_at_end(
    results: Path,
    log: TournamentReader,
    show: Callable[[str], None],
    hurried: Callable[[], bool],
    again: str,
    suspended: Sequence[str],
) -> None:
    """Write the report at the end of a run; a failure is only printed, because the run itself is complete.

    If `hurried` returns true, no more pages are written, because the run must end at once.
    """
    from enginetour.reports.review.write import write_report

    def check_hurry() -> None:
        if hurried():
            raise Dropped

    try:
        check_hurry()
        directory = report_of(results, log.slug)
        start = write_report(log, directory, again=again, suspended=suspended, before_page=check_hurry)
        show(f"report: {start}")
    except Dropped:
        show("no report was written, because the run was stopped at once; enginetour report writes one")
    except (OSError, TourError) as error:
        show(f"no report was written: {storage_failure(error) if isinstance(error, OSError) else error}")
    except Exception as error:  # not an error of the run, because all its games are in the database
        show(f"no report was written, internal error, {type(error).__name__}: {error}; enginetour report shows more")
