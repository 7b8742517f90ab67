"""Registry of the incremental rating systems by name: Elo, GoR, EGF, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from enginetour.model.errors import suggest
from enginetour.model.plugins import Registry, UnknownName, validated
from enginetour.ratings import elo, gor, incremental
from enginetour.ratings.grades import Scale
from enginetour.ratings.incremental import Lineage, RatedGame, RatingEvent, RatingState


@dataclass(frozen=True, slots=True)
class IncrementalSystem:
    """A system whose ratings depend on the order of games.

    Start ratings must be at least `lowest` and less than `below`. The laws of `enginetour.testing` try the default
    `settings` and the `examples`.
    """

    settings: BaseModel
    begin: Callable[[Any, Mapping[str, float], Lineage | None], RatingState]
    title: str  # heading of lists
    scale: Scale = "go"  # scale of the start ratings
    lowest: float = float("-inf")
    below: float = float("inf")
    examples: tuple[BaseModel, ...] = ()

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


CONTRACT = 1  # version of the contract of a rating system, for plug-ins
_OWN: dict[str, IncrementalSystem] = {
    "elo": IncrementalSystem(
        elo.EloSettings(),
        elo.begin,
        "Elo, incremental",
        "elo",
        examples=(elo.EloSettings(k_policy="fide", adv=20), elo.EloSettings(mode="batch", k_policy="fide", adv=20)),
    ),
    "gor": IncrementalSystem(
        gor.CzechSettings(),
        gor.begin,
        "GoR, Czech 1998",
        lowest=gor.FLOOR,
        examples=(gor.CzechSettings(mode="sequential"),),
    ),
    "egf": IncrementalSystem(
        gor.EgfSettings(),
        gor.begin,
        "GoR, EGF as in the thesis of 2010",
        lowest=gor.FLOOR,
        examples=(gor.EgfSettings(mode="sequential"),),
    ),
    "egf2021": IncrementalSystem(
        gor.Egf2021Settings(),
        gor.begin_egf2021,
        "GoR, EGF 2021",
        below=gor.CEILING,
        examples=(gor.Egf2021Settings(mode="batch", event_class="C"),),
    ),
}
SYSTEMS = Registry("enginetour.ratings", IncrementalSystem, CONTRACT, _OWN, reserved=("ml",))


def system_title(name: str) -> str:
    """Return the heading of a list of this system; its name if its plug-in is not installed."""
    return SYSTEMS[name].title if name in SYSTEMS else name


def known_system(name: str) -> str:
    """Return the name of a rating system, incremental or ml. Raise UnknownName for any other name."""
    if name != "ml" and name not in SYSTEMS:
        names = ["ml", *SYSTEMS]
        step = f"choose one of: {', '.join(names)}; or install the package that contains it"
        raise UnknownName(f"unknown rating system {name!r}", step=step)
    return name


def settings_for(system: str, given: Mapping[str, Any]) -> BaseModel:
    """Return the settings of an incremental system. Raise ValueError for an unknown or invalid setting."""
    own = SYSTEMS[system].settings
    fixed = {"variant"} & set(type(own).model_fields)  # set by the name of the rating system
    known = sorted(set(type(own).model_fields) - fixed)
    for name in given:
        if name not in known:
            raise ValueError(f"unknown setting {name!r} of {system}{suggest(name, known)}")
    return validated(type(own), {**own.model_dump(), **given})
