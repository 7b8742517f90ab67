"""Go ratings: how Czech GoR, EGF GoR and the EGF system of 2021 are computed.

variant  expectation                                            source
czech    S = 1/(e^(-D/115)+1) for both sides                    Czech Go Rating, magazine Igo, 1998
egf      weaker: S = 1/(e^(D/a)+1), a from the weaker rating;   Vuorinen 2010, section 2.2
         stronger: 1 - S - eps, eps against deflation

Both use the factor `con` of the rating before the tournament, and no rating is below 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, floor, log, log1p
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from enginetour.model.errors import InputRefused
from enginetour.ratings import grades, incremental
from enginetour.ratings.incremental import LARGEST, Lineage, Mode, RatingState, Rule, Standing

FLOOR = 100.0  # Cieply 1998: 20 kyu, the lowest rating
_CZECH_A = 115.0  # Cieply 1998
EPS = 0.016  # Vuorinen 2010: against deflation
_STONE = grades.WIDTH  # Vuorinen 2010: a handicap stone is worth one grade
_GRADES = "20 kyu to 1 kyu, 1 dan to 7 dan or 1 pro to 9 pro"
_HIGHEST = {"kyu": 20, "dan": 7, "pro": 9}  # Cieply 1998: 20 kyu is the lowest grade, 1 pro is as strong as 7 dan
_FARTHEST = 700.0  # exp overflows at 709.78 (IEEE 754): a gap of 80,000 points of the Czech scale
_CON = (  # Cieply 1998: con at 100, 200, ... 2700
    *(116, 110, 105, 100, 95, 90, 85, 80, 75, 70, 65, 60, 55, 51),
    *(47, 43, 39, 35, 31, 27, 24, 21, 18, 15, 13, 11, 10),
)
_Variant = Literal["czech", "egf"]
# Points of a professional grade: Cieply 1998, Vuorinen 2010.
_PRO_STEP: dict[_Variant, float] = {"czech": 40.0, "egf": grades.PRO_STEP}


class GorSettings(BaseModel):
    """Settings of the rating systems `gor` and `egf`. Ratings are in points of the Go scale."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False)

    variant: _Variant = Field(
        default="czech", description='Formula of the rating change, "czech" or "egf"; set by the name of the system.'
    )
    mode: Mode = Field(
        default="batch",
        description='Rate after each game ("sequential") or after each tournament ("batch").',
    )
    eps: float = Field(
        default=EPS, ge=0, lt=1, description="EGF only: score that is added in each game to prevent deflation."
    )
    integer_steps: bool = Field(default=False, description="EGF only: round the divisor `a` as in printed tables.")
    start_value: float = Field(
        default=FLOOR,
        ge=FLOOR,
        le=LARGEST,
        description="Rating of an engine without a start rating, in points or as a grade.",
    )
    inherit: bool = Field(default=False, description="Whether a new version starts with the rating of its predecessor.")

    @field_validator("start_value", mode="before")
    @classmethod
    def _read_grade(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, str):
            return value
        try:
            return grade_rating(value, info.data.get("variant", "czech"))
        except InputRefused as failure:
            raise ValueError(f"{failure.what}; use a number, or {_GRADES}") from None

    @model_validator(mode="after")
    def _check_variant(self) -> GorSettings:
        if self.variant == "czech" and (self.eps != EPS or self.integer_steps):
            raise ValueError("eps and integer_steps are settings of the system egf, not of gor")
        return self


class CzechSettings(GorSettings):
    """Settings of the rating system `gor`."""

    variant: Literal["czech"] = Field(default="czech", description='Formula of the rating change, always "czech".')


class EgfSettings(GorSettings):
    """Settings of the rating system `egf`."""

    variant: Literal["egf"] = Field(default="egf", description='Formula of the rating change, always "egf".')


def con(rating: float) -> float:
    """Return the factor of a rating change in points per game: linear between hundreds, constant outside the table."""
    place = min(max((rating - 100) / 100, 0.0), len(_CON) - 1.0)
    below = min(int(place), len(_CON) - 2)
    return _CON[below] + (place - below) * (_CON[below + 1] - _CON[below])


def czech_expected(gap: float) -> float:
    """Return the expected score of the side that is `gap` points ahead."""
    return 1 / (exp(min(-gap / _CZECH_A, _FARTHEST)) + 1)


def _egf_width(rating: float, *, integer_steps: bool = False) -> float:
    """Return the divisor `a` of the weaker side: from 200 at 100 points to 70 at 2700; printed tables round it."""
    steps = (min(max(rating, 100.0), 2700.0) - 100) / 20
    return 200.0 - (floor(steps) if integer_steps else steps)


def egf_expected(one: float, other: float, *, eps: float = EPS, integer_steps: bool = False) -> tuple[float, float]:
    """Return the expected scores of `one` and `other`."""
    if one == other:
        return (1 - eps) / 2, (1 - eps) / 2
    weaker = min(one, other)
    low = 1 / (exp(min(abs(one - other) / _egf_width(weaker, integer_steps=integer_steps), _FARTHEST)) + 1)
    high = 1 - low - eps
    return (low, high) if one < other else (high, low)


def expected_total_change(one: float, other: float, *, eps: float = EPS) -> float:
    """Return the points that a game adds to the pool on average: eps (con S + con S). Vuorinen 2010, 2.2.2."""
    first, second = egf_expected(one, other, eps=eps)
    return eps * (con(one) * first + con(other) * second)


def grade_rating(grade: str, variant: _Variant = "czech") -> float:
    """Return the entry rating of a grade: 20 to 1 kyu, 1 to 7 dan, 1 to 9 pro. Source: Cieply 1998, Vuorinen 2010.

    Raises:
        InputRefused: the text is not one of these grades.
    """
    found = grades.parse(grade)
    if found is None or found.number > _HIGHEST[found.kind]:
        raise InputRefused(f"{grade!r} is not a valid grade", step=f"use {_GRADES}")
    if found.kind == "pro":
        return grades.FIRST_PRO + _PRO_STEP[variant] * (found.number - 1)
    return found.rating()


@dataclass(frozen=True, slots=True)
class _GorRule(Rule):
    """The EGF variant has no bonus: it adds its points through the expected scores."""

    def weight(self, standing: Standing, _event: str = "", /) -> float:
        """Return con by the table of GoR."""
        return con(standing.rating)

    def expected(self, white: float, black: float, handicap: int = 0, /) -> tuple[float, float]:
        """Return the expected scores; each handicap stone adds one grade to the side that receives it."""
        white, black = white + _STONE * max(0, -handicap), black + _STONE * max(0, handicap)
        if self.settings.variant == "czech":
            return czech_expected(white - black), czech_expected(black - white)
        return egf_expected(white, black, eps=self.settings.eps, integer_steps=self.settings.integer_steps)

    def settle(self, rating: float) -> float:
        """Return the rating after a tournament, at least the lowest rating; during a tournament it is not applied."""
        return max(FLOOR, rating)


def begin(settings: GorSettings, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """Return the state before the first game; raise InputRefused for start ratings below 100."""
    for name, rating in start.items():
        if not rating >= FLOOR:
            raise InputRefused(
                f"{name} has the start rating {rating:g}, but GoR ratings must be at least {FLOOR:g}",
                step="give ratings on the Go scale",
            )
    return incremental.begin(_GorRule(settings, f"gor-{settings.variant}"), start, lineage)


# The rating system of the European Go Federation since 2021: r' = r + con (S - E) + bonus, for every game.
#
# term   formula                                        source
# beta   -7 ln(3300 - r)                                EGF rating system 2021
# E      1/(1 + exp(beta(opponent) - beta(own)))        the same
# con    ((3300 - r)/200)^1.6                           the same
# bonus  ln(1 + exp((2300 - r)/80))/5                   the same; for new players who improve
# class  A 1, B 0.75, C 0.5, D 0.25: factor of the      the same; the factor of the bonus is an interpretation
#        whole change
#
# The formulas are not defined from 3300 up. No published example verifies the lowest rating.

CEILING = 3300.0  # EGF rating system 2021: beta and con are not defined from here on
_NEWCOMER = 100.0  # EGF: 20 kyu
_EventClass = Literal["A", "B", "C", "D"]
_CLASS_WEIGHT: dict[_EventClass, float] = {"A": 1.0, "B": 0.75, "C": 0.5, "D": 0.25}  # EGF rating system 2021


class Egf2021Settings(BaseModel):
    """Settings of the rating system `egf2021`. Ratings are in points of the Go scale."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False)

    mode: Mode = Field(
        default="sequential",
        description='Rate after each game ("sequential") or after each tournament ("batch").',
    )
    event_class: _EventClass = Field(
        default="A", description='Class of tournaments that `classes` does not list, "A" to "D".'
    )
    classes: dict[str, _EventClass] = Field(default={}, description='Class of each tournament by its name, "A" to "D".')
    floor: float | None = Field(
        default=None, lt=CEILING, description="Lowest rating in points (EGF: -900). Default: no limit."
    )
    start_value: float = Field(
        default=_NEWCOMER,
        ge=-LARGEST,
        lt=CEILING,
        description="Rating of an engine without a start rating, in points or as a grade.",
    )
    inherit: bool = Field(default=False, description="Whether a new version starts with the rating of its predecessor.")

    @field_validator("start_value", mode="before")
    @classmethod
    def _read_grade(cls, value: object) -> object:
        return grades.rating(value) if isinstance(value, str) else value


def _egf2021_con(rating: float) -> float:
    return float(((CEILING - rating) / 200) ** 1.6)


def _bonus(rating: float) -> float:
    """Return the points that every game adds, with any result; the formula does not overflow far below 2300."""
    ahead = (2300 - rating) / 80
    return (max(ahead, 0.0) + log1p(exp(-abs(ahead)))) / 5


def _expected_score(own: float, opponent: float) -> float:
    """Return the expected score of the side rated `own`."""
    # One logarithm instead of beta(opponent) - beta(own), so that equals get exactly 1/2.
    return 1 / (1 + exp(7 * log((CEILING - own) / (CEILING - opponent))))


@dataclass(frozen=True, slots=True)
class _Egf2021Rule(Rule):
    def weight(self, standing: Standing, event: str, /) -> float:
        """Return con, multiplied by the factor of the class of the event."""
        return _egf2021_con(standing.rating) * self._class_weight(event)

    def bonus(self, standing: Standing, event: str, /) -> float:
        """Return the bonus, multiplied by the factor of the class of the event."""
        return _bonus(standing.rating) * self._class_weight(event)

    def expected(self, white: float, black: float, _handicap: int = 0, /) -> tuple[float, float]:
        """Return the expected scores; handicap is ignored, because its rule is not published with examples."""
        return _expected_score(white, black), _expected_score(black, white)

    def settle(self, rating: float) -> float:
        """Apply the lowest rating, if any; raise InputRefused for 3300 or more, which only very large events cause."""
        if not rating < CEILING:
            raise InputRefused(
                f"a rating of {rating:g} is outside the EGF 2021 system, which ends below {CEILING:g}",
                step='use mode = "sequential" or a lower event class',
            )
        return rating if self.settings.floor is None else max(self.settings.floor, rating)

    def _class_weight(self, event: str) -> float:
        return _CLASS_WEIGHT[self.settings.classes.get(event, self.settings.event_class)]


def begin_egf2021(settings: Egf2021Settings, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """Return the state before the first game; raise InputRefused for start ratings of 3300 or more."""
    for name, rating in start.items():
        if not rating < CEILING:
            raise InputRefused(
                f"{name} has the start rating {rating:g}, but EGF 2021 ratings must be below {CEILING:g}",
                step="give ratings on the Go scale",
            )
    return incremental.begin(_Egf2021Rule(settings, "egf2021"), start, lineage)
