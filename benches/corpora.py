"""Game files made by a fixed seed: who met whom in four shapes of field, by Davidson's relation of strength and draws.

shape     who meets whom
mesh      any two
gauntlet  the first against all others
chain     each version its neighbours only
bands     any two whose places differ by at most 8: lists of the trade are ordered by strength

Only `Random.random` is drawn from, the one stream Python promises to keep, so golden numbers stay true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Literal

Shape = Literal["mesh", "gauntlet", "chain", "bands"]

SPREAD = 200.0  # Elo; the field's standard deviation, as in the lists of the trade
REACH = 8  # places between two that meet in `bands`
RESULTS = ("1-0", "1/2-1/2", "0-1")  # PGN standard 8.1.1.7
CHUNK = 4096  # games between two writes


@dataclass(frozen=True)
class Corpus:
    """Everything a file follows from. `draws` is nu of Davidson 1970, 1.0: a third of the games of equals."""

    shape: Shape
    engines: int
    games: int
    draws: float = 1.0
    advantage: float = 0.0  # Elo of White
    spread: float = SPREAD
    seed: int = 1

    def names(self) -> list[str]:
        """By place; the first is the strongest, but in a gauntlet, where it is average."""
        return [f"Engine {number:05}" for number in range(self.engines)]

    def strengths(self) -> list[float]:
        """Elo by place: evenly spaced quantiles of the normal."""
        field = NormalDist(0, self.spread)
        found = [field.inv_cdf(1 - (place + 0.5) / self.engines) for place in range(self.engines)]
        return [0.0, *found[1:]] if self.shape == "gauntlet" else found

    def played(self) -> Iterator[tuple[int, int, int]]:
        """Places of White and Black, and the result's place in RESULTS, in the order of play."""
        dice = Random(self.seed)
        roll = dice.random
        strengths = [10 ** (elo / 800) for elo in self.strengths()]
        ahead = 10 ** (self.advantage / 800)
        for number in range(self.games):
            white, black = self._paired(number, dice)
            won, lost = ahead * strengths[white], strengths[black]
            won, lost = won / lost, lost / won
            point = roll() * (won + self.draws + lost)
            yield white, black, 0 if point < won else 1 if point < won + self.draws else 2

    def counts(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """White's wins, draws and losses by names."""
        names = self.names()
        found: dict[tuple[str, str], list[int]] = {}
        for white, black, result in self.played():
            found.setdefault((names[white], names[black]), [0, 0, 0])[result] += 1
        return {pair: (wins, draws, losses) for pair, (wins, draws, losses) in found.items()}

    def write(self, path: Path, moves: str = "") -> None:
        """A file of three tags a game, and the moves."""
        names = self.names()
        games: list[str] = []
        with path.open("w", encoding="ascii") as sink:
            for white, black, result in self.played():
                tags = f'[White "{names[white]}"]\n[Black "{names[black]}"]\n[Result "{RESULTS[result]}"]'
                games.append(f"{tags}\n\n{moves}{RESULTS[result]}\n\n")
                if len(games) == CHUNK:
                    sink.writelines(games)
                    games.clear()
            sink.writelines(games)

    def _paired(self, number: int, dice: Random) -> tuple[int, int]:
        """White and Black; colours change from game to game where the pair is given."""
        count = self.engines
        if self.shape == "mesh":
            white = int(dice.random() * count)
            return white, (white + 1 + int(dice.random() * (count - 1))) % count
        if self.shape == "bands":
            one = int(dice.random() * count)
            other = one + 1 + int(dice.random() * REACH)
            other = other if other < count else one - 1
        elif self.shape == "gauntlet":
            one, other = 0, 1 + number // 2 % (count - 1)
        else:
            one = number // 2 % (count - 1)
            other = one + 1
        return (one, other) if number % 2 else (other, one)
