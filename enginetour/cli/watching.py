"""Watchers of a running tournament: progress, PGN export, screen, and the requests of its socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from enginetour.cli.output import Console
from enginetour.cli.screen import Broadcast, run_state, status
from enginetour.formats.base import Format
from enginetour.model.errors import TourError, UsageRefused
from enginetour.model.game import Game, Incident, Note, Outcome
from enginetour.reports.pgn import PgnFile, write_engine_log
from enginetour.reports.progress import MatchScore, Progress, RunView, match_terms
from enginetour.tournament.changes import RunController, TournamentEditor
from enginetour.tournament.control import PendingRequest, refusal
from enginetour.tournament.requests import Request, parsed
from enginetour.tournament.scheduler import Scheduler, Watcher


class RunProgress(Progress):
    """Progress that looks things up in the log: ratings, incidents, games so far."""

    def __init__(self, log: Any, system: str, crowd: Callable[[int], Iterable[str]] | None = None) -> None:
        """`crowd` warns of so many slots."""
        super().__init__(system=system, name=log.title)
        self.log = log
        self.crowd = crowd
        self._warned_of = 0  # slots
        self.stale = True
        self.numbered = log.last_number
        names = [entrant.name for entrant in log.entrants]
        self.two = (names[0], names[1]) if len(names) == 2 else None

    def look(self, format_: Format[Any], state: Any) -> None:
        """Everything from the log, whose state is known, at start."""
        self.stand(format_, state)
        self.recount()
        for _, incident in self.log.incidents():
            self.count(incident)

    def take(self, running: RunView) -> None:
        """With the warnings of as many slots as there are now."""
        super().take(running)
        if self.crowd is not None and self.slots != self._warned_of:
            self._warned_of, self.warnings = self.slots, tuple(self.crowd(self.slots))

    def recount(self) -> None:
        """The games that count, from the log."""
        self.endings = self.log.endings()
        self.done = self.endings.total()

    def count(self, incident: Incident) -> None:
        """One more for its engine, unless it is only a warning."""
        if not incident.is_warning:
            self.incidents[incident.at_fault] = self.incidents.get(incident.at_fault, 0) + 1

    def rate(self) -> None:
        """The likelihood list of the games so far, if there was a game since the last one."""
        if not self.stale:
            return
        self.stale = False
        from enginetour.ratings.ratinglist import rating_list  # here: the first game does without numpy

        rows = rating_list(self.log.pair_counts(), names=[line.name for line in self.placed]).rows
        self.elo = {row.name: (row.rating, row.plus, row.minus) for row in rows}

    def match(self) -> MatchScore | None:
        """From the log, games that were struck out left away."""
        if self.two is None:
            return None
        first, second = self.two
        counts = self.log.pair_counts()
        white, black = counts.get((first, second), (0, 0, 0)), counts.get((second, first), (0, 0, 0))[::-1]
        return MatchScore(first, second, white, black) if sum(white) + sum(black) else None

    def paired(self, match: MatchScore) -> MatchScore:
        """From the log as well."""
        from enginetour.store.selection import pentanomial_of_pair

        pairs, drawn = pentanomial_of_pair(self.log, match.first, match.second)
        return replace(match, pairs=pairs, drawn=drawn, terms=self._terms(match))

    def _terms(self, match: MatchScore) -> str:
        specs, sides = self.log.specs, self.log.config.get("sides", {})
        both = [(sides.get(name, {}), dict(specs[name].options)) for name in (match.first, match.second)]
        return match_terms(both, str(self.log.config["play"].get("openings", {}).get("file") or ""))


_COMFORT = "; the store has all games, later ones bring them"
# Between two times that games are appended to the PGN: apart, those of quick engines cost twice as much as together.
_APPEND_S = 0.25


class PgnExport(Watcher):
    """Appends each game to the PGN; a failure to write is shown and ends nothing.

    As a context manager it leaves nothing that is due.
    """

    def __init__(self, pgn: PgnFile, screen: Watcher, clock: Callable[[], float] = time.monotonic) -> None:
        self.pgn = pgn
        self.screen = screen
        self._clock = clock
        self._failed = False  # shown once until it can be written again
        self._looked = False
        self._due: list[tuple[int, Game]] = []
        self._quiet_until = 0.0

    def __enter__(self) -> PgnExport:
        return self

    def __exit__(self, *_: object) -> None:
        self.append_due()

    def look(self) -> None:
        """Check and mend what an earlier run left, once, and again after a change."""
        if not self._looked:
            self._looked = True
            self._write(self.pgn.mend)

    def finish(self) -> None:
        """The last look: what could not be written before is tried once more, and the file says that it is whole."""
        self._write(self.pgn.finish)

    def outdated(self) -> None:
        """A game may have been struck out: the PGN is looked at once more."""
        self.pgn.outdated()
        self._looked = False

    def progress(self, scheduler: Scheduler) -> None:
        """Append what is due and look, when games are in the air already: a long file must not hold them up."""
        if self._due and self._clock() >= self._quiet_until:
            self.append_due()
        self.look()

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """It is appended when the next one has begun."""
        self._due.append((number, game))

    def append_due(self) -> None:
        """Append the games that count; the traffic of each has a file of its own."""
        due, self._due = self._due, []
        for number, game in due:
            if game.traffic:
                write = partial(write_engine_log, self.pgn.path, number, game)
                self._write(write, f"the traffic of game {number}", "")
        counting = [one for one in due if one[1].outcome is not Outcome.VOID]
        if counting:
            self._looked = True  # the first one appended looks
            self._quiet_until = self._clock() + _APPEND_S
            self._write(lambda: self.pgn.extend(counting))

    def _write(self, write: Callable[[], None], what: str = "", comfort: str = _COMFORT) -> None:
        try:
            write()
        except (OSError, TourError) as error:
            if not self._failed:
                why = error.strerror if isinstance(error, OSError) else error
                self.screen.trouble(f"{what or self.pgn.path} not written ({why}){comfort}")
            self._failed = True
        else:
            self._failed = False


class WatcherGroup(Watcher):
    """Several watchers, each called in order."""

    def __init__(self, *watchers: Any) -> None:
        self.watchers = watchers

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.game(number, game, notes)

    def trouble(self, text: str) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.trouble(text)

    def withdrawn(self, name: str, why: str) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.withdrawn(name, why)

    def turn(self, scheduler: Scheduler) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.turn(scheduler)

    def progress(self, scheduler: Scheduler) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.progress(scheduler)


class RunWatcher(WatcherGroup):
    """Picture first, then exports, then the screen, then subscribers and whoever else there is."""

    def __init__(
        self, picture: RunProgress, exports: PgnExport, screen: Console, broadcast: Broadcast, *others: Watcher
    ) -> None:
        super().__init__(exports, screen, broadcast, *others)
        self.screen = screen
        self.broadcast = broadcast
        self.picture = picture
        self.exports = exports
        self._warned = False  # that the machine is too busy
        self._unguarded: set[str] = set()  # what was said of machines whose engines have no PID namespace

    def progress(self, scheduler: Scheduler) -> None:
        """Warn as soon as engines wait for processors, then tell the others."""
        banner = self.picture.banner
        if bool(banner) is not self._warned:
            self._warned = bool(banner)
            less = "the machine is less busy: engines no longer wait long for a processor"
            self.trouble(f"warning: {banner}" if banner else less)
        super().progress(scheduler)

    def changed(self) -> None:
        """Somebody changed the tournament: a game struck out counts no more."""
        self.picture.recount()
        self.picture.stale = True
        self.exports.outdated()

    def event(self, slot: int, name: str, payload: object) -> None:
        """A live event of a slot."""
        self.picture.event(slot, name, payload)
        if name == "crowd":  # the picture says what it means
            return
        if name == "unguarded" and isinstance(payload, Mapping):
            if (text := str(payload["text"])) not in self._unguarded:  # each game tells it
                self._unguarded.add(text)
                self.screen.trouble(f"warning: {text}")
            return
        self.broadcast.event(slot, name, payload)
        if name == "waits" and isinstance(payload, Mapping):
            self.screen.trouble(str(payload["text"]))
        elif name != "move":  # no screen tells of single moves, and there are thousands
            self.screen.event(slot, name, payload)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Count, rate, tell the others."""
        if game.outcome is not Outcome.VOID:
            self.picture.done += 1
            self.picture.endings[str(game.termination)] += 1
            self.picture.stale = True
        for incident in game.incidents:
            self.picture.count(incident)
        super().game(number, game, notes)

    def withdrawn(self, name: str, why: str) -> None:
        """Its games and everybody's places have changed."""
        self.changed()
        super().withdrawn(name, why)


class RequestHandler:
    """Passes requests of the socket to the loop, and answers them."""

    def __init__(self, controller: RunController, editor: TournamentEditor, grace: float, watcher: RunWatcher) -> None:
        self.controller, self.scheduler, self.editor = controller, controller.scheduler, editor
        self.grace, self.watcher = grace, watcher

    def put(self, item: PendingRequest, /) -> None:
        """Give the loop a request, or refuse what is none; called from the server's thread."""
        try:
            request = parsed({**item.arguments, "do": item.do})
        except UsageRefused as refused:
            item.reply(refusal(str(refused), refused.exit_code))
            return
        self.scheduler.inbox.put(lambda: item.reply(self._answer(request)))

    def _answer(self, request: Request) -> dict[str, Any]:
        if request.do == "status":
            self.watcher.picture.take(self.scheduler)
            found = status(self.watcher.picture, run_state(self.scheduler))
            return {"ok": True, **found, "slots": self.scheduler.slots}
        if request.do == "stop":
            self.scheduler.stop(now=False, grace=self.grace)
            return {"ok": True, "said": "no new games; running ones may end"}
        if (controlled := self.controller.carry_out(request)) is not None:
            return controlled
        answer = self.editor.carry_out(request)
        if answer["ok"]:
            self.watcher.changed()
        return answer
