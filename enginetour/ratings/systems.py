"""Registry of the incremental rating systems (Elo, GoR, EGF), by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from enginetour.ratings import elo, gor, incremental
from enginetour.ratings.grades import Scale
from enginetour.ratings.incremental import Lineage, RatedGame, RatingEvent, RatingState


@dataclass(frozen=True, slots=True)
class IncrementalSystem:
    """A system whose ratings depend on the order of games.

    Start ratings must be at least `lowest` and less than `below`.
    """

    settings: BaseModel
    begin: Callable[[Any, Mapping[str, float], Lineage | None], RatingState]
    scale: Scale = "go"  # scale of the start ratings
    lowest: float = float("-inf")
    below: float = float("inf")

    def rate(
        self,
        games: Iterable[RatedGame],
        settings: BaseModel,
        start: Mapping[str, float],
        lineage: Lineage | None = None,
    ) -> list[RatingEvent]:
        """Return all rating events of the games, in log order. `start` contains the start ratings of engines."""
        return incremental.rate(games, self.begin(settings, start, lineage))

    def fitting(self, brought: Mapping[str, float]) -> dict[str, float]:
        """Return the start ratings that are on the system's scale."""
        return {engine: rating for engine, rating in brought.items() if self.lowest <= rating < self.below}


SYSTEMS: dict[str, IncrementalSystem] = {
    "elo": IncrementalSystem(elo.EloSettings(), elo.begin, "elo"),
    "gor": IncrementalSystem(gor.CzechSettings(), gor.begin, lowest=gor.FLOOR),
    "egf": IncrementalSystem(gor.EgfSettings(), gor.begin, lowest=gor.FLOOR),
    "egf2021": IncrementalSystem(gor.Egf2021Settings(), gor.begin_egf2021, below=gor.CEILING),
}
