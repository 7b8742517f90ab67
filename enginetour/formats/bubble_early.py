"""Games of a round robin to come, played before its time: their results are held back until it begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from immutables import Map

from enginetour.model.game import GameKey, Outcome, Pairing


@dataclass(frozen=True, slots=True)
class Early:
    """`promised` keeps colours and numbers of games that may be in the air; `results` are of those that came in.

    A promise whose pair is not due after all, as after a withdrawal, is not offered any more, but its game is taken:
    it waits here, and counts when the pair is due later. The other games of its match are promised beside it.
    """

    promised: Map[GameKey, Pairing] = field(default_factory=Map)
    results: Map[GameKey, Outcome] = field(default_factory=Map)

    def match(self, pair: tuple[str, str]) -> tuple[Pairing, ...]:
        """The promised games of a pair, in their order."""
        return tuple(sorted((game for game in self.promised.values() if game.pair == pair), key=_number))

    def is_begun(self, pair: tuple[str, str]) -> bool:
        """Whether a game of it is in."""
        return any(key[:2] == pair for key in self.results)

    def promising(self, games: Iterable[Pairing]) -> Early:
        """These too will be taken, whatever happens."""
        return replace(self, promised=self.promised.update({game.key: game for game in games}))

    def held_back(self, match: Iterable[Pairing], key: GameKey, outcome: Outcome) -> Early:
        """The result of one game of this match waits for its round robin."""
        return replace(self.promising(match), results=self.results.set(key, outcome))

    def released(self, key: GameKey) -> Early:
        """The same without that result: it counts by now, or it is void."""
        return replace(self, results=self.results.delete(key))

    def without(self, name: str) -> tuple[Early, dict[GameKey, Outcome | None]]:
        """The same without the games of one entrant, and these: None for those still to come in."""
        gone = {key: self.results.get(key) for key in self.promised if name in key[:2]}
        promised, results = self.promised, self.results
        for key, outcome in gone.items():
            promised = promised.delete(key)
            results = results if outcome is None else results.delete(key)
        return Early(promised, results), gone


def _number(game: Pairing) -> tuple[int, int]:
    return game.meeting, game.leg
