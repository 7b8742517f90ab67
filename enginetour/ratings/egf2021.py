"""The rating system of the European Go Federation since 2021: r' = r + con (S - E) + bonus, for every game.

term   formula                                        source
beta   -7 ln(3300 - r)                                EGF rating system 2021
E      1/(1 + exp(beta(opponent) - beta(own)))        the same
con    ((3300 - r)/200)^1.6                           the same
bonus  ln(1 + exp((2300 - r)/80))/5                   the same; pays for newcomers who improve
class  A 1, B 0.75, C 0.5, D 0.25: times the whole    the same; that it holds for the bonus is our reading
       change

Nothing is defined from 3300 up. The floor is unverified: no published example checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log, log1p
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from enginetour.model.errors import InputRefused
from enginetour.ratings import grades, incremental
from enginetour.ratings.base import LARGEST, RatedGame, RatingEvent
from enginetour.ratings.incremental import Mode, RatingState, Standing
from enginetour.ratings.lineage import Lineage

CEILING = 3300.0  # EGF rating system 2021: beta and con end here
NEWCOMER = 100.0  # EGF: 20 kyu
EventClass = Literal["A", "B", "C", "D"]
CLASS_WEIGHT: dict[EventClass, float] = {"A": 1.0, "B": 0.75, "C": 0.5, "D": 0.25}  # EGF rating system 2021


class Egf2021Settings(BaseModel):
    """Every game from the ratings before it, or `batch`: from those before its event."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    mode: Mode = "sequential"
    event_class: EventClass = Field(default="A", description="class of events not in `classes`")
    classes: dict[str, EventClass] = Field(default={}, description="class by event")
    floor: float | None = Field(default=None, lt=CEILING, description="no rating below it; unverified, EGF has -900")
    start_value: float = Field(
        default=NEWCOMER, ge=-LARGEST, lt=CEILING, description="rating of an engine that brings none"
    )
    inherit: bool = Field(default=False, description="a new version starts from the rating of its predecessor")

    @field_validator("start_value", mode="before")
    @classmethod
    def _graded(cls, value: object) -> object:
        """A grade is a rating too."""
        return grades.rating(value) if isinstance(value, str) else value


def con(rating: float) -> float:
    """Points a game weighs."""
    return float(((CEILING - rating) / 200) ** 1.6)


def bonus(rating: float) -> float:
    """Points every game adds, whatever its result; no overflow far below 2300."""
    ahead = (2300 - rating) / 80
    return (max(ahead, 0.0) + log1p(exp(-abs(ahead)))) / 5


def expected_score(own: float, opponent: float) -> float:
    """Of the side rated `own`."""
    # beta(opponent) - beta(own) in one logarithm, so equals give exactly 1/2
    return 1 / (1 + exp(7 * log((CEILING - own) / (CEILING - opponent))))


@dataclass(frozen=True, slots=True)
class Egf2021Rule:
    """The settings as a rule of the fold."""

    settings: Egf2021Settings
    mode: Mode
    system: str = "egf2021"

    def entry(self) -> float:
        """The list's start value."""
        return self.settings.start_value

    def weight(self, standing: Standing, event: str, /) -> float:
        """Con by the rating before the game or event, times the weight of the event's class."""
        return con(standing.rating) * self._class_weight(event)

    def bonus(self, standing: Standing, event: str, /) -> float:
        """Weighed by the event's class too."""
        return bonus(standing.rating) * self._class_weight(event)

    def expected(self, white: float, black: float, _handicap: int = 0, /) -> tuple[float, float]:
        """Colours do not matter to Go ratings; how the EGF counts handicap today is not published with its checks."""
        return expected_score(white, black), expected_score(black, white)

    def settle(self, rating: float) -> float:
        """The floor, if any. InputRefused from 3300 up, which only events of very many games can reach."""
        if not rating < CEILING:
            raise InputRefused(
                f"a rating reaches {rating:g}, EGF 2021 ends below {CEILING:g}",
                step="rate game by game (mode sequential), or weigh the event less",
            )
        return rating if self.settings.floor is None else max(self.settings.floor, rating)

    def _class_weight(self, event: str) -> float:
        return CLASS_WEIGHT[self.settings.classes.get(event, self.settings.event_class)]


def begin(settings: Egf2021Settings, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """The state before the first game. InputRefused when an engine brings 3300 or more."""
    for name, rating in start.items():
        if not rating < CEILING:
            raise InputRefused(
                f"{name} starts at {rating:g}, EGF 2021 rates below {CEILING:g} only",
                step="give ratings on the Go scale",
            )
    return incremental.begin(Egf2021Rule(settings, settings.mode), start, lineage if settings.inherit else None)


def rate(
    games: Iterable[RatedGame], settings: Egf2021Settings, start: Mapping[str, float], lineage: Lineage | None = None
) -> list[RatingEvent]:
    """All rating events of games in log order: White's then Black's per game, or one per engine and event."""
    return incremental.rate(games, begin(settings, start, lineage))[1]
