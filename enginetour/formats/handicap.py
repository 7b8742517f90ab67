"""A handicap by rating difference, for any format: the stronger gives some bands of time odds, and has White.

Systems with McMahon scores have a handicap of their own, by those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import floor

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Setting

from enginetour.formats.pairing.field import NEITHER, Board, Field, Paired

NAMED = 5  # entrants in a message
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
            more = f" and {len(unrated) - NAMED} more" if len(unrated) > NAMED else ""
            raise ValueError(
                f"the handicap goes by ratings and {', '.join(unrated[:NAMED])}{more} has none: "
                "give rating = ..., or leave handicap out"
            )

    def seated(self, field: Field, paired: Paired) -> Paired:
        """The round with its odds; where there are any, the stronger has White."""
        return replace(paired, boards=tuple(self._seated(field, paired.boards)))

    def _seated(self, field: Field, boards: Iterable[Board]) -> Iterable[Board]:
        for board in boards:
            given = self.between(field.members[board.white].rating, field.members[board.black].rating)
            yield Board(board.white, board.black, given) if given >= 0 else Board(board.black, board.white, -given)


def without_odds_colours(field: Field) -> Field:
    """As systems should see it that count colours: who had which in a game at odds was not theirs to say."""
    history = tuple(
        tuple(replace(turn, colour=NEITHER) if turn.handicap else turn for turn in row) for row in field.history
    )
    return replace(field, history=history)
