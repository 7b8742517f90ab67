"""What the only writer of a log knows without asking the database again: counts it keeps up to date itself.

A reader asks each time, for others may write; so does a writer before its first write of a run, which is when it is
known to be the only one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, or_, select

from enginetour.model.game import GameKey, Outcome
from enginetour.store.queries import STRUCK
from enginetour.store.tables import GAMES

GIVEN_UP = "engine-abort"
PairCounts = dict[tuple[str, str], tuple[int, int, int]]
COUNTED = {Outcome.WHITE: (1, 0, 0), Outcome.DRAW: (0, 1, 0), Outcome.BLACK: (0, 0, 1), Outcome.VOID: (0, 0, 0)}


@dataclass
class Remembered:
    """All of it true of the last event that was written; what is None was not asked for yet."""

    versions: dict[str, Any] = field(default_factory=dict)  # rows by the names of entrants
    ratings: dict[str, float] | None = None
    counts: PairCounts | None = None
    void: Counter[GameKey] | None = None  # void or struck out
    given_up: Counter[GameKey] = field(default_factory=Counter)  # known when `void` is

    def look(self, connection: Connection, tournament: int) -> Counter[GameKey]:
        """The games that do not count, by key."""
        if self.void is None:
            self.void = Counter()
            void = GAMES.c.outcome == Outcome.VOID.value
            columns = [GAMES.c[name] for name in ("a", "b", "meeting", "leg", "outcome", "category")]
            for *key, outcome, category in connection.execute(
                select(*columns).where(GAMES.c.tournament == tournament, or_(void, STRUCK))
            ):
                self._note((key[0], key[1], key[2], key[3]), outcome, category)
        return self.void

    def finished(self, key: GameKey, outcome: Outcome, category: str) -> None:
        """A game was written."""
        if self.void is not None and outcome is Outcome.VOID:
            self._note(key, outcome, category)

    def counted(self, names: tuple[str, str], outcome: Outcome) -> None:
        """An even game with a result was written."""
        if self.counts is not None:
            before = self.counts.get(names)
            wins, draws, losses = (a + b for a, b in zip(before or (0, 0, 0), COUNTED[outcome], strict=True))
            self.counts[names] = wins, draws, losses
            if before is None:
                self.counts = dict(sorted(self.counts.items()))

    def _note(self, key: GameKey, outcome: str, category: str) -> None:
        assert self.void is not None
        self.void[key] += 1
        self.given_up[key] += outcome == Outcome.VOID and category == GIVEN_UP
