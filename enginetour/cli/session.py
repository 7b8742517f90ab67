"""One run as its user sees it: what is said before, while and after; signals; the exit code."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click

from enginetour import tournament
from enginetour.changes import Desk
from enginetour.cli import tell
from enginetour.cli.screen import Both, Lines, LiveTable
from enginetour.control import ControlServer, Request, socket_path
from enginetour.errors import UsageRefused
from enginetour.exports import PgnFile
from enginetour.model import Game, Incident, Note, Outcome
from enginetour.plan import prepare
from enginetour.ratings.listing import rating_list
from enginetour.reports.progress import Progress
from enginetour.scheduler import End, Scheduler, Watcher
from enginetour.store.slugs import slug_of

ENOUGH_CODE = 8
BLOCKED_CODE = 4
INCIDENTS_CODE = 6
# Signals after which games in the air are dropped at once; SIGINT first lets them end.
HARD = (signal.SIGTERM, signal.SIGHUP)


class Run:
    """`enginetour run`: prepare, open, play, tell."""

    def __init__(
        self, config: Path, db: Path | None, *, new: bool, accept_change: bool, live: bool, resume_new: bool = False
    ) -> None:
        self.path = config
        self.new = new
        self.accept_change = accept_change
        self.live = live
        self.resume_new = resume_new  # the demo: an unfinished one is resumed, a finished one starts anew
        self.plan = prepare(config, db)
        self.signals: list[int] = []
        self.until: float | None = None
        self._on_signal: Callable[[], None] = lambda: None  # replaced by one that wakes the loop

    def go(
        self,
        *,
        slots: int | None = None,
        force: bool = False,
        most_games: int | None = None,
        until: float | None = None,
        strict: bool = False,
    ) -> int:
        """Play until the end or a stop, start no game after `until` seconds; the exit code, `strict` on incidents."""
        self.until = until
        count = slots or self.plan.config.play.slots
        cores = len(os.sched_getaffinity(0))
        if count > cores and not force:
            step = "lower slots, or say --force"
            raise UsageRefused(f"{count} slots on {cores} processors would steal time from the engines", step=step)
        with self._handlers():
            new = self.new and not (self.resume_new and self._unfinished())
            with tournament.opened(self.plan, new=new, accept_change=self.accept_change, tell=click.echo) as session:
                click.echo(f"database {self.plan.database}", err=True)  # after what may be refused in one line
                code = self._play(session, count, most_games)
                wrong = any(not incident.is_warning for _, incident in session.log.incidents())
                return INCIDENTS_CODE if strict and wrong and code in (0, ENOUGH_CODE) else code

    def _unfinished(self) -> bool:
        from enginetour.store.tournaments import Store

        with Store.open(self.plan.database, create=False) as store:
            if not store.has(self.plan.config.tournament.name):
                return False
            format_, state = tournament.fold(store.tournament(self.plan.config.tournament.name))
            return bool(format_.offers(state))

    def _play(self, session: tournament.Session, slots: int, most_games: int | None) -> int:
        log = session.log
        picture = _Picture(log, session.plan.config.system)
        picture.look()
        if session.resumed:
            fewest, most = picture.remaining
            total = f"{picture.done + fewest}-{picture.done + most}"
            click.echo(f"{log.title}: continuing after {picture.done} of {total} games", err=True)
        pgn = PgnFile(session.plan.database.parent / f"{log.slug}.pgn", log)
        screen: LiveTable | Lines = LiveTable(picture) if self.live else Lines(picture)
        exports = _Exports(pgn, screen)
        watcher = _Watching(picture, exports, screen)

        def ready(scheduler: Scheduler, desk: Desk) -> Sequence[AbstractContextManager[Any]]:
            self._on_signal = lambda: scheduler.inbox.put(lambda: self._stop(scheduler))
            if self.signals:
                self._on_signal()
            inbox = _Inbox(scheduler, desk, self, picture)
            if self.until is not None:
                timer = threading.Timer(self.until, lambda: scheduler.inbox.put(lambda: scheduler.stop(now=False)))
                timer.daemon = True
                timer.start()
            return [ControlServer(socket_path(session.plan.database, slug_of(log.name)), inbox)]

        try:
            end = tournament.play(session, watcher, slots=slots, most_games=most_games, ready=ready)
        finally:
            if isinstance(screen, LiveTable):
                screen.close()
        tournament.rate(session.store, session.plan.config.ratings.systems)
        tell.morning(session, pgn.path, end)
        return self._code(end, session)

    def _code(self, end: End, session: tournament.Session) -> int:
        again = f"enginetour run {self.path}"
        if end is End.FINISHED:
            return 0
        if end is End.BLOCKED:
            click.echo(f"only pairings that cannot be played are left; mend the engine and {again}", err=True)
            click.echo(f'or enginetour withdraw -t "{session.log.name}" ENGINE', err=True)
            return BLOCKED_CODE
        click.echo(f"stopped; {again} goes on", err=True)
        return 128 + self.signals[-1] if self.signals else ENOUGH_CODE

    def _stop(self, scheduler: Scheduler) -> None:
        """Act on the signals noted so far; called by the loop."""
        hard = len(self.signals) > 1 or any(number in HARD for number in self.signals)
        grace = self.plan.config.play.grace
        if hard or grace == 0:
            scheduler.stop(now=True)
        elif not scheduler.stopping:
            click.echo(f"stopping: running games may end within {grace:g} s; Ctrl-C again drops them", err=True)
            scheduler.stop(now=False, grace=grace)

    @contextmanager
    def _handlers(self) -> Iterator[None]:
        """Note signals from now on. What was ignored at start stays so (nohup, a shell's ``&``)."""

        def note(number: int, _frame: object) -> None:
            self.signals.append(number)
            self._on_signal()

        before: dict[signal.Signals, Any] = {}
        for number in (signal.SIGINT, *HARD):
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
                before[number] = signal.signal(number, note)
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)


class _Picture(Progress):
    """Progress that looks things up in the log: ratings, incidents, games so far."""

    def __init__(self, log: Any, system: str) -> None:
        super().__init__(system=system, name=log.title)
        self.log = log
        self.stale = True

    def look(self) -> None:
        """Everything from the log, at start."""
        format_, state = tournament.fold(self.log)
        self.remaining = format_.remaining(state)
        self.placed = format_.standings(state)
        self.done = len(self.log.games(counting=True))
        for _, incident in self.log.incidents():
            self.count(incident)

    def count(self, incident: Incident) -> None:
        """One more for its engine, unless it is only a warning."""
        if not incident.is_warning:
            self.incidents[incident.engine] = self.incidents.get(incident.engine, 0) + 1

    def rate(self) -> None:
        """The likelihood list of the games so far, if there was a game since the last one."""
        if not self.stale:
            return
        self.stale = False
        rows = rating_list(self.log.pair_counts(), names=[line.name for line in self.placed]).rows
        self.elo = {row.name: (row.rating, row.plus, row.minus) for row in rows}


class _Exports(Watcher):
    """Appends each game to the PGN; a failure to write is told, never died of."""

    def __init__(self, pgn: PgnFile, screen: Watcher) -> None:
        self.pgn = pgn
        self.screen = screen

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Append a game that counts."""
        if game.outcome is Outcome.VOID:
            return
        try:
            self.pgn.append(number, game)
        except OSError as error:
            self.screen.trouble(f"{self.pgn.path} not written ({error.strerror}); the store has the game")


class _Watching(Both):
    """Picture first, then exports, then the screen."""

    def __init__(self, picture: _Picture, exports: _Exports, screen: LiveTable | Lines) -> None:
        super().__init__(exports, screen)
        self.picture = picture

    def event(self, slot: int, name: str, payload: object) -> None:
        """A live event of a slot."""
        self.picture.event(slot, name, payload)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Count, rate, tell the others."""
        if game.outcome is not Outcome.VOID:
            self.picture.done += 1
            self.picture.stale = True
        for incident in game.incidents:
            self.picture.count(incident)
        super().game(number, game, notes)


class _Inbox:
    """Requests of the socket become acts of the loop."""

    def __init__(self, scheduler: Scheduler, desk: Desk, run: Run, picture: _Picture) -> None:
        self.scheduler, self.desk, self.run, self.picture = scheduler, desk, run, picture

    def put(self, item: Request, /) -> None:
        """Called from the server's thread."""
        self.scheduler.inbox.put(lambda: item.reply(self._answer({"do": item.do, **item.arguments})))

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        acts: dict[str, Callable[[], dict[str, Any]]] = {"status": self._status, "stop": self._stop}
        act = acts.get(str(message.get("do")))
        return act() if act else self.desk.carry_out(message)

    def _status(self) -> dict[str, Any]:
        self.picture.take(self.scheduler)
        return {"ok": True, **tell.status(self.picture, "running")}

    def _stop(self) -> dict[str, Any]:
        self.scheduler.stop(now=False, grace=self.run.plan.config.play.grace)
        return {"ok": True, "said": "no new games; running ones may end"}
