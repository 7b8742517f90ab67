"""One run of a tournament, as the user sees it: warnings, progress, signals, summary, exit code."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import quote_command
from enginetour.cli.output import EARLY, END_CODES, INCIDENTS_CODE, STOPPED_CODE, Console, SignalState, attended
from enginetour.cli.printing import echo, width
from enginetour.cli.screen import Lines, LiveTable, format_history
from enginetour.engines import process
from enginetour.engines.identity import missing_paths
from enginetour.engines.machine import Cores
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.game import GameFinished
from enginetour.reports.pgn import PgnFile
from enginetour.reports.progress import format_clock
from enginetour.reports.sheet import format_count, render
from enginetour.store.address import Address, rows_of_others
from enginetour.store.dialect import StoreBusy
from enginetour.store.games import repeated_games
from enginetour.store.replay import fold
from enginetour.store.tournaments import newest_log
from enginetour.tournament import run
from enginetour.tournament.executor import LocalExecutor
from enginetour.tournament.plan import few_open, overload_warnings, own_cores
from enginetour.tournament.recorded import ENDS, Dropped, RecordedRun, check_limits
from enginetour.tournament.scheduler import GameLimit, RunEnd, Scheduler, Watcher
from enginetour.tournament.watching import RunProgress

if TYPE_CHECKING:
    from enginetour.cli.run import RunOptions
    from enginetour.tournament.cluster.executor import DaskExecutor
    from enginetour.tournament.plan import Plan
    from enginetour.tournament.probing import Begun
    from enginetour.tournament.run import Session


# `run --executor`: inspect and list the machines of a cluster before the first game.


@contextmanager
def machines_of(
    executor: str | None,
    plan: Plan,
    slots: int,
    *,
    force: bool,
    check_stop: Callable[[], None],
    tell: Callable[[str], None],
) -> Iterator[DaskExecutor | None]:
    """Connect to the Dask cluster `executor` (``dask=ADDRESS``), inspect its machines, and yield an executor for it.

    Yield None if `executor` is None. `check_stop` raises an exception if the run must stop.

    Raises:
        UsageRefused: Dask is not installed, or no cluster answers at the address.
        InputRefused: No machine can play.
    """
    if executor is None:
        yield None
        return
    try:
        from enginetour.cli.changing import machine_lines
        from enginetour.tournament.cluster.executor import DaskExecutor, address_of, refuse_without
        from enginetour.tournament.cluster.machines import demand_of
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        step = "run pip install 'enginetour[dask]' here and on every machine"
        raise UsageRefused("Dask is not installed", place="--executor", step=step) from None
    address, demand = address_of(executor), demand_of(plan, force=force)
    refuse_without(address)
    cluster = DaskExecutor(address, slots, demand)
    try:
        rows: Sequence[Mapping[str, Any]] = cluster.look_round(check_stop)
        for line in machine_lines(rows):
            tell(line)
        for warning in cluster.shared():
            tell(f"warning: {warning}")
        if demand.scaled:
            tell("time controls are divided by the speed of the machine that plays the game")
        seats = sum(int(row["slots"]) for row in rows if row["state"] == "fit")
        if not seats:
            step = "start one with dask worker ADDRESS --nthreads 4 --resources slot=4"
            what = "no machine of the cluster can play" if rows else "the cluster has no worker"
            raise InputRefused(what, place=address, step="see the table above" if rows else step)
        if seats < slots:
            tell(f"warning: {slots} concurrent games, but only {seats} slots on machines that can play")
        yield cluster
    finally:
        cluster.close()


class StopAt(Watcher):
    """Stop a run at a time of the wall clock. The time is checked after every change and once a second.

    Therefore, the run also stops if the machine was suspended at that time.
    """

    def __init__(self, at: float, screen: Watcher, clock: Callable[[], float] = time.time) -> None:
        self.at = at
        self.screen = screen
        self.clock = clock

    def turn(self, scheduler: Scheduler) -> None:
        """Let the scheduler start no new games if the time has been reached."""
        if self.clock() >= self.at and not scheduler.stopping:
            scheduler.stop(now=False)
            self.screen.trouble(
                f"{format_clock(self.at)}: --stop-at reached, no new games; finishing games in progress"
            )


class _StoppedEarly(Exception):
    """Raised after a signal that arrived before the first game."""


class Run:
    """One run of a tournament: prepare it, open the database, play the games, print the results."""

    def __init__(
        self,
        plan: Plan,
        db: Address | None,
        executor: LocalExecutor,
        begun: Begun,
        options: RunOptions,
        signals: SignalState | None = None,
        *,
        settled: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare a run. The slots of `executor` play the games; the caller closes it.

        `begun` has the probes that have been started there, and `signals` those received since. `settled` is called
        when the run can no longer fail before its first game.
        """
        self.plan, self.path, self.db, self.options = plan, plan.config.path, db, options
        self.signals = signals or SignalState()
        self._executor = executor
        self._begun = begun
        self.settled = settled
        self.console = Console()
        self.closing = ExitStack()  # closed after the last output, because it may take a while
        self._made: RecordedRun | None = None
        self._cores: Cores | None = None
        self._dask: DaskExecutor | None = None

    @property
    def again(self) -> str:
        """Return the command that starts or resumes the tournament."""
        cluster = self.options.cluster
        executor = f" {shlex.join(['--executor', cluster])}" if cluster else ""
        return quote_command("run", self.path, db=self.db) + executor

    def go(self) -> int:
        """Play until the tournament ends or is stopped, and return the exit code."""
        play = self.plan.config.play
        slots = self.options.concurrency or play.concurrency
        if play.affinity is True and self.options.cluster is None:
            self._cores = own_cores(self.plan.sides.values(), slots, self.plan.config.at("play", "affinity"))
        self._check_limits(slots, self.options.force)
        self.signals.last_line = f"{EARLY}; {self.again} starts it"
        with attended(self.signals), self.closing:
            try:
                code, wrong = self._run(slots)
            except (_StoppedEarly, StoreBusy):  # SQLite waits for some locks itself and does not check signals
                if not self.signals or self._playing:
                    raise
                self._print_last_line()
                return self.signals.code
            return INCIDENTS_CODE if self.options.strict and wrong and code in (0, STOPPED_CODE) else code

    def _run(self, slots: int) -> tuple[int, bool]:
        options, check, show = self.options, self._check_signals, self._print
        new = options.new and not (options.resume_new and self._unfinished())
        with (
            rows_of_others(self.plan.database),
            machines_of(
                options.cluster, self.plan, slots, force=options.force, check_stop=check, tell=show
            ) as self._dask,
            run.open_session(
                replace(self.plan, away=options.cluster is not None),
                self._executor,
                new=new,
                accept_change=options.accept_change,
                tell=show,
                check_stop=check,
                begun=self._begun,
            ) as session,
        ):
            self.settled()
            self.console.echo(f"database {self.plan.database}")  # only now, so that an earlier error is printed alone
            for notice in self.plan.config.notices:
                self.console.echo(f"note: {notice}")
            sides = session.sides.values()
            crowd = () if options.cluster else (*overload_warnings(sides, slots), *missing_paths(sides))
            for warning in filter(
                str, (process.root_warning(), self.plan.book.left_out, *few_open(self.plan.config, slots), *crowd)
            ):
                self.console.echo(f"warning: {warning}")
            code = self._play(session, slots)
            return code, any(not incident.is_warning for _, incident in session.log.incidents())

    def _print(self, text: str) -> None:
        self.console.try_to(lambda: echo(text))

    @property
    def _playing(self) -> bool:
        return self._made is not None and self._made.playing

    def _check_signals(self) -> None:
        if self._playing and self.signals.is_hard():
            raise Dropped
        if self.signals and not self._playing:
            raise _StoppedEarly

    def _unfinished(self) -> bool:
        with newest_log(self.plan.database, self.plan.config.tournament.name) as log:
            if log is None:
                return False
            format_, state = fold(log)
            return bool(format_.offers(state))

    def _play(self, session: Session, slots: int) -> int:
        self._made = made = RecordedRun(session, self.console.trouble, lambda: bool(self.signals), self.signals.is_hard)
        if session.resumed:
            self._print_resumed(made)
        self.console.screen = screen = LiveTable(made.progress) if self.options.live else Lines(made.progress)
        watchers = self._stop_watcher(made.progress)

        def ready(scheduler: Scheduler) -> None:
            self.signals.last_line = f"stopped; {self.again} resumes it"
            self.signals.act = lambda: scheduler.inbox.put(lambda: self._stop(scheduler))
            if self.signals:
                self.signals.act()

        try:
            end = made.play(
                self._executor,
                self.console,
                slots=slots,
                closing=self.closing,
                limits=self._check_limits,
                ready=ready,
                cause=self._why,
                limit=GameLimit(self.options.max_games),
                cluster=self._dask,
                watchers=watchers,
            )
        finally:
            if isinstance(screen, LiveTable):
                self.console.try_to(screen.close)
        if not self.signals.is_hard():  # SIGTERM leaves no time for this; the user can print and export all of it later
            made.finish()
            with suppress(Dropped):
                if isinstance(screen, Lines):
                    self.console.try_to(screen.strength)
                self.console.try_to(lambda: _print_summary(session, made.pgn, end, made.progress.warnings))
            made.report(self.again, self.console.echo)
        return self._code(end, session, made.suspended)

    def _print_resumed(self, made: RecordedRun) -> None:
        title, progress = made.session.log.title, made.progress
        if not made.idle:
            self.console.echo(f"{title}: resuming after {made.games_so_far()}")
        else:
            again = f"{self.again} --new starts the next edition"
            self.console.echo(f"{title} finished after {format_count(progress.done, 'game')}; {again}")

    def _why(self, end: RunEnd) -> str:
        if end in ENDS:
            return ENDS[end]
        if self.signals:
            return self.signals.name
        if end is RunEnd.ENOUGH:
            return "--max-games"
        until = self.options.until
        return "--stop-at" if until is not None and time.time() >= until else "requested through the control socket"

    def _stop_watcher(self, progress: RunProgress) -> Sequence[Watcher]:
        if (until := self.options.until) is None:
            return ()
        progress.stop_at = until
        self.console.trouble(f"no new games from {format_clock(until)} on (--stop-at)")
        return (StopAt(until, self.console),)

    def _check_limits(self, slots: int, force: bool) -> None:
        if self.options.cluster is None:
            check_limits(self._cores, slots, force)

    def _code(self, end: RunEnd, session: Session, suspended: Sequence[str]) -> int:
        """Print the next step and return the exit code."""
        if session.refusal is not None and end is not RunEnd.FINISHED:
            raise session.refusal
        name, show = session.log.name, self.console.echo
        if end is RunEnd.FAILED:
            incidents = quote_command("games", "-t", name, "--incidents")
            show(f"{ENDS[end]}; {incidents} lists them, {self.again} plays them again")
        elif end is RunEnd.BUSY:
            show(f"{ENDS[end]}; {self.again} plays them")
        elif end is RunEnd.BLOCKED:
            show(f"{ENDS[end]}; repair the engine, then resume with {self.again}")
            for engine in suspended or ("ENGINE",):
                show(f"or withdraw it with {quote_command('withdraw', '-t', name, engine)}")
        if end in END_CODES:
            return END_CODES[end]
        self._print_last_line()
        return self.signals.code if self.signals else STOPPED_CODE

    def _print_last_line(self) -> None:
        self.console.echo(self.signals.last_line)
        self.signals.last_line = ""

    def _stop(self, scheduler: Scheduler) -> None:
        grace = self.plan.config.play.grace
        if self.signals.is_hard() or grace == 0:
            scheduler.stop(now=True)
        elif scheduler.stopping != "now":
            what = f"games in progress have {grace:g} s to finish"
            self.console.trouble(f"stopping: {what}; Ctrl-C again stops at once")
            scheduler.stop(now=False, grace=grace)


_MOST_SHOWN = 12  # number of round robins of a bubble that are shown; about one screen


def _print_summary(session: Session, pgn: PgnFile, end: RunEnd, warnings: Iterable[str] = ()) -> None:
    from enginetour.ratings.systems import system_title
    from enginetour.reports import ratinglist
    from enginetour.reports.review.fairness import repeated_games_note
    from enginetour.store.lists import tournament_rating_list
    from enginetour.store.ratings import ratings_of

    log, plan = session.log, session.plan
    click.echo(f"\n{format_history(log, most=_MOST_SHOWN)}", nl=False)
    for system in plan.config.ratings.systems:
        if system == "ml":
            rated = tournament_rating_list(log, plan.config.ratings.anchor)
            sheet = ratinglist.likelihood_sheet(f"ratings · {log.title}", rated)
        else:
            known = ratings_of(session.store, system, log.id)
            sheet = ratinglist.incremental_sheet(system_title(system), known)
        click.echo(f"\n{render(sheet, width())}", nl=False)
    found = [incident for _, incident in log.incidents()]
    wrong = sum(not incident.is_warning for incident in found)
    click.echo("")
    if found:
        click.echo(f"incidents: {wrong}, warnings: {len(found) - wrong} (to list them: enginetour games --incidents)")
    pairings = (event.pairing for event in log.events() if isinstance(event, GameFinished))
    if wrapped := plan.book.wrapped(pairings):
        echo(wrapped)
    repeated = repeated_games_note(*repeated_games(log))
    for text in (*((repeated,) if repeated else ()), *warnings):
        echo(f"warning: {text}")
    lacking = "" if pgn.is_whole else " (incomplete; enginetour export pgn -o FILE writes all games)"
    decisions = [note for _, note in log.notes()]
    undecided = end is RunEnd.FINISHED and bool(decisions) and decisions[-1].kind in ("undecided", "stuck")
    why = decisions[-1].text if undecided else ENDS.get(end, "--max-games was reached" if end is RunEnd.ENOUGH else "")
    state = ", ".join(filter(None, ["stopped" if end is RunEnd.ENOUGH else end.value, why]))
    for line in (f"state: {state}", f"database: {plan.database}", f"PGN: {pgn.path}{lacking}"):
        echo(line)
