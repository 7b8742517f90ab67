"""What a running tournament shows: live table, one line per game, live events, status, bubble ladder."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.printing import width
from enginetour.model.game import Game, Note, Outcome
from enginetour.reports import progress, sprt
from enginetour.reports.progress import Progress, headline, live_table, playing_line, sequential_lines
from enginetour.reports.sheet import render, safe_text, wrap_sentence
from enginetour.store.replay import fold
from enginetour.tournament.control import ControlServer
from enginetour.tournament.scheduler import Scheduler, Watcher

if TYPE_CHECKING:
    from rich.live import Live

    from enginetour.store.log import TournamentLog


# A live table in a terminal, one line per game elsewhere.

# Between two redraws, however many games end meanwhile; what comes oftener only costs CPU the engines could have: of
# 100 entrants 48 ms each (measured), most of it for their ratings.
REDRAW_S = 0.5
# A progress line after so many games, or a hundredth of those so far: a log of thousands stays readable.
_PROGRESS_GAMES = 10
_PROGRESS_S = 1.0  # nor sooner: the figures of a match take 6 ms (measured), as long as a game of quick engines


def _about(engine: str, cause: str) -> str:
    """Who and what, the name once: some causes begin with it, those of the host have none."""
    begins_with_it = cause.startswith((f"{engine}:", f"{engine} ")) or cause == engine
    return cause if not engine or begins_with_it else f"{engine}: {cause}"


def _print(lines: Sequence[str]) -> None:
    if lines:
        click.echo("\n".join(lines))


class WrongClaims:
    """Claims of engines about their searches that proved wrong: each kind of each engine once."""

    def __init__(self) -> None:
        self._shown: set[tuple[str, str]] = set()

    def new(self, game: Game) -> Iterator[str]:
        """Yield sentences about the game that just ended."""
        for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black)):
            for kind, number, words in record.claims:
                if (name, kind) not in self._shown:
                    self._shown.add((name, kind))
                    more = f", {number} times" if number > 1 else ""
                    yield f"claim: {name}: {words} ({kind}{more}; told once)"


class Lines(Watcher):
    """A line as a game starts and ends, the decisions of the format, and now and then how far it is."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self.picture = progress
        self.due = _PROGRESS_GAMES
        self._clock = clock
        self._quiet_until = 0.0
        self._claimed = WrongClaims()
        self._lock = threading.Lock()  # of what follows, and of the lines: games start in another thread
        self._open: dict[int, tuple[str, str]] = {}  # slot -> who plays there
        self._begun: list[tuple[int, tuple[str, str]]] = []  # where the last game is still to be told
        self._number = progress.numbered
        self._planned = self._numbers()  # of one look: between two, only one of both may be new
        self._fresh = False  # there was a game since the strength was told

    def event(self, slot: int, name: str, payload: Mapping[str, Any]) -> None:
        """A game has started on a slot: it is numbered as it will be when all end in the order of their starts."""
        if name != "start":
            return
        names = str(payload["white"]), str(payload["black"])
        with self._lock:
            if slot in self._open:
                self._begun.append((slot, names))
            else:
                click.echo(self._started(slot, names))

    def _print_begun(self, flying: Collection[tuple[str, str]]) -> None:
        """Games whose slot has nothing else that is still to be printed; what the machine failed never is."""
        with self._lock:
            begun, self._begun = self._begun, []
            lines = list[str]()
            for slot, names in begun:
                if self._open.get(slot) in flying:
                    self._begun.append((slot, names))
                else:
                    lines.append(self._started(slot, names))
            _print(lines)

    def _numbers(self) -> int | None:
        """The number that the last game will bear: void games and those struck out bear numbers, too."""
        planned = self.picture.planned
        return None if planned is None else planned + max(0, self._number - self.picture.done)

    def _started(self, slot: int, names: tuple[str, str]) -> str:
        """The line of a game that is on its slot from now on; the lock is held until it is printed."""
        self._open[slot] = names
        return progress.started_line(self._number + len(self._open), self._planned, *names)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Print the game, then what it decided, with nothing between: scripts read it as cutechess-cli prints it."""
        self._fresh = True
        lines = [progress.finished_line(number, game)]
        if (match := self.picture.match()) is not None:  # it is looked up: no game that starts meanwhile waits for it
            lines.append(progress.score_line(match))
        for incident in game.incidents:
            kind = "warning" if incident.is_warning else "incident"
            lines.append(
                safe_text(f"  {kind}: {_about(incident.at_fault, incident.cause)}   enginetour games {number}")
            )
        lines += [safe_text(f"  {words}   enginetour games {number}") for words in self._claimed.new(game)]
        lines += [safe_text(f"  {note.text}") for note in notes]
        self.due -= 1
        names = game.pairing.white, game.pairing.black
        with self._lock:
            self._number = max(number, self._number)
            slot = next((slot for slot, playing in self._open.items() if playing == names), None)
            if slot is not None:
                del self._open[slot]
            _print(lines)

    def trouble(self, text: str) -> None:
        """Print it on stderr, where a log of results does not want it."""
        click.echo(safe_text(text), err=True)

    def progress(self, scheduler: Scheduler) -> None:
        """A progress line every ten games, and not every moment."""
        self.picture.take(scheduler)
        self._planned = self._numbers()
        self._print_begun({(pairing.white, pairing.black) for pairing, _ in scheduler.flying.values()})
        if self.due <= 0 and self._clock() >= self._quiet_until:
            self._quiet_until = self._clock() + _PROGRESS_S
            self.due = max(_PROGRESS_GAMES, self.picture.done // 100)
            lines = [headline(self.picture), *self._strength(), *sequential_lines(self.picture)]
            with self._lock:
                _print(lines)

    def strength(self) -> None:
        """Print how far two engines are apart, unless it was printed since the last game."""
        lines = list(self._strength())
        with self._lock:
            _print(lines)

    def _strength(self) -> Iterator[str]:
        match = self.picture.match() if self._fresh else None
        self._fresh = False
        if match is not None:
            test = self.picture.test[1] if self.picture.test else None
            yield from progress.interval_lines(self.picture.paired(match), test)
            if not self.picture.remaining[1]:
                yield progress.ended()


class LiveTable(Watcher):
    """The table in place, sized to the window; the last troubles and incidents below it."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        self.picture = progress
        self._clock = clock
        self._claimed = WrongClaims()
        self.words: list[str] = []
        self.incident: list[str] = []
        self.size = shutil.get_terminal_size((80, 24))
        self.due = 0.0  # when to redraw, by the clock
        self.console = Console(highlight=False)
        self.live = self._started()

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Remember what deserves a line below the table."""
        if game.outcome is Outcome.VOID or any(not incident.is_warning for incident in game.incidents):
            words = f"last incident: {number}  {_about(game.culprit, game.cause)}   enginetour games {number}"
            self.incident = [safe_text(words)]  # stays while decisions come and go
        for words in self._claimed.new(game):
            self._say(f"{words}   enginetour games {number}")
        for note in notes:
            self._say(note.text)

    def trouble(self, text: str) -> None:
        """A line below the table, at once."""
        self._say(text)
        self.due = 0.0

    def progress(self, scheduler: Scheduler) -> None:
        """Redraw, at most twice a second."""
        self.picture.take(scheduler)
        if self._clock() >= self.due:
            self.draw()

    def draw(self) -> None:
        """The whole picture for the present window."""
        from rich.text import Text

        self.picture.rate()
        size = shutil.get_terminal_size((80, 24))
        if size != self.size:
            self.size = size
            self.live.stop()  # its terminal has wrapped the old picture, nothing there can be redrawn
            self.console.clear()
            self.live = self._started()
        banner = (f"WARNING: {self.picture.banner}",) if self.picture.banner else ()
        above = self._wrapped(*banner, headline(self.picture), *sequential_lines(self.picture))
        below = self._wrapped(playing_line(self.picture), *self.words, *self.incident)
        room = max(3, size.lines - 3 - len(above) - len(below))
        middle = render(live_table(self.picture, room), size.columns).splitlines()
        self.live.update(Text("\n".join([*above, *middle, *below])), refresh=True)
        self.due = self._clock() + REDRAW_S

    def close(self) -> None:
        """Draw the last picture and leave it standing."""
        self.draw()
        self.live.stop()

    def _started(self) -> Live:
        from rich.live import Live

        live = Live(console=self.console, auto_refresh=False, transient=False)
        live.start()
        return live

    def _wrapped(self, *lines: str) -> list[str]:
        return [part for line in lines for part in wrap_sentence(line, max(20, self.size.columns - 1))]

    def _say(self, text: str) -> None:
        self.words = [*self.words, safe_text(text)][-3:]


# Bubble ladder, table and status, at the end of a run and later.


def format_history(log: TournamentLog, *, most: int | None = None) -> str:
    """The ladder of a bubble (its last `most` round robins, or all), the table of everything else."""
    from enginetour.reports import ladder, standings  # here: a run begins without them

    format_, state = fold(log)
    placed = format_.standings(state)
    if log.system == "bubble":
        from enginetour.store.lists import rating_order  # here: a table does without what ratings need

        order = rating_order(log, placed)
        return ladder.ladder_text(f"ladder · {log.title}", format_.notes(state), placed, order, most=most)
    text = render(standings.standings_sheet(f"standings · {log.title}", placed, log.odds_by_entrant()), width())
    if test := sprt.current_test(format_, state):
        text += "\n" + render(sprt.sprt_sheet(f"test · {log.title}", *test), width())
    return text


def status(picture: Progress, state: str) -> dict[str, Any]:
    """The JSON of `status`."""
    from enginetour.reports.sheet import iso_timestamp  # as above

    return {
        "tournament": picture.name,
        "system": picture.system,
        "state": state,
        "games_done": picture.done,
        "remaining": list(picture.remaining),
        "open_ended": picture.planned is None,
        **({"round": list(picture.stage)} if picture.stage else {}),
        "eta": picture.estimate,
        "eta_range": list(picture.spread) if picture.spread else None,
        "playing": list(picture.live.values()),
        "incidents": sum(picture.incidents.values()),
        "endings": dict(picture.endings),
        "warnings": [*filter(None, [picture.banner]), *picture.warnings],
        **({"stop_at": iso_timestamp(picture.stop_at)} if picture.stop_at is not None else {}),
        **({"sprt": sprt.sprt_json(*picture.test)} if picture.test else {}),
    }


# Live events for subscribers of the socket, such as the live page.
#
# event      fields beside `event`
# start      slot, white, black, opening, variant, fen, moves (UCI, of the opening), clocks (ms), tc, at
# move       slot, ply, uci, san, score, depth, nodes, pv, elapsed_ms, clock_ms, clocks, at (UTC seconds, of the slot)
# end        slot, outcome, cause
# progress   what `status --json` has but for the games in the air: games_done, remaining, eta, state, slots, ...
# others     those of the journal, with `at` as text
#
# Moves may be missing where the machine was too busy to pass them on; `ply` shows it.

BROADCAST_S = 10.0  # between two tellings of an estimate although nothing else has changed


class Broadcast(Watcher):
    """Publishes events to subscribers; costs nothing while there are none."""

    def __init__(self, picture: Progress) -> None:
        self.picture = picture
        self.server: ControlServer | None = None  # from the moment there is a socket
        self._published: tuple[object, ...] = ()

    def event(self, slot: int, name: str, payload: Any) -> None:
        """Publish an event of a slot; called from the thread of the slots."""
        if self.server is not None and self.server.listeners:
            self.server.publish({"event": name, "slot": slot, **payload})

    def publish(self, event: Mapping[str, Any]) -> None:
        """Publish one event."""
        if self.server is not None and self.server.listeners:
            self.server.publish(event)

    def progress(self, scheduler: Scheduler) -> None:
        """How far it is, when that changed or was not told for a while; the picture was brought up to date before."""
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
        found = {key: value for key, value in status(picture, state).items() if key != "playing"}
        self.publish({"event": "progress", **found, "slots": scheduler.slots})


def run_state(scheduler: Scheduler) -> str:
    """In the words of `status`: running, paused, stopping."""
    return "stopping" if scheduler.stopping else "paused" if scheduler.paused else "running"
