"""Options that several formats share: absences, half-point byes, rating handicaps, color allocation.

Systems with McMahon scores have a handicap of their own, by those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from enginetour.formats.pairing.field import NEITHER, Board, Field, Paired
from enginetour.formats.pairing.schedule import MOST_EACH, fair_count
from enginetour.model.errors import did_you_mean

FEWEST = 2  # a round has two sides
_NAMED = 5  # entrants in a message

GamesOfMatch = Annotated[
    int, Setting(ge=1, le=MOST_EACH, description="games of one match: 1 or an even number"), AfterValidator(fair_count)
]
ForbidFamily = Annotated[
    bool, Setting(description="whether entrants of one family must not meet, unless there is no round without")
]
Strict = Annotated[
    bool,
    Setting(description="whether to stop when no round is left without a rematch; else the fewest, oldest ones"),
]


def listed(names: Sequence[str]) -> str:
    """The first five names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def lists_as_tuples(value: object) -> object:
    """Return TOML's lists as tuples, in a table too."""
    if isinstance(value, dict):
        return {key: lists_as_tuples(each) for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


RoundsByName = Annotated[
    dict[str, tuple[Annotated[int, Setting(ge=1, le=1000)], ...]], BeforeValidator(lists_as_tuples)
]
"""Rounds by the names of entrants."""


@dataclass(frozen=True, slots=True)
class RequestedByes:
    """Who is away in which rounds, by name: without points, or with half of what a match is worth."""

    absent: Mapping[str, Collection[int]]
    half_bye: Mapping[str, Collection[int]]

    def __bool__(self) -> bool:
        return bool(self.absent or self.half_bye)

    def check(self, names: Sequence[str], rounds: int) -> None:
        """ValueError: nobody of that name, a round that does not come, both kinds at once, a round without a pair."""
        for key, asked in (("absent", self.absent), ("half_bye", self.half_bye)):
            for name, missed in asked.items():
                if name not in names:
                    raise ValueError(f"{key} names {name!r}, who is no entrant{did_you_mean(name, names)}")
                if max(missed, default=0) > rounds:
                    raise ValueError(f"{key} of {name} has round {max(missed)}, the last is {rounds}")
                if both := sorted(set(missed) & set(self.absent.get(name, ()))) if key == "half_bye" else ():
                    raise ValueError(f"{name} is absent in round {both[0]} and has a half-point bye there: one of them")
        for number in range(1, rounds + 1):
            there = sum(not self.takes(name, number) for name in names)
            if there < FEWEST:
                raise ValueError(f"absent and half_bye leave fewer than two entrants in round {number}")

    def takes(self, name: str, number: int) -> bool:
        """Whether somebody is away in that round."""
        return number in self.absent.get(name, ()) or self.halves(name, number)

    def halves(self, name: str, number: int) -> bool:
        """Whether it is away with a half-point bye."""
        return number in self.half_bye.get(name, ())


BY_RATING = (
    "time odds by difference in rating; none by default. A table with per (100 points a band), correction (1), "
    "ceiling (9) and threshold (none)"
)


class RatingHandicap(BaseModel):
    """When and how much the stronger gives, in bands; correction and ceiling as OpenGotha 3.51 has them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    per: float = Setting(
        default=100.0, gt=0, allow_inf_nan=False, description="points of difference in rating that give one band"
    )
    correction: int = Setting(default=1, ge=0, le=50, description="bands that are not given")
    ceiling: int = Setting(default=9, ge=1, le=50, description="most bands given")
    threshold: float | None = Setting(
        default=None, allow_inf_nan=False, description="rating from which on all count as equal; none by default"
    )

    def between(self, one: float | None, other: float | None) -> int:
        """Bands that `one` gives `other`, below 0 those it takes; without both ratings the game is even."""
        if one is None or other is None:
            return 0
        if self.threshold is not None:
            one, other = min(one, self.threshold), min(other, self.threshold)
        given = min(max(floor(abs(one - other) / self.per) - self.correction, 0), self.ceiling)
        return given if one > other else -given

    def check(self, ratings: Mapping[str, float | None]) -> None:
        """ValueError names the first of those without a rating, and the key."""
        unrated = [name for name, rating in ratings.items() if rating is None]
        if unrated:
            raise ValueError(
                f"the handicap goes by ratings and {listed(unrated)} has none: give rating = ..., or leave handicap out"
            )

    def seated(self, field: Field, paired: Paired) -> Paired:
        """The round with its odds; where there are any, the stronger has White."""
        boards = []
        for board in paired.boards:
            given = self.between(field.members[board.white].rating, field.members[board.black].rating)
            seats = (board.white, board.black) if given >= 0 else (board.black, board.white)
            boards.append(Board(*seats, abs(given)))
        return replace(paired, boards=tuple(boards))


def without_odds_colours(field: Field) -> Field:
    """As systems should see it that count colours: who had which in a game at odds was not theirs to say."""
    history = tuple(
        tuple(replace(turn, colour=NEITHER) if turn.handicap else turn for turn in row) for row in field.history
    )
    return replace(field, history=history)


class ColourOptions(BaseModel):
    """Settings of formats in which `colours_by` decides who has White; other settings of colours are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    colours_by: ClassVar[str] = "the balance of colours so far"

    @model_validator(mode="before")
    @classmethod
    def _not_ours(cls, settings: object) -> object:
        for key in ("swap", "reverse"):
            if isinstance(settings, Mapping) and key in settings and key not in cls.model_fields:
                raise ValueError(
                    f"{key} is for match, roundrobin, gauntlet and scheveningen: here {cls.colours_by} decides who has "
                    "White; leave it out"
                )
        return settings
