"""Registry of the incremental rating systems (Elo, GoR, EGF), by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from enginetour.ratings import elo, gor
from enginetour.ratings.grades import Scale
from enginetour.ratings.incremental import Lineage, RatingEvent, RatingState


@dataclass(frozen=True, slots=True)
class IncrementalSystem:
    """A system whose ratings depend on the order of games; an engine may bring from `lowest` up to `below`."""

    settings: BaseModel
    begin: Callable[[Any, Mapping[str, float], Lineage | None], RatingState]
    rate: Callable[..., list[RatingEvent]]  # games, settings, ratings brought along, lineage
    scale: Scale = "go"  # of the ratings that engines bring
    lowest: float = float("-inf")
    below: float = float("inf")

    def fitting(self, brought: Mapping[str, float]) -> dict[str, float]:
        """A rating that the scale does not know counts as none."""
        return {engine: rating for engine, rating in brought.items() if self.lowest <= rating < self.below}


SYSTEMS: dict[str, IncrementalSystem] = {
    "elo": IncrementalSystem(elo.EloSettings(), elo.begin, elo.rate, "elo"),
    "gor": IncrementalSystem(gor.CzechSettings(), gor.begin, gor.rate, lowest=gor.FLOOR),
    "egf": IncrementalSystem(gor.EgfSettings(), gor.begin, gor.rate, lowest=gor.FLOOR),
    "egf2021": IncrementalSystem(gor.Egf2021Settings(), gor.begin_egf2021, gor.rate_egf2021, below=gor.CEILING),
}
