"""Settings of the formats with a pair list: round robin, gauntlet and Scheveningen."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from enginetour.formats.handicap import BY_RATING, RatingHandicap
from enginetour.formats.pairing.choice import Codes
from enginetour.formats.pairing.docket import fair


class ListOptions(BaseModel):
    """Settings of every format with a pair list."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    cycles: int = Field(
        default=1, ge=1, description="how often everybody meets everybody it is to meet; 2: a double round robin"
    )
    games_per_pairing: int = Field(default=1, ge=1, description="games of one match in a cycle: 1 or an even number")
    swap: bool = Field(
        default=True,
        description="colours change from game to game of a pair; false: one has White in all, seeds and the first "
        "team always",
    )
    reverse: bool = Field(default=False, description="White and Black of every game are exchanged")
    handicap: RatingHandicap | None = Field(default=None, description=BY_RATING)
    placement: Codes = Field(
        default=(),
        description="order of the table: up to six codes such as NBW, LPR, SDC; empty: points, SB, DE, WIN",
    )

    @field_validator("games_per_pairing")
    @classmethod
    def _even(cls, games: int) -> int:
        return fair(games)

    @model_validator(mode="after")
    def _colours_at_odds(self) -> Self:
        if self.reverse and self.handicap is not None:
            raise ValueError("reverse with a handicap: the weaker begins with Black there; leave one of them out")
        return self


def some_entrants(wanted: int | list[str], key: str) -> int | list[str]:
    """The setting `key`, the first so many entrants or a list of names, if it names somebody and nobody twice."""
    if isinstance(wanted, int) and wanted < 1:
        raise ValueError(f"{key} {wanted} is too few: at least 1")
    if isinstance(wanted, list) and not wanted:
        raise ValueError(f"{key} is an empty list: name at least one entrant")
    if isinstance(wanted, list) and len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise ValueError(f"{key} names {twice!r} twice")
    return wanted


def picked(names: tuple[str, ...], wanted: int | list[str], key: str) -> frozenset[str]:
    """Who the setting means; ValueError: it names a stranger, or everybody."""
    if isinstance(wanted, list):
        for name in wanted:
            if name not in names:
                raise ValueError(f"{key} names {name!r}, who is not an entrant")
    count = wanted if isinstance(wanted, int) else len(wanted)
    if count >= len(names):
        raise ValueError(f"{key}: {count} of {len(names)} entrants leave nobody to play against")
    return frozenset(names[:wanted] if isinstance(wanted, int) else wanted)
