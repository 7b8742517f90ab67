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
    """A system whose ratings depend on the order of games; an engine may bring from `lowest` up to `below`."""

    settings: BaseModel
    begin: Callable[[Any, Mapping[str, float], Lineage | None], RatingState]
    scale: Scale = "go"  # of the ratings that engines bring
    lowest: float = float("-inf")
    below: float = float("inf")

    def rate(
        self,
        games: Iterable[RatedGame],
        settings: BaseModel,
        start: Mapping[str, float],
        lineage: Lineage | None = None,
    ) -> list[RatingEvent]:
        """All rating events of games in log order; `start` holds the ratings that engines bring along."""
        return incremental.rate(games, self.begin(settings, start, lineage))

    def fitting(self, brought: Mapping[str, float]) -> dict[str, float]:
        """A rating that the scale does not know counts as none."""
        return {engine: rating for engine, rating in brought.items() if self.lowest <= rating < self.below}


SYSTEMS: dict[str, IncrementalSystem] = {
    "elo": IncrementalSystem(elo.EloSettings(), elo.begin, "elo"),
    "gor": IncrementalSystem(gor.CzechSettings(), gor.begin, lowest=gor.FLOOR),
    "egf": IncrementalSystem(gor.EgfSettings(), gor.begin, lowest=gor.FLOOR),
    "egf2021": IncrementalSystem(gor.Egf2021Settings(), gor.begin_egf2021, below=gor.CEILING),
}
