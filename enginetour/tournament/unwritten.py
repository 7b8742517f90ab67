"""Games that have ended and are not in the log yet: those that wait together are written in one commit.

A commit costs as much for many as for one, and with a thousand slots many end while the last one is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from enginetour.model.game import Game, Note
from enginetour.tournament.surroundings import Log

MOST_TOGETHER = 64  # games of one commit: none waits long for the others (our choice)


@dataclass(frozen=True, slots=True)
class Ended:
    """One game: its decisions, the format's state after it, and when it began."""

    game: Game
    notes: tuple[Note, ...]
    after: Any
    since: float


class Unwritten:
    """In the order in which they ended, which is that of the log."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._games: list[Ended] = []

    def __len__(self) -> int:
        return len(self._games)

    @property
    def state(self) -> Any:
        """After all of them; None where there is none."""
        return self._games[-1].after if self._games else None

    @property
    def is_full(self) -> bool:
        """They should be written before there are more."""
        return len(self._games) >= MOST_TOGETHER

    def add(self, one: Ended) -> None:
        """One more."""
        self._games.append(one)

    def written(self) -> list[tuple[int, Ended]]:
        """All of them, durable now, with their numbers, without those that were there already."""
        games, self._games = self._games, []
        numbers = self._log.record_games([(one.game, one.notes) for one in games]) if games else []
        return [(number, one) for number, one in zip(numbers, games, strict=True) if number is not None]
