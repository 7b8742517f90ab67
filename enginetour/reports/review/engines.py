"""One engine of a tournament as its page shows it: what it is, against whom it did what, how it used its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log10

from enginetour.model.game import Placed
from enginetour.model.task import EngineSpec
from enginetour.ratings.likelihood import ELO_SCALE
from enginetour.ratings.ratinglist import SHARED, Row
from enginetour.reports.sheet import Sheet
from enginetour.store.games import Entered, GameLine

Met = tuple[int, int, bool]
"""Number, half points of the engine, whether it had White."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """All games against one opponent, with the tournament's own rating of it.

    `performance` is that rating and what the score is worth: None at 0 or 100 %, and without a rating.
    """

    name: str
    games: tuple[Met, ...]
    rating: float | None

    @property
    def half_points(self) -> int:
        """What the engine scored."""
        return sum(points for _, points, _ in self.games)

    @property
    def share(self) -> float:
        """Of the points, 0 to 1."""
        return self.half_points / (2 * len(self.games))

    @property
    def performance(self) -> float | None:
        """In points of the list."""
        if self.rating is None or not 0 < self.share < 1:
            return None
        return self.rating + ELO_SCALE * log10(self.share / (1 - self.share))


@dataclass(frozen=True, slots=True)
class EngineReview:
    """`placed` and `row` are its lines of the table and of the rating list; `efforts` and `endings` those of sheets."""

    name: str
    slug: str
    entered: Entered
    spec: EngineSpec
    placed: Placed | None
    row: Row | None
    colours: tuple[tuple[int, int], tuple[int, int]]  # half points and games with White, with Black
    opponents: tuple[Opponent, ...]
    efforts: Sheet
    endings: Sheet


def opponents_of(games: Iterable[GameLine], ratings: Mapping[str, float]) -> dict[str, tuple[Opponent, ...]]:
    """By engine: its opponents, best rated first, the unrated last."""
    met: dict[str, dict[str, list[Met]]] = {}
    for line in games:
        if line.counts:
            for name, other, white in ((line.white, line.black, True), (line.black, line.white, False)):
                points = line.outcome.half_points(white=white)
                met.setdefault(name, {}).setdefault(other, []).append((line.number, points, white))
    place = {name: round(rating, SHARED) for name, rating in ratings.items()}
    return {
        name: tuple(
            Opponent(other, tuple(played), ratings.get(other))
            for other, played in sorted(others.items(), key=lambda one: (-place.get(one[0], -inf), one[0]))
        )
        for name, others in met.items()
    }


def colours_of(opponents: Sequence[Opponent]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Half points and games with White, and with Black."""
    own = [(points, white) for opponent in opponents for _, points, white in opponent.games]
    with_white = [points for points, white in own if white]
    with_black = [points for points, white in own if not white]
    return (sum(with_white), len(with_white)), (sum(with_black), len(with_black))
