"""Texts made from the store, and the PGN of a run: it grows game by game and is checked at start."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from enginetour.model import Game, Outcome
from enginetour.reports import epd, pgn
from enginetour.store.log import TournamentLog
from enginetour.store.queries import Stored
from enginetour.wholefile import is_special, replace_file

# A game whose end is seen; after its tags a line of moves, which may hold anything. PGN standard 8.1.
_VALUE = rb'"(?:[^"\\\n]|\\.)*"\]\n'
_WHOLE = re.compile(rb"\[Event " + _VALUE + rb"((?:\[(?!Event )\w+ " + _VALUE + rb")*)\n+[^\[\n].*\n(?:.+\n)*\n")
_ROUND = re.compile(rb'^\[Round "\d+\.(\d+)"\]$', re.MULTILINE)
BLOCK = 1 << 20  # bytes read at once
LONGEST = 16 << 20  # bytes of one game that is still believed: 600 moves with full lines take 200 KiB


def games_text(log: TournamentLog, first: int = 1, comments: tuple[str, ...] = ()) -> Iterable[str]:
    """Every game that counts as PGN, in log order, from number `first` on; `comments` as `pgn.text` takes them."""
    ratings = log.known_ratings
    for stored in _counting(log, first):
        yield pgn.text(stored.game, stored.number, log.title, comments=comments, ratings=ratings)


def final_positions(log: TournamentLog) -> Iterable[str]:
    """The last position of every game that counts as a line of EPD, with its counters, result and names."""
    for stored in _counting(log, 1):
        if stored.game.final_fen:
            yield epd.final_position(stored.game, stored.number, log.title) + "\n"


def _counting(log: TournamentLog, first: int) -> Iterator[Stored]:
    return (one for one in log.full_games(first) if not one.voided and one.game.outcome is not Outcome.VOID)


def write_traffic(pgn: Path, number: int, game: Game) -> None:
    """What passed in one game, into a file of its own in the folder beside its `pgn`."""
    folder = pgn.with_suffix(".traffic")
    folder.mkdir(exist_ok=True)
    names = f"{game.pairing.white} - {game.pairing.black}"
    title = f"# game {number}: {names}, {game.outcome} ({game.cause})"
    replace_file(folder / f"{number:06}.log", [f"{line}\n" for line in (title, *game.traffic)])


class PgnFile:
    """The PGN of a running tournament: an export, so a failure to write it never harms the run.

    What could not be written is written with a later game; what is not as we left it is made anew from the store,
    from its first game that is missing or torn. In a `hurry` that is left to the next run: it takes 1 ms of CPU a game.
    """

    def __init__(
        self,
        path: Path,
        log: TournamentLog,
        hurry: Callable[[], bool] = lambda: False,
        comments: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.log = log
        self._comments = comments
        self._hurry = hurry
        self._size: int | None = None  # of the file as we left it; None: to be looked at
        self._missing: int | None = None  # number of the first game that is not in it

    def mend(self) -> None:
        """Make it anew unless it holds every game that counts and each of them whole; OSError if that fails."""
        self._missing = None
        if is_special(self.path):  # a named pipe would wait for its reader
            raise OSError(errno.EINVAL, "it is no plain file")
        if self._size is None or self._size != self._size_there():
            self._size = None
            wanted = [line.number for line in self.log.games(counting=True)]
            there, whole = self._whole_games()
            if not there or there != wanted[: len(there)]:
                replace_file(self.path, self._unhurried(games_text(self.log, 1, self._comments)))
            elif whole != self._size_there() or len(there) < len(wanted):
                os.truncate(self.path, whole)
                with self.path.open("a", encoding="utf-8") as sink:
                    sink.writelines(self._unhurried(games_text(self.log, there[-1] + 1, self._comments)))
            self._size = self._size_there()

    def outdated(self) -> None:
        """A game in it was struck out: it is looked at before the next one."""
        self._size = None

    def append(self, number: int, game: Game) -> None:
        """Add one game that is in the store already; OSError is the caller's to tell, not to die of."""
        missing = number if self._missing is None else self._missing
        self._missing = missing
        if self._size is None or self._size != self._size_there():
            self.mend()
            return
        ratings = self.log.known_ratings
        one = [pgn.text(game, number, self.log.title, comments=self._comments, ratings=ratings)]
        try:
            with self.path.open("a", encoding="utf-8") as sink:
                sink.writelines(one if missing == number else games_text(self.log, missing, self._comments))
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, self._size)
            raise
        self._missing = None
        self._size = self._size_there()

    def _size_there(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return -1

    def _unhurried(self, games: Iterable[str]) -> Iterator[str]:
        for game in games:
            if self._hurry():
                raise InterruptedError(errno.EINTR, "the run is being stopped")
            yield game

    def _whole_games(self) -> tuple[list[int], int]:
        """Numbers and bytes of the whole games the file begins with: tags, a blank line, moves, a blank line each.

        The last one before anything else is left out: its moves may have run into the tags of another.
        """
        numbers: list[int] = []
        rest, whole, last = b"", 0, 0
        try:
            with self.path.open("rb") as source:
                while len(rest) < LONGEST and (block := source.read(BLOCK)):
                    rest += block
                    at = 0
                    while (one := _WHOLE.match(rest, at)) and (number := _ROUND.search(one[1])):
                        at, last = one.end(), len(one[0])
                        numbers.append(int(number[1]))
                    whole += at
                    rest = rest[at:]
        except FileNotFoundError:
            pass
        return (numbers[:-1], whole - last) if rest else (numbers, whole)
