"""Output of a running tournament: live table, one line per game, live events, status, bubble history."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.printing import width
from enginetour.model.game import Game, Note, Outcome
from enginetour.reports import progress, sprt
from enginetour.reports.progress import Progress, headline, live_table, playing_line, sequential_lines
from enginetour.reports.sheet import render, safe_text, wrap_sentence
from enginetour.store.replay import fold
from enginetour.tournament.scheduler import Scheduler, Watcher

if TYPE_CHECKING:
    from rich.live import Live

    from enginetour.store.log import TournamentLog


# Seconds between two redraws, because a redraw takes CPU time from the engines: 48 ms for 100 entrants (measured), most
# of it for their ratings.
REDRAW_S = 0.5
# A progress line is printed after this number of games, or after 1 % of the finished games if that is more, so that
# long logs stay readable.
_PROGRESS_GAMES = 10
_IDLE_S = 300.0  # seconds between two progress lines while no game can start
_PROGRESS_S = 1.0  # minimum number of seconds between two progress lines, because the figures take 6 ms (measured)


def _about(engine: str, cause: str) -> str:
    """Return the cause of an incident with the name of the engine before it, unless the cause starts with the name."""
    begins_with_it = cause.startswith((f"{engine}:", f"{engine} ")) or cause == engine
    return cause if not engine or begins_with_it else f"{engine}: {cause}"


def _print(lines: Sequence[str]) -> None:
    if lines:
        click.echo("\n".join(lines))


class WrongClaims:
    """The wrong claims that engines make about their searches. Each kind of claim is shown once per engine."""

    def __init__(self) -> None:
        self._shown: set[tuple[str, str]] = set()

    def new(self, game: Game) -> Iterator[str]:
        """Yield a line for each new kind of wrong claim in the game that just ended."""
        for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black)):
            for kind, number, text in record.claims:
                if (name, kind) not in self._shown:
                    self._shown.add((name, kind))
                    more = f", {number} times" if number > 1 else ""
                    yield f"wrong claim: {name}: {text} ({kind}{more}; shown once per engine)"


class Lines(Watcher):
    """Print a line for each start and end of a game, the decisions of the format, and sometimes the progress."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self.picture = progress
        self.due = _PROGRESS_GAMES
        self._clock = clock
        self._quiet_until = 0.0
        # When the last game ended, or when the last line about the wait was printed.
        self._idle_since: float | None = None
        self._claimed = WrongClaims()
        # The lock protects the fields below and the order of the lines, because games start in another thread.
        self._lock = threading.Lock()
        self._open: dict[int, tuple[str, str]] = {}  # slot -> entrants that play there
        self._begun: list[tuple[int, tuple[str, str]]] = []  # started before their slot's last result was printed
        self._number = progress.numbered
        self._planned = self._numbers()
        self._fresh = False  # true if a game has ended since the last output of the strength

    def event(self, slot: int, name: str, payload: Mapping[str, Any]) -> None:
        """Print the start of a game. The printed number is right only if games end in the order in which they start."""
        if name != "start":
            return
        names = str(payload["white"]), str(payload["black"])
        with self._lock:
            if slot in self._open:
                self._begun.append((slot, names))
            else:
                click.echo(self._started(slot, names))

    def _print_begun(self, scheduler: Scheduler) -> None:
        """Print the starts of games that waited for the result of an earlier game on the same slot."""
        if not self._begun:
            return
        with self._lock:
            begun, self._begun = self._begun, []
            playing = {(pairing.white, pairing.black) for pairing in scheduler.playing()}
            lines = list[str]()
            for slot, names in begun:
                # Usually the result of the earlier game has been printed by now; a failed game has none.
                if self._open.get(slot) in playing:
                    self._begun.append((slot, names))
                else:
                    lines.append(self._started(slot, names))
            _print(lines)

    def _numbers(self) -> int | None:
        """Return the number that the last game of the tournament will have. Void games have numbers, too."""
        planned = self.picture.planned
        return None if planned is None else planned + max(0, self._number - self.picture.done)

    def _started(self, slot: int, names: tuple[str, str]) -> str:
        """Record that a game occupies a slot, and return the line about its start. The caller must own the lock."""
        self._open[slot] = names
        return progress.started_line(self._number + len(self._open), self._planned, *names)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Print the game and its decisions in one block, because scripts parse it like the output of cutechess-cli."""
        self._fresh = True
        lines = [progress.finished_line(number, game)]
        if (match := self.picture.match()) is not None:  # before the lock, so that starts do not wait for it
            lines.append(progress.score_line(match))
        for incident in game.incidents:
            kind = "warning" if incident.is_warning else "incident"
            lines.append(
                safe_text(f"  {kind}: {_about(incident.at_fault, incident.cause)}   enginetour games {number}")
            )
        lines += [safe_text(f"  {text}   enginetour games {number}") for text in self._claimed.new(game)]
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
        """Print a line on stderr, so that it does not mix with the results."""
        click.echo(safe_text(text), err=True)

    def progress(self, scheduler: Scheduler) -> None:
        """Print a progress line if it is due, also while all games wait."""
        self.picture.take(scheduler)
        self._planned = self._numbers()
        self._print_begun(scheduler)
        if self.due <= 0 and self._clock() >= self._quiet_until:
            self._quiet_until = self._clock() + _PROGRESS_S
            self.due = max(_PROGRESS_GAMES, self.picture.done // 100)
            lines = [headline(self.picture), *self._strength(), *sequential_lines(self.picture)]
            with self._lock:
                _print(lines)
        if scheduler.flying or scheduler.paused:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = self._clock()
        elif self._clock() - self._idle_since >= _IDLE_S:
            self._idle_since = self._clock()
            click.echo(" · ".join(filter(None, (headline(self.picture), scheduler.waiting()))))

    def strength(self) -> None:
        """Print the strength difference of two engines, unless it was printed since the last game."""
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
                yield "Finished match"


class LiveTable(Watcher):
    """Show a table that is redrawn in place, with the last messages and incidents below it."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console

        self.picture = progress
        self._clock = clock
        self._claimed = WrongClaims()
        self.messages: list[str] = []
        self.incident: list[str] = []
        self.size = shutil.get_terminal_size((80, 24))
        self.due = 0.0  # time of the next redraw, by `clock`
        self.console = Console(highlight=False)
        self.live = self._started()

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Store the messages about a finished game, which are shown below the table."""
        if game.outcome is Outcome.VOID or any(not incident.is_warning for incident in game.incidents):
            text = f"last incident: {number}  {_about(game.culprit, game.cause)}   enginetour games {number}"
            self.incident = [safe_text(text)]  # kept separately, so that later messages do not replace it
        for text in self._claimed.new(game):
            self._add_message(f"{text}   enginetour games {number}")
        for note in notes:
            self._add_message(note.text)

    def trouble(self, text: str) -> None:
        """Add a message below the table, and redraw at the next call of `progress`.

        The warning of a busy machine is above the table, with its present figures.
        """
        if text != f"warning: {self.picture.banner}":
            self._add_message(text)
        self.due = 0.0

    def shows_moves(self) -> bool:
        """Return True: the table shows the last move of each game."""
        return True

    def progress(self, scheduler: Scheduler) -> None:
        """Redraw the table if `REDRAW_S` has passed since the last time."""
        self.picture.take(scheduler)
        if self._clock() >= self.due:
            self.draw()

    def draw(self) -> None:
        """Draw the table and the messages for the current size of the window."""
        from rich.text import Text

        self.picture.rate()
        size = shutil.get_terminal_size((80, 24))
        if size != self.size:
            self.size = size
            self.live.stop()  # the terminal has wrapped the old picture, so it cannot be redrawn in place
            self.console.clear()
            self.live = self._started()
        banner = (f"WARNING: {self.picture.banner}",) if self.picture.banner else ()
        above = self._wrapped(*banner, headline(self.picture), *sequential_lines(self.picture))
        below = self._wrapped(playing_line(self.picture.live.values()), *self.messages, *self.incident)
        room = max(3, size.lines - 3 - len(above) - len(below))
        middle = render(live_table(self.picture, room), size.columns).splitlines()
        self.live.update(Text("\n".join([*above, *middle, *below])), refresh=True)
        self.due = self._clock() + REDRAW_S

    def close(self) -> None:
        """Draw the last picture and leave it on the screen."""
        self.draw()
        self.live.stop()

    def _started(self) -> Live:
        from rich.live import Live

        live = Live(console=self.console, auto_refresh=False, transient=False)
        live.start()
        return live

    def _wrapped(self, *lines: str) -> list[str]:
        return [part for line in lines for part in wrap_sentence(line, max(20, self.size.columns - 1))]

    def _add_message(self, text: str) -> None:
        self.messages = [*self.messages, safe_text(text)][-3:]


def format_history(log: TournamentLog, *, most: int | None = None) -> str:
    """Format the history of a bubble, or the table of another format. `most`: number of last round robins to show."""
    from enginetour.reports import bubble, documents  # imported here: a run starts faster without them

    format_, state = fold(log)
    placed = format_.standings(state)
    if log.system == "bubble":
        from enginetour.store.lists import rating_order  # imported here: a table needs no ratings

        order = rating_order(log, placed)
        return bubble.bubble_text(f"bubble history · {log.title}", format_.notes(state), placed, order, most=most)
    text = render(documents.standings(log, format_, state)[0], width())
    if test := sprt.current_test(format_, state):
        text += "\n" + render(
            sprt.sprt_sheet(f"test · {log.title}", *test, ended=format_.remaining(state)[1] == 0), width()
        )
    return text
