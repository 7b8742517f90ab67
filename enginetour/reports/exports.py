"""Texts made from the store, and the PGN of a run: it grows game by game and is checked at start."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from enginetour.interop.files import is_special, replace_bytes, replace_file
from enginetour.model.game import Game, Outcome
from enginetour.reports import epd, pgn
from enginetour.store.games import Stored
from enginetour.store.log import TournamentLog

if TYPE_CHECKING:
    from enginetour.openings.eco import OpeningNames


# A game whose end is seen; after its tags a line of moves, which may hold anything. PGN standard 8.1.
_VALUE = rb'"(?:[^"\\\n]|\\.)*"\]\n'
_WHOLE = re.compile(rb"\[Event " + _VALUE + rb"((?:\[(?!Event )\w+ " + _VALUE + rb")*)\n+[^\[\n].*\n(?:.+\n)*\n")
_ROUND = re.compile(rb'^\[Round "\d+\.(\d+)"\]$', re.MULTILINE)
_BEGUN = re.compile(rb'^\[GameStartTime "([^"\n]*)"\]$', re.MULTILINE)
OF_ANOTHER = "a run of another database writes it too, which keeps it"
# The last line of the file as long as a run writes it; after a kill it stays. Readers skip it: PGN standard 6.
UNFINISHED = (
    b"% enginetour: this file may lack games. A run is writing it, or was killed; the next run brings it up to date.\n"
)
BLOCK = 1 << 20  # bytes read at once
LONGEST = 16 << 20  # bytes of one game that is still believed: 600 moves with full lines take 200 KiB


def games_text(
    log: TournamentLog, first: int = 1, comments: tuple[str, ...] = (), names: OpeningNames | None = None
) -> Iterable[str]:
    """Every game that counts as PGN, in log order, from number `first` on; the rest as `pgn.text` takes it."""
    ratings = log.known_ratings
    for stored in _counting(log, first):
        yield pgn.text(stored.game, stored.number, log.title, comments=comments, ratings=ratings, names=names)


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
    Games that were struck out leave it, the others stay as they were written. While it is `growing` it ends with a line
    that says so, until `finish`.
    """

    def __init__(
        self,
        path: Path,
        log: TournamentLog,
        hurry: Callable[[], bool] = lambda: False,
        comments: tuple[str, ...] = (),
        tell: Callable[[str], None] = lambda _: None,
        names: OpeningNames | None = None,
        *,
        growing: bool = False,
    ) -> None:
        self.path = path
        self._tail = UNFINISHED if growing else b""
        self.log = log
        self._comments = comments
        self._names = names
        self._tell = tell
        self._hurry = hurry
        self._size: int | None = None  # of the file as we left it; None: to be looked at
        self._inode = -1  # the file that we left: another may be as long
        self._missing: int | None = None  # number of the first game that is not in it
        self._newest = 0  # number of the last game in the log when it was mended
        self._aside = False  # a file of another database was put aside
        self._left = False  # to another run

    def mend(self) -> None:
        """Make it anew unless it holds every game that counts and each of them whole; OSError if that fails.

        With a game that this log does not have it is put aside: it may be the last copy of a database that is gone.
        Once: who puts another one there then is a run beside this one, which keeps it.
        """
        if self._missing is not None:
            self._size = self._missing = None
        if is_special(self.path):  # a named pipe would wait for its reader
            raise OSError(errno.EINVAL, "it is no plain file")
        if self._is_as_left():
            return
        self._size, self._newest = None, self.log.last_number
        lines = self.log.games()
        wanted = [line.number for line in lines if line.outcome is not Outcome.VOID and not line.voided]
        begun = {line.number: pgn.moment(line.started).encode("ascii") for line in lines}
        counting, there, whole, ours = set(wanted), list[int](), 0, True
        for number, text in self._whole_games():
            there.append(number)
            whole += len(text)
            told = _BEGUN.search(text)
            ours = ours and (told is None or begun.get(number) == told[1])
        if not ours:
            self._put_aside()
            there = []
        kept = [number for number in there if number in counting]
        if not kept or kept != wanted[: len(kept)]:
            replace_bytes(self.path, chain(self._bytes(1), [self._tail]))
        elif len(kept) < len(there):
            standing = (text for number, text in self._whole_games() if number in counting)
            replace_bytes(self.path, chain(standing, self._bytes(kept[-1] + 1), [self._tail]))
        elif whole + len(self._tail) != self._there()[0] or len(there) < len(wanted):
            os.truncate(self.path, whole)
            with self.path.open("ab") as sink:
                sink.writelines(self._bytes(kept[-1] + 1))
                sink.write(self._tail)
        self._size, self._inode = self._there()

    def _put_aside(self) -> None:
        if self._aside:
            self._left = True
            raise OSError(errno.EBUSY, OF_ANOTHER)
        self._aside = True
        names = (self.path.with_name(f"{self.path.stem}.old-{number}{self.path.suffix}") for number in count(1))
        free = next(name for name in names if not name.exists())
        self.path.rename(free)
        self._tell(f"{self.path.name} held games of another database: it is {free.name} now")

    def finish(self) -> None:
        """The run is over: the line that says that games may be missing leaves a file that has them all."""
        tail, self._tail = self._tail, b""
        if tail and self._size is not None and self._is_as_left():
            self._size -= len(tail)
            os.truncate(self.path, self._size)
        self.mend()

    def outdated(self) -> None:
        """A game in it may have been struck out: the next `mend` looks at it, or the next `append`."""
        self._size = None

    def append(self, number: int, game: Game) -> None:
        """Add one game that is in the store already; OSError is the caller's to tell, not to die of."""
        self.extend([(number, game)])

    def extend(self, games: Sequence[tuple[int, Game]]) -> None:
        """The same for several, in the order of the store."""
        as_left = self._is_as_left()
        if as_left:  # some came with others, when all that was missing was written
            games = [one for one in games if one[0] > self._newest]
        if not games:
            return
        first = games[0][0]
        missing = first if self._missing is None else self._missing
        self._missing = missing
        if self._left:  # a file of many games is not read again for each; the last `mend` does
            raise OSError(errno.EBUSY, OF_ANOTHER)
        size = self._size
        if size is None or not as_left:
            self.mend()
            return
        ratings = self.log.known_ratings
        title, comments, names = self.log.title, self._comments, self._names
        told = [pgn.text(one, number, title, comments=comments, ratings=ratings, names=names) for number, one in games]
        whole = size - len(self._tail)
        try:
            with self.path.open("r+b") as sink:
                sink.seek(whole)
                sink.writelines(text.encode("utf-8") for text in (told if missing == first else self._games(missing)))
                sink.write(self._tail)
                sink.flush()
                left = os.fstat(sink.fileno())
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, whole)
                self._mark()
            raise
        self._missing = None
        self._size, self._inode = left.st_size, left.st_ino

    @property
    def is_whole(self) -> bool:
        """When last written or looked at, every game that counts was in it."""
        return self._size is not None and self._missing is None

    def _there(self) -> tuple[int, int]:
        """Size and inode of the file; -1 for both where there is none."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - after each game, in half the time
        except FileNotFoundError:
            return -1, -1
        return found.st_size, found.st_ino

    def _is_as_left(self) -> bool:
        return self._size is not None and (self._size, self._inode) == self._there()

    def _games(self, first: int) -> Iterable[str]:
        return games_text(self.log, first, self._comments, self._names)

    def _texts(self, first: int) -> Iterator[str]:
        """The games that count from that number on."""
        for game in self._games(first):
            if self._hurry():
                raise InterruptedError(errno.EINTR, "the run is being stopped")
            yield game

    def _mark(self) -> None:
        """Put the line back that says that games may be missing."""
        if self._tail:
            with self.path.open("ab") as sink:
                sink.write(self._tail)

    def _bytes(self, first: int) -> Iterator[bytes]:
        return (text.encode("utf-8") for text in self._texts(first))

    def _whole_games(self) -> Iterator[tuple[int, bytes]]:
        """The whole games the file begins with, by number: tags, a blank line, moves, a blank line each.

        The last one before anything else is left out: its moves may have run into the tags of another.
        """
        rest, last = b"", list[tuple[int, bytes]]()
        try:
            with self.path.open("rb") as source:
                while len(rest) < LONGEST and (block := source.read(BLOCK)):
                    rest += block
                    at = 0
                    while (one := _WHOLE.match(rest, at)) and (number := _ROUND.search(one[1])):
                        yield from last
                        at, last = one.end(), [(int(number[1]), one[0])]
                    rest = rest[at:]
        except FileNotFoundError:
            return
        if rest in (b"", UNFINISHED):
            yield from last
