"""Files made from the store: replaced whole by rename, or a PGN that grows game by game and is checked at start."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from enginetour.model import Game
from enginetour.reports import pgn
from enginetour.store.log import TournamentLog

_TAG = b"[Event "


def replace_file(path: Path, chunks: Iterable[str]) -> None:
    """Write beside, sync, rename, sync the folder: readers see the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    try:
        with beside.open("w", encoding="utf-8") as sink:
            sink.writelines(chunks)
            sink.flush()
            os.fsync(sink.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def games_text(log: TournamentLog) -> Iterable[str]:
    """Every game that counts as PGN, in log order."""
    for stored in log.full_games():
        if not stored.voided and stored.game.outcome.value != "*":
            yield pgn.text(stored.game, stored.number, log.title)


class PgnFile:
    """The PGN of a running tournament: an export, so a failure to write it never harms the run."""

    def __init__(self, path: Path, log: TournamentLog) -> None:
        self.path = path
        self.log = log
        if self._games_there() != len(log.games(counting=True)) or not self._ends_well():
            replace_file(path, games_text(log))

    def append(self, number: int, game: Game) -> None:
        """Add one game that is in the store already; OSError is the caller's to tell, not to die of."""
        with self.path.open("a", encoding="utf-8") as sink:
            sink.write(pgn.text(game, number, self.log.title))

    def _games_there(self) -> int:
        try:
            with self.path.open("rb") as source:
                return sum(line.startswith(_TAG) for line in source)
        except FileNotFoundError:
            return -1

    def _ends_well(self) -> bool:
        """The last game is whole: a blank line follows its result."""
        with self.path.open("rb") as source:
            size = source.seek(0, os.SEEK_END)
            source.seek(max(0, size - 2))
            return size == 0 or source.read() == b"\n\n"
