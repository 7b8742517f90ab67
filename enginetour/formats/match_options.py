"""Settings of a match of two, and of the sequential test that may end it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from enginetour.ratings.sequential import ERROR, Model, Sprt


class SprtOptions(BaseModel):
    """A sequential test; refused as `Sprt` refuses it.

    `pairs`: it looks at pairs of games on one opening, which are not independent; false: at each game.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    elo0: float
    elo1: float
    alpha: float = ERROR
    beta: float = ERROR
    model: Model = "logistic"
    pairs: bool = True

    @model_validator(mode="after")
    def _testable(self) -> SprtOptions:
        self.test()
        return self

    def test(self) -> Sprt:
        """The test it describes."""
        return Sprt(self.elo0, self.elo1, self.model, self.alpha, self.beta)


class MatchOptions(BaseModel):
    """Settings of the match."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    games_per_pairing: int = Field(
        default=2,
        ge=1,
        le=2,
        description="games on one opening: 2 (games is even) gives both the same colours, 1 takes turns",
    )
    games: int = Field(default=100, ge=1, description="games of the match; with sprt or error the most there can be")
    swap: bool = Field(default=True, description="colours change from game to game; false: the first has White in all")
    reverse: bool = Field(default=False, description="the second entrant begins with White")
    sprt: SprtOptions | None = Field(
        default=None,
        description="{ elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05 }: stop once it is known whether the first "
        'entrant is elo1 or only elo0 ahead; model = "logistic", "normalized" (nElo) or "bayesian" (by games); '
        "pairs = false: by games, each opening's two too",
    )
    error: float | None = Field(
        default=None,
        ge=0.1,
        le=1000,
        allow_inf_nan=False,
        description="stop once the Elo difference is known so well: half of its 95 % interval, by pairs of an opening. "
        "While one side has not lost a point there is none, and the match goes on",
    )

    @field_validator("games")
    @classmethod
    def _whole_pairs(cls, games: int, info: ValidationInfo) -> int:
        if games % info.data.get("games_per_pairing", 1):
            other = "games_per_pairing = 1 takes any number"
            raise ValueError(f"games {games} is odd: an even number gives both the same colours, {other}")
        return games

    @field_validator("sprt", mode="before")
    @classmethod
    def _table(cls, sprt: object) -> object:
        if not isinstance(sprt, dict | SprtOptions | None):
            raise ValueError("write sprt = { elo0 = 0, elo1 = 5 }")
        return sprt

    @field_validator("error")
    @classmethod
    def _one_end(cls, error: float | None, info: ValidationInfo) -> float | None:
        if error is not None and info.data.get("sprt") is not None:
            raise ValueError("sprt and error both end a match: give one of them")
        return error
