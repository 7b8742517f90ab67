"""What a running tournament shows: a live table in a terminal, one line a game anywhere else."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from enginetour.model.game import Game, Note, Outcome
from enginetour.reports import progress
from enginetour.reports.progress import Progress, headline, now_line, table, test_lines
from enginetour.reports.sheet import lines_of, render, safe
from enginetour.tournament.scheduler import Scheduler, Watcher

if TYPE_CHECKING:
    from rich.live import Live


# Between two redraws, however many games end meanwhile; what comes oftener only costs CPU the engines could have: of
# 100 entrants 48 ms each (measured), most of it for their ratings.
REDRAW_S = 0.5
# A progress line after so many games, or a hundredth of those so far: a log of thousands stays readable.
PROGRESS_GAMES = 10
PROGRESS_S = 1.0  # nor sooner: the figures of a match take 6 ms (measured), as long as a game of quick engines


def _about(engine: str, cause: str) -> str:
    """Who and what, the name once: some causes begin with it, those of the host have none."""
    begins_with_it = cause.startswith((f"{engine}:", f"{engine} ")) or cause == engine
    return cause if not engine or begins_with_it else f"{engine}: {cause}"


def _print(lines: Sequence[str]) -> None:
    if lines:
        click.echo("\n".join(lines))


class Claimed:
    """What engines said of their searches that was not so: each kind of each engine once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def new(self, game: Game) -> Iterator[str]:
        """Sentences about the game that just ended."""
        for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black)):
            for kind, number, words in record.claims:
                if (name, kind) not in self._told:
                    self._told.add((name, kind))
                    more = f", {number} times" if number > 1 else ""
                    yield f"claim: {name}: {words} ({kind}{more}; told once)"


class Lines(Watcher):
    """A line as a game starts and ends, the decisions of the format, and now and then how far it is."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self.picture = progress
        self.due = PROGRESS_GAMES
        self._clock = clock
        self._quiet_until = 0.0
        self._claimed = Claimed()
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

    def _tell_begun(self, flying: Collection[tuple[str, str]]) -> None:
        """Games whose slot has nothing else that is still to be told; what the machine failed never is."""
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
        return progress.started(self._number + len(self._open), self._planned, *names)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Print the game, then what it decided, with nothing between: scripts read it as cutechess-cli prints it."""
        self._fresh = True
        lines = [progress.finished(number, game)]
        if (match := self.picture.match()) is not None:  # it is looked up: no game that starts meanwhile waits for it
            lines.append(progress.score(match))
        for incident in game.incidents:
            kind = "warning" if incident.is_warning else "incident"
            lines.append(safe(f"  {kind}: {_about(incident.at_fault, incident.cause)}   enginetour games {number}"))
        lines += [safe(f"  {words}   enginetour games {number}") for words in self._claimed.new(game)]
        lines += [safe(f"  {note.text}") for note in notes]
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
        click.echo(safe(text), err=True)

    def progress(self, scheduler: Scheduler) -> None:
        """A progress line every ten games, and not every moment."""
        self.picture.take(scheduler)
        self._planned = self._numbers()
        self._tell_begun({(pairing.white, pairing.black) for pairing, _ in scheduler.flying.values()})
        if self.due <= 0 and self._clock() >= self._quiet_until:
            self._quiet_until = self._clock() + PROGRESS_S
            self.due = max(PROGRESS_GAMES, self.picture.done // 100)
            lines = [headline(self.picture), *self._strength(), *test_lines(self.picture)]
            with self._lock:
                _print(lines)

    def strength(self) -> None:
        """How far two engines are apart, as far as that can be told, unless it was told since the last game."""
        lines = list(self._strength())
        with self._lock:
            _print(lines)

    def _strength(self) -> Iterator[str]:
        match = self.picture.match() if self._fresh else None
        self._fresh = False
        if match is not None:
            test = self.picture.test[1] if self.picture.test else None
            yield from progress.interval(self.picture.paired(match), test)
            if not self.picture.remaining[1]:
                yield progress.ended()


class LiveTable(Watcher):
    """The table in place, sized to the window; the last troubles and incidents below it."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        self.picture = progress
        self._clock = clock
        self._claimed = Claimed()
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
            self.incident = [safe(words)]  # stays while decisions come and go
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
            self._begin_anew()
        told = (*self._banner(), headline(self.picture), *test_lines(self.picture))
        above = [line for words in told for line in _wrapped(words, size.columns)]
        said = (now_line(self.picture), *self.words, *self.incident)
        below = [line for words in said for line in _wrapped(words, size.columns)]
        room = max(3, size.lines - 3 - len(above) - len(below))
        middle = render(table(self.picture, room), size.columns).splitlines()
        self.live.update(Text("\n".join([*above, *middle, *below])), refresh=True)
        self.due = self._clock() + REDRAW_S

    def _banner(self) -> tuple[str, ...]:
        return (f"WARNING: {banner}",) if (banner := self.picture.banner) else ()

    def close(self) -> None:
        """Draw the last picture and leave it standing."""
        self.draw()
        self.live.stop()

    def _started(self) -> Live:
        from rich.live import Live

        live = Live(console=self.console, auto_refresh=False, transient=False)
        live.start()
        return live

    def _begin_anew(self) -> None:
        """Another size of the window: its terminal has wrapped the old picture, nothing there can be redrawn."""
        self.live.stop()
        self.console.clear()
        self.live = self._started()

    def _say(self, text: str) -> None:
        self.words = [*self.words, safe(text)][-3:]


def _wrapped(line: str, columns: int) -> list[str]:
    return lines_of(line, max(20, columns - 1))


class Both(Watcher):
    """Several watchers, each told in order."""

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
