"""Watchers of a running tournament: progress, PGN export, live events, and requests through the control socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from enginetour.formats.base import Format
from enginetour.model.errors import TourError, UsageRefused, os_reason
from enginetour.model.game import Game, Incident, Note, Outcome
from enginetour.reports.pgn import PgnFile, write_engine_log
from enginetour.reports.progress import MatchScore, Progress, RunView, match_terms, status_json
from enginetour.tournament.changes import RunController, TournamentEditor
from enginetour.tournament.control import ControlServer, PendingRequest, refusal
from enginetour.tournament.requests import Request, parsed
from enginetour.tournament.scheduler import Scheduler, Screen, Watcher


class RunProgress(Progress):
    """The progress of a run, with ratings, incidents and numbers of games from the log of the tournament."""

    def __init__(self, log: Any, system: str, crowd: Callable[[int], Iterable[str]] | None = None) -> None:
        """Create the progress without figures. `crowd` returns the warnings for a number of slots."""
        scale = log.config.get("tournament", {}).get("rating_scale")
        super().__init__(system=system, name=log.title, scale=scale)
        self.log = log
        self.crowd = crowd
        self._warned_of = 0  # the number of slots that the warnings are for
        self.stale = True
        self.numbered = log.last_number
        names = [entrant.name for entrant in log.entrants]
        self.two = (names[0], names[1]) if len(names) == 2 else None

    def look(self, format_: Format[Any], state: Any) -> None:
        """Read all figures from the log at the start of a run. `state` is the replayed state of the format."""
        self.stand(format_, state)
        self.recount()
        for _, incident in self.log.incidents():
            self.count(incident)

    def take(self, running: RunView) -> None:
        """Update the figures from the running tournament, and the warnings for its current number of slots."""
        super().take(running)
        if self.crowd is not None and self.slots != self._warned_of:
            self._warned_of, self.warnings = self.slots, tuple(self.crowd(self.slots))

    def recount(self) -> None:
        """Count the engines and the games that are not void again, and read the withdrawals."""
        super().recount()
        self.withdrawals = self.log.withdrawals()
        self.endings = self.log.endings()
        self.done = self.endings.total()

    def count(self, incident: Incident) -> None:
        """Count an incident for its engine, unless it is only a warning."""
        if not incident.is_warning:
            self.incidents[incident.at_fault] = self.incidents.get(incident.at_fault, 0) + 1

    def rate(self) -> None:
        """Compute the maximum-likelihood ratings of the games so far, if a game ended since the last call."""
        if not self.stale:
            return
        self.stale = False
        from enginetour.ratings.ratinglist import rating_list  # imported here: the first game does not wait for numpy

        rows = rating_list(self.log.pair_counts(), names=[line.name for line in self.placed]).rows
        self.elo = {row.name: (row.rating, row.plus, row.minus) for row in rows}

    def match(self) -> MatchScore | None:
        """Return the score of the two engines without void games.

        Return None if the tournament does not have exactly two entrants, or if it has no games yet.
        """
        if self.two is None:
            return None
        first, second = self.two
        counts = self.log.pair_counts()
        white, black = counts.get((first, second), (0, 0, 0)), counts.get((second, first), (0, 0, 0))[::-1]
        return MatchScore(first, second, white, black) if sum(white) + sum(black) else None

    def paired(self, match: MatchScore) -> MatchScore:
        """Return `match` with its game pairs and terms, which are read from the log."""
        from enginetour.store.selection import pentanomial_of_pair

        pairs, drawn = pentanomial_of_pair(self.log, match.first, match.second)
        return replace(match, pairs=pairs, drawn=drawn, terms=self._terms(match))

    def _terms(self, match: MatchScore) -> str:
        specs, sides = self.log.specs, self.log.config.get("sides", {})
        both = [(sides.get(name, {}), dict(specs[name].options)) for name in (match.first, match.second)]
        return match_terms(both, str(self.log.config["play"].get("openings", {}).get("file") or ""))


_COMFORT = "; the database has all games, and the file gets them after the next game"
# Seconds between two appends to the PGN file. For fast engines, one append per game takes twice as much time.
_APPEND_S = 0.25


class PgnExport(Watcher):
    """A watcher that appends each game to the PGN file; it reports a failure to write, but continues.

    As a context manager, it appends the remaining games at the end.
    """

    def __init__(self, pgn: PgnFile, screen: Watcher, clock: Callable[[], float] = time.monotonic) -> None:
        self.pgn = pgn
        self.screen = screen
        self._clock = clock
        self._failed = False  # a failure is reported once, until a write succeeds
        self._mended = False
        self._due: list[tuple[int, Game]] = []
        self._quiet_until = 0.0

    def __enter__(self) -> PgnExport:
        return self

    def __exit__(self, *_: object) -> None:
        self.append_due()

    def look(self) -> None:
        """Check and repair the file of an earlier run: once at first, and again after a change of the tournament."""
        if not self._mended:
            self._mended = True
            self._write(self.pgn.mend)

    def finish(self) -> None:
        """Try again to write games that could not be written, and mark the file as complete."""
        self._write(self.pgn.finish)

    def outdated(self) -> None:
        """Request another check of the file, because a game may have been voided."""
        self.pgn.outdated()
        self._mended = False

    def progress(self, scheduler: Scheduler) -> None:
        """Append games and check the file while games are in progress, because a long file takes time."""
        if self._due and self._clock() >= self._quiet_until:
            self.append_due()
        self.look()

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Store the game; it is appended when the next game has started."""
        self._due.append((number, game))

    def append_due(self) -> None:
        """Append the games that are not void; write the engine log of each game to its own file."""
        due, self._due = self._due, []
        for number, game in due:
            if game.traffic:
                write = partial(write_engine_log, self.pgn.path, number, game)
                self._write(write, f"engine log of game {number}", "")
        counting = [one for one in due if one[1].outcome is not Outcome.VOID]
        if counting:
            self._mended = True  # the first append checks the file, too
            self._quiet_until = self._clock() + _APPEND_S
            self._write(lambda: self.pgn.extend(counting))

    def _write(self, write: Callable[[], None], what: str = "", comfort: str = _COMFORT) -> None:
        try:
            write()
        except (OSError, TourError) as error:
            if not self._failed:
                why = os_reason(error) if isinstance(error, OSError) else error
                self.screen.trouble(f"{what or self.pgn.path} not written ({why}){comfort}")
            self._failed = True
        else:
            self._failed = False


# Live events for subscribers of the socket, such as the live page.
#
# event      fields besides `event`
# start      slot, white, black, round, encounter, leg, handicap, engines (names that they report), hardware,
#            opening, opening_number, eco, variant, fen, moves (UCI, of the opening), clocks (ms), tc, at
# move       slot, ply, uci, san, score, depth, nodes, pv, elapsed_ms, clock_ms, clocks, at (UTC seconds, of the slot)
# end        slot, outcome, cause
# progress   the fields of `status --json` without `playing` and `forecast`: games_done, remaining, eta, slots, ...
# forecast   the fields of `forecast --json`, from time to time
# others     the fields of the event log, with `at` as text
#
# Moves may be missing if the machine was too busy to send them; gaps in `ply` show that.
# Moves come at most twice per second for each game, and a game shorter than half a second has only `start` and `end`.
# In games that began before anybody subscribed, they come at most every two seconds.

BROADCAST_S = 10.0  # seconds; after this time, progress is published again even if only the estimate has changed


class Broadcast(Watcher):
    """A watcher that publishes events to subscribers of the control socket, if there are any."""

    def __init__(self, picture: Progress) -> None:
        self.picture = picture
        self.server: ControlServer | None = None  # set when the run has a socket
        self._published: tuple[object, ...] = ()

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Publish an event of a slot. Called in the thread of the slots."""
        if self.server is not None and self.server.listeners:
            each, several = ("move", payload) if name == "moves" else (name, [payload])
            for one in several:
                self.server.publish({"event": each, "slot": slot, **one})

    def shows_moves(self) -> bool:
        """Return whether there are subscribers."""
        return self.server is not None and self.server.listeners > 0

    def publish(self, event: Mapping[str, Any]) -> None:
        """Publish one event."""
        if self.server is not None and self.server.listeners:
            self.server.publish(event)

    def progress(self, scheduler: Scheduler) -> None:
        """Publish the progress if it has changed, or if it was last published more than `BROADCAST_S` ago."""
        if self.server is None or not self.server.listeners:
            self._published = ()
            return
        picture = self.picture
        state = run_state(scheduler)
        settings = picture.slots, bool(picture.banner)
        now = state, picture.done, picture.remaining, *settings, time.monotonic() // BROADCAST_S
        if now == self._published:
            return
        self._published = now
        left_out = ("playing", "starts", "forecast")
        found = {key: value for key, value in status_json(picture, state).items() if key not in left_out}
        self.publish({"event": "progress", **found, "slots": scheduler.slots})


def run_state(scheduler: Scheduler) -> str:
    """Return the state as `enginetour status` shows it: running, paused or stopping."""
    return "stopping" if scheduler.stopping else "paused" if scheduler.paused else "running"


class WatcherGroup(Watcher):
    """A group of watchers that are called one after another."""

    def __init__(self, *watchers: Any) -> None:
        self.watchers = watchers

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Pass the game to each watcher."""
        for watcher in self.watchers:
            watcher.game(number, game, notes)

    def trouble(self, text: str) -> None:
        """Pass the message to each watcher."""
        for watcher in self.watchers:
            watcher.trouble(text)

    def withdrawn(self, name: str, why: str, reserve: str = "") -> None:
        """Pass the withdrawal to each watcher."""
        for watcher in self.watchers:
            watcher.withdrawn(name, why, reserve)

    def shows_moves(self) -> bool:
        """Return whether one of the watchers shows the moves of games."""
        return any(watcher.shows_moves() for watcher in self.watchers)

    def turn(self, scheduler: Scheduler) -> None:
        """Call each watcher in each turn of the scheduler's loop."""
        for watcher in self.watchers:
            watcher.turn(scheduler)

    def progress(self, scheduler: Scheduler) -> None:
        """Pass the progress to each watcher."""
        for watcher in self.watchers:
            watcher.progress(scheduler)


class RunWatcher(WatcherGroup):
    """The watchers of a run, in this order: progress figures, exports, screen, subscribers, others."""

    def __init__(
        self, picture: RunProgress, exports: PgnExport, screen: Screen, broadcast: Broadcast, *others: Watcher
    ) -> None:
        super().__init__(exports, screen, broadcast, *others)
        self.screen = screen
        self.broadcast = broadcast
        self.picture = picture
        self.exports = exports
        self._warned = False  # whether the warning that the machine is too busy was printed
        self._unguarded: set[str] = set()  # printed warnings about engines without a PID namespace

    def progress(self, scheduler: Scheduler) -> None:
        """Report when engines begin to wait for processors and when they no longer wait; then pass the progress on."""
        banner = self.picture.banner
        if bool(banner) is not self._warned:
            self._warned = bool(banner)
            less = "the machine is less busy: engines no longer wait long for a processor"
            self.trouble(f"warning: {banner}" if banner else less)
        super().progress(scheduler)

    def changed(self) -> None:
        """Count the games again after a change of the tournament, because a game may have been voided."""
        self.picture.recount()
        self.picture.stale = True
        self.exports.outdated()

    def event(self, slot: int, name: str, payload: object) -> None:
        """Handle a live event of a slot."""
        self.picture.event(slot, name, payload)
        if name == "crowd":  # the progress figures show this event
            return
        if name == "unguarded" and isinstance(payload, Mapping):
            if (text := str(payload["text"])) not in self._unguarded:  # each game sends this event
                self._unguarded.add(text)
                self.screen.trouble(f"warning: {text}")
            return
        self.broadcast.event(slot, name, payload)
        if name == "waits" and isinstance(payload, Mapping):
            self.screen.trouble(str(payload["text"]))
        elif name != "moves":  # screens do not show moves
            self.screen.event(slot, name, payload)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Count the game, then pass it on."""
        if game.outcome is not Outcome.VOID:
            self.picture.done += 1
            self.picture.endings[str(game.termination)] += 1
            self.picture.stale = True
        for incident in game.incidents:
            self.picture.count(incident)
        super().game(number, game, notes)

    def withdrawn(self, name: str, why: str, reserve: str = "") -> None:
        """Count the games again, then pass the withdrawal on."""
        self.changed()
        super().withdrawn(name, why, reserve)


class RequestHandler:
    """A handler that passes requests of the control socket to the scheduler's loop and answers them."""

    def __init__(self, controller: RunController, editor: TournamentEditor, grace: float, watcher: RunWatcher) -> None:
        self.controller, self.scheduler, self.editor = controller, controller.scheduler, editor
        self.grace, self.watcher = grace, watcher

    def put(self, item: PendingRequest, /) -> None:
        """Pass a request to the loop, or answer that it is not valid. Called in the thread of the server."""
        try:
            request = parsed(item.message)
        except UsageRefused as refused:
            item.reply(refusal(str(refused), refused.exit_code))
            return
        self.scheduler.inbox.put(lambda: item.reply(self._answer(request)))

    def _answer(self, request: Request) -> dict[str, Any]:
        if request.do == "status":
            self.watcher.picture.take(self.scheduler)
            found = status_json(self.watcher.picture, run_state(self.scheduler))
            return {"ok": True, **found, "slots": self.scheduler.slots}
        if request.do == "stop":
            self.scheduler.stop(now=False, grace=self.grace)
            return {"ok": True, "said": "no new games; finishing the games in progress"}
        if (controlled := self.controller.carry_out(request)) is not None:
            return controlled
        answer = self.editor.carry_out(request)
        if answer["ok"]:
            self.watcher.changed()
        return answer
