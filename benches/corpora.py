"""Game files from a fixed seed, with Davidson's model of results, and four ways to choose the opponents.

shape     opponents
mesh      any two engines
gauntlet  the first engine against all others
chain     each version against its neighbors
bands     any two engines whose places differ by at most 8, as in rating lists

Only `Random.random` is used, because Python guarantees its sequence, so that golden numbers stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Literal

Shape = Literal["mesh", "gauntlet", "chain", "bands"]

SPREAD = 200.0  # Elo; standard deviation of the strengths, as in published rating lists
REACH = 8  # largest difference of places of two opponents in `bands`
RESULTS = ("1-0", "1/2-1/2", "0-1")  # PGN standard 8.1.1.7
CHUNK = 4096  # games between two writes


@dataclass(frozen=True)
class Corpus:
    """Parameters of a file. `draws` is nu of Davidson 1970: 1.0 makes a third of the games of equal engines drawn."""

    shape: Shape
    engines: int
    games: int
    draws: float = 1.0
    advantage: float = 0.0  # advantage of White in Elo
    spread: float = SPREAD
    seed: int = 1

    def names(self) -> list[str]:
        """Return the names by place, strongest first; in a gauntlet, the first engine is average."""
        return [f"Engine {number:05}" for number in range(self.engines)]

    def strengths(self) -> list[float]:
        """Return the Elo by place: evenly spaced quantiles of a normal distribution."""
        field = NormalDist(0, self.spread)
        found = [field.inv_cdf(1 - (place + 0.5) / self.engines) for place in range(self.engines)]
        return [0.0, *found[1:]] if self.shape == "gauntlet" else found

    def played(self) -> Iterator[tuple[int, int, int]]:
        """Yield the places of White and Black and the index of the result in RESULTS, in the order of play."""
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
        """Return White's wins, draws and losses by names."""
        names = self.names()
        found: dict[tuple[str, str], list[int]] = {}
        for white, black, result in self.played():
            found.setdefault((names[white], names[black]), [0, 0, 0])[result] += 1
        return {pair: (wins, draws, losses) for pair, (wins, draws, losses) in found.items()}

    def write(self, path: Path, moves: str = "") -> None:
        """Write a file with three tags and these moves in each game."""
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
        """Return White and Black of a game; colors alternate if the pair is fixed."""
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
